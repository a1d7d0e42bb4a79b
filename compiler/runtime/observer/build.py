"""Compile the kernels of a CUDA text to a library that reports each access."""

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
"""The call by which threads of a kernel wait for other blocks."""
MOST_SHARED = 48 << 10
"""The most shared memory of a launch in bytes, as in `driver.cpp`."""
_COMMON = ("-std=c++17", "-g1", "-w", "-fwrapv", "-fPIC", "-shared", "-x", "c++", "-")
_WATCH = ("-O2", "-U_FORTIFY_SOURCE", "-ldl")
"""Without fortification: threads switch stacks, which its checks take for a fault."""
KERNELS = (
    *("-O0", "-fpermissive", "-fsanitize=thread,bounds", "-nodefaultlibs", "-nostdinc++"),
    *("--param", "tsan-distinguish-volatile=1"),
    *("--param", "tsan-instrument-func-entry-exit=0"),
)
"""Without optimisation, so that each access of the text stays one; with our own callbacks."""


@functools.cache
def compiler() -> str:
    """Find the C++ compiler. Raises UsageError where there is none."""
    found = shutil.which("g++")
    if found is None:
        raise UsageError(
            "This machine has no `g++`, which the observer of CUDA kernels needs.",
            hint="Install it, or request only the prediction.",
        )
    return found


def why_not() -> str:
    """Explain why no CUDA text can be observed here; "" if it can."""
    try:
        compiler()
    except UsageError as error:
        return error.message
    return ""


def driver() -> Path:
    """Compile the CUDA driver that runs and observes threads."""
    text = "\n".join((HERE / name).read_text() for name in ("watch.cpp", "driver.cpp"))
    return _compiled(text, _WATCH)


def library(kernels: str) -> Path:
    """Compile the kernels of a text, with a `launch_NAME(blocks, threads, shared, arguments)`."""
    return _compiled(observed(kernels), KERNELS)


@functools.lru_cache(maxsize=8)
def observed(kernels: str) -> str:
    """Rewrite the text, line for line, to report loops and launches.

    Inline PTX is replaced by functions.
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
    """Insert the number of each loop where its iterations begin, line for line."""
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
    """Write variables for the parameters, and a function that fills them and runs the kernel.

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
    """Compile a shared library, or return the cached one."""
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
    """Map places in the library to lines of the text; 0 for none.

    A negative place is a negated line already.
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
