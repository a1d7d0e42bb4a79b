"""Run the C compiler (the machine's own, or the `ziglang` wheel's); cache libraries by content.

The wheel has no OpenMP run time: programs are vectorised, but run on one core.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug, UsageError
from compiler.runtime import libraries, tools

_COMMON = (
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
)
_EXACT = ("-ffp-contract=off",)
_NARROW_MOVES = ("-mmove-max=128", "-mstore-max=128")
"""Known to GCC for x86 from 12 on. Wider moves of constants are wrong there: the four numbers
1, 1, 1, 0 of 64 bits are written as 1, 1, 1, 1, since the highest ones are cut off while it is
asked whether all are the same."""
_WRAPPED, _WRAP = "-DSS_WRAPPED", "-Wl,--wrap=GOMP_parallel"
"""Let our runtime decide the cost of a one-thread loop (`codegen/c/runtime.py`)."""
_VECTOR = '-DSS_VECTOR=__attribute__((simd("notinbranch"),const))'
_PROBE = """\
#include <omp.h>
SS_VECTOR float expf(float);
float f(const float *x, int n) {
    float s = 0;
    #pragma omp parallel for simd reduction(+:s)
    for (int i = 0; i < n; i++) s += expf(x[i]);
    return s + omp_get_max_threads();
}
"""
ASSEMBLY = ("-S", "-g1", "-fno-asynchronous-unwind-tables")
"""Flags for assembly with source lines."""
COUNTING = "-DSS_COUNT"
"""The flag for programs that count their copies."""
LONG_TEXT = 250_000
"""Characters above which a program is compiled with less effort, to avoid minutes of compiling."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A command with flags; `parallel` if programs can use all cores."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    version: str
    parallel: bool


@cache
def find_compiler() -> Compiler:
    """Find a C compiler. Raises UsageError where there is none."""
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path is not None:
            found = _probe((path,))
            if found is not None:
                return found
    if importlib.util.find_spec("ziglang") is not None:
        found = _probe((sys.executable, "-m", "ziglang", "cc"))
        if found is not None:
            return found
    raise UsageError(
        "There is no C compiler on this machine.",
        hint="Install `cc` or the Python package `ziglang`; the reference interpreter still runs.",
    )


def _probe(command: tuple[str, ...]) -> Compiler | None:
    """Return the first working set of flags: threads and vector math, threads, neither."""
    asked = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    if asked.returncode:
        return None
    base = (*_COMMON, *_EXACT, "-march=native")
    plain = "-DSS_VECTOR="
    ways = (
        (("-fopenmp", _WRAPPED, _VECTOR), ("-lmvec", "-lm", _WRAP), True),
        (("-fopenmp", _VECTOR), ("-lmvec", "-lm"), True),
        (("-fopenmp", plain), ("-lm",), True),
        (("-fopenmp-simd", plain), ("-lm",), False),
    )
    for moves, (extra, linked, parallel) in product((_NARROW_MOVES, ()), ways):
        made = Compiler(command, (*base, *moves, *extra), linked, asked.stdout, parallel)
        with tempfile.TemporaryDirectory() as folder:
            text = (
                _PROBE
                if parallel
                else _PROBE.replace("#include <omp.h>", "").replace("omp_get_max_threads()", "1")
            )
            if not _run(made, text, Path(folder) / "probe.so"):
                return made
    return None


def _run(compiler: Compiler, text: str, target: Path, more: Sequence[str] = ()) -> str:
    """Compile; return the compiler's error output, or "" on success.

    Its temporary files lie beside the target, in a folder that is deleted with the job.
    """
    command = [*compiler.command, _effort(text), *compiler.flags, *more]
    command += ["-x", "c", "-", "-o", str(target), *compiler.libraries]
    status, _, said = tools.run(command, text.encode(), target.parent, "the C compiler")
    return said.decode(errors="replace") or f"exit status {status}" if status else ""


def _effort(text: str) -> str:
    return "-O3" if len(text) < LONG_TEXT else "-O1"


def assembly(text: str) -> str:
    """Compile C to assembly with source lines. Raises as `compile_c`."""
    with tempfile.TemporaryDirectory(prefix="cc-", ignore_cleanup_errors=True) as folder:
        made = Path(folder) / "program.s"
        complaint = _run(find_compiler(), text, made, ASSEMBLY)
        if complaint:
            raise CompilerBug(f"The C compiler refused our program:\n{complaint[:2000]}")
        return made.read_text(errors="replace")


def compile_c(text: str, more: Sequence[str] = ()) -> Path:
    """Compile C to a shared library.

    Raises CompilerBug if the compiler rejects it. Raises CompilerBug if the compiler refuses it.

    `more` are further flags, such as COUNTING, or `-O0` for texts that run once.
    """
    compiler = find_compiler()
    digest = hashlib.sha256()
    flags = (*compiler.command, _effort(text), *compiler.flags, *more)
    for part in (text, *flags, compiler.version, _machine()):
        digest.update(part.encode() + b"\0")
    key = digest.hexdigest()[:40]
    found = libraries.find(key)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(prefix="cc-", ignore_cleanup_errors=True) as folder:
        made = Path(folder) / "program.so"
        complaint = _run(compiler, text, made, more)
        if complaint:
            raise CompilerBug(f"The C compiler refused our program:\n{complaint[:2000]}")
        return libraries.keep(key, made)


@cache
def _machine() -> str:
    """Describe the processor, which `-march=native` depends on."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    return "".join(line for line in text.splitlines() if line.startswith(("model name", "flags")))[
        :4000
    ]
