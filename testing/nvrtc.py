"""CUDA text to machine code with NVRTC, through ctypes: no GPU, no driver, no headers needed."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path

from compiler.base.errors import CompilerBug, UsageError

DEFAULT_ARCH = "sm_90"


@cache
def library() -> ctypes.CDLL:
    """NVRTC from the `nvidia-cuda-nvrtc` wheel or the system. Raises UsageError without it."""
    for path in _candidates():
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    raise UsageError(
        "NVRTC is not installed",
        hint="Install the Python package `nvidia-cuda-nvrtc` to compile CUDA without a GPU.",
    )


def available() -> bool:
    """Whether there is an NVRTC."""
    try:
        library()
    except UsageError:
        return False
    return True


def _candidates() -> list[str | Path]:
    found: list[str | Path] = []
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found.extend(sorted(Path(folder).glob("*/lib/libnvrtc.so.*"), reverse=True))
    return [*found, "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]


def cubin(text: str, arch: str = DEFAULT_ARCH) -> bytes:
    """The machine code of a CUDA text. Raises CompilerBug with NVRTC's log if it is refused."""
    return _compile(text, arch, f"--gpu-architecture={arch}", "CUBIN")


def ptx(text: str, arch: str = DEFAULT_ARCH) -> str:
    """The PTX of a CUDA text."""
    virtual = arch.replace("sm_", "compute_")
    return _compile(text, arch, f"--gpu-architecture={virtual}", "PTX").rstrip(b"\0").decode()


def _compile(text: str, arch: str, target: str, what: str) -> bytes:
    lib = library()
    program = ctypes.c_void_p()
    _ok(lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None))
    try:
        options = [target.encode(), b"--fmad=false", b"--std=c++17", b"--device-int128", b"-w"]
        array = (ctypes.c_char_p * len(options))(*options)
        if lib.nvrtcCompileProgram(program, len(options), array):
            log = _bytes(lib, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            raise CompilerBug(f"NVRTC refused our program:\n{log[:2000]}")
        return _bytes(lib, program, what)
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(lib: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _ok(getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _ok(getattr(lib, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _ok(code: int) -> None:
    if code:
        raise CompilerBug(f"NVRTC failed with error {code}")
