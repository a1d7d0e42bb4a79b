"""The files of a program: what a text imports, and where that is.

A file is named by its path from the folder of the main program, `lib/sums.fut`; the main program
itself has no name. `import "../sums"` in `lib/matrix/mul.fut` is `lib/sums.fut`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from compiler.base.errors import SyntaxError_, TypeError_
from compiler.frontend import decs
from compiler.frontend.parser import parse

ENDING = ".fut"
MOST = 1000
"""Files of one program."""

Import = decs.ImportDec | decs.MImport


@lru_cache(maxsize=64)
def parsed(text: str, file: str) -> decs.Program:
    """The syntax tree of a file, which is kept.

    Errors: `SyntaxError_`, in that file.
    """
    return parse(text, file)


def imports(declared: Iterable[decs.Dec]) -> Iterator[Import]:
    """The imports among declarations and in modules among them, in order of text."""
    for dec in declared:
        match dec:
            case decs.ImportDec():
                yield dec
            case decs.LocalDec(dec=inner):
                yield from imports((inner,))
            case decs.OpenDec(mod=mod) | decs.ModDec(body=mod):
                yield from _in_module(mod)


def _in_module(mod: decs.ModExp) -> Iterator[Import]:
    match mod:
        case decs.MImport():
            yield mod
        case decs.MBody(decs=inside):
            yield from imports(inside)
        case decs.MApply(fn=fn, arg=arg):
            yield from _in_module(fn)
            yield from _in_module(arg)
        case decs.MAscript(mod=inner) | decs.MLambda(body=inner):
            yield from _in_module(inner)


def path_of(one: Import) -> str:
    """The path of the file that an import names.

    Errors: it is no relative path.
    """
    if not one.path or one.path.startswith("/") or "\\" in one.path or "\0" in one.path:
        raise TypeError_(
            f'`import "{one.path}"` is no path of a file from the folder of this one.',
            one.span,
            'Write such as `import "lib/sums"` or `import "../sums"`, without `.fut`.',
        )
    return posixpath.normpath(posixpath.join(posixpath.dirname(one.span.file), one.path)) + ENDING


def gather(text: str, read: Callable[[str], str | None]) -> dict[str, str]:
    """The files that a program imports, also through others, by path; `read` gives a file's text.

    What is not there (`read` gives None), or is no program, is left to the checker to tell.
    Errors: more than `MOST` files.
    """
    found: dict[str, str] = {}
    pending = [("", text)]
    while pending:
        file, content = pending.pop()
        if "import" not in content:
            continue
        try:
            wanted = [(path_of(one), one.span) for one in imports(parsed(content, file).decs)]
        except (SyntaxError_, TypeError_):
            continue
        for path, span in wanted:
            inside = None if path in found else read(path)
            if inside is not None:
                if len(found) == MOST:
                    raise TypeError_(f"A program has at most {MOST} files.", span)
                found[path] = inside
                pending.append((path, inside))
    return found
