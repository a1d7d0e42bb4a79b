"""Convert arguments of a command to programs, options and numbers."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from compiler.base.errors import CompileError, UsageError
from compiler.driver.disk import decode_source, read_program, read_source
from compiler.protocol.kinds import Options

Program: TypeAlias = tuple[str, Options, dict[str, str], str]
"""A program's text, its options, the files that it may import, and its path."""
_NUMBER = re.compile(r"-?[0-9]{1,30}")


def program_of(args: argparse.Namespace) -> Program:
    """Read the program of a command; one from standard input has no folder to import from."""
    if args.file == "-":
        return source_text("-"), options_of(args), {}, ""
    found = read_program(args.file)
    args.texts = found.files  # for errors
    return found.source, options_of(args), found.files, found.main


def options_of(args: argparse.Namespace) -> Options:
    """Collect the compilation options."""
    return {
        "entry": getattr(args, "entry", ""),
        "target": args.target,
        "disable": args.disable,
        "fuel": args.fuel,
        "unsafe": args.unsafe,
        "enable": args.enable,
        "verify": args.verify,
        "sanitize": getattr(args, "sanitize", False),
        "thresholds": numbers("--threshold", args.threshold),
        "limits": numbers("--limit", args.limit),
        "edited": {stage: source_text(file) for stage, file in getattr(args, "from_stage", [])},
    }


def numbers(option: str, pairs: Sequence[str]) -> dict[str, int]:
    """Parse repeated `NAME=NUMBER`. Raises UsageError."""
    numbers: dict[str, int] = {}
    for pair in pairs:
        name, _, number = map(str.strip, pair.partition("="))
        if not name or not _NUMBER.fullmatch(number):
            raise UsageError(
                f"`{option} {pair}` is not of the form NAME=NUMBER.",
                hint=f"Give each on its own, such as `{option} n=1000 {option} m=20`.",
            )
        if name in numbers:
            raise UsageError(f"`{option}` is given twice for `{name}`.")
        numbers[name] = int(number)
    return numbers


def pairs(option: str, pairs: Sequence[str], form: str) -> dict[str, str]:
    """Parse repeated `NAME=SOMETHING`, each name once. Raises UsageError."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, something = map(str.strip, pair.partition("="))
        if not name or not sign:
            raise UsageError(f"`{option} {pair}` is not of the form {form}.")
        if name in found:
            raise UsageError(f"`{option}` is given twice for `{name}`.")
        found[name] = something
    return found


def source_text(file: str) -> str:
    """Read a file, or standard input for `-`. Errors: as `read_source`."""
    if file == "-":
        return decode_source(sys.stdin.buffer.read())
    return read_source(file)


def input_bytes(file: str, most: int = -1) -> bytes:
    """Read a file's bytes, the first `most` if that is not negative. Raises UsageError."""
    try:
        with Path(file).open("rb") as opened:
            return opened.read(most)
    except OSError as error:
        raise UsageError(f"Cannot read `{file}`: {error.strerror}.") from None


def text_or_nothing(file: str) -> str:
    """Return the text that an error quotes; "" for standard input and unreadable files."""
    try:
        return read_source(file) if Path(file).is_file() else ""
    except CompileError:
        return ""


def tuning_of(args: argparse.Namespace) -> str | None:
    """Return the file of tuning parameters; see `with_tuning`."""
    return "" if args.no_tuning else args.tuning


def at_least(number: float | None, option: str, least: float) -> None:
    """Raise UsageError for a number that is smaller than `least`, or NaN."""
    if number is not None and not number >= least:
        raise UsageError(f"`{option}` must be a number, {least:g} or more.")
