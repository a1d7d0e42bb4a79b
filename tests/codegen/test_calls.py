"""Functions of the host in IMP and below: what they are given, make, and leave to their callers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import CompilerBug
from compiler.base.text import plain
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parser import parse as parse_imp
from compiler.codegen.imp.parts import host_stms
from compiler.codegen.imp.printer import show as show_imp
from compiler.codegen.imp.verify import verify
from compiler.codegen.kernels.failed_checks import after_checks
from compiler.codegen.kernels.parser import parse as parse_kernels
from compiler.codegen.kernels.printer import show as show_kernels
from compiler.driver.pipeline import Compilation
from compiler.explain.imperative import dataflow
from compiler.ir import nodes as ir
from compiler.ir.values import Value
from compiler.ir.walk import all_stms
from compiler.optimise.shared_functions import SHARED
from compiler.runtime import imp_interp, runner
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from compiler.storage import calls as storage_calls
from compiler.testing.compare import same
from testing import kernel_interp, kernels
from testing.last_writers import recorded
from tests.explain.test_reaching_definitions import missing
from tests.runtime.cuda_on_cpu import needs_cxx, results

LIMITS = {limit.id: 0 for limit in SHARED.limits}
PREFIXES = "def prefixes [n] (xs: [n]i64): *[n]i64 = scan (+) 0 (map (* 2) xs)\n"
CHAIN = PREFIXES + (
    "def both [n] (xs: [n]i64): (i64, *[n]i64) =\n"
    "  let ys = prefixes (map (+ 1) (prefixes xs))\n"
    "  in (reduce i64.max 0 ys, ys)\n"
    "entry main [n] (xs: [n]i64): ([n]i64, i64) =\n"
    "  let (a, ys) = both xs\n"
    "  let (b, zs) = both (map (% (a + 1)) (prefixes ys))\n"
    "  in (zs, if a > b then a else b)\n"
    "entry other [n] (xs: [n]i64) (k: i64): [n]i64 =\n"
    "  loop xs for i < k do map (% 1000) (prefixes (map (+ i) xs))\n"
)
CALLED_ENTRY = PREFIXES + (
    "entry twice [n] (xs: [n]i64): *[n]i64 = prefixes (map (% 9) (prefixes xs))\n"
    "entry main [n] (xs: [n]i64): [n]i64 = twice (map (% 7) (twice xs))\n"
)


def kept(source: str, target: str = "c") -> Compilation:
    """A program in which functions stay that have two calls."""
    return Compilation(source, Options(verify=True, limits=LIMITS, target=target))


def copied(source: str, target: str = "c") -> Compilation:
    """The same with bodies in the place of all calls."""
    return Compilation(source, Options(disabled=frozenset((SHARED.id,)), target=target))


def called(work: Compilation, stage: str) -> list[str]:
    """What is called in IMP or the kernel IR, without the tags of names."""
    funs = work.result(stage).prog.funs
    calls = [stm for fun in funs for stm in host_stms(fun.body) if isinstance(stm, imp.Call)]
    return [re.sub(r"_\d+$", "", call.fun) for call in calls]


def agree(source: str, entry: str, *args: Value) -> None:
    """IMP, C and kernels give what the program means."""
    work, cuda = kept(source), kept(source, "cuda")
    wanted = interp.run(work.result("soa").prog, entry, args)
    assert same(imp_interp.run(work.result("imp").prog, entry, args), wanted)
    assert same(runner.run_c(plain(work.result("c").text), entry, args).values, wanted)
    kernels.same(kernel_interp.run(cuda.result("kernels").prog, entry, args), wanted, "cuda")


@pytest.mark.parametrize("source", [CHAIN, CALLED_ENTRY], ids=["chain", "called entry"])
def test_texts_with_calls_read_back(source: str) -> None:
    work = kept(source, "cuda")
    for stage, show, parse in (
        ("imp", show_imp, parse_imp),
        ("kernels", show_kernels, parse_kernels),
    ):
        text = plain(work.result(stage).text)
        assert "call (" in text
        assert plain(show(parse(text))) == text


def test_functions_stand_once_in_the_texts() -> None:
    work = kept(CHAIN)
    assert sorted(called(work, "imp")) == ["both"] * 2 + ["prefixes"] * 4
    c, cuda = plain(work.result("c").text), plain(work.result("cuda").text)
    assert re.findall(r"static int (\w+?)_\d+\(", c) == ["prefixes", "both"]
    assert len(re.findall(r"__global__ void scan\w*_first", cuda)) == 1
    assert re.findall(r"^def (\w+?)_\d+\(device", cuda, re.M) == ["prefixes", "both"]


@pytest.mark.parametrize("n", [0, 1, 700])
def test_what_calls_give_is_what_the_program_means(n: int) -> None:
    for entry, more in (("main", []), ("other", [np.int64(4)])):
        agree(CHAIN, entry, np.arange(n) % 13, *more)


def test_an_entry_point_may_be_called_by_another_one() -> None:
    assert called(kept(CALLED_ENTRY), "imp").count("twice") == 2
    for entry in ("main", "twice"):
        agree(CALLED_ENTRY, entry, np.arange(50))


@needs_cxx
def test_the_cuda_text_has_no_faults() -> None:
    args = [np.arange(600)]
    for source in (CHAIN, CALLED_ENTRY):
        work = kept(source, "cuda")
        wanted = interp.run(work.result("soa").prog, "main", args)
        for order in ORDERS:
            seen = observe(plain(work.result("cuda").text), "main", args, order)
            kernels.same(results(seen), wanted, order)


LOOP = PREFIXES + (
    "def part [n] (xs: [n]i64): *[n]i64 =\n"
    "  let ys = prefixes xs\n"
    "  in loop ys for i < 3 do map (+ i) (scan (^) 0 ys)\n"
    "entry main [n] (xs: [n]i64) (k: i64): [n]i64 =\n"
    "  let xs = part xs in loop xs for _i < k do part (map (% 99) (prefixes xs))\n"
)


def test_memory_is_given_back_in_calls_and_no_more_is_needed_than_with_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a call is given last is gone as soon as the function needs it no more."""

    def every(prog: ir.Prog) -> list[ir.Stm]:
        stms = (stm for fun in prog.funs for stm in all_stms(fun.body.stms))
        return [stm for stm in stms if isinstance(stm.exp, ir.Call)]

    works = [kept(LOOP), kept(LOOP)]
    assert called(works[0], "imp")
    monkeypatch.setattr(storage_calls, "_gone", every)
    assert not called(works[1], "imp")
    peaks: dict[int, list[int]] = {}
    for k in (2, 3, 50):
        args: list[Value] = [np.arange(100_000), np.int64(k)]
        runs = [runner.run_c(plain(one.result("c").text), "main", args) for one in works]
        assert same(runs[0].values, runs[1].values)
        peaks[k] = [run.peak_bytes for run in runs]
    assert peaks[2] == peaks[3] == peaks[50]
    with_calls, with_copies = peaks[2]
    assert with_calls <= with_copies


