"""Run programs under GCC's sanitisers, which report each access outside its block.

They are the address and undefined-behaviour sanitisers. A sanitised library is loaded into the
process of `runner_child.py` like any other; the sanitisers' run time must be loaded first, so that
process starts with it preloaded. A report is about the C text, whose lines have places in the
source.

Arithmetic that Futhark defines is no error: integers wrap, shifts lose bits.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from functools import cache

from compiler.base.errors import CompilerBug, UsageError
from compiler.base.spans import NOWHERE
from compiler.base.text import Text
from compiler.runtime.cc import find_compiler

FLAGS = (
    "-O1",
    "-g",
    "-DSS_SANITIZE",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize=signed-integer-overflow,shift-base",
    "-fno-sanitize-recover=all",
)
"""Flags for the C compiler; a later `-O` replaces ours."""
_ADDRESS = (
    "detect_leaks=0",
    "allocator_may_return_null=1",
    "quarantine_size_mb=512",
    "max_redzone=2048",
)
_FRAME = re.compile(r"^\s*#\d+ .*<stdin>:(\d+)", re.MULTILINE)
_ADDRESS_REPORT = re.compile(r"AddressSanitizer:? ([\w-]+)")
_ACCESS = re.compile(r"^(READ|WRITE) of size \d+", re.MULTILINE)
_BEHAVIOUR_REPORT = re.compile(r"<stdin>:(\d+):\d+: runtime error: (.*)")


class Report(CompilerBug):
    """A sanitiser stopped the program; `report` is its full output."""

    report = ""


@cache
def library() -> str:
    """Find the address sanitiser's run time. Raises UsageError where the compiler has none."""
    command = [*find_compiler().command, "-print-file-name=libasan.so"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    path = asked.stdout.strip()
    if asked.returncode or not os.path.isabs(path):
        raise UsageError(
            "The C compiler of this machine has no sanitisers.",
            hint="Install GCC with its libasan and libubsan, and call it `cc`.",
        )
    return path


def available() -> bool:
    """Return True if programs can be run under sanitisers."""
    try:
        library()
    except UsageError:
        return False
    return True


def environment(plain: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that loads sanitised libraries."""
    return {
        **plain,
        "LD_PRELOAD": library(),
        "ASAN_OPTIONS": ":".join(_ADDRESS),
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def report(text: str, code: Text) -> Report | None:
    """Convert a sanitiser's `text` on standard error to an error with its place in the source.

    `code` is the C text that ran. Return None if there is no report.
    """
    behaviour, address = _BEHAVIOUR_REPORT.search(text), _ADDRESS_REPORT.search(text)
    if behaviour is None and address is None:
        return None
    lines = [int(number) for number in _FRAME.findall(text.partition("located ")[0])]
    if behaviour is not None:
        what = f"undefined behaviour: {behaviour[2]}"
        lines.insert(0, int(behaviour[1]))
    else:
        assert address is not None
        access = _ACCESS.search(text)
        what = address[1] + (f", {access[0].lower()}" if access else "")
    spans = [code[at - 1].src[0] for at in lines if 0 < at <= len(code) and code[at - 1].src]
    found = Report(f"The sanitiser stopped the program: {what}.", spans[0] if spans else NOWHERE)
    found.report = text
    return found
