"""Compile CUDA to machine code with NVRTC, through ctypes: no GPU, driver or headers needed.

    python -m compiler.runtime.nvrtc CAPABILITY DRIVER
    python -m compiler.runtime.nvrtc (PTX | CUBIN) ARCHITECTURE

is the process that compiles for a user: the text on standard input, the cubin on standard output;
in the second form output with line information, and NVRTC's log on standard error. Cubins are
cached by a hash of all their inputs, in the bounded cache of libraries.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from compiler.base.errors import CompilerBug, UsageError
from compiler.runtime import libraries, tools
from compiler.sandbox import walls
from compiler.sandbox.policies import COMPILE

DEFAULT_ARCH = "sm_90"
NO_NVRTC = (
    "NVRTC, which compiles CUDA to machine code, is not installed.",
    "Install `stridescope[cuda13]`, or `stridescope[cuda12]` for a driver of CUDA 12.",
)
NOT_FOR_IT = (
    "NVRTC cannot generate code for this GPU",
    "Install the NVRTC of another CUDA: `stridescope[cuda12]` for an old GPU, a newer "
    "`stridescope[cuda13]` for a new one.",
)
OLD_DRIVER = (
    "The GPU's driver is older than NVRTC",
    "Update the driver, or install `stridescope[cuda12]` for a driver of CUDA 12.",
)
What = Literal["PTX", "CUBIN"]
LINES = ("-lineinfo", "--ptxas-options=-v")
"""Options for line information, and a log of kernels' resources."""
_REFUSED = 3
"""Exit status with an error for the user on standard error."""


@cache
def library() -> ctypes.CDLL:
    """Load the first NVRTC, of NVIDIA's wheels or the system.

    Raises UsageError if there is none.
    """
    for lib in _libraries():
        return lib
    raise UsageError(NO_NVRTC[0], hint=NO_NVRTC[1])


def _libraries() -> Iterator[ctypes.CDLL]:
    """Yield all NVRTC libraries, those of wheels first, newest first."""
    for path in _candidates():
        with suppress(OSError):
            yield ctypes.CDLL(str(path))


def available() -> bool:
    """Return True if there is an NVRTC."""
    try:
        library()
    except UsageError:
        return False
    return True


def version(lib: ctypes.CDLL | None = None) -> tuple[int, int]:
    """Return the version of CUDA that the library belongs to."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _ok((lib or library()).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def _candidates() -> list[str | Path]:
    found = packaged("lib/libnvrtc.so.*")
    return [*found, "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]


def packaged(pattern: str) -> list[Path]:
    """Return files of NVIDIA's Python packages, those of the newest CUDA first.

    A library's name ends in its CUDA version; for tools the folder's does, as in
    `cu13/bin/nvdisasm`.
    """
    spec = importlib.util.find_spec("nvidia")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    found = [path for one in folders for path in Path(one).glob(f"*/{pattern}")]
    return sorted(found, key=_cuda_of, reverse=True)


def _cuda_of(path: Path) -> tuple[int, str]:
    """Return the CUDA version in a path, or 0 where it has none."""
    told = re.search(r"(?:\.so\.|/cu)([0-9]+)(?=[./]|$)", str(path))
    return int(told[1]) if told else 0, str(path)


def with_lines(text: str, what: What, arch: str = DEFAULT_ARCH) -> tuple[bytes, str]:
    """Compile to PTX or machine code with line information, in a process of its own.

    Return it with NVRTC's log. Raises UsageError without NVRTC, CompilerBug if it rejects the text.
    """
    library()
    command = (sys.executable, "-m", "compiler.runtime.nvrtc", what, arch)
    with tempfile.TemporaryDirectory(prefix="nvrtc-", ignore_cleanup_errors=True) as folder:
        status, told, said = _confined(command, text, folder)
    log = said.decode(errors="replace")
    if status:
        raise CompilerBug(f"NVRTC refused our program:\n{log[-2000:]}")
    return told, log


def kept(text: str, capability: int, driver: tuple[int, int]) -> Path:
    """Return the cubin of a text for a device, compiled in a process of its own or cached.

    `capability` is 90 for 9.0, `driver` the CUDA version of the driver. Raises UsageError where
    NVRTC, driver and device do not match, Limitation for a compilation that takes too long.
    """
    parts = (text, *options(), str(capability), str(driver), _identity())
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
    found = libraries.find(key)
    if found is not None:
        return found
    asked = str(capability), f"{driver[0]}.{driver[1]}"
    command = (sys.executable, "-m", "compiler.runtime.nvrtc", *asked)
    with (
        tempfile.TemporaryDirectory(prefix="nvrtc-") as folder,
        tempfile.TemporaryDirectory(prefix="nvrtc-", ignore_cleanup_errors=True) as scratch,
    ):
        status, told, said = _confined(command, text, scratch)
        if status == _REFUSED:
            message, hint = json.loads(said)
            raise UsageError(message, hint=hint)
        if status:
            raise CompilerBug(f"NVRTC refused our program:\n{said.decode()[-2000:]}")
        made = Path(folder) / "kernels.cubin"
        made.write_bytes(told)
        return libraries.keep(key, made)


def _confined(command: Sequence[str], text: str, scratch: str) -> tuple[int, bytes, bytes]:
    """Run this file on a text in a sandbox; return status, output and error output."""
    made = walls.confine(COMPILE, command, scratch)
    return tools.run(made.command, text.encode(), Path(scratch), "NVRTC", made.environment)


def _identity() -> str:
    """Identify the NVRTC that would be loaded, without loading it."""
    told = []
    for path in map(Path, _candidates()):
        if path.is_absolute():
            status = path.stat()
            told.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(told)


def fitting(capability: int, driver: tuple[int, int]) -> tuple[ctypes.CDLL, str]:
    """Return the first NVRTC whose code runs on driver and device, and its architecture.

    Raises UsageError where there is none.
    """
    library()
    older = [lib for lib in _libraries() if version(lib)[0] <= driver[0]]
    if not older:
        mine = min(map(version, _libraries()))
        told = f"the driver knows CUDA {driver[0]}.{driver[1]}, NVRTC is of {mine[0]}.{mine[1]}"
        raise UsageError(f"{OLD_DRIVER[0]}: {told}.", hint=OLD_DRIVER[1])
    for lib in older:
        if own := [a for a in _known(lib) if a // 10 == capability // 10 and a <= capability]:
            return lib, f"sm_{max(own)}"
    known = sorted({arch for lib in older for arch in _known(lib)})
    told = f"{NOT_FOR_IT[0]} (sm_{capability}; it knows sm_{known[0]} to sm_{known[-1]})."
    raise UsageError(told, hint=NOT_FOR_IT[1])


def _known(lib: ctypes.CDLL) -> Sequence[int]:
    """Return the architectures that it supports, as numbers."""
    count = ctypes.c_int()
    _ok(lib.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    known = (ctypes.c_int * count.value)()
    _ok(lib.nvrtcGetSupportedArchs(known))
    return list(known)


def cubin(text: str, arch: str = DEFAULT_ARCH, lib: ctypes.CDLL | None = None) -> bytes:
    """Compile CUDA to machine code. Raises CompilerBug with NVRTC's log if it is rejected."""
    return _compile(text, arch, "CUBIN", lib=lib)[0]