def test_a_loop_in_a_function_makes_its_blocks_once() -> None:
    made = {}
    for rounds in (5, 50):
        source = LOOP.replace("i < 3", f"i < {rounds}")
        found = runner.run_c(
            plain(kept(source).result("c").text), "main", [np.arange(9), np.int64(2)]
        )
        made[rounds] = found.allocations
    assert made[5] == made[50]


WRONG = """host fun f_1 (n_2: i64, xs_mem_3: mem(i64)) -> (ys_mem_4: mem(i64)) {
  let a_mem_5: mem(i64) = alloc(n_2)
  copy i64 a_mem_5 -> 0 + {(n_2: 1)} <- xs_mem_3 -> 0 + {(n_2: 1)}
  free xs_mem_3
  return (a_mem_5)
}

entry main (n_6: i64, xs_mem_7: mem(i64)) -> (r_mem_8: mem(i64)) {
  sizes n_6
  takes xs_9: [n_6]i64 in xs_mem_7
  gives r_10: [n_6]i64 in r_mem_8
  call (b_mem_11: mem(i64)) = f_1(n_6, xs_mem_7)
  call (c_mem_12: mem(i64)) = f_1(n_6, b_mem_11) frees (b_mem_11)
  return (c_mem_12)
}"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (" frees (b_mem_11)", "", "`b_mem_11` is never freed"),
        (" frees (b_mem_11)", " frees (b_mem_11)\n  b_mem_11[0] <- 3i64", "has been freed"),
        (" frees (b_mem_11)", " frees (xs_mem_7)", "is not given to `f_1`, or twice"),
        ("f_1(n_6, xs_mem_7)", "f_1(n_6, xs_mem_7) frees (xs_mem_7)", "no block of this statement"),
        ("  free xs_mem_3\n", "", "`xs_mem_3` is never freed"),
        ("  free xs_mem_3", "  xs_mem_3[0] <- 3i64\n  free xs_mem_3", "may not be written"),
        ("copy i64 a_mem_5", "copy i64 xs_mem_3", "may not be written"),
        (
            "  free xs_mem_3\n  return (a_mem_5)",
            "  free a_mem_5\n  return (xs_mem_3)",
            "gives back what it is given",
        ),
        ("f_1(n_6, b_mem_11) frees (b_mem_11)", "f_1(n_6)", "takes 2 arguments"),
        ("f_1(n_6, b_mem_11)", "f_1(b_mem_11, n_6)", "`n_2` of `f_1` is mem"),
        ("(c_mem_12: mem(i64)) =", "(c_mem_12: mem(i32)) =", "gives other types"),
        ("= f_1(n_6, xs_mem_7)", "= main(n_6, xs_mem_7)", "no function of the host above"),
    ],
)
def test_wrong_calls_are_noticed(old: str, new: str, says: str) -> None:
    verify(parse_imp(WRONG))
    assert WRONG.count(old) == 1
    with pytest.raises(CompilerBug, match=re.escape(says)):
        verify(parse_imp(WRONG.replace(old, new)))


FAILING = """
def f [n] (xs: [n]i64): *[n]i64 = scan (+) 0 (map (+ 1) xs)
def g [n][k] (xs: [k]i64) (is: [n]i64): *[n]i64 = map (\\i -> xs[i]) is
entry main [k][n] (xs: [k]i64) (is: [n]i64) =
  let _a = ARGS
  in RESULT
