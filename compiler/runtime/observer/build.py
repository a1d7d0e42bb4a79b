"""The kernels of a CUDA text as a library that tells of each access."""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from compiler.base.errors import CompilerBug, UsageError
from compiler.runtime import libraries, tools

HERE = Path(__file__).parent
_HEAD = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')
_LOOP = re.compile(r"^ *(?:for \(|while \(|do ).*\{$")
_HALF = re.compile(r'asm\("cvt\..*"[hfd]"\((\w)\)\);')
_AT_LAUNCH = re.compile(r"extern __shared__ (.* (\w+))\[\];")
WAITS = "__nanosleep("
"""What the threads of a kernel do while they wait for those of other blocks."""
MOST_SHARED = 48 << 10
"""Bytes of shared memory that a launch may ask for, as in `driver.cpp`."""
_COMMON = ("-std=c++17", "-g1", "-w", "-fwrapv", "-fPIC", "-shared", "-x", "c++", "-")
_WATCH = ("-O2", "-U_FORTIFY_SOURCE", "-ldl")
"""Threads change stacks, which checks that some systems ask for take for a fault."""
KERNELS = (
    *("-O0", "-fpermissive", "-fsanitize=thread,bounds", "-nodefaultlibs", "-nostdinc++"),
    *("--param", "tsan-distinguish-volatile=1"),
    *("--param", "tsan-instrument-func-entry-exit=0"),
)
"""Without optimisation, so that each access of the text is one; the callbacks are our own."""


@functools.cache
def compiler() -> str:
    """The C++ compiler. Raises UsageError where there is none."""
    found = shutil.which("g++")
    if found is None:
        raise UsageError(
            "There is no `g++` on this machine, which CUDA text is observed with.",
            hint="Install it, or ask for what is predicted alone.",
        )
    return found


def why_not() -> str:
    """Why no CUDA text can be observed here; "" if it can."""
    try:
        compiler()
    except UsageError as error:
        return error.message
    return ""


def driver() -> Path:
    """A driver of CUDA that runs and watches threads."""
    text = "\n".join((HERE / name).read_text() for name in ("watch.cpp", "driver.cpp"))
    return _compiled(text, _WATCH)


def library(kernels: str) -> Path:
    """The kernels of a text, each with `launch_NAME(blocks, threads, shared, arguments)`."""
    return _compiled(observed(kernels), KERNELS)


@functools.lru_cache(maxsize=8)
def observed(kernels: str) -> str:
    """The text, line for line, with what tells of loops and launches.

    What is left to the assembler of a device is done by functions.
    """
    body = with_turns(_HALF.sub(r"r = observer_half(\1);", kernels))
    body = _AT_LAUNCH.sub(rf"__shared__ \1[{MOST_SHARED}];", body)
    found = _AT_LAUNCH.search(kernels)
    area = found[2] if found else "nullptr"
    heads = list(_HEAD.finditer(kernels))
    ends = [*(head.start() for head in heads[1:]), len(kernels)]
    waits = [WAITS in kernels[head.end() : end] for head, end in zip(heads, ends, strict=False)]
    launches = "".join(
        _launch(head[1], head[2], area, wait) for head, wait in zip(heads, waits, strict=True)
    )
    return (
        f'#include "device.hpp"\n#line 1 "kernels.cu"\n{body}\n#line 1 "launches"\n{launches}{END}'
    )


def with_turns(kernels: str) -> str:
    """The text, line for line, with the number of each loop where its iterations begin."""
    return "\n".join(
        f"{line} observer::Turn observer_turn({number});" if _LOOP.match(line) else line
        for number, line in enumerate(kernels.split("\n"))
    )


END = """\
extern "C" char __start_of_block[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_of_block[] __attribute__((weak, visibility("hidden")));
extern "C" char *observer_low() { return __start_of_block; }
extern "C" char *observer_high() { return __stop_of_block; }
"""


def _launch(name: str, params: str, area: str, waits: bool) -> str:
    """Variables for the parameters, and a function that fills them and runs the kernel.

    `waits`: its blocks of threads wait for each other.
    """
    plain = params.replace("const ", "").replace("__restrict__ ", "")
    kinds = [p.rsplit(" ", 1)[0] + " *" * ("*" in p) for p in plain.split(", ")]
    blocks = [(k, "__restrict__" in p) for k, p in enumerate(params.split(", ")) if "*" in p]
    written = [f"{name}_{k}" for k, is_constant in blocks if not is_constant]
    meets = (
        f"{name}_{k} == (void *){w}" for k, is_constant in blocks if is_constant for w in written
    )
    check = " || ".join(meets) or "0"
    fields = "".join(f"static {kind} {name}_{k};\n" for k, kind in enumerate(kinds))
    takes = "".join(f"    {name}_{k} = *({kind} *)given[{k}];\n" for k, kind in enumerate(kinds))
    call = ", ".join(f"{name}_{k}" for k in range(len(kinds)))
    has = f"    observer_at_launch({area}, {MOST_SHARED}, shared);\n"
    sizes = "".join(f"sizeof({kind}), " for kind in kinds)
    return (
        f'extern "C" const unsigned long sizes_{name}[] = {{{sizes}0}};\n'
        f"{fields}QUIET static void body_{name}() {{ {name}({call}); }}\n"
        f'extern "C" QUIET int launch_{name}(long long blocks, int threads, int shared, '
        f"void **given) {{\n{has}{takes}    if ({check}) observer_not_constant();\n"
        f"    return observer_run(blocks, threads, body_{name}, {int(waits)});\n}}\n"
    )


def _compiled(text: str, flags: tuple[str, ...]) -> Path:
    """A shared library, the one from last time if there was one."""
    header = (HERE / "device.hpp").read_text()
    key = hashlib.sha256("\0".join((text, header, compiler(), *flags)).encode()).hexdigest()[:40]
    found = libraries.find(key)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(prefix="observer-", ignore_cleanup_errors=True) as folder:
        made = Path(folder) / "kernels.so"
        command = [compiler(), f"-I{HERE}", *_COMMON, *flags, "-o", str(made)]
        status, _, said = tools.run(command, text.encode(), made.parent, "the C++ compiler")
        if status:
            complaint = said.decode(errors="replace")[:2000]
            raise CompilerBug(f"The C++ compiler refused our kernels:\n{complaint}")
        return libraries.keep(key, made)


def places(path: Path, offsets: list[int]) -> dict[int, int]:
    """The line of the text that each place in the library comes from; 0 for none.

    A place below 0 is a line already.
    """
    if max(offsets, default=0) <= 0:
        return {offset: -offset for offset in offsets}
    asked = "\n".join(hex(max(0, offset - 1)) for offset in offsets)
    said = subprocess.run(
        ["addr2line", "-e", str(path)], input=asked, text=True, capture_output=True, check=True
    ).stdout.split("\n")
    found: dict[int, int] = {}
    for offset, line in zip(offsets, said, strict=False):
        file, _, number = line.split(" ")[0].rpartition(":")
        is_ours = file.endswith("kernels.cu") and number.isdigit()
        found[offset] = -offset if offset < 0 else int(number) if is_ours else 0
    return found
