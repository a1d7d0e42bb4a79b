"""FlatPack, the second language: arrays whose structural operations only say what comes next.

    syntax.py    the syntax tree, and `parser.py`, which reads it
    terms.py     what a program computes, one term with shapes
    values.py    what expressions stand for on the way there; sizes
    build.py     the terms made one by one, their shapes found
    evaluate.py  names, and functions put in place: from the tree to the term
    library.fp   what every program may use
    laws.py      the laws of its paper, in the direction in which less is computed
    repack.py    where values are packed anew
    windows.py   which part of its data is needed at once, if that is read row by row
    chunks.py    the programs that are run then
    futhark.py   the term as a Futhark program, whose lines know where they are from

The language is that of M. Wallace, "FlatPack: An Affordable Range of Large Multi-Dimensional
Arrays" (seed 002), with a concrete syntax close to its Haskell. A program enters the pipeline as
the syntax tree of a Futhark program with FlatPack's spans: everything behind is the same for both.
What it means by itself says `semantics/flatpack.py`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

from compiler.base.spans import EXPRESSION, Span
from compiler.frontend import ast, decs
from compiler.frontend.flatpack.evaluate import Meaning, evaluate, value_of
from compiler.frontend.flatpack.futhark import translate as translate
from compiler.frontend.flatpack.parser import parse as parse
from compiler.frontend.flatpack.parser import parse_expression as parse_expression
from compiler.frontend.flatpack.values import USUAL, shown, type_of
from compiler.frontend.parser import parse as parse_futhark


def read(source: str) -> Meaning:
    """Evaluate a FlatPack program to a term.

    Errors: `SyntaxError_` and `TypeError_`.
    """
    return evaluate(parse(source))


class OverProgram(NamedTuple):
    """The value of an expression over a program's definitions."""

    type: str
    """in FlatPack's notation, such as `3 Of f32`; of a value that is no array, a description"""
    meaning: Meaning | None
    """the program with the expression as `main`; None for a value that is no array"""


def over(source: str, expression: str) -> OverProgram:
    """Evaluate an expression over a program's definitions.

    Errors: as of `read`; those in it are in the file EXPRESSION.
    """
    value, sizes, meaning = value_of(parse(source), parse_expression(expression, EXPRESSION))
    if meaning is None:
        return OverProgram(shown(value, sizes, USUAL), None)
    types = [type_of(one, sizes, meaning.element) for one in meaning.results]
    return OverProgram(types[0] if len(types) == 1 else f"({', '.join(types)})", meaning)


def to_futhark(program: Meaning) -> decs.Program:
    """Return the syntax tree of the Futhark program, with spans of the FlatPack program."""
    made = translate(program)
    found: decs.Program = _placed(parse_futhark(made.text), made.spans)
    return found


def _placed(value: Any, spans: tuple[Span, ...]) -> Any:
    """Replace the spans of a tree by those of its lines."""
    if isinstance(value, Span):
        return spans[value.line - 1] if value.line else value
    if isinstance(value, ast.Node | decs.Program):
        return replace(
            value, **{one.name: _placed(getattr(value, one.name), spans) for one in fields(value)}
        )
    if isinstance(value, tuple):
        return tuple(_placed(one, spans) for one in value)
    return value