"""


@pytest.mark.parametrize(
    ("result", "looks"),
    [
        # There is no check, or none in front of them.
        ("(f is, f (map (+ 2) is))", False),
        # A check is in front of one of them, which may rely on it.
        ("(f is, f (map (+ 2) is), g xs is, g xs (map (+ 1) is))", True),
        # `f` does, of what `g` gives; and of what the entry point itself makes.
        ("(f is, f (g xs is), g xs (map (+ 1) is))", True),
        ("(f is, f (map (\\i -> xs[i] + 1) is))", True),
        # In between the host waits.
        ("let ys = map (\\i -> xs[i] + 1) is in if i64.sum xs > 3 then (f is, f ys) else (ys, is)",
         False),
    ],
)  # fmt: skip
def test_kernels_of_functions_look_first_where_a_check_may_have_failed(
    result: str, looks: bool
) -> None:
    work = kept(FAILING.replace("ARGS", "0").replace("RESULT", result), "cuda")
    prog = work.result("kernels").prog
    assert called(work, "kernels").count("f") == 2
    (f,) = (fun for fun in prog.funs if fun.name.startswith("f_"))
    own = {s.kernel.name for s in host_stms(f.body) if hasattr(s, "kernel")}
    second = {name for name in own if "_second" in name or "_third" in name}
    first = own - second
    assert bool(first & after_checks(prog).kernels) == looks


def test_a_loop_with_a_call_is_not_captured() -> None:
    work = kept(CHAIN, "cuda")
    work.result("cuda")
    said = [one.because for one in work.remarks() if one.rule == "cuda/graphs"]
    assert "The host launches kernels in each iteration of this loop: it calls `prefixes`." in said


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_who_wrote_what_a_call_reads_is_told(target: str) -> None:
    work = kept(CHAIN, target)
    prog = work.result("imp").prog
    for entry, more in (("main", []), ("other", [np.int64(3)])):
        graph, run = recorded(prog, entry, [np.arange(9), *more])
        assert any(isinstance(stm, imp.Call) for stm in graph.stms) == (entry == "main")
        assert run.cells
        for flow in run.cells:
            assert not missing(flow)
        for flow in run.blocks:
            assert not missing(flow, direct=True)
    nodes = [node for fun in dataflow(prog) for body in fun["bodies"] for node in body["nodes"]]
    labels = [node["label"] for node in nodes if node["kind"] == "call"]
    assert len(labels) == len(called(work, "imp"))
