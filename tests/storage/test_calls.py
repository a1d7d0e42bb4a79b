"""Functions that stay while memory is laid out: what they cost, and what may not be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.names import base_of
from compiler.driver import explanations, flows
from compiler.driver.pipeline import Compilation
from compiler.explain.layout import describe
from compiler.explain.lifetimes import lifetimes
from compiler.ir import nodes as ir
from compiler.ir.values import Value
from compiler.ir.walk import all_stms
from compiler.optimise import shared_functions
from compiler.protocol import storage
from compiler.protocol.flows import FlowRequest
from compiler.semantics import heap, interp
from compiler.storage import calls as storage_calls
from compiler.storage.blocks import Meanings
from compiler.testing.compare import same

LIMITS = {limit.id: 0 for limit in shared_functions.SHARED.limits}
STAGES = ("funmem", "shortcircuit", "expanded", "merged")
TURN = """
def turn [n] [m] (xss: [n][m]i32): *[m][n]i32 = transpose (map (scan (+) 0) xss)
def flip [n] (xs: [n]i32): *[n]i32 = map (\\i -> xs[n - 1 - i] * 2) (iota n)
"""


def kept(body: str, target: str = "c") -> Compilation:
    """A program in which functions stay that have two calls."""
    limits = tuple(LIMITS.items())
    return Compilation(TURN + body, Options(verify=True, limits=limits, target=target))


def statements(work: Compilation, stage: str) -> list[ir.Stm]:
    """Those of all functions."""
    return [stm for fun in work.result(stage).prog.funs for stm in all_stms(fun.body.stms)]


def calls(work: Compilation, stage: str = "funmem") -> list[str]:
    """What is called, by the names that the author gave."""
    exps = [stm.exp for stm in statements(work, stage)]
    return [base_of(exp.fun) for exp in exps if isinstance(exp, ir.Call)]


def agree(work: Compilation, *args: Value) -> None:
    """All stages give in memory what the program means."""
    wanted = interp.run(work.result("soa").prog, "main", args)
    for stage in STAGES:
        assert same(heap.run(work.result(stage).prog, "main", args)[0], wanted), stage


def in_all_copies(work: Compilation) -> Counter[str]:
    """How many expressions of each class there are, those of a function once for each call."""
    found: Counter[str] = Counter()
    copies: Counter[str] = Counter()
    for fun in reversed(work.result("merged").prog.funs):
        copies[fun.name] += fun.entry
        for stm in all_stms(fun.body.stms):
            found[type(stm.exp).__name__] += copies[fun.name]
            if isinstance(stm.exp, ir.Call):
                copies[stm.exp.fun] += copies[fun.name]
    return found


def as_copied(work: Compilation, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many copies and kernels are done as if all calls gave way before."""

    def every(prog: ir.Prog) -> list[ir.Stm]:
        stms = (stm for fun in prog.funs for stm in all_stms(fun.body.stms))
        return [stm for stm in stms if isinstance(stm.exp, ir.Call)]

    monkeypatch.setattr(storage_calls, "_gone", every)
    copied = Compilation(work.source, work.options)
    assert not calls(copied)
    found = [in_all_copies(one) for one in (work, copied)]
    for kind in ("Copy", "SegMap", "SegScan"):
        assert found[0][kind] == found[1][kind], kind


