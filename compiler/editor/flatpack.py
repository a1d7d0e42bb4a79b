"""Resolve names and find shapes in FlatPack programs.

Names are found in the syntax tree, so that they are known in a program with errors too; shapes are
those that the evaluation met, also where it stopped at an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError
from compiler.base.prim import PRIMS
from compiler.base.spans import Span
from compiler.editor.flatpack_words import WORD_HELP
from compiler.editor.names import VALUE, Names, Symbol, Table, Use
from compiler.frontend.flatpack import syntax as s
from compiler.frontend.flatpack.evaluate import LIBRARY, WORDS, evaluate, library
from compiler.frontend.flatpack.parser import RESERVED, is_pattern, recovered, words_of
from compiler.frontend.flatpack.values import USUAL, SizeTable, Value, shown

KEYWORDS = sorted(RESERVED | WORDS)
"""Words that the author cannot declare."""
MOST_SHAPES = 4
"""Shapes shown per place: a function may be used at many."""
OF_LIBRARY = library().definitions[0].span.file
"""The file of the library's definitions."""
_BINDERS = ("LetMap", "Let", "Filter")
_HELD = "held__here"
"""An unused name that stands in for the word being typed."""
_DEFINITION = re.compile(r"(?<=\n)[^\s-]")
_ENDS = ("", f" {_HELD}", f" = {_HELD}", f" -> {_HELD}")
_CLOSED = {"(": ")", "[": "]", "let": f" in {_HELD}"}


@dataclass(frozen=True, slots=True)
class FlatPackText:
    """A FlatPack text, parsed and evaluated as far as possible."""

    program: s.Program
    errors: tuple[CompileError, ...]
    """Errors of syntax; if there are none, the first of meaning."""
    is_whole: bool
    """True if there are no errors of syntax."""
    shapes: dict[Span, dict[str, None]]
    """Rendered shapes by place, in the order of evaluation."""


@lru_cache(maxsize=100)
def read(text: str, path: str) -> FlatPackText:
    """Parse and evaluate a text as far as possible."""
    program, errors = recovered(text, path)
    shapes: dict[Span, dict[str, None]] = {}
    element = program.element.text if program.element else USUAL

    def seen(span: Span, value: Value, sizes: SizeTable) -> None:
        known = shapes.setdefault(span, {})
        if len(known) < MOST_SHAPES:
            known[shown(value, sizes, element)] = None

    found: list[CompileError] = list(errors)
    try:
        evaluate(program, seen)
    except CompileError as error:
        found = found or [error]
    return FlatPackText(program, tuple(found), not errors, shapes)


