"""Documents with optional line breaks, laid out to a width (a pretty-printer in Wadler's style).

A group's lines are all broken or none. They are broken where the group does not fit, where one was
broken in the source text, or where a part of it takes several lines. So formatting is idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from compiler.base.dataclass import dataclass


class Comment(str):
    """The text of a comment, and its position."""

    own: bool
    """Nothing stands before it on its line."""
    blank: bool
    """The line above it is empty."""

    __slots__ = ("blank", "own")

    def __new__(cls, text: str, own: bool, blank: bool) -> Comment:
        """Create a comment with its position."""
        self = super().__new__(cls, text)
        self.own, self.blank = own, blank
        return self


class Doc:
    """A document."""

    __slots__ = ()
    width: int = 0
    """Width on one line."""
    head: int = 0
    """Width before its first line break."""
    open: bool = True
    """True without a line break."""
    broken: bool = False
    """True if a line break of its own was broken in the source."""
    multi: bool = False
    """True if a part takes several lines."""
    lead: bool = False
    """True if it begins with comments, which break the group around it."""


@dataclass(slots=True)
class Text(Doc):
    """A text."""

    text: str
    width: int = field(init=False)
    head: int = field(init=False)
    multi: bool = field(init=False)

    def __post_init__(self) -> None:
        self.width = self.head = len(self.text)
        self.multi = "\n" in self.text


@dataclass(slots=True)
class Space(Doc):
    """One space, where no line ends."""

    width: int = 1
    head: int = 1


@dataclass(slots=True)
class Comments(Doc):
    """Comments, and whether an empty line follows; what comes next begins a line."""

    comments: Sequence[Comment]
    blank: bool
    open: bool = False
    lead: bool = True


@dataclass(slots=True)
class Break(Doc):
    """A line break, or `flat`."""

    flat: str = " "
    broken: bool = False
    blank: bool = False
    """An empty line follows."""
    opening: str = ""
    """Text in place of a broken line, which aligns items."""
    open: bool = False
    width: int = field(init=False)

    def __post_init__(self) -> None:
        self.width = len(self.flat)


@dataclass(slots=True)
class Cat(Doc):
    """Parts in sequence; lines are indented by `nest`, from here if `align`."""

    parts: Sequence[Doc]
    nest: int = 0
    align: bool = False
    width: int = 0
    head: int = 0
    open: bool = True
    broken: bool = False
    multi: bool = False
    lead: bool = False

    def __post_init__(self) -> None:
        first = True
        for part in self.parts:
            if self.open:
                self.head += part.head
                self.open = part.open
            self.width += part.width
            self.broken = self.broken or part.broken
            self.multi = self.multi or part.multi or (part.lead and not first)
            if first:
                self.lead = part.lead
                first = isinstance(part, Comments)


class Group(Doc):
    """Breaks all lines of its own, those of inner groups excluded, or none."""

    __slots__ = ("head", "inner", "lead", "multi", "open", "width")

    def __init__(self, *parts: Doc, nest: int = 0, align: bool = False) -> None:
        self.inner = inner = Cat(parts, nest, align)
        self.width, self.head, self.open = inner.width, inner.head, inner.open
        self.multi, self.lead = inner.multi or inner.broken, inner.lead


@dataclass(slots=True)
class Declarations(Doc):
    """Declarations; those of several lines are surrounded by empty lines."""

    items: Sequence[tuple[Comments | None, Doc, bool]]
    """Comments before it, the item, and whether an empty line stands above these."""
    broken: bool
    open: bool = False
    width: int = field(init=False)
    multi: bool = field(init=False)

    def __post_init__(self) -> None:
        self.width = sum(item.width + 1 for _, item, _ in self.items) - 1
        self.multi = any(comments or item.multi for comments, item, _ in self.items)


@dataclass(slots=True)
class _End:
    """A pending line break: `indent` of the next line, and whether an empty one precedes it."""

    indent: int
    blank: bool


def rendered(doc: Doc, width: int) -> list[str]:
    """Render a document to lines."""
    writer = _Writer(width)
    writer.write(doc, 0)
    writer.due = None
    if writer.line:
        writer.end_line()
    return writer.lines


class _Writer:
    def __init__(self, width: int) -> None:
        self.room = width
        self.lines: list[str] = []
        self.line: list[str] = []
        self.column = 0
        self.due: _End | Space | None = None
        self.commented = False
        """True if the line ends with a comment."""

    def end_line(self) -> None:
        self.lines.append("".join(self.line))
        self.line, self.column = [], 0

    def text(self, text: str) -> None:
        due = self.due
        if isinstance(due, _End):
            if self.line:
                self.end_line()
            if due.blank and self.lines:
                self.lines.append("")
            self.line.append(" " * due.indent)
            self.column = due.indent
        elif due is not None:
            self.line.append(" ")
            self.column += 1
        self.due, self.commented = None, False
        self.line.append(text)
        self.column += len(text)

    def at(self) -> int:
        """Return the column of the next text."""
        due = self.due
        return due.indent if isinstance(due, _End) else self.column + (due is not None)

    def comments(self, group: Comments, indent: int) -> None:
        due = self.due if isinstance(self.due, _End) else _End(indent, True)
        for number, comment in enumerate(group.comments):
            if comment.own or not self.line or self.commented:
                blank = comment.blank and (number > 0 or due.blank)
                self.due = _End(due.indent, blank)
            else:
                self.due = Space()
            self.text(comment)
            self.commented = True
        self.due = _End(due.indent, group.blank)

    def write(self, doc: Doc, indent: int) -> None:
        """Render a document; its lines outside groups are broken."""
        stack: list[tuple[int, bool, Doc]] = [(indent, False, doc)]
        while stack:
            indent, flat, doc = stack.pop()
            if isinstance(doc, Text):
                if doc.text:
                    self.text(doc.text)
            elif isinstance(doc, Cat):
                indent = (self.at() if doc.align else indent) + doc.nest
                stack.extend((indent, flat, part) for part in reversed(doc.parts))
            elif isinstance(doc, Group):
                flat = flat or (not doc.multi and self._fits(doc, stack))
                stack.append((indent, flat, doc.inner))
            elif isinstance(doc, Space):
                self.due = self.due or doc
            elif isinstance(doc, Break):
                self._line(doc, indent, flat)
            elif isinstance(doc, Comments):
                self.comments(doc, indent)
            elif isinstance(doc, Declarations):
                if flat:
                    parts = [part for _, item, _ in doc.items for part in (item, Space())]
                    stack.append((indent, flat, Cat(parts[:-1])))
                else:
                    self._block(doc, indent)

    def _line(self, line: Break, indent: int, flat: bool) -> None:
        if flat:
            if line.flat:
                self.due = self.due or Space()
        elif line.opening:
            due, more = self.due, len(line.opening)
            self.due = _End(due.indent + more, due.blank) if isinstance(due, _End) else Space()
        else:
            self.due = _End(indent, line.blank)

    def _fits(self, group: Group, rest: Sequence[tuple[int, bool, Doc]]) -> bool:
        """Test whether a group fits on the line, with what follows until a line can end."""
        room = self.room - self.at() - group.width
        for _, _, part in reversed(rest):
            if room < 0:
                break
            room -= part.head
            if not part.open:
                break
        return room >= 0

    def _block(self, block: Declarations, indent: int) -> None:
        around = False
        for number, (before, item, blank) in enumerate(block.items):
            comments = before.comments if before else ()
            trailing = [comment for comment in comments if not comment.own]
            own = comments[len(trailing) :]
            if trailing:
                self.comments(Comments(trailing, False), indent)
            if self.line:
                self.end_line()
            start, first = len(self.lines), number == 0
            self.due = _End(indent, False)
            if before and own:
                self.comments(Comments(own, before.blank), indent)
                self.end_line()
            begin = len(self.lines) + bool(before and own and before.blank)
            self.write(item, indent)
            several = len(self.lines) > begin
            if not first and (blank or own or several or around):
                self.lines.insert(start, "")
            around = several


def joined(parts: Iterable[Doc], between: Doc) -> list[Doc]:
    """Intersperse parts with a separator."""
    found: list[Doc] = []
    for part in parts:
        found += [between, part] if found else [part]
    return found
