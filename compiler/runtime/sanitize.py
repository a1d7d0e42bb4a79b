"""Running under GCC's sanitisers, which report each access outside of its block.

They are those for addresses and for undefined behaviour.
A sanitised library is loaded into the process of `runner_child.py` like any other; the sanitisers'
run time has to be there first, so that process starts with it preloaded. What a report says is
about the C text; its lines know the places in the source that they came from.

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
"""For the C compiler; an `-O` that follows replaces ours."""
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
    """A sanitiser stopped the program; `report` is all that it said."""

    report = ""


@cache
def library() -> str:
    """The run time of the address sanitiser. Raises UsageError where the compiler has none."""
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
    """Whether programs can be run under sanitisers."""
    try:
        library()
    except UsageError:
        return False
    return True


def environment(plain: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that sanitised libraries are loaded into."""
    return {
        **plain,
        "LD_PRELOAD": library(),
        "ASAN_OPTIONS": ":".join(_ADDRESS),
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def report(text: str, code: Text) -> Report | None:
    """The error that a sanitiser's `text` on standard error tells of, with its place in the source.

    `code` is the C text that ran. None if no sanitiser has said anything.
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
