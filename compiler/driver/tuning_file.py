"""Read Futhark's files of tuning parameters: lines `name=value` beside a program."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

from compiler.base.errors import CompileError, InputError, UsageError
from compiler.base.prim import int_range
from compiler.driver import api
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.protocol.kinds import OfProgram

ENDING = ".tuning"
_LINE = re.compile(r"\s*([^\s=]+)\s*=\s*(-?[0-9]{1,1000})\s*")
_LEAST, _MOST = int_range("i64")


def with_tuning(asked: OfProgram, program: str | Path, file: str | None) -> OfProgram:
    """Add a file's values to the program's thresholds; values given already win.

    None stands for `program.fut.tuning` if it exists, "" for no file. A name that the program
    does not have is reported on standard error. Raises UsageError and InputError.
    """
    chosen = Path(f"{program}{ENDING}" if file is None else file)
    if file == "" or (file is None and not chosen.is_file()):
        return asked
    given = values_in(chosen)
    try:
        known = api.tuning_parameters(asked)
    except CompileError:
        return asked  # whoever asks for more of the program is told
    for name in (name for name in given if name not in known):
        near = did_you_mean(name, known) or (f"There are {', '.join(known)}." if known else "")
        said = f"{chosen}: warning: the program has no tuning parameter `{name}`. {near}"
        sys.stderr.write(said.strip() + "\n")
    thresholds = {name: value for name, value in given.items() if name in known}
    thresholds |= asked.options.get("thresholds", {})
    return replace(asked, options={**asked.options, "thresholds": thresholds})


def values_in(path: Path) -> dict[str, int]:
    """Parse such a file. Raises UsageError where it cannot be read, and InputError."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"Cannot read `{path}`: {said}.") from None
    found: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None and line.strip():
            raise InputError(
                f"Line {number} of `{path}` is not of the form NAME=NUMBER: `{line.strip()[:60]}`."
            )
        if match:
            found[match[1]] = int(match[2])
            if not _LEAST <= found[match[1]] <= _MOST:
                raise InputError(
                    f"Line {number} of `{path}`: {match[2][:60]} does not fit into an "
                    "i64, the type of every tuning parameter."
                )
    return found