# --- names ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Resolver:
    text: str
    path: str
    held: str = ""
    """The name whose scope is wanted."""
    names: Names = field(default_factory=Names)
    starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.starts = [0, *(found.end() for found in re.finditer("\n", self.text))]

    def offset(self, line: int, col: int) -> int:
        return self.starts[line - 1] + col - 1

    def declared(self, kind: str, name: str, span: Span, whole: Span, doc: str = "") -> Symbol:
        """Declare a name; its place identifies it."""
        start, local = self.offset(*span[:2]), kind in ("variable", "size")
        ends = self.offset(*whole[:2]), self.offset(*whole[2:4])
        found = Symbol(kind, name, span, start, ends, doc, is_local=local)
        self.names.uses.append(Use(start, start + len(name), found, True, False))
        return found

    def used(self, name: s.Name, env: Table) -> None:
        """Resolve a name in an expression."""
        if name.text == self.held and not self.names.scope:
            self.names.scope = dict(env)
        symbol = env.get((VALUE, name.text))
        if symbol and name.span.end_col - name.span.col == len(name.text):
            start = self.offset(*name.span[:2])
            self.names.uses.append(Use(start, start + len(name.text), symbol, False, False))

    def program(self, program: s.Program, outer: Table) -> Names:
        """Resolve all definitions; each may use all others."""
        env = dict(outer)
        for one in program.definitions:
            kind, name = "function" if one.params else "constant", one.name
            doc = _comment(self.text, self.starts, one.span.line)
            symbol = self.declared(kind, name.text, name.span, one.span, doc)
            self.names.symbols.append(symbol)
            env[VALUE, name.text] = symbol
        self.names.exports = {(VALUE, one.name): one for one in self.names.symbols}
        for one in program.definitions:
            inner = dict(env)
            self.params(one, inner)
            self.exp(one.body, inner)
        return self.names

    def params(self, one: s.Definition, env: Table) -> None:
        """Declare the parameters of a definition, and the sizes in their shapes."""
        own: Table = {}
        for param in one.params:
            symbol = self.declared("variable", param.name, param.at, param.span)
            own[VALUE, param.name] = symbol
        ints = {
            key: symbol
            for param in one.params
            for key, symbol in own.items()
            if key[1] == param.name
            and isinstance(param.shape, s.Name)
            and param.shape.text == "Int"
        }
        sizes: Table = dict(ints)
        for param in one.params:
            for name in _sizes(param.shape):
                if (VALUE, name.text) in sizes:
                    self.used(name, sizes)
                else:
                    size = self.declared("size", name.text, name.span, name.span)
                    sizes[VALUE, name.text] = size
        env |= sizes | own

    def pattern(self, pattern: s.Exp, whole: Span) -> Table:
        """Declare the names that a pattern binds."""
        match pattern:
            case s.Name(text=text, span=span):
                return {(VALUE, text): self.declared("variable", text, span, whole)}
            case s.String(text=text, span=span):
                at = span._replace(col=span.col + 1, end_col=span.end_col - 1)
                return {(VALUE, text): self.declared("variable", text, at, whole)}
            case s.Tuple(elems=elems) if is_pattern(pattern):
                return {k: v for one in elems for k, v in self.pattern(one, whole).items()}
        return {}

    def exp(self, e: s.Exp, env: Table) -> None:
        """Resolve the names of an expression."""
        match e:
            case s.Name():
                self.used(e, env)
            case s.List(elems=elems) | s.Tuple(elems=elems):
                for one in elems:
                    self.exp(one, env)
            case s.Let(name=name, rhs=rhs, body=body):
                self.exp(rhs, env)
                self.exp(body, env | self.pattern(name, e.span))
            case s.Lambda(params=params, body=body):
                inner = dict(env)
                for param in params:
                    inner |= self.pattern(param, e.span)
                self.exp(body, inner)
            case s.Infix(lhs=lhs, rhs=rhs):
                self.exp(lhs, env)
                self.exp(rhs, env)
            case s.Section(rhs=rhs):
                self.exp(rhs, env)
            case s.Apply(fn=s.Apply(fn=s.Apply(fn=s.Name(text=word), arg=var), arg=arg), arg=body):
                if word not in _BINDERS or (VALUE, word) in env:
                    self.exp(e.fn, env)
                    self.exp(body, env)
                    return
                self.exp(arg, env)
                self.exp(body, env | self.pattern(var, e.span))
            case s.Apply(fn=fn, arg=arg):
                self.exp(fn, env)
                self.exp(arg, env)


def _sizes(shape: s.Exp | None) -> Iterator[s.Name]:
    """Yield the names of sizes in the shape of a parameter."""
    match shape:
        case s.Name(text=text) if text not in WORDS and text not in PRIMS and text != "Scalar":
            yield shape
        case s.Infix(lhs=lhs, rhs=rhs):
            yield from _sizes(lhs)
            yield from _sizes(rhs)
        case s.Tuple(elems=elems):
            for one in elems:
                yield from _sizes(one)
        case s.Apply(arg=arg):
            yield from _sizes(arg)


def _comment(text: str, starts: list[int], line: int) -> str:
    """Return the comment right above a line, unless it belongs to the tests."""
    found: list[str] = []
    for start in reversed(starts[: line - 1]):
        row = text[start : text.find("\n", start)]
        if not row.startswith("--"):
            break
        found.append(row.removeprefix("--").strip())
    return "" if "==" in found else " ".join(reversed(found))