def ptx(text: str, arch: str = DEFAULT_ARCH) -> str:
    """Compile CUDA to PTX."""
    return _compile(text, arch, "PTX")[0].rstrip(b"\0").decode()


def _compile(
    text: str, arch: str, what: What, more: Sequence[str] = (), lib: ctypes.CDLL | None = None
) -> tuple[bytes, str]:
    """Compile to the requested form; return it with NVRTC's log."""
    lib = lib or library()
    program = ctypes.c_void_p()
    _ok(lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None))
    try:
        target = arch if what == "CUBIN" else arch.replace("sm_", "compute_")
        given = (f"--gpu-architecture={target}", *options(), *more)
        array = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
        failed = lib.nvrtcCompileProgram(program, len(given), array)
        log = _bytes(lib, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if failed:
            raise CompilerBug(f"NVRTC refused our program:\n{log[:2000]}")
        return _bytes(lib, program, what), log
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))


def options() -> tuple[str, ...]:
    """Return the options: each operation of a text rounds, and subnormal numbers are kept.

    NVRTC's default contracts products and sums to FMA: kernels say themselves where.
    """
    return "--fmad=false", "--ftz=false", "--std=c++17", "--device-int128", "-w"


def _bytes(lib: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _ok(getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _ok(getattr(lib, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _ok(code: int) -> None:
    if code:
        raise CompilerBug(f"NVRTC failed with error {code}")


def main() -> None:
    """Compile standard input for a device, or print why that fails."""
    if sys.argv[1] in get_args(What):
        _write_with_lines("PTX" if sys.argv[1] == "PTX" else "CUBIN", sys.argv[2])
        return
    capability, driver = sys.argv[1:]
    major, minor = map(int, driver.split("."))
    try:
        lib, arch = fitting(int(capability), (major, minor))
        sys.stdout.buffer.write(cubin(sys.stdin.read(), arch, lib))
    except UsageError as error:
        sys.stderr.write(json.dumps([error.message, error.hint]))
        sys.exit(_REFUSED)


def _write_with_lines(what: What, arch: str) -> None:
    try:
        made, log = _compile(sys.stdin.read(), arch, what, LINES)
    except CompilerBug as error:
        sys.exit(error.message)
    sys.stderr.write(log)
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main()
