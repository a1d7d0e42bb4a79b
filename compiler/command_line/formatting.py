"""`stridescope fmt`: format files on disk, or standard input."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from compiler.base.errors import SyntaxError_, UsageError
from compiler.driver.disk import decode_source, read_source
from compiler.frontend.files import ENDING, FLATPACK
from compiler.frontend.format import laid_out


def format_files(paths: Sequence[str], check: bool, diff: bool, width: int) -> bool:
    """Format files, those in folders too, and `-`; return True if all are well.

    A file is rewritten where it changes, unless `check` or `diff` is set. One that is no
    program is reported and left alone. Errors: a path that cannot be read or written.
    """
    well = True
    for path in [file for given in paths for file in programs_in(given)]:
        source = ""
        try:
            source = decode_source(sys.stdin.buffer.read()) if path == "-" else read_source(path)
            made = laid_out(source, path, width)
        except SyntaxError_ as error:
            well = False
            for one in (error, *error.others):
                sys.stderr.write(f"{path}:{one.render(source)}\n")
            continue
        if made != source:
            well = well and not check
            if diff:
                sys.stdout.writelines(_difference(source, made, path))
            elif check:
                sys.stdout.write(f"{path} is laid out in another way.\n")
            elif path != "-":
                _write(path, made)
        if path == "-" and not (check or diff):
            sys.stdout.flush()
            sys.stdout.buffer.write(made.encode())
    return well


def programs_in(path: str) -> Iterator[str]:
    """Yield a file, or the programs in a folder (by suffix, without hidden ones).

    Errors: `UsageError` for a folder without programs.
    """
    if not os.path.isdir(path):
        yield path
        return
    found = False
    for folder, inside, names in os.walk(path):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        for name in sorted(names):
            if name.endswith((ENDING, FLATPACK)) and not name.startswith("."):
                found = True
                yield os.path.join(folder, name)
    if not found:
        raise UsageError(
            f"There is no file in `{path}` whose name ends in `{ENDING}` or `{FLATPACK}`."
        )


def _difference(source: str, made: str, path: str) -> Iterator[str]:
    before, after = source.splitlines(keepends=True), made.splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, path, path):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _write(path: str, text: str) -> None:
    """Replace a file atomically, keeping its permissions."""
    target = Path(path).resolve()
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".fmt-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            shutil.copymode(target, name)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise UsageError(f"Cannot write `{path}`: {error.strerror}.") from None
