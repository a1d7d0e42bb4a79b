"""Format lines, and the printer and parser made of them, for a language that the tests have."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from compiler.base.errors import CompilerBug, SyntaxError_
from compiler.dialect import parsing, printing
from compiler.dialect.format import Fixed, FormatRow, Option, Pairs, Slot, read_format
from compiler.dialect.parsing import FormatParser
from compiler.dialect.printing import Printer, TextLines
from compiler.dialect.table import Dialect
from compiler.dialect.tokens import Tokens

Stms = tuple[Any, ...]
TINY = Dialect("a tiny language", blocks=frozenset(("Stms",)))


@TINY.node("set {name} = {value}{unit? in {}}{final? for good}")
@dataclass(frozen=True)
class Set:
    """Set a name."""

    name: str
    value: int
    unit: str = ""
    final: bool = False


@TINY.node("{name}[{at}] <- {value}")
@dataclass(frozen=True)
class Put:
    """Write a cell."""

    name: str
    at: tuple[int, ...]
    value: int


@TINY.node("{soft?may|must} {*names: sizes} end {{{more}}}")
@dataclass(frozen=True)
class Many:
    """Tuples."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    more: tuple[str, ...]
    soft: bool = False


@TINY.node("set {name} to {body}")
@dataclass(frozen=True)
class Block:
    """Statements."""

    name: str
    body: Stms


@TINY.node("case {at} {body}")
@dataclass(frozen=True)
class Case:
    """One of several."""

    at: int
    body: Stms


@TINY.node("choose {name}\n  {cases}\n  also {spare}\ndone")
@dataclass(frozen=True)
class Choose:
    """Several."""

    name: str
    cases: tuple[Case, ...]
    spare: tuple[Case, ...] = ()


def _stms(out: TextLines, at: int, head: str, stms: Stms, src: object) -> str:
    out.line(at, f"{head}{{")
    for stm in stms:
        PRINTER.nested[type(stm)](out, at + 2, "", stm, ())
    return "}"


class Parser:
    """Reads the language."""

    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text)
        self.types: dict[str, Any] = {}

    def stms(self) -> Stms:
        found = []
        self.tokens.need("{")
        while not self.tokens.take("}"):
            found.append(self.stm())
        return tuple(found)

    def stm(self) -> Any:
        found = FORMS.form(self)
        return self.tokens.fail("expected a statement") if found is None else found


PRINTER = Printer(TINY, {"str": str, "int": str}, {}, {"Stms": _stms}, {}, {})
READS = {"str": lambda p: p.tokens.name(), "int": lambda p: p.tokens.integer(), "Stms": Parser.stms}
FORMS = FormatParser(TINY, READS, {}, {}, (Set, Put, Many, Block, Choose))


def shown(node: Any) -> str:
    out = TextLines()
    PRINTER.nested[type(node)](out, 0, "", node, ())
    return "\n".join(line.text for line in out.lines)


ONE = Set("x", 1)
CASE = Case(3, (ONE, Put("x", (), 2)))
NODES = {
    "set x = 1": ONE,
    "set x = -1 in m": Set("x", -1, "m"),
    "set x = 1 for good": Set("x", 1, final=True),
    "set x = 1 in m for good": Set("x", 1, "m", final=True),
    "x[] <- 4": Put("x", (), 4),
    "x[1, 2, 3] <- 4": Put("x", (1, 2, 3), 4),
    "must  end {}": Many((), (), ()),
    "may a: 1, b: 2 end {c}": Many(("a", "b"), (1, 2), ("c",), soft=True),
    "set x to {\n  set x = 1\n}": Block("x", (ONE,)),
    "choose x\ndone": Choose("x", ()),
    "choose x\n  also case 3 {\n    set x = 1\n    x[] <- 2\n  }\ndone": Choose("x", (), (CASE,)),
    "choose x\n  case 3 {\n  }\n  case 3 {\n  }\n  also case 3 {\n  }\ndone": Choose(
        "x", (Case(3, ()), Case(3, ())), (Case(3, ()),)
    ),
}


@pytest.mark.parametrize("text", NODES)
def test_a_node_looks_as_its_line_says_and_reads_back(text: str) -> None:
    assert shown(NODES[text]) == text
    parser = Parser(text)
    assert parser.stm() == NODES[text]
    assert parser.tokens.kind == "end"


