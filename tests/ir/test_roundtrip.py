"""The text form reads back, for every form of expression."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from compiler.base.errors import SyntaxError_
from compiler.base.spans import Span
from compiler.driver.pipeline import verify
from compiler.ir import nodes
from compiler.ir.parser import parse
from compiler.ir.printer import show, show_text
from compiler.ir.walk import Rewrite, all_stms, rewrite
from tests.ir.programs import ALL, SCALARS, SOACS


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_text_reads_back(text: str) -> None:
    prog = parse(text)
    again = show_text(prog)
    assert parse(again) == prog
    assert show_text(parse(again)) == again


def test_programs_in_the_documentation_are_correct() -> None:
    text = (Path(__file__).parents[2] / "docs" / "ir.md").read_text("utf-8")
    blocks = re.findall(r"```futhark-ir\n(.*?)```", text, re.DOTALL)
    stages = ("soa", "flat", "funmem")
    for block, stage in zip(blocks, stages, strict=True):
        verify(parse(block), stage)
        assert parse(show_text(parse(block))) == parse(block)


def forms_in(text: str) -> set[type]:
    """The classes of all expressions, nested scalar ones included."""
    found: set[type] = set()

    def se(e: nodes.SE) -> nodes.SE:
        from compiler.ir.walk import map_subexpressions

        found.add(type(e))
        return map_subexpressions(e, se)

    for fun in parse(text).funs:
        for stm in all_stms(fun.body.stms):
            found.add(type(stm.exp))
        rewrite(fun, Rewrite(se=se))
    return found


def test_every_form_is_covered() -> None:
    covered = set().union(*map(forms_in, ALL.values()))
    missing = [form.__name__ for form in get_args(nodes.Exp) if form not in covered]
    assert missing == []


def test_a_form_that_is_missing_would_be_noticed() -> None:
    assert nodes.SegMap not in forms_in(SOACS)


def test_lines_carry_statement_numbers_and_provenance() -> None:
    prog = parse(SCALARS)
    (*_, fun) = prog.funs
    span = Span(3, 5, 3, 9)
    stms = tuple(nodes.Stm(s.pat, s.exp, (span,)) for s in fun.body.stms)
    body = nodes.Body(stms, fun.body.results)
    marked = nodes.Prog((nodes.Function(fun.name, fun.params, fun.results, body, True),))
    lines = [line for line in show(marked) if line.node >= 0]
    assert [line.node for line in lines] == sorted(line.node for line in lines)
    assert {line.node for line in lines} == set(range(len(stms)))
    assert all(line.src == (span,) for line in lines)


def test_numbers_follow_the_order_of_all_statements() -> None:
    prog = parse(SOACS)
    stms = [stm for fun in prog.funs for stm in all_stms(fun.body.stms)]
    seen: dict[int, str] = {}
    for line in show(prog):
        if line.node >= 0:
            seen.setdefault(line.node, line.text.strip())
    assert len(seen) == len(stms)
    for number, text in seen.items():
        if stms[number].pat:
            assert text.startswith(f"let ({stms[number].pat[0].name}:")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("entry main () : () =\n  let (x_1: i32) = y_2\n  in ()", "2:20"),
        ("entry main () : () =\n  let (x_1: i32 = 2i32\n  in ()", "2:17"),
        ("entry main () : () = ?", "1:22"),
        ("entry main () : () = let (x: f32) = 1x32 in ()", "1:38"),
    ],
)
def test_errors_have_a_position(text: str, place: str) -> None:
    with pytest.raises(SyntaxError_) as error:
        parse(text)
    assert error.value.span.position == place
