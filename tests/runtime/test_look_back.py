"""Scans in one pass, whose blocks of threads look back at those before them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import map_bodies, statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.parser import parse
from compiler.codegen.kernels.printer import show
from compiler.codegen.kernels.verify import verify
from compiler.driver.pipeline import Compilation, Options
from compiler.driver.targets import target_named
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.ir.nodes import Var
from compiler.runtime import listings
from compiler.runtime.observer.records import ORDERS, Observation, Order, observe
from compiler.semantics import interp
from testing import kernel_interp
from testing.kernels import same
from tests.codegen.helpers import all_thresholds, compiled, needs_nvrtc
from tests.runtime import test_folds
from tests.runtime.cuda_on_cpu import needs_cxx, results
from tests.runtime.test_observer import AFTER, barriers_of

PROGRAMS = {
    **{name: test_folds.PROGRAMS[name] for name in ("scan", "scan in order", "bytes", "wide")},
    "segments": "entry main [m][n] (xss: [m][n]i32) = map (scan (+) 0) xss",
    "segments in order": AFTER + "entry main [m][n] (xss: [m][n]i64) ="
    " unzip (map (\\xs -> unzip (scan after (1, 0) (zip xs (reverse xs)))) xss)",
    "several": "entry main [n] (xs: [n]i32) = let ys = scan (+) 0 xs in (ys, scan i32.max 0 ys)",
    "in a loop": "entry main [n] (xs: [n]i32) = loop xs for _i < 30 do scan (+) 0 xs",
    "with a map": "entry main [n] (xs: [n]i32) = map2 (-) (scan (+) 0 xs) xs",
    "with loops": "entry main [n] (xs: [n]i32) ="
    " scan (+) 0 (map (\\x -> loop y = x for i < x do y ^ i) xs)",
}
ASKED = Options(target="cuda", enabled=frozenset(("kernels/look-back",)))
TILE = 5 * 256
SIZES = (0, 1, TILE - 1, TILE, TILE + 1, 5 * TILE + 7)
SHAPES = ((0, 3), (3, 0), (1, 600), (3, 700), (2, TILE + 1), (3, 3 * TILE))


def work(name: str, on: bool = True) -> Compilation:
    source = PROGRAMS[name]
    thresholds = all_thresholds(compiled(source, "cuda"), 1 << 40)
    return Compilation(
        source, replace(ASKED if on else Options(target="cuda"), thresholds=thresholds)
    )


def text(name: str) -> str:
    return plain(work(name).result("cuda").text)


def given(name: str, *shape: int) -> list[Any]:
    kind = {"u8": np.uint8, "i32": np.int32, "i64": np.int64}
    (prim,) = re.findall(r"xss?: [^ ]*\](\w+)\)", PROGRAMS[name])
    return [np.random.default_rng(sum(shape)).integers(0, 9, shape).astype(kind[prim])]


def meant(name: str, args: list[Any]) -> list[Any]:
    return list(interp.run(work(name).result("soa").prog, "main", list(args)))


def moved(seen: Observation) -> int:
    """The bytes that kernels fetched and wrote."""
    sectors = (s.sectors * s.visits / s.lanes for s in seen.sites if s.lanes and not s.shared)
    return 32 * round(sum(sectors))


@needs_cxx
@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_elements_in_any_order_of_blocks(name: str) -> None:
    code, lowered = text(name), work(name).result("kernels")
    verify(lowered.prog, target_named("cuda"))
    assert plain(show(parse(plain(lowered.text)))) == plain(lowered.text)
    assert "_look_back(" in code
    assert "_third(" not in code
    for shape in SHAPES if "segments" in name else [(n,) for n in SIZES]:
        args = given(name, *shape)
        expected = meant(name, args)
        for order in ORDERS:
            same(results(observe(code, "main", args, order, records=False)), expected)
        if np.prod(shape) <= 2 * TILE:
            same(kernel_interp.run(lowered.prog, "main", args, 64, "random"), expected)


@needs_cxx
@pytest.mark.parametrize("name", ["scan", "scan in order"])
@pytest.mark.parametrize("order", ORDERS)
def test_more_tiles_than_a_warp_has_lanes(name: str, order: Order) -> None:
    """Descending, 40 blocks come to sums before one knows what stands before it.

    The last of them finds 38 sums and what the first came to, and so on; so seven look twice.
    """
    args = given(name, 70 * TILE - 3)
    seen = observe(text(name), "main", args, order)
    same(results(seen), meant(name, args))
    lines = text(name).split("\n")
    looked = [s for s in seen.sites if s.kind == "reads" and "_sum_0[" in lines[s.line - 1]]
    sums = sum(site.visits for site in looked)
    if order == "descending":
        assert sums >= sum(range(39))
    assert (sums == 0) == (order == "ascending")


@needs_cxx
def test_the_interpreter_of_kernels_lets_blocks_wait_for_each_other() -> None:
    args = given("scan", 36 * TILE)
    prog = work("scan").result("kernels").prog
    same(kernel_interp.run(prog, "main", args, 256), meant("scan", args))


@needs_cxx
def test_8_to_8_5_bytes_of_each_element_where_three_stages_move_12() -> None:
    for n in (20_000, 150_000, 400_000):
        args = [np.arange(n, dtype=np.int32)]
        seen = observe(text("scan"), "main", args)
        assert 8 * n <= moved(seen) <= 8.5 * n
        assert [name for name, _ in seen.launches] == [seen.launches[0][0]]
        stages = observe(plain(work("scan", on=False).result("cuda").text), "main", args)
        assert moved(stages) >= 12 * n


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["scan", "scan in order", "segments"])
def test_one_block_at_a_time_is_enough(
    name: str, order: kernel_interp.Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever begins next, it waits for none that has not begun: Note [Forward progress]."""
    args = given(name, *((3, 3 * TILE) if name == "segments" else (4 * TILE + 3,)))
    prog = work(name).result("kernels").prog
    monkeypatch.setattr(kernel_interp, "RESIDENT", 1)
    same(kernel_interp.run(prog, "main", args, 256, order), meant(name, args))

    def by_number(stm: imp.Stm) -> imp.Stms:
        if isinstance(stm, k.Ticket):
            return (imp.Define(stm.name, "i64", Var(k.BLOCK, "i64")), k.Barrier())
        return (stm,)

    numbered = changed(prog, by_number)
    if order == "ascending":
        same(kernel_interp.run(numbered, "main", args, 256, order), meant(name, args))
    else:
        with pytest.raises(kernel_interp.Fault, match="no block that has begun"):
            kernel_interp.run(numbered, "main", args, 256, order)