def test_a_line_is_rows_of_texts_and_fields() -> None:
    assert read_format("a {b}{{{c:d}\n  {e? f {} g}{*h:i < j}{k?l|m}") == (
        FormatRow(0, (Fixed("a "), Slot("b"), Fixed("{"), Slot("c", "d"))),
        FormatRow(
            2,
            (
                Option("e", "", " f ", " g", False),
                Pairs(Slot("h", "i"), " < ", Slot("j")),
                Option("k", "", "l", "", True, "m"),
            ),
        ),
    )


MALFORMED = {
    "set {name": "not closed",
    "set }": "closed that was not opened",
    "set {}": "no field",
    "set {a b}": "no field",
    "set {name?}": "no field",
    "set {name?{}}": "no text says so",
    "set {name?a {} b {}}": "more in it",
    "set\n\n{name}": "empty row",
    "  set {name}": "not at its left",
    "set {other} {name} {size}": "no field `other`",
    "set {name} {name} {size}": "twice",
    "set {name}": "`size` is not in",
    "set {name} {size? of {}}": "no default",
}


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_line_is_refused_where_the_class_is_made(line: str) -> None:
    @dataclass
    class Sized:
        name: str
        size: int

    with pytest.raises(CompilerBug, match=MALFORMED[line]):
        Dialect("another").node(line)(Sized)
    Dialect("another").node("{name} of {size}")(Sized)


def test_a_kind_that_nobody_knows_is_refused() -> None:
    @dataclass
    class Odd:
        name: complex
        names: tuple[str, ...] = ()

    odd = Dialect("odd")
    odd.node("odd {name}")(Odd)
    with pytest.raises(CompilerBug, match="nobody shows a `complex`"):
        Printer(odd, {}, {}, {}, {}, {}).flat[Odd]
    with pytest.raises(CompilerBug, match="nobody reads a `complex`"):
        FormatParser(odd, {}, {}, {}, (Odd,)).form(Parser("odd 1"))


def test_a_tuple_ends_where_a_text_says_so() -> None:
    @dataclass
    class Open:
        names: tuple[str, ...]

    language = Dialect("open")
    language.node("open {names}")(Open)
    with pytest.raises(CompilerBug, match="where a tuple"):
        FormatParser(language, READS, {}, {}, (Open,)).form(Parser("open a, b"))


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("set x = y", "expected a number", 9),
        ("set x 1", "expected `=`", 7),
        ("x[1", "expected `,`", 4),
        ("x[1]", "expected `<`", 5),
        ("set x to { set y = z }", "expected a number", 20),
        ("choose x case 1 { } x", "expected `done`", 21),
        ("other", "expected a statement", 1),
    ],
)
def test_the_error_that_is_furthest_is_told(text: str, message: str, column: int) -> None:
    with pytest.raises(SyntaxError_) as error:
        Parser(text).stm()
    assert message in error.value.message
    assert error.value.span.position == f"1:{column}"


def steps(run: Any, of: str) -> int:
    """How many lines of functions with that file name a run executes."""
    found: Counter[str] = Counter()

    def line(frame: Any, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(of):
            return None
        found[event] += 1
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        run()
    finally:
        sys.settrace(before)
    return found["line"] + found["call"]


def deep(levels: int) -> Block:
    node = Block("x", (ONE,))
    for _ in range(levels):
        node = Block("x", (ONE, node))
    return node


GROWING = {
    "nodes": lambda n: Block("x", (ONE, Put("x", (1, 2), 3)) * n),
    "names": lambda n: Many(("a",) * n, (1,) * n, ("b",) * n),
    "levels": lambda n: deep(n // 10),
}


@pytest.mark.parametrize("what", GROWING)
def test_work_grows_as_the_text_does(what: str) -> None:
    """Ten times the nodes, names or levels take ten times the steps of the engine, no more."""
    engine = str(printing.__file__).rpartition("/")[0]
    counts = []
    for size in (10, 100, 1000):
        node = GROWING[what](size)
        texts: list[str] = []
        parsers: list[Any] = []
        shown(node), Parser(shown(node)).stm()  # what is compiled at first
        written = steps(lambda n=node, t=texts: t.append(shown(n)), engine)
        read = steps(lambda t=texts, p=parsers: p.append(Parser(t[0]).stm()), engine)
        assert parsers == [node]
        counts.append((written, read))
    assert parsing.__file__.startswith(engine)
    for small, large in pairwise(counts):
        assert large[0] <= 12 * small[0]
        assert large[1] <= 12 * small[1]
