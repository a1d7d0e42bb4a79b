"""IMP's text reads back, and what was read means the same."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import SyntaxError_
from compiler.base.text import plain
from compiler.codegen.imp import printer
from compiler.codegen.imp.parser import parse
from compiler.runtime import imp_interp
from tests.codegen.helpers import compiled
from tests.runtime.test_programs import CASES

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))


def without_prov(node: Any) -> Any:
    """The same node without provenance anywhere."""
    if isinstance(node, tuple):
        return tuple(without_prov(x) for x in node)
    if is_dataclass(node) and not isinstance(node, type):
        kept = {f.name: without_prov(getattr(node, f.name)) for f in fields(node)}
        if "prov" in kept:
            kept["prov"] = ()
        return replace(node, **kept)
    return node


def check(source: str, target: str) -> None:
    prog = compiled(source, target).result("imp").prog
    text = plain(printer.show(prog))
    assert parse(text) == without_prov(prog)
    assert plain(printer.show(parse(text))) == text


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_read_back(path: Path, target: str) -> None:
    check(path.read_text(), target)


@pytest.mark.parametrize("name", CASES)
def test_programs_read_back(name: str) -> None:
    check(CASES[name][0], "c")


HAND = """\
entry main (n_1: i64, xs_mem_2: mem(i32)) -> (k_20: i32) {
  sizes n_1
  takes xs_3: [n_1]i32 in xs_mem_2
  gives k_20: i32
  let ys_mem_4: mem(i32) = alloc(n_1 * 2)
  copy i32 ys_mem_4 -> 0 + {(n_1: 2)} <- xs_mem_2 -> n_1 - 1 + {(n_1: -1)}
  var k_5: i32 = 0i32
  for i_6: i64 < n_1 {
    let x_7: i32 = ys_mem_4[i_6 * 2]
    assert(x_7 > -5i32, "value ", x_7, " at ", i_6)
    if x_7 > k_5 {
      k_5 <- x_7
    } else {
      k_5 <- k_5 + 1i32
    }
  }
  free ys_mem_4
  return (k_5)
}
"""


def test_a_program_by_hand() -> None:
    prog = parse(HAND)
    assert plain(printer.show(prog)) == HAND
    assert imp_interp.run(prog, "main", [np.array([3, 9, 2], np.int32)]) == [10]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (HAND.replace("let x_7: i32 = ys", "let x_7: i32 = zs"), "zs"),
        (HAND.replace("k_5 <- x_7", "k_5 < x_7"), "-"),
        (HAND.replace("free ys_mem_4", "free 4"), "block"),
    ],
)
def test_errors_have_a_place(wrong: str, words: str) -> None:
    if "zs" in words:
        with pytest.raises(NameError):
            imp_interp.run(parse(wrong), "main", [np.array([3], np.int32)])
        return
    with pytest.raises(SyntaxError_) as caught:
        parse(wrong)
    assert words in caught.value.message
    assert caught.value.span.line > 1
