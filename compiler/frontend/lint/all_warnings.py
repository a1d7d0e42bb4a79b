"""Collect all warnings about a correct program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from compiler.frontend import decs
from compiler.frontend.files import in_order, package_of, parsed
from compiler.frontend.lint.certain_failures import certain_failures
from compiler.frontend.lint.unused import unused
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.typed import TypedProg


def warnings(
    program: decs.Program, typed: TypedProg, files: Mapping[str, str], main: str
) -> list[Warning_]:
    """Return the warnings, by span and without duplicates; first those of the main program."""
    own = _own_files(program, files, main)
    found = [*unused(program.decs), *unused_in(own), *certain_failures(typed.defs), *typed.warned]
    return in_place(found, [path for path, _ in own])


def _own_files(
    program: decs.Program, files: Mapping[str, str], main: str
) -> tuple[tuple[str, str], ...]:
    """Return the imported files that are the author's, not those of packages."""
    return tuple(pair for pair in in_order(program, files, main) if not package_of(pair[0]))


def unused_in(own: Iterable[tuple[str, str]]) -> list[Warning_]:
    """Return warnings of unused names in imported files."""
    return [warning for path, text in own for warning in _unused(text, path)]


def in_place(found: Iterable[Warning_], own: Iterable[str]) -> list[Warning_]:
    """Sort warnings about a program and its author's files by place, without duplicates."""
    places = {path: at for at, path in enumerate(("", *own))}
    here = [warning for warning in found if warning.span.file in places]
    return sorted(dict.fromkeys(here), key=lambda w: (places[w.span.file], w.span))


@lru_cache(maxsize=100)
def _unused(text: str, path: str) -> tuple[Warning_, ...]:
    return tuple(unused(parsed(text, path).decs))
