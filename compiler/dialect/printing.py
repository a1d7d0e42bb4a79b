"""Generate a printer from a language's format lines.

The functions are written as Python text, one for each class of nodes, and compiled when a node of
the class is first shown: a loop over a line's pieces takes twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.base.errors import CompilerBug
from compiler.base.spans import Prov
from compiler.base.text import Line
from compiler.dialect.format import Fixed, FormatRow, Option, Pairs, Piece, Slot
from compiler.dialect.table import Dialect, NodeSpec

Show = Callable[[Any], str]


Block = Callable[["TextLines", int, str, Any, Prov], str | None]
"""Prints a value behind a text in a column; returns the beginning of the line below, if any.

The last argument is the provenance of the first line, if not that of the statement.
"""


class TextLines:
    """The lines so far, and the statement of the next ones."""

    __slots__ = ("lines", "node", "src", "stms")

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.stms: list[Any] = []
        self.node = -1
        self.src: Prov = ()

    def line(self, indent: int, text: str, src: Prov = ()) -> None:
        """Add a line of the current statement; `src` overrides its provenance."""
        self.lines.append(Line(" " * indent + text, src or self.src, self.node))

    def begin(self, stm: Any, src: Prov) -> None:
        """Start the lines of a statement and give it the next number."""
        self.src, self.node = src, len(self.stms)
        self.stms.append(stm)


_BLOCK = "out, at, head, x, src"


class _Table(dict[type, Any]):
    """Functions by class, each made when it is first asked for."""

    def __init__(self, make: Callable[[type], Any], given: Mapping[type, Any]) -> None:
        super().__init__(given)
        self._make = make

    def __missing__(self, cls: type) -> Any:
        found = self[cls] = self._make(cls)
        return found


class Printer:
    """Printer of the nodes of a language.

    `shows` has a function for each kind of field that is no node, `wholes` for kinds that take a
    tuple as a whole, `blocks` for those that are printed on several lines. `by_hand` prints the
    nodes that no format line can describe.
    """

    def __init__(
        self,
        dialect: Dialect,
        shows: Mapping[str, Show],
        wholes: Mapping[str, Show],
        blocks: Mapping[str, Block],
        by_hand: Mapping[type, Block],
        flat: Mapping[type, Show],
    ) -> None:
        self._dialect = dialect
        self._shows = shows
        self._wholes = wholes
        self._blocks = blocks
        self.flat: Mapping[type, Show | None] = _Table(self._flat, flat)
        """Printers of nodes on one line, by class; None for nodes with nested ones."""
        self.nested: Mapping[type, Block] = _Table(self._nested, by_hand)
        """Printers of nodes with nested ones."""

    def text(self, node: object) -> str:
        """Print a node on one line."""
        show = self.flat[type(node)]
        if show is None:
            raise CompilerBug(f"{type(node).__name__} is not written on one line")
        return show(node)

    def block(self, out: TextLines, at: int, head: str, value: Any, src: Prov) -> str | None:
        """Print a node with nested ones."""
        return self.nested[type(value)](out, at, head, value, src)

    def _flat(self, cls: type) -> Any:
        node = self._dialect.find(cls)
        if self._dialect.is_nested(node):
            return None
        code = _Code(self, node)
        (row,) = node.rows
        return code.function("x", [f"return {code.text(row.pieces)}"])

    def _nested(self, cls: type) -> Any:
        node = self._dialect.find(cls)
        code = _Code(self, node)
        if not self._dialect.is_nested(node):
            show = code.text(node.rows[0].pieces)
            return code.function(_BLOCK, [f"out.line(at, head + {show}, src)"])
        lines = ["src = x.prov or src"] if "prov" in node.fields else []
        for number, row in enumerate(node.rows):
            lines += code.row(row, is_first=not number)
        return code.function(_BLOCK, lines)

    def show_of(self, node: NodeSpec, slot: Slot | Option) -> tuple[Show, bool]:
        """Return the printer of a field, and True if it prints one item of many."""
        spec = node.field(slot.field)
        kind = slot.kind or spec.kind
        if kind in self._wholes:
            return self._wholes[kind], False
        if kind in self._shows:
            return self._shows[kind], spec.many
        if self._dialect.classes(kind):
            return self.text, spec.many
        raise CompilerBug(f"{node.cls.__name__}: nobody shows a `{kind}`: {node.line!r}")

    def block_of(self, node: NodeSpec, slot: Slot | Option) -> Block:
        """Return the printer of a field that takes several lines."""
        kind = slot.kind or node.field(slot.field).kind
        return self._blocks.get(kind, self.block)


class _Code:
    """Builds the Python source of a function that prints the nodes of one class."""

    def __init__(self, printer: Printer, node: NodeSpec) -> None:
        self._printer = printer
        self._node = node
        self._names: dict[str, Any] = {"join": ", ".join}
        self.is_nested = printer._dialect.is_nested_slot

    def function(self, params: str, lines: list[str]) -> Any:
        """Compile a function with those parameters and lines."""
        body = "\n".join(f"    {line}" for line in lines or ["pass"])
        source = f"def show({params}):\n{body}"
        exec(compile(source, f"{__file__} ({self._node.cls.__name__})", "exec"), self._names)
        return self._names["show"]

    def name(self, value: Any) -> str:
        """Bind a value to a new name in the compiled function."""
        name = f"k{len(self._names)}"
        self._names[name] = value
        return name

    def text(self, pieces: tuple[Piece, ...]) -> str:
        """Return an expression for the text of pieces that fit on one line."""
        terms: list[str] = []
        for plain, piece in map(self._term, pieces):
            if plain and terms and terms[-1].startswith('f"'):
                terms[-1] = terms[-1][:-1] + piece + '"'
            else:
                terms.append(f'f"{piece}"' if plain else piece)
        return " + ".join(terms) or '""'

    def _term(self, piece: Piece) -> tuple[bool, str]:
        """Return (True, f-string part) for a piece, or (False, expression) for an optional one."""
        match piece:
            case Fixed(text):
                return True, _quoted(text)
            case Slot(field):
                return True, f"{{{self._value(piece, f'x.{field}')}}}"
            case Pairs(first, between, second):
                a, b = self._shown(first), self._shown(second)
                pair = f'f"{{{a}(a)}}{_quoted(between)}{{{b}(b)}}"'
                zipped = f"zip(x.{first.field}, x.{second.field}, strict=True)"
                return False, f"join([{pair} for a, b in {zipped}])"
            case Option(field, _, before, after, is_flag, otherwise):
                there = _quoted(before)
                if not is_flag:
                    there += f"{{{self._value(piece, f'x.{field}')}}}{_quoted(after)}"
                return False, f'(f"{there}" if {self.condition(piece)} else {otherwise!r})'

    def condition(self, piece: Option) -> str:
        """Return a condition that is true where an optional field is present."""
        default = self._node.field(piece.field).default
        if default is None:
            return f"x.{piece.field} is not None"
        return f"x.{piece.field} != {self.name(default)}" if default else f"x.{piece.field}"

    def _shown(self, slot: Slot | Option) -> str:
        return self.name(self._printer.show_of(self._node, slot)[0])

    def _value(self, slot: Slot | Option, value: str) -> str:
        show, each = self._printer.show_of(self._node, slot)
        if show is str and not each:
            return value
        name = self.name(show)
        return f"join(map({name}, {value}))" if each else f"{name}({value})"

    def row(self, row: FormatRow, is_first: bool) -> list[str]:
        """Return statements that print a row."""
        at = f"at + {row.indent}" if row.indent else "at"
        before: list[Piece] = []
        lines: list[str] = []
        text = "head" if is_first else ""
        src = "src" if is_first else "()"
        for piece in row.pieces:
            if not self._is_block(piece):
                before.append(piece)
                continue
            assert isinstance(piece, Slot | Option)
            lines += self._block(piece, at, _sum(text, self.text(tuple(before))), src)
            before, text, src = [], "rest", "()"
        text = _sum(text, self.text(tuple(before))) if before else text
        if text == "rest":
            return [*lines, "if rest:", f"    out.line({at}, rest)"]
        return [*lines, f"out.line({at}, {text}, {src})"]

    def _is_block(self, piece: Piece) -> bool:
        return isinstance(piece, Slot | Option) and self.is_nested(self._node, piece)

    def _block(self, piece: Slot | Option, at: str, head: str, src: str) -> list[str]:
        """Return statements that print a field on several lines, behind a text."""
        name = self.name(self._printer.block_of(self._node, piece))
        value = f"x.{piece.field}"
        if isinstance(piece, Option):
            head = f"{head} + {piece.before!r}"
            call = f"rest = {name}(out, {at}, {head}, {value}, {src})"
            return [f"if {self.condition(piece)}:", f"    {call}"]
        if self._node.field(piece.field).many:
            call = f"rest = {name}(out, {at}, {head}, item, {src})"
            return ["rest = None", f"for item in {value}:", f"    {call}"]
        return [f"rest = {name}(out, {at}, {head}, {value}, {src})"]


def _sum(first: str, second: str) -> str:
    if second == '""':
        return first or second
    return f"{first} + {second}" if first else second


def _quoted(text: str) -> str:
    """Escape a text for use inside an f-string."""
    for mark, escaped in (("\\", "\\\\"), ('"', '\\"'), ("{", "{{"), ("}", "}}")):
        text = text.replace(mark, escaped)
    return text