def test_a_block_publishes_its_sum_before_it_waits() -> None:
    """And takes a ticket before anything else; between are barriers of its own threads alone."""
    for name in PROGRAMS:
        prog = work(name).result("kernels").prog
        kernels = [s.kernel for f in prog.funs for s in statements(f.body) if type(s) is k.Launch]
        one_pass = [kernel for kernel in kernels if kernel.name.endswith("_look_back")]
        assert one_pass
        for kernel in one_pass:
            assert isinstance(kernel.body[0], k.Ticket)
            order = [type(s) for s in statements(kernel.body) if type(s) in (k.Publish, k.Await)]
            assert order == [k.Publish, k.Await, k.Publish]


def test_nothing_waits_unless_that_is_asked_for() -> None:
    for name in PROGRAMS:
        assert "__nanosleep" not in plain(work(name, on=False).result("cuda").text)
    c = [
        Compilation(PROGRAMS["scan"], replace(ASKED if on else Options(), target="c"))
        .result("c")
        .text
        for on in (False, True)
    ]
    assert c[0] == c[1]


@pytest.mark.parametrize(
    ("m", "n", "each"),
    [(1, 1, 1), (1, 1280, 5), (1, 1 << 19, 9), (1, 1 << 25, 23), (7000, 600, 3), (7000, 6000, 23)],
)
def test_a_thread_has_no_more_elements_than_a_segment_has_for_it(m: int, n: int, each: int) -> None:
    """Of segments of 600, 200 threads have three each, however many there are: not 27 have 23."""
    (items,) = re.findall(r"_items_0 = (.*)", text("segments"))
    for name, size in (("m", m), ("n", n)):
        items = re.sub(rf"\b{name}_\d+\b", str(size), items)
    assert eval(items, {"quot": lambda a, b: a // b, "i64": int}) == each


@needs_cxx
def test_elements_that_take_a_loop_have_a_thread_each() -> None:
    args = given("with loops", 4096)
    seen = observe(text("with loops"), "main", args)
    same(results(seen), meant("with loops", args))
    assert [blocks for _, blocks in seen.launches] == [16]


def test_what_needs_the_last_prefix_before_the_map_goes_by_stages() -> None:
    source = "entry main [n] (xs: [n]i32) = filter (> 3) xs"
    code = plain(Compilation(source, ASKED).result("cuda").text)
    assert "_third(" in code
    assert "__nanosleep" not in code


# --- what is noticed -------------------------------------------------------------------------

FENCE = "__threadfence();"
WAIT = re.compile(r"while \(!\((\w+) = (.*)\)\) \{")


def without(part: str, number: int) -> Callable[[str], str]:
    """A text without the part that stands there for that time, from 0."""

    def change(code: str) -> str:
        pieces = code.split(part)
        assert len(pieces) > number + 1
        return part.join(pieces[: number + 1]) + part.join(["", *pieces[number + 1 :]])[len(part) :]

    return change


MUTANTS: dict[str, Callable[[str], str]] = {
    "the fence before the flag of a sum": without(FENCE, 0),
    "the fence behind what is awaited": without(FENCE, 1),
    "the fence before the flag of a prefix": without(FENCE, 2),
    "waiting": lambda code: WAIT.sub(r"\1 = \2; if (false) {", code),
    "volatile": lambda code: code.replace("(volatile int32_t *)", "(int32_t *)"),
    "the flag of a prefix": lambda code: re.sub(r"atomicExch\(&\w+flags\w+\[.*, 2\);", "", code),
    "a flag by a plain store": lambda code: re.sub(
        r"atomicExch\(&(\w+flags\w+\[.*\]), (\d)\);", r"\1 = \2;", code
    ),
    "the flag behind what is stored": lambda code: re.sub(
        r"(\w+_sum_0\[ticket\] = .*;)\n +(__thread.*)\n +(atomicExch.*)", r"\2 \3 \1", code
    ),
    "tickets": lambda code: re.sub(r"atomicAdd\(&\w+flags.*\)", "blockIdx.x", code),
    "the counter of tickets": lambda code: re.sub(
        r"atomicAdd\((&(\w+)\[0\]), 1\)", r"\2[0]++", code
    ),
}


@needs_cxx
@pytest.mark.parametrize("name", MUTANTS)
def test_a_part_of_waiting_that_is_missing_is_noticed(name: str) -> None:
    """But for the flag of a sum, without which blocks wait longer for the same."""
    args = given("scan in order", 45 * TILE)
    code, expected = text("scan in order"), meant("scan in order", args)
    wrong = MUTANTS[name](code)
    assert wrong != code
    noticed = []
    for order in ORDERS:
        seen = observe(wrong, "main", args, order, records=False, seconds=1)
        if seen.problems:
            noticed += [problem.says for problem in seen.problems]
        elif not all(map(np.array_equal, results(seen), expected)):
            noticed.append("another result")
    assert noticed
    if "fence" in name or "plain" in name or "volatile" in name or "counter" in name:
        assert any("race" in says for says in noticed)


@needs_cxx
def test_each_barrier_that_is_missing_is_noticed() -> None:
    args = given("scan in order", 3 * TILE + 9)
    code, expected = text("scan in order"), meant("scan in order", args)
    whole, barriers = observe(code, "main", args, records=False), barriers_of(code)
    same(results(whole), expected)
    assert sorted(barriers.values()) == [f"scan_look_back {number}" for number in range(5)]
    for line in whole.barriers:
        seen = [observe(code, "main", args, o, records=False, without=line) for o in ORDERS]
        wrong = (s.problems or not all(map(np.array_equal, results(s), expected)) for s in seen)
        assert any(wrong), barriers[line]


def changed(prog: imp.ImpProg, change: Callable[[imp.Stm], imp.Stms]) -> imp.ImpProg:
    """A program with other statements in its kernels."""

    def stms(body: imp.Stms) -> imp.Stms:
        return tuple(new for old in body for new in change(inside(old)))

    def inside(stm: imp.Stm) -> imp.Stm:
        if isinstance(stm, k.Launch):
            return replace(stm, kernel=replace(stm.kernel, body=stms(stm.kernel.body)))
        return map_bodies(stm, stms)

    return replace(prog, funs=tuple(replace(f, body=stms(f.body)) for f in prog.funs))


def test_the_interpreter_of_kernels_wants_flags_to_be_awaited_and_published() -> None:
    prog = work("scan").result("kernels").prog
    assert any(isinstance(s, k.Await) for f in prog.funs for s in statements(f.body))

    def loads(stm: imp.Stm) -> imp.Stms:
        if isinstance(stm, k.Await):
            return (imp.Load(stm.name, "i32", stm.block, stm.at),)
        return (stm,)

    def stores(stm: imp.Stm) -> imp.Stms:
        if isinstance(stm, k.Publish):
            return (imp.Store(stm.block, "i32", stm.at, stm.value),)
        return (stm,)

    args = given("scan", 3 * TILE)
    for change in (loads, stores):
        with pytest.raises(kernel_interp.Fault, match="races"):
            kernel_interp.run(changed(prog, change), "main", args, 256)


# --- checks ----------------------------------------------------------------------------------

CHECKED = {
    "in points": "entry main [n] (ts: [3]i64) (xs: [n]i64) ="
    " scan (+) 0 (map (\\x -> ts[x % 4]) xs)",
    "in the operator": test_folds.CHECKED,
    "before": "entry main [n] (ts: [3]i64) (xs: [n]i64) ="
    " scan (+) 0 (scan (\\a b -> a + b * ts[b % 4]) 0 xs)",
}


@needs_cxx
@pytest.mark.parametrize("name", CHECKED)
def test_a_check_that_fails_leaves_nobody_waiting(name: str) -> None:
    code = plain(Compilation(CHECKED[name], ASKED).result("cuda").text)
    assert "__nanosleep" in code
    args = [np.zeros(3, np.int64), np.arange(9 * TILE) % 3]
    for at in (3, 2 * TILE + 5, 9 * TILE - 1):
        args[1][at] = 3
        for order in ORDERS:
            seen = observe(code, "main", args, order, records=False, seconds=20)
            assert not seen.problems
            assert seen.error is not None
            assert "Index [3] out of bounds" in seen.error.message


# --- what is told ----------------------------------------------------------------------------


@needs_cxx
@pytest.mark.parametrize("name", ["scan", "scan in order", "segments"])
def test_what_does_not_depend_on_who_is_first_costs_what_was_predicted(name: str) -> None:
    made = work(name)
    code, prog = made.result("cuda").text, made.result("kernels", "cuda").prog
    args = given(name, *((3, 3 * TILE) if name == "segments" else (9 * TILE + 1,)))
    seen = observe(plain(code), "main", args)
    predicted = predict(prog, code, "main", [np.shape(args[0])], [None])
    assert predicted.launches == list(seen.launches)
    told = report(prog, code, predicted, seen)["accesses"]
    assert [one for one in told if not one.get("agrees", bool(one["because"]))] == []
    elements = [one for one in told if one["size"] * one["predicted"]["lanes"] >= args[0].nbytes]
    assert len(elements) >= 4
    assert all(one.get("agrees") for one in elements)


@needs_nvrtc
@pytest.mark.parametrize("name", ["scan", "wide"])
def test_a_device_sees_what_was_published(name: str) -> None:
    """Each fence makes stores before it seen first, and forgets what is in the nearest cache."""
    told = plain(listings.sass(work(name).result("cuda").text).text)
    (row,) = (line for line in told.split("\n") if re.match(r"// \w+_look_back ", line))
    assert " 0 B " in row  # spilled
    words = r"MEMBAR\.\w+\.GPU|CCTL\.IVALL|ATOMG\.E\.EXCH|LDG\.E\.STRONG\.SYS|NANOSLEEP"
    order = "".join(word[0] for word in re.findall(words, told))
    assert re.fullmatch("MCAL[LN]*MCMCA", order)
