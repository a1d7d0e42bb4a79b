"""All warnings about a program that is otherwise right."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from compiler.frontend import decs
from compiler.frontend.certain import certain
from compiler.frontend.files import in_order, package_of, parsed
from compiler.frontend.typed import TypedProg
from compiler.frontend.unused import unused
from compiler.frontend.warning import Warning_


def warnings(
    program: decs.Program, typed: TypedProg, files: Mapping[str, str], main: str
) -> list[Warning_]:
    """The warnings, in the order of their spans, each once; first those of the main program.

    Of what it imports those files count that are its author's: none of a package.
    """
    own = [(path, text) for path, text in in_order(program, files, main) if not package_of(path)]
    found = [*unused(program), *(w for path, text in own for w in _unused(text, path))]
    places = {path: at for at, (path, _) in enumerate([("", ""), *own])}
    found += [w for w in (*certain(typed), *typed.warned) if w.span.file in places]
    return sorted(dict.fromkeys(found), key=lambda w: (places[w.span.file], w.span))


@lru_cache(maxsize=100)
def _unused(text: str, path: str) -> tuple[Warning_, ...]:
    return tuple(unused(parsed(text, path)))
