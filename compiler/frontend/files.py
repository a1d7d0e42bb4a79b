"""The files of a program: which names they have, what a text imports, and where that is.

A file is named by its path, `lib/sums.fut`, from a folder that is the same for all. The import of
"../sums" in `lib/matrix/mul.fut` is `lib/sums.fut`. Spans of the main program have no file, whether
it has a path or not; without one it lies at the top.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from compiler.base.errors import SyntaxError_, TypeError_, UsageError
from compiler.frontend import decs
from compiler.frontend.parser import parse

ENDING = ".fut"
MOST = 1000
"""Files of one program."""
LONGEST = 200
"""Characters of a path."""

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


def check_paths(files: Mapping[str, str], main: str) -> None:
    """Raise UsageError for a path that no `import` can name, or that could be another's."""
    if len(files) > MOST:
        raise UsageError(f"A program has at most {MOST} files; these are {len(files)}.")
    seen: dict[str, str] = {}
    for path in (*files, *((main,) if main else ())):
        named = path if len(path) <= LONGEST else f"{path[:LONGEST]}…"
        if not _is_path(path):
            raise UsageError(
                f"`{named}` is no path of a file of the program.",
                hint=f"Paths are such as `lib/sums{ENDING}`, of at most {LONGEST} characters.",
            )
        other = seen.setdefault(path.lower(), path)
        if other != path:
            raise UsageError(
                f"`{other}` and `{path}` differ in case only.",
                hint="On many machines they would be one file: rename one of them.",
            )
    if main in files:
        raise UsageError(f"`{main}` is given twice: as the program, and among its files.")


def _is_path(path: str) -> bool:
    plain = path.isprintable() and "\\" not in path and len(path) <= LONGEST
    inside = not path.startswith(("/", "../")) and posixpath.normpath(path) == path
    return plain and inside and path.endswith(ENDING) and path != ENDING


def path_of(one: Import, main: str) -> str:
    """The path of the file that an import names; `main` is that of the main program.

    Errors: it is no relative path.
    """
    if not one.path or one.path.startswith("/") or not one.path.isprintable() or "\\" in one.path:
        raise TypeError_(
            f'`import "{one.path}"` is no path of a file from the folder of this one.',
            one.span,
            'Write such as `import "lib/sums"` or `import "../sums"`, without `.fut`.',
        )
    folder = posixpath.dirname(one.span.file or main)
    return posixpath.normpath(posixpath.join(folder, one.path)) + ENDING


def gather(text: str, main: str, read: Callable[[str], str | None]) -> dict[str, str]:
    """The files that a program imports, also through others, by path; `read` gives a file's text.

    What is not there (`read` gives None) is left to the checker to tell, as is what is wrong in it.
    Errors: more than `MOST` files.
    """
    found: dict[str, str] = {}
    pending = [("", text)]
    while pending:
        file, content = pending.pop()
        if "import" not in content:
            continue
        try:
            wanted = [(path_of(one, main), one.span) for one in imports(parsed(content, file).decs)]
        except (SyntaxError_, TypeError_):
            continue
        for path, span in wanted:
            inside = None if path in found or path == main else read(path)
            if inside is not None:
                if len(found) == MOST:
                    raise TypeError_(f"A program has at most {MOST} files.", span)
                found[path] = inside
                pending.append((path, inside))
    return found