ROWS: tuple[Sequence[Value], ...] = tuple(
    [np.arange(n * m, dtype=np.int32).reshape(n, m)] for n, m in ((1, 2), (2, 5), (40, 3))
)


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_a_result_in_another_order_is_not_copied(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = kept(
        "entry main [n] [m] (xss: [n][m]i32) =\n"
        "  map2 (+) (turn xss)[0] (turn (map (map (+ 1)) xss))[1]",
        target,
    )
    assert calls(work) == ["turn", "turn"]
    (fun, _) = work.result("funmem").prog.funs
    block, array = fun.results
    assert isinstance(array.type, ir.Array)
    assert array.type.mem is not None
    assert array.type.mem.block == block.name
    assert not array.type.mem.lmad.is_row_major()
    for args in ROWS:
        agree(work, *args)
    as_copied(work, monkeypatch)


def test_a_result_in_another_order_is_a_view_where_it_is_given_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = kept("entry main [n] [m] (xss: [n][m]i32) = (turn xss, turn (turn (turn xss)))")
    assert calls(work, "flat") == ["turn"] * 4
    assert calls(work) == ["turn", "turn"]
    for args in ROWS:
        agree(work, *args)
    as_copied(work, monkeypatch)


@pytest.mark.parametrize(
    ("body", "stay"),
    [
        ("(xs: [n]i32) = flip (flip xs)", 2),
        ("(xs: [n]i32) = flip (scan (+) 0 (flip xs))", 2),
        # A view goes in; of the second, one that nothing else looks at.
        ("(xs: [n]i32) = (flip xs, flip xs[1:])", 1),
        ("(xs: [n]i32) = (flip xs, flip (reverse xs))", 1),
        # What is made becomes a part of another array, or a view of it does.
        ("(xs: [n]i32) = (flip xs, flip (flip xs) ++ xs)", 2),
        ("(xs: [n]i32) = (flip xs, [flip (flip xs), xs])", 2),
        ("(xs: *[n]i32) = let ys = flip xs[:n / 2] let zs = flip ys in xs with [:n / 2] = zs", 0),
        # What goes in does.
        ("(xs: [n]i32) = let ys = scan (+) 0 xs in (flip ys, flip xs, ys ++ xs)", 1),
    ],
)
def test_a_call_gives_way_where_looking_inside_is_worth_it(
    body: str, stay: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = kept("entry main [n] " + body)
    assert len(calls(work, "flat")) >= 2
    assert calls(work) == ["flip"] * stay
    for n in (1, 2, 33):
        agree(work, np.arange(n, dtype=np.int32))
    as_copied(work, monkeypatch)


def test_a_view_given_on_by_a_body_that_has_come_gives_way_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = kept(
        "def both [n] (xs: [n]i32): *[n]i32 = scan (+) 0 (flip xs)\n"
        "entry main [n] (xs: [n]i32) = (both xs, both xs[2:], flip xs)"
    )
    assert sorted(calls(work, "flat")) == ["both", "both", "flip", "flip"]
    assert sorted(calls(work)) == ["both", "flip", "flip"]
    agree(work, np.arange(9, dtype=np.int32))
    as_copied(work, monkeypatch)


def test_what_a_branch_lays_out_otherwise_is_copied_for_a_call_and_a_remark_says_so() -> None:
    work = kept(
        "entry main [n] (xss: [n][n]i32) (b: bool) =\n"
        "  let yss = if b then transpose xss else map (map (+ 1)) xss\n"
        "  in (turn yss, turn (map (map (* 2)) yss))"
    )
    assert calls(work) == ["turn", "turn"]
    stms = statements(work, "funmem")
    copies = {stm.pat[0].name for stm in stms if isinstance(stm.exp, ir.Copy)}
    given = {arg for stm in stms if isinstance(stm.exp, ir.Call) for arg in stm.exp.args}
    assert len(copies & given) == 1
    said = [one.because for one in work.remarks() if one.rule == "memory/result"]
    assert any("`turn` is given it" in because for because in said)
    for b in (False, True):
        agree(work, np.arange(9, dtype=np.int32).reshape(3, 3), np.bool_(b))


@pytest.mark.parametrize(
    "body",
    [
        "(xs: [n]i32) = (flip xs, flip xs[1:])",
        "(xs: [n]i32) = (flip (reverse xs), flip xs ++ xs)",
        "(xs: *[n]i32) = let ys = flip xs[:n / 2] let zs = flip ys in xs with [:n / 2] = zs",
        "(xs: [n]i32) = let ys = scan (+) 0 xs in (flip ys, flip xs, ys ++ xs)",
        "(xs: [n]i32) = (transpose (turn [xs, flip xs]), turn [flip xs])",
    ],
)
def test_a_call_stays_and_arrays_are_copied_where_its_function_is_large(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = len(calls(kept("entry main [n] " + body)))
    monkeypatch.setattr(storage_calls, "MOST", 0)
    work = kept("entry main [n] " + body)
    assert calls(work) == calls(work, "flat")
    assert inside < len(calls(work))
    for n in (1, 2, 33):
        agree(work, np.arange(n, dtype=np.int32))


def test_of_a_large_function_calls_stay_and_of_a_small_one_they_give_way() -> None:
    steps = "".join(f"  let xs = map (+ {k}) (scan (+) {k} xs)\n" for k in range(1, 101))
    work = kept(
        f"def large [n] (xs: [n]i32): *[n]i32 =\n{steps}  in map (* 2) xs\n"
        "entry main [n] (xs: [n]i32) =\n"
        "  (large xs[1:], large (large xs) ++ xs, large xs[2:], flip xs[1:], flip (reverse xs))"
    )
    assert calls(work, "flat").count("large") == 4
    assert calls(work) == ["large"] * 4
    for n in (2, 7):
        agree(work, np.arange(n, dtype=np.int32))


def test_what_a_call_reads_is_not_overwritten_before() -> None:
    """`a` could be built in its place in `yss` if `turn` did not read that in between."""
    work = kept(
        "entry main [n] (yss: *[n][n]i32) (xs: [n]i32) =\n"
        "  let a = scan (+) 0 xs\n"
        "  let b = turn yss\n"
        "  let c = yss with [0] = a\n"
        "  in (c, turn (map (map (+ 1)) b))"
    )
    assert calls(work) == ["turn", "turn"]
    for n in (1, 2, 7):
        agree(work, np.arange(n * n, dtype=np.int32).reshape(n, n), np.arange(n, dtype=np.int32))
    (one,) = [x for x in work.record("shortcircuit").all() if x.rule.id == "shortcircuit/update"]
    assert not one.done
    assert "turn" in one.because or "b" in one.because


def test_a_call_is_given_the_block_that_its_argument_has_taken() -> None:
    work = kept(
        "entry main [n] (xs: [n]i32) =\n  let a = scan (+) 0 (flip xs)\n  in flip (map (* 3) a)"
    )
    merged = [stm for stm in statements(work, "shortcircuit") if isinstance(stm.exp, ir.Call)]
    given = merged[-1].exp
    assert isinstance(given, ir.Call)
    made = {
        stm.pat[0].name for stm in statements(work, "shortcircuit") if isinstance(stm.exp, ir.Alloc)
    }
    assert given.args[1] in made
    done = [one for one in work.record("shortcircuit").all() if one.done]
    assert [one.rule.id for one in done] == ["shortcircuit/in-place-map"]
    agree(work, np.arange(9, dtype=np.int32))


def test_a_block_that_has_become_another_one_is_given_to_a_function_still() -> None:
    """The loop writes over `ys`; its result, which is copied, stays where the call looks for it."""
    work = kept(
        "entry main [n] (xs: [n]i32) (k: i64) =\n"
        "  let ys = scan (+) 0 xs\n"
        "  let zs = loop a = ys for _i < k do map (+ 1) a\n"
        "  let d = flip zs\n"
        "  in (copy zs with [n / 2] = 7, flip d)"
    )
    for k in range(3):
        agree(work, np.arange(9, dtype=np.int32), np.int64(k))
    done = [one.rule.id for one in work.record("shortcircuit").all() if one.done]
    assert done == ["shortcircuit/in-place-map"] * 2


def test_a_block_that_a_call_makes_may_be_overwritten() -> None:
    work = kept("entry main [n] (xs: [n]i32) = (map (+ 1) (flip xs), map (* 2) (flip (flip xs)))")
    agree(work, np.arange(9, dtype=np.int32))
    done = [one for one in work.record("shortcircuit").all() if one.done]
    assert [one.rule.id for one in done] == ["shortcircuit/in-place-map"] * 2


LOOP = """
entry main [n] (xs: [n]i32) (k: i64): ([n]i32, [n]i32) =
  loop (a, b) = (flip xs, xs) for i < k do (flip (map (+ 1) b), map2 (+) a b)
"""


def test_each_iteration_has_blocks_of_its_own() -> None:
    work = kept(LOOP)
    assert calls(work, "shortcircuit") == ["flip", "flip"]
    main = work.result("funmem").prog.funs[-1]
    (loop,) = (stm.exp for stm in main.body.stms if isinstance(stm.exp, ir.Loop))
    (made,) = (s.pat[0].name for s in loop.body.stms if isinstance(s.exp, ir.Call))
    assert f"{made}'" in Meanings(main.body.stms).of(loop.params[0].name)
    for k in range(4):
        agree(work, np.arange(9, dtype=np.int32), np.int64(k))


def test_lifetimes_and_layout_have_the_blocks_that_calls_make() -> None:
    work = kept("entry main [n] (xs: [n]i32) = flip (scan (+) 0 (flip xs))")
    prog = work.result("funmem").prog
    n = prog.funs[-1].params[0].name
    told = lifetimes(prog, {n: 10})["functions"]
    assert [fun["name"] for fun in told] == [fun.name for fun in prog.funs]
    blocks = {block["name"]: block for block in told[-1]["blocks"]}
    made = [
        param.name
        for stm in statements(work, "funmem")
        for param in stm.pat
        if isinstance(stm.exp, ir.Call) and isinstance(param.type, ir.Mem)
    ]
    assert len(made) == 2
    assert [blocks[name]["size"] for name in made] == [40, 40]
    assert max(told[-1]["live"]) == 80
    layout = {block["name"]: block for block in describe(prog)[-1]["blocks"]}
    assert [layout[name]["kind"] for name in made] == ["alloc", "alloc"]
    assert all(layout[name]["count"] is not None for name in made)


@pytest.mark.parametrize("stage", ["funmem", "shortcircuit"])
def test_panes_of_programs_with_calls(stage: str) -> None:
    options = {"limits": LIMITS}
    given = FlowRequest(TURN + LOOP, options, stage=stage, input="[1, 2, 3] 2")
    steps = flows.flowing(given)
    assert steps["note"] == ""
    assert {"flip"} <= {base_of(fun.name) for fun in kept(LOOP).result(stage).prog.funs}
    for ask, request in (
        (explanations.memory, storage.MemoryRequest),
        (explanations.lifetimes, storage.LifetimesRequest),
        (explanations.interference, storage.InterferenceRequest),
    ):
        answer = ask(request(TURN + LOOP, options, stage=stage))
        assert answer["ok"]
        assert len(answer["functions"]) == 2