@cache
def _library() -> Table:
    """Return the names of the library."""
    text = LIBRARY.read_text("utf-8")
    return _Resolver(text, OF_LIBRARY).program(library(), {}).exports


def names(text: str, path: str) -> Names:
    """Resolve the names of a text."""
    return _Resolver(text, path).program(read(text, path).program, _library())


def scope(text: str, path: str, start: int, end: int) -> tuple[str, Table]:
    """Return the names in scope at a piece of a text, and a text in which their shapes are known.

    The rest of the definition is cut off, since it may be incomplete.
    """
    before = text[:start]
    rest = _DEFINITION.search(text, end)
    pending: list[str] = []
    for word in words_of(before):
        if word.span.col == 1:
            pending.clear()
        if word.text in _CLOSED and word.kind != "string":
            pending.append(word.text)
        elif word.text in (")", "]", "in") and pending:
            pending.pop()
    closing = "".join(_CLOSED[one] for one in reversed(pending))
    behind = text[rest.start() :] if rest else ""
    for held, after in product(_ENDS, ("", f" = {_HELD}")):
        made = f"{before}{_HELD}{held}{closing}{after}\n{behind}"
        found = _Resolver(made, path, _HELD).program(recovered(made, path)[0], _library())
        if found.scope:
            return made, found.scope
    return text, _library() | names(text, path).exports


# --- places --------------------------------------------------------------------------------------


class StandsThere(NamedTuple):
    """An expression or name at a place: span, description, documentation."""

    span: Span
    says: str
    doc: str


def told(text: str, path: str, at: int, use: Use | None) -> StandsThere | None:
    """Describe a name with its shapes, a keyword, or the smallest expression at a place."""
    shapes = read(text, path).shapes
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    if use is not None:
        symbol = use.symbol
        column -= at - use.start
        span = Span(line, column, line, column + use.end - use.start, path)
        return StandsThere(span, said(text, path, symbol, span), symbol.doc)
    here = (line, column)
    for kind, name, span in words_of(text):
        if span[:2] <= here <= span[2:4] and kind == "name" and name in WORD_HELP:
            form, shape, says = WORD_HELP[name]
            return StandsThere(span._replace(file=path), f"{form} : {shape}", says)
    around = [span for span in shapes if span[:2] <= here <= span[2:4]]
    if not around:
        return None
    span = min(around, key=lambda one: (one.end_line - one.line, one.end_col - one.col))
    return StandsThere(span, "\n".join(shapes[span]), "")


def said(text: str, path: str, symbol: Symbol, here: Span | None = None) -> str:
    """Describe a symbol: its shapes, or a definition's head and result."""
    shapes = read(text, path).shapes
    if symbol.kind not in ("function", "constant"):
        known = shapes.get(symbol.span) or (shapes.get(here) if here else None) or {}
        if symbol.kind == "size":
            return f"{symbol.name} : a size"
        return "\n".join(f"{symbol.name} : {one}" for one in known)
    source = LIBRARY.read_text("utf-8") if symbol.span.in_prelude else text
    whole = source[slice(*symbol.whole)]
    head = re.split(r"\s*=\s", whole, maxsplit=1)[0]
    gives = shapes.get(symbol.span, {})
    return "\n".join([head, *(f"-- gives {one.replace('  -- ', ' of ')}" for one in gives)])


def folds(text: str, path: str) -> list[tuple[int, int]]:
    """Return the first and last lines of definitions and comments of several lines."""
    spans = [one.span for one in read(text, path).program.definitions]
    found = {span.line: span.end_line for span in spans if span.end_line > span.line}
    for comment in re.finditer(r"(?m)(?:^--.*(?:\n|\Z)){2,}", text):
        first = text.count("\n", 0, comment.start()) + 1
        found[first] = first + comment.group().rstrip("\n").count("\n")
    return sorted(found.items())
