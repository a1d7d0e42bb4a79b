"""Format a FlatPack program.

Line breaks stay. Words are separated by one blank or none; continuation lines of a definition are
indented by two columns, and by at most two more than the line above. All words and comments stay.
"""

from __future__ import annotations

import re

from compiler.base.errors import CompilerBug
from compiler.base.spans import span_at
from compiler.frontend.flatpack.parser import Word, parse, words_of

_OPEN = frozenset("([\\")
"""Signs without a blank behind them."""
_TIGHT = frozenset(",)]")
"""Signs without a blank before them."""
_COMMENT = re.compile(r'(?:"[^"\n]*"|[^"\n])*?(--[^\n]*)')


def laid_out(source: str) -> str:
    """Format a text; line ends are those of its first line.

    Errors: `SyntaxError_` as of `parse`; `CompilerBug` where the result had other words.
    """
    parse(source)
    of: dict[int, list[Word]] = {}
    for word in words_of(source):
        of.setdefault(word.span.line, []).append(word)
    lines: list[str] = []
    indent = 0
    for number, row in enumerate(source.split("\n"), 1):
        text, note = _joined(of.get(number, [])), _comment(row)
        if text or note:
            inside = len(row) - len(row.lstrip())
            indent = max(2, min(inside // 2 * 2, indent + 2)) if inside else 0
        lines.append(" " * indent + "  ".join(part for part in (text, note) if part))
    made = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n") + "\n"
    ending = "\r\n" if re.match(r"[^\n]*\r\n", source) else "\n"
    if _tokens(made) != _tokens(source):
        raise CompilerBug(
            "With another layout this text would be a different program.", span_at(source, 0)
        )
    return made.replace("\n", ending)


def _tokens(source: str) -> list[tuple[str, bool]]:
    """Return the words, whether each begins a definition, and the comments."""
    words = [(word.text, word.span.col == 1) for word in words_of(source)]
    return words + [(note, False) for row in source.split("\n") if (note := _comment(row))]


def _comment(row: str) -> str:
    """Return the comment that ends a line, or ""."""
    found = _COMMENT.match(row)
    return found[1].rstrip() if found else ""


def _joined(words: list[Word]) -> str:
    """Join the words of one line."""
    text = ""
    for k, word in enumerate(words):
        text += word.text if not k or _is_tight(words[:k], word) else f" {word.text}"
    return text


def _is_tight(before: list[Word], word: Word) -> bool:
    """Test whether two words are adjacent; a sign stays with its number."""
    last = before[-1]
    if last.text in _OPEN or word.text in _TIGHT:
        return True
    is_sign = last.text == "-" and word.kind == "number" and _touch(last, word)
    return is_sign and not (len(before) > 1 and before[-2].kind != "op" and _touch(*before[-2:]))


def _touch(one: Word, other: Word) -> bool:
    return one.span.end_col == other.span.col
