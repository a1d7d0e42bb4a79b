# ruff: noqa: E501
"""The verifier of IMP: what the compiler makes passes, and what is broken in any way does not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compiler.base.context import Options
from compiler.base.errors import CompileError, CompilerBug
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parser import parse
from compiler.codegen.imp.verify import verify
from compiler.driver.pipeline import Compilation
from testing.compiling import compiled
from testing.generators import programs, storage
from tests.runtime.test_programs import CASES

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
SAMPLES = 12
"""Statements of each program that are broken in each way."""


def made(source: str, target: str) -> imp.ImpProg:
    found: imp.ImpProg = compiled(source, Options(target=target)).result("imp").prog
    return found


def sources() -> dict[str, str]:
    found = {path.stem: path.read_text("utf-8") for path in EXAMPLES}
    return found | {name: case[0] for name, case in CASES.items()}


SOURCES = sources()


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("name", SOURCES)
def test_what_is_made_passes(name: str, target: str) -> None:
    verify(made(SOURCES[name], target))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_made_of_generated_programs_passes(seed: int) -> None:
    for source in (programs.program(seed, 8).source, storage.program(seed).source):
        for target in ("c", "cuda"):
            try:
                prog = made(source, target)
            except CompileError:
                continue
            verify(prog)


# --- broken by hand --------------------------------------------------------------------------

HOST = """\
entry main (n_1: i64, xs_mem_2: mem(i32)) -> (k_20: i32, r_mem_21: mem(i32)) {
  sizes n_1
  takes xs_3: [n_1]i32 in xs_mem_2
  gives k_20: i32
  gives r_22: [n_1]i32 in r_mem_21
  let r_mem_4: mem(i32) = alloc(n_1)
  let ys_mem_5: mem(i32) = alloc(n_1 * 2)
  copy i32 ys_mem_5 -> 0 + {(n_1: 2)} <- xs_mem_2 -> n_1 - 1 + {(n_1: -1)}
  var k_6: i32 = 0i32
  var b_mem_7: mem(i32)
  var go_8: bool = n_1 > 2i64
  for i_9: i64 < n_1 {
    let x_10: i32 = ys_mem_5[i_9 * 2]
    assert(x_10 > -5i32, "value ", x_10, " at ", i_9)
    if x_10 > k_6 {
      k_6 <- x_10
    } else {
      k_6 <- k_6 + 1i32
    }
  }
  if go_8 {
    b_mem_7 <- xs_mem_2
  } else {
    let c_mem_11: mem(i32) = alloc(n_1)
    b_mem_7 <- c_mem_11
    free c_mem_11
  }
  while go_8 {
    go_8 <- k_6 < 3i32
    k_6 <- k_6 + 1i32
  }
  copy i32 r_mem_4 -> 0 + {(n_1: 1)} <- b_mem_7 -> 0 + {(n_1: 1)}
  free ys_mem_5
  free b_mem_7
  return (k_6, r_mem_4)
}
"""

KERNELS = """\
entry main (n_1: i64, m_2: i64, xs_mem_3: mem(f32)) -> (s_90: f32, r_mem_91: mem(f32)) {
  sizes n_1, m_2
  takes xs_4: [n_1][m_2]f32 in xs_mem_3
  gives s_90: f32
  gives r_92: [n_1]f32 in r_mem_91
  let r_mem_5: mem(f32) = alloc(n_1)
  let h_mem_6: mem(i32) = alloc(10)
  var s_7: f32
  reduce sum_8 @grid (i_9 < n_1) {
    let x_10: f32 = xs_mem_3[i_9]
    fold (x_10) into (s_7) op (a_11: f32, b_12: f32) neutral (0.0f32) comm {
      in (a_11 + b_12)
    }
  }
  reduce rows_13 @grid (i_14 < n_1, j_15 < m_2) {
    let x_16: f32 = xs_mem_3[i_14 * m_2 + j_15]
    fold (x_16) into (r_mem_5[i_14]) op (a_17: f32, b_18: f32) neutral (s_7) {
      in (min(a_17, b_18))
    }
  }
  scan sums_19 @grid (i_20 < n_1) {
    let x_21: f32 = r_mem_5[i_20]
    fold (x_21) into (r_mem_5[i_20]) op (a_22: f32, b_23: f32) neutral (0.0f32) {
      in (a_22 + b_23)
    }
  }
  hist count_24 @grid (i_25 < n_1) {
    let x_26: f32 = r_mem_5[i_25]
    bins (i64.f32(x_26) < 10i64) in (h_mem_6 -> 0 + {(10: 1)}) get (1i32) op (a_27: i32, b_28: i32) neutral (0i32) comm {
      in (a_27 + b_28)
    }
  }
  map blocks_29 @grid (i_30 < n_1) per_block {
    let t_mem_31: mem(f32, shared) = alloc(m_2)
    map fill_32 @block (j_33 < m_2) {
      let p_mem_34: mem(f32, private) = alloc(4)
      var v_35: f32 = 1.0f32
      v_35 <- v_35 + s_7
      p_mem_34[0] <- v_35
      t_mem_31[j_33] <- v_35
    }
    let y_36: f32 = t_mem_31[0]
    r_mem_5[i_30] <- y_36
  }
  free h_mem_6
  return (s_7, r_mem_5)
}
"""

BROKEN: list[tuple[str, str, str, str]] = [
    # text, what is replaced, by what, words of the error
    (HOST, "x_10: i32 = ys_mem_5[i", "x_10: i32 = ys_mem_99[i", "no block in scope"),
    (HOST, "x_10: i32 = ys", "x_10: i64 = ys", "holds i32 and not i64"),
    (HOST, "    let x_10", "    let k_6: i32 = 0i32\n    let x_10", "bound twice"),
    (HOST, "i_9: i64 < n_1", "i_9: i32 < n_1", "the bound is i64"),
    (HOST, "i_9: i64 < n_1", "i_9: f32 < 1.0f32", "cannot count in f32"),
    (HOST, "k_6 < 3i32", "x_10 < 3i32", "x_10` is not in scope"),
    (HOST, "k_6 <- x_10", "k_6 <- i_9", "is i64 and not i32"),
    (HOST, "k_6 <- x_10", "x_10 <- k_6", "no variable"),
    (HOST, "k_6 <- x_10", "i_9 <- i_9", "no variable"),
    (HOST, "k_6 <- x_10", "n_1 <- n_1", "no variable"),
    (HOST, "if x_10 > k_6", "if x_10 + k_6", "the condition is i32"),
    (HOST, "x_10 > -5i32", "x_10", "the condition is i32"),
    (HOST, "var k_6: i32 = 0i32", "var k_6: i32", "may have no value"),
    (HOST, "var k_6: i32 = 0i32", "var k_6: i32 = 0i64", "is i64 and not i32"),
    (HOST, "    b_mem_7 <- xs_mem_2\n", "", "`b_mem_7` may have no value"),
    (HOST, "b_mem_7 <- xs_mem_2", "b_mem_7 <- k_6", "i32"),
    (HOST, "    free c_mem_11\n", "", "`c_mem_11` is never freed"),
    (HOST, "  free ys_mem_5\n", "", "`ys_mem_5` is never freed"),
    (HOST, "  free b_mem_7\n", "", "`b_mem_7` is never freed"),
    (HOST, "free b_mem_7", "free b_mem_7\n  free b_mem_7", "has been freed"),
    (HOST, "free b_mem_7", "free xs_mem_2", "no block of this statement list"),
    (HOST, "    free c_mem_11", "    free c_mem_11\n    free ys_mem_5", "no block of this"),
    (HOST, "free b_mem_7", "free b_mem_7\n  free r_mem_4", "`r_mem_4` has been freed"),
    (HOST, "  copy i32 r", "  free b_mem_7\n  copy i32 r", "`b_mem_7` has been freed"),
    (HOST, "copy i32 r", "copy f32 r", "holds i32 and not f32"),
    (HOST, "b_mem_7 -> 0 + {(n_1: 1)}", "b_mem_7 -> 0 + {(n_1 + 1: 1)}", "different sizes"),
    (HOST, "b_mem_7 -> 0 + {(n_1: 1)}", "b_mem_7 -> k_6 + {(n_1: 1)}", "no i64 in scope"),
    (HOST, "alloc(n_1 * 2)", "alloc(1i32)", "the number of elements is i32"),
    (HOST, "ys_mem_5: mem(i32)", "ys_mem_5: mem(i32, shared)", "no shared memory"),
    (HOST, "while go_8", "while k_6", "is used as bool"),
    (HOST, "return (k_6, r_mem_4)", "return (r_mem_4, k_6)", "the result `k_20`"),
    (HOST, "return (k_6, r_mem_4)", "return (k_6)", "as many values as results"),
    (HOST, "return (k_6, r_mem_4)", "return (go_8, r_mem_4)", "is bool and not i32"),
    (HOST, "in xs_mem_2", "in ys_mem_5", "no block in scope"),
    (HOST, "xs_3: [n_1]i32", "xs_3: [n_1]f32", "holds i32 and not f32"),
    (HOST, "xs_3: [n_1]i32", "xs_3: [k_6]i32", "no i64 in scope"),
    (HOST, "gives k_20: i32", "gives k_20: i64", "another type inside"),
    (HOST, "sizes n_1", "sizes n_1, xs_mem_2", "is no i64"),
    (KERNELS, "i_9 < n_1", "i_9 < 1i32", "the size of a kernel is i32"),
    (KERNELS, "(i_14 < n_1, ", "(i_14 < n_1, i_9 < n_1, ", "bound twice"),
    (KERNELS, "sum_8 @grid", "sum_8 @block", "stands in a host"),
    (KERNELS, "fill_32 @block", "fill_32 @grid", "stands in a block"),
    (KERNELS, "(i_30 < n_1) per_block", "(i_30 < n_1)", "cannot allocate shared"),
    (KERNELS, "fold (x_10)", "fold (i_9)", "what is folded is i64"),
    (KERNELS, "fold (x_10)", "fold (x_10, x_10)", "2 for 1"),
    (KERNELS, "into (s_7)", "into (n_1)", "no variable"),
    (KERNELS, "into (r_mem_5[i_14])", "into (s_7)", "many results"),
    (KERNELS, "into (r_mem_5[i_14])", "into (r_mem_5[j_15])", "not in scope"),
    (KERNELS, "into (r_mem_5[i_14])", "into (h_mem_6[i_14])", "holds i32"),
    (KERNELS, "neutral (s_7)", "neutral (x_16)", "not in scope"),
    (KERNELS, "neutral (s_7)", "neutral (0i32)", "the neutral element is i32"),
    (KERNELS, "in (min(a_17, b_18))", "in (x_16)", "not in scope"),
    (KERNELS, "in (min(a_17, b_18))", "in (a_17 < b_18)", "result is bool"),
    (KERNELS, "let x_21: f32 = r", "let m_2: f32 = 0.0f32\n    let x_21: f32 = r", "bound twice"),
    (KERNELS, "get (1i32)", "get (x_26)", "what is combined is f32"),
    (KERNELS, "i64.f32(x_26) < 10i64", "x_26 < 10i64", "a bin is f32"),
    (KERNELS, "i64.f32(x_26) < 10i64", "i64.f32(x_26) < i_25", "not in scope"),
    (KERNELS, "{(10: 1)}", "{(10: 1), (10: 1)}", "other dimensions"),
    (KERNELS, "in (h_mem_6 ->", "in (r_mem_5 ->", "holds f32"),
    (KERNELS, "t_mem_31: mem(f32, shared)", "t_mem_31: mem(f32)", "cannot allocate device"),
    (KERNELS, "p_mem_34: mem(f32, private)", "p_mem_34: mem(f32, shared)", "cannot allocate"),
    (KERNELS, "v_35 <- v_35 + s_7", "s_7 <- v_35", "no variable here"),
    (KERNELS, "p_mem_34[0] <- v_35", "free t_mem_31", "a kernel frees no memory"),
    (KERNELS, "let y_36: f32 = t_mem_31[0]", "let y_36: f32 = p_mem_34[0]", "no block in scope"),
    (KERNELS, "t_mem_31[j_33] <- v_35", "t_mem_31[j_33] <- j_33", "is i64 and not f32"),
    (KERNELS, "let x_10: f32 = xs_mem_3[i_9]", "let x_10: f32 = s_7", "may have no value"),
]  # fmt: skip


def test_the_programs_themselves_pass() -> None:
    verify(parse(HOST))
    verify(parse(KERNELS))


@pytest.mark.parametrize(("text", "old", "new", "words"), BROKEN)
def test_what_is_broken_by_hand_is_refused(text: str, old: str, new: str, words: str) -> None:
    assert text.count(old) == 1
    with pytest.raises(CompilerBug) as caught:
        verify(parse(text.replace(old, new)))
    assert words in caught.value.message


# --- broken at random ------------------------------------------------------------------------

Edit = Callable[[imp.Stm], tuple[imp.Stm, ...] | None]
"""What a statement becomes; None if that would not break anything."""


def again(stm: imp.Stm) -> tuple[imp.Stm, ...] | None:
    """Twice: binds or frees twice."""
    bound = isinstance(stm, imp.Define | imp.Declare | imp.Alloc | imp.Load | imp.Free | imp.For)
    return (stm, stm) if bound or isinstance(stm, imp.Kernel) else None


def another_type(stm: imp.Stm) -> tuple[imp.Stm, ...] | None:
    """Of another type than what it works on."""
    if isinstance(stm, imp.Define | imp.Load | imp.Store | imp.Copy | imp.For):
        return (replace(stm, prim="f16" if stm.prim != "f16" else "i8"),)
    return None


def not_freed(stm: imp.Stm) -> tuple[imp.Stm, ...] | None:
    """A block that stays."""
    return () if isinstance(stm, imp.Free) else None


def freed_before(stm: imp.Stm) -> tuple[imp.Stm, ...] | None:
    """A block that goes although the statement uses it."""
    if isinstance(stm, imp.Load | imp.Store):
        return (imp.Free(stm.block), stm)
    return (imp.Free(stm.source), stm) if isinstance(stm, imp.Copy) else None


def other_block(stm: imp.Stm) -> tuple[imp.Stm, ...] | None:
    """A block that nothing has made."""
    if isinstance(stm, imp.Load | imp.Store):
        return (replace(stm, block="nowhere_0"),)
    return (replace(stm, dest="nowhere_0"),) if isinstance(stm, imp.Copy) else None


def no_points(stm: imp.Stm) -> tuple[imp.Stm, ...] | None:
    """A kernel of another level, or without dimensions."""
    if not isinstance(stm, imp.Kernel):
        return None
    level: Any = {"grid": "block", "block": "grid"}[stm.level]
    return (replace(stm, level=level),)


EDITS = [again, another_type, not_freed, freed_before, other_block, no_points]


def edited(stms: imp.Stms, edit: Edit) -> Iterator[imp.Stms]:
    """The statements with one of them, at any depth, edited."""
    for at, stm in enumerate(stms):
        before, after = stms[:at], stms[at + 1 :]
        new = edit(stm)
        if new is not None:
            yield before + new + after
        for field in ("then", "orelse", "body"):
            for inner in edited(getattr(stm, field, ()), edit):
                changed: Any = replace(stm, **{field: inner})  # type: ignore[arg-type]
                yield (*before, changed, *after)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_what_is_broken_at_random_is_refused(edit: Edit, target: str) -> None:
    tried = 0
    for name, source in SOURCES.items():
        prog = made(source, target)
        fun = random.Random(name).choice(prog.funs)
        bodies = list(edited(fun.body, edit))
        for body in random.Random(name).sample(bodies, min(SAMPLES, len(bodies))):
            tried += 1
            with pytest.raises(CompilerBug):
                verify(imp.ImpProg((replace(fun, body=body),)))
    assert tried > 50


def test_the_pipeline_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[imp.ImpProg] = []
    monkeypatch.setattr("compiler.driver.pipeline.verify_imp", seen.append)
    source = "entry main (x: i32) = x + 1"
    Compilation(source, Options()).result("imp")
    assert not seen
    prog = Compilation(source, Options(verify=True)).result("imp").prog
    assert seen == [prog]
