"""The files of a program: paths, imports, and import resolution.

A file is named by its path, `lib/sums.fut`, from a folder that is the same for all. The import of
"../sums" in `lib/matrix/mul.fut` is `lib/sums.fut`. Spans of the main program have no file, whether
it has a path or not; without one it lies at the top.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from compiler import codes
from compiler.base.errors import SyntaxError_, TypeError_, UsageError
from compiler.base.spans import PRELUDE
from compiler.frontend import decs
from compiler.frontend.ast import parts
from compiler.frontend.parser import parse

ENDING = ".fut"
FLATPACK = ".fp"
"""Extension of a main program in FlatPack."""
MANIFEST = "futhark.pkg"
"""Name of the file that lists the packages a program requires; it may lie among the others."""
MOST = 1000
"""Most files of one program."""
LONGEST = 200
"""Most characters of a path."""

Import = decs.ImportDec | decs.MImport

_PACKAGE = re.compile(r"((?:.*/)?)lib/([\w-]+(?:\.[\w-]+)+/[\w.-]+/[\w.-]+)/")


def package_of(path: str) -> re.Match[str] | None:
    """Match the folder (with its `/`) and the name of a file's package; None without one.

    A package's files lie below `lib/HOST/USER/NAME`, where `futhark pkg sync` puts them.
    """
    return _PACKAGE.match(path)


KEPT_CHARACTERS = 400_000
"""Limit on the characters of all cached files but the last; each costs about 100 bytes."""
_trees: OrderedDict[tuple[str, str], decs.Program] = OrderedDict()


def parsed(text: str, file: str) -> decs.Program:
    """Parse a file, with a cache.

    Errors: `SyntaxError_`, in that file.
    """
    key = file, text
    if key not in _trees:
        _trees[key] = parse(text, file)
        characters = sum(len(text) for _, text in _trees)
        while characters > KEPT_CHARACTERS and len(_trees) > 1:
            characters -= len(_trees.popitem(last=False)[0][1])
    _trees.move_to_end(key)
    return _trees[key]


def imports(declared: Iterable[decs.Dec | decs.ModExp]) -> Iterator[Import]:
    """Yield the imports among declarations and in modules among them, in order of text."""
    for node in declared:
        if isinstance(node, Import):
            yield node
        elif not isinstance(node, decs.ValDec):
            inside = (one for one in parts(node) if isinstance(one, decs.Dec | decs.ModExp))
            yield from imports(inside)


def check_paths(files: Mapping[str, str], main: str) -> None:
    """Raise UsageError for a path that no `import` can name, or that could be another's."""
    if len(files) > MOST:
        raise UsageError(f"A program may have at most {MOST} files, but this one has {len(files)}.")
    seen: dict[str, str] = {}
    for path in (*files, *((main,) if main else ())):
        named = path if len(path) <= LONGEST else f"{path[:LONGEST]}…"
        if not _is_path(path, (ENDING, FLATPACK) if path == main else (ENDING,)):
            raise UsageError(
                f"`{named}` is not a valid path of a program file.",
                hint=(f"Write a path such as `lib/sums{ENDING}`, of at most {LONGEST} characters."),
            )
        other = seen.setdefault(path.lower(), path)
        if other != path:
            raise UsageError(
                f"`{other}` and `{path}` differ only in case.",
                hint="Many file systems treat them as one file: rename one of them.",
            )
    if main in files:
        raise UsageError(f"`{main}` is given twice: as the program and in `files`.")


def _is_path(path: str, endings: tuple[str, ...]) -> bool:
    plain = path.isprintable() and "\\" not in path and len(path) <= LONGEST
    inside = not path.startswith(("/", "../", PRELUDE)) and posixpath.normpath(path) == path
    name = posixpath.basename(path)
    return (
        plain
        and inside
        and (name == MANIFEST or any(name.removesuffix(e) for e in endings if name.endswith(e)))
    )


def path_of(one: Import, main: str) -> str:
    """Return the path of the file that an import names; `main`: that of the main program.

    Errors: it is no relative path.
    """
    named = one.path
    if (
        len(named) > LONGEST
        or posixpath.basename(named) in ("", ".", "..")
        or named.startswith(("/", PRELUDE))
        or not named.isprintable()
        or "\\" in named
    ):
        shown = named if len(named) <= LONGEST else f"{named[:LONGEST]}…"
        raise TypeError_(
            codes.files.PATH,
            f"`import {json.dumps(shown, ensure_ascii=False)}` is not a path relative "
            "to this file's folder.",
            one.span,
            f'Name a file in that folder, such as `import "{shown}sums"`.'
            if named.endswith("/") and named.isprintable()
            else (
                'Write a path such as `import "lib/sums"` or `import "../sums"`, without `.fut`.'
            ),
        )
    folder = posixpath.dirname(one.span.file or main)
    return posixpath.normpath(posixpath.join(folder, named)) + ENDING


def in_order(program: decs.Program, files: Mapping[str, str], main: str) -> list[tuple[str, str]]:
    """Return the imported files with their texts, each after its own imports.

    The list ends where one of them cannot be checked.
    """
    found: dict[str, str] = {}
    around = {main}

    def go(tree: decs.Program) -> None:
        for one in imports(tree.decs):
            path = path_of(one, main)
            if path in around or path not in files:
                raise TypeError_(codes.files.TOO_MANY, "It cannot be checked.")
            if path not in found:
                around.add(path)
                go(parsed(files[path], path))
                around.remove(path)
                found[path] = files[path]

    with suppress(SyntaxError_, TypeError_):
        go(program)
    return list(found.items())


def gather(text: str, main: str, read: Callable[[str], str | None]) -> dict[str, str]:
    """Collect the transitively imported files by path; `read` returns a file's text.

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
                    raise TypeError_(
                        codes.files.TOO_MANY, f"A program may have at most {MOST} files.", span
                    )
                found[path] = inside
                pending.append((path, inside))
    return found
