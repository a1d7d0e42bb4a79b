"""Read programs from disk, with the files that they import.

Paths are relative to the folder that the program's path is relative to.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from compiler import codes
from compiler.base.errors import CompileError, SyntaxError_, UsageError
from compiler.base.spans import span_at
from compiler.frontend.files import ENDING, MANIFEST, gather

LONGEST_PROGRAM = 1 << 26
"""The longest file, in bytes."""
MOST_BESIDE = 200
"""The most files searched for near misses of a missing one."""


class ProgramFiles(NamedTuple):
    """A program's text, the texts of its imports by path, and its own path."""

    source: str
    files: dict[str, str]
    main: str


def read_program(path: str | Path) -> ProgramFiles:
    """Read the program in a file.

    Errors: it cannot be read, or it or one of its imports is not UTF-8.
    """
    return with_imports(read_source(path), os.path.normpath(path))


def with_imports(source: str, main: str) -> ProgramFiles:
    """Return a program of that text and path, with its imports. Errors: as `read_program`."""
    beside: dict[str, str] = {}

    def read(name: str) -> str | None:
        if not os.path.isfile(name):
            beside.update(_beside(name))
            return None
        return _imported(name)

    found = gather(source, main, read)
    return ProgramFiles(source, {**beside, **found}, main)


def _beside(name: str) -> dict[str, str]:
    """List files near a missing one for a hint, without their texts."""
    there = folder = os.path.dirname(name)
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    if folder != there and folder.endswith(".."):  # what lies there has nothing to do with it
        return {}
    top = Path(folder or ".")
    as_folder = Path(name.removesuffix(ENDING))
    places = [(as_folder, "*/" * depth) for depth in range(4)] + [(top, ""), (top, "*/")]
    below = islice(chain(*(at.glob(f"{sub}*{ENDING}") for at, sub in places)), MOST_BESIDE)
    found = {os.path.normpath(one): "" for one in below if one.is_file()}
    if as_folder.is_dir():
        found[f"{os.path.normpath(as_folder)}/"] = ""
    for above in (top, *top.parents):
        manifest = above / MANIFEST
        if manifest.is_file():
            with suppress(CompileError):
                found[os.path.normpath(manifest)] = read_source(manifest)
            break
    return found


def _imported(name: str) -> str:
    try:
        return read_source(name)
    except SyntaxError_ as error:
        error.span = error.span._replace(file=name)
        raise


def read_source(path: str | Path) -> str:
    """Read a program's text from a file. Raises UsageError where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LONGEST_PROGRAM + 1)
    except OSError as error:
        raise UsageError(f"Cannot read `{path}`: {error.strerror}.") from None
    except ValueError as error:  # a zero byte
        raise UsageError(f"This is not a path: {error}.") from None
    if len(data) > LONGEST_PROGRAM:
        raise UsageError(
            f"`{path}` is longer than {LONGEST_PROGRAM} bytes, the limit for a program."
        )
    return decode_source(data)


def decode_source(data: bytes) -> str:
    """Decode UTF-8 text. Raises a syntax error at the first invalid byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        wrong = SyntaxError_(
            codes.syntax.NOT_TEXT,
            f"The byte 0x{data[error.start]:02x} is not UTF-8 text.",
            span_at(before + "?", len(before)),
            "Save the file as UTF-8.",
        )
        wrong.text = data.decode("utf-8", errors="replace")
        raise wrong from None
