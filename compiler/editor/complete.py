"""Complete at a place: names in scope, members of modules, fields, constructors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from compiler.base.dataclass import dataclass
from compiler.editor import flatpack
from compiler.editor.flatpack_words import WORD_HELP
from compiler.editor.names import VALUE, Symbol, tokens
from compiler.editor.places import said
from compiler.editor.project import Project
from compiler.frontend.files import FLATPACK

_PATH = re.compile(
    r"(?:[A-Za-z_][A-Za-z0-9_']*\.)*[A-Za-z_][A-Za-z0-9_']*$|(?:[A-Za-z_][A-Za-z0-9_']*\.)+$"
)
_WORD = re.compile(r"[A-Za-z0-9_']*$")
_HELD = "held__here"
"""An unused name that stands in for the word being typed."""
_STAND_INS = ("???", "??? in ???", f"{_HELD} = ??? in ???", _HELD, f"{_HELD} = ???")


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion item."""

    name: str
    kind: str
    says: str
    """Its type, or ""."""
    doc: str = ""


def completions(project: Project, path: str, at: int) -> tuple[int, list[Completion]]:
    """Return the start of the word to replace, and the completions."""
    text = project.files[path]
    before = text[:at]
    line = before[before.rfind("\n") + 1 :]
    if "--" in re.sub(r'"(?:[^"\\]|\\.)*"', "", line):
        return at, []
    word = _WORD.search(before)
    start = word.start() if word else at
    if path.endswith(FLATPACK):
        made, table = flatpack.scope(text, path, start, at)
        known = project.with_text(path, made)
        return start, [*(_item(known, one) for one in table.values()), *_words(project, path)]
    if before[:start].endswith("#"):
        return start, list(_constructors(project, path))
    if before[:start].endswith("."):
        return start, list(_after_dot(project, path, start - 1, at))
    held, _ = _held(project, path, start, at)
    items = [_item(held, symbol) for symbol in _in_scope(held, path, start)]
    return start, [*items, *_words(project, path)]


def _words(project: Project, path: str) -> Iterator[Completion]:
    for word in project.words(path):
        form, shape, says = WORD_HELP.get(word, ("", "", ""))
        is_known = path.endswith(FLATPACK) and form
        yield Completion(word, "keyword", *((f"{form} : {shape}", says) if is_known else ("",)))


def _in_scope(project: Project, path: str, at: int) -> Iterator[Symbol]:
    for (_, name), symbol in project.scope(path, at).items():
        if name[0].isalpha() or name[0] == "_":
            yield symbol


def _item(project: Project, symbol: Symbol) -> Completion:
    return Completion(symbol.name, symbol.kind, said(project, symbol), symbol.doc)


def _held(project: Project, path: str, start: int, end: int) -> tuple[Project, bool]:
    """Return the project with a placeholder for the word being typed, so that the rest parses."""
    text = project.files[path]
    for stand_in in _STAND_INS:
        changed = project.with_text(path, f"{text[:start]}{stand_in}{text[end:]}")
        parsed = changed.parsed(path)
        if parsed is not None and parsed.is_whole:
            return changed, True
    return changed, False


def _after_dot(project: Project, path: str, dot: int, at: int) -> Iterator[Completion]:
    """Yield members of the module, or fields of the record, before a dot."""
    text = project.files[path]
    name = _PATH.search(text[:dot])
    start = name.start() if name else dot
    if name:
        held, _ = _held(project, path, start, at)
        table = held.scope(path, start)
        symbol: Symbol | None = None
        for part in name.group().split("."):
            symbol = table.get((VALUE, part))
            table = symbol.members if symbol else {}
        if symbol is not None and symbol.kind == "module":
            for (_, member), one in table.items():
                if member[0].isalpha():
                    yield _item(held, one)
            return
    elif text[:dot].endswith((")", "]")):
        start = _opening(text, dot)
    record = text[start:dot]
    if record:
        yield from _fields(project, path, start, at, record)


def _opening(text: str, end: int) -> int:
    """Return the start of the bracketed expression that ends at a place."""
    depth, at = 0, end
    while at > 0:
        at -= 1
        depth += (text[at] in ")]") - (text[at] in "([")
        if depth == 0 and not (at and re.match(r"[\w'\])]", text[at - 1])):
            return at
        if depth == 0 and text[at] not in "([":
            name = re.search(r"[\w'.]+$", text[: at + 1])
            return name.start() if name else at
    return 0


def _fields(project: Project, path: str, start: int, at: int, record: str) -> Iterator[Completion]:
    """Yield the fields of a record expression: bind it to a name, and take that name's type."""
    text = project.files[path]
    for value, more in product(("???", _HELD), ("", " in ???")):
        held = f"{text[:start]}(let {_HELD} = {record} in {value}){more}{text[at:]}"
        types = project.with_text(path, held).types_in(path)
        found = types.fields(_HELD) if types else []
        yield from (Completion(name, "field", f"{name}: {type_}") for name, type_ in found)
        if found:
            return


def _constructors(project: Project, path: str) -> Iterator[Completion]:
    """Yield the constructors in all files, with their payload where a type gives it."""
    found: dict[str, str] = {}
    for file in sorted(project.files, key=lambda one: one != path):
        parsed = project.parsed(file)
        for variant in parsed.tree.find_data("variant") if parsed else ():
            words = [str(token) for token in tokens(variant)]
            found.setdefault(words[0][1:], " ".join(words))
        for token in parsed.lexed.tokens if parsed else ():
            if token.type == "CONSTR":
                found.setdefault(str(token)[1:], "")
    for name, says in found.items():
        yield Completion(name, "constructor", says)
