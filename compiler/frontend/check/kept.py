"""What has been checked of a program's files is kept, so that an edit costs what comes after it.

Files are checked one after the other, those that others import first. What the checker knows after
some of them depends on these alone: their paths and texts are its key. A program that begins with
the same files goes on from there. Kept is what is known after all files, for edits in the main
program, and what was known before the first file that has changed, for further edits in that one.
"""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any

from compiler.base.errors import CompileError
from compiler.base.names import NameSource
from compiler.frontend import typed as t
from compiler.frontend.check.program import Checked
from compiler.frontend.check.scope.scope import Module
from compiler.frontend.check.scope.state import Checker

MOST_CHARACTERS = 400_000
"""Of all files of what is kept, but for the last; each takes about 100 bytes."""

_OF_A_FILE = frozenset(("ctx", "scope", "table", "level", "span", "own_types", "declared_later"))
_STATE = tuple(one.name for one in fields(Checker) if one.name not in _OF_A_FILE)

_kept: OrderedDict[bytes, _State] = OrderedDict()
_before: list[bytes] = []
"""The keys of the program before."""


@dataclass(frozen=True, slots=True)
class _State:
    """What is known after some files."""

    checker: dict[str, Any]
    names: NameSource
    defs: tuple[t.Def, ...]
    not_built: tuple[CompileError, ...]
    imported: dict[str, Module]
    characters: int


class Progress:
    """How far the files of a program have been checked; begins where an earlier one has been."""

    def __init__(self, out: Checked, order: Sequence[tuple[str, str]]) -> None:
        """`order`: paths and texts of the files, in the order in which they are checked."""
        global _before
        self._out = out
        self._keys = list(accumulate(order, _key, initial=b""))[1:]
        self._lengths = [len(text) for _, text in order]
        same = sum(1 for _ in _common(self._keys, _before))
        self._worth = {same, len(order)}
        _before = self._keys
        for number in range(len(order), 0, -1):
            if self._keys[number - 1] in _kept:
                _kept.move_to_end(self._keys[number - 1])
                self._restore(_kept[self._keys[number - 1]])
                break

    def file_done(self) -> None:
        """One more file has been checked without an error."""
        number = len(self._out.imported)
        if number in self._worth and number <= len(self._keys):
            _kept[self._keys[number - 1]] = self._state(sum(self._lengths[:number]))
            characters = sum(state.characters for state in _kept.values())
            while characters > MOST_CHARACTERS and len(_kept) > 1:
                characters -= _kept.popitem(last=False)[1].characters

    def _state(self, characters: int) -> _State:
        out = self._out
        return _State(
            {name: copy.copy(getattr(out.st, name)) for name in _STATE},
            out.st.ctx.names.fork(),
            tuple(out.defs),
            tuple(out.not_built),
            dict(out.imported),
            characters,
        )

    def _restore(self, state: _State) -> None:
        out = self._out
        for name, value in state.checker.items():
            setattr(out.st, name, copy.copy(value))
        out.st.ctx.names = state.names.fork()
        out.defs[:], out.not_built[:] = state.defs, state.not_built
        out.imported.update(state.imported)


def _key(before: bytes, file: tuple[str, str]) -> bytes:
    path, text = (part.encode() for part in file)
    return hashlib.sha256(b"%b%d %b%b" % (before, len(path), path, text)).digest()


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> Iterator[bytes]:
    for a, b in zip(one, other, strict=False):
        if a != b:
            return
        yield a
