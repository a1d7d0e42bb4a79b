"""The syntax tree as text, and how long the texts of trees become."""

from __future__ import annotations

import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation

CHAIN = """
ValDec def f
  params: PTyped
    pat: PName x
    type: TName i32
  body: Let
    pat: PName y
    rhs: Var x
  body: LetWith z
    dims: IndexFix
      IntLit 0
    value: Var y
  body: Var z
"""


def test_what_is_in_the_scope_of_a_let_stands_as_deep_as_it() -> None:
    work = Compilation("def f (x: i32) = let y = x let z[0] = y in z", Options())
    assert plain(work.result("ast").text) == CHAIN.lstrip()


@pytest.mark.parametrize("stage", ["ast", "typed", "mono"])
@pytest.mark.parametrize("form", ["let", "nested", "piped", "branches"])
def test_texts_of_trees_grow_with_their_nodes(stage: str, form: str) -> None:
    def characters(count: int) -> int:
        body = {
            "let": "let x = scan (+) 0 x\n" * count + "in x",
            "nested": "scan (+) 0 (" * count + "x" + ")" * count,
            "piped": "x" + "\n  |> scan (+) 0" * count,
            "branches": "if k == 1 then x else " * count + "x",
        }[form]
        source = f"entry main (k: i32) (x: []i64) = {body}"
        return len(plain(Compilation(source, Options()).result(stage).text))

    few, many, more = map(characters, (50, 80, 110))
    assert more - many < 1.15 * (many - few)
