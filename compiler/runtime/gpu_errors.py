"""Errors of a GPU: a name and a way out for each kind, by CUDA's error numbers.

The driver and CUDA's runtime use the same numbers for all errors that our programs can cause.
"""

from __future__ import annotations

from compiler.base.errors import CompileError, RuntimeError_, UsageError

OUT_OF_MEMORY = 2

_INSTEAD = "Run with the C backend, or"
NO_GPU = (
    ("This machine has no NVIDIA GPU that a program can reach (there is no /dev/nvidia0)."),
    f"{_INSTEAD} on a machine with a GPU and NVIDIA's driver; a container must be given the GPU.",
)
NO_DRIVER = (
    "This machine has no driver for NVIDIA's GPUs (libcuda.so.1).",
    f"{_INSTEAD} install NVIDIA's driver; `nvidia-smi` has to work.",
)
NO_DEVICE = (
    "The driver finds no GPU.",
    f"{_INSTEAD} see what `nvidia-smi -L` lists; a container must be given the GPU.",
)
NO_CUPY = (
    "CuPy, which runs programs on a GPU, is not installed.",
    "Install `stridescope[cuda13]`, or `stridescope[cuda12]` for a driver of CUDA 12.",
)
NO_BINDINGS = (
    "NVIDIA's `cuda-bindings`, which identify GPUs, are not installed.",
    NO_CUPY[1],
)
BROKEN_CUPY = (
    "CuPy, which runs programs on a GPU, cannot be imported",
    "Remove what is installed of CuPy (`pip list | grep -i cupy`), then install "
    "`stridescope[cuda13]`, or `stridescope[cuda12]` for a driver of CUDA 12.",
)
OLD_CUPY = (
    "CuPy is too old",
    "Reinstall `stridescope[cuda13]`, or `stridescope[cuda12]` for a driver of CUDA 12.",
)
TWO_CUPYS = (
    "Several CuPy packages are installed, and one overwrites the other",
    "Uninstall all of them, then install one: `stridescope[cuda13]`, or `stridescope[cuda12]` "
    "for a driver of CUDA 12.",
)
OTHER_CUPY = (
    "The installed CuPy is for AMD GPUs",
    "Uninstall it, then install `stridescope[cuda13]`, or `stridescope[cuda12]` for a driver of "
    "CUDA 12.",
)
TOO_OLD = (
    "The GPU's driver is too old",
    "Update the driver; for one of CUDA 12 install `stridescope[cuda12]`.",
)
OLD_GPU = (
    "The GPU is too old",
    f"Kernels need compute capability 7.0 or later. {_INSTEAD} on another GPU.",
)
UNREADABLE = (
    "The driver does not accept the machine code",
    "Update the driver, or install the NVRTC that fits it (`stridescope[cuda12]`, `[cuda13]`).",
)
IN_USE = (
    "Another process uses the GPU exclusively, or the GPU is not ready",
    ("Try again later; `nvidia-smi -q -d COMPUTE` shows the mode, which should be `Default`."),
)
FULL = (
    "There is not enough memory on the GPU",
    "Try smaller inputs; `nvidia-smi` shows which processes use its memory.",
)
STOPPED = (
    "The GPU stopped the program at an illegal access or instruction",
    "That is a defect of Stridescope: please report the program and its inputs.",
)
LOST = (
    "The GPU was lost while the program ran",
    ("Run it again. If the GPU is lost again, look for `Xid` in `dmesg`, and restart the machine."),
)
SLOW = (
    "The driver stopped a kernel that ran too long",
    "Try smaller inputs; a GPU with a screen has a time limit of its own.",
)
CAPTURED = (
    "The stream is being captured, but the program must wait for numbers from the GPU",
    "Call it before or after the capture, or on another stream.",
)
OTHER = ("CUDA refused a call", "See NVIDIA's documentation for this name.")

_SETUP = (NO_DEVICE, TOO_OLD, UNREADABLE, IN_USE, CAPTURED)
"""Errors of the installation, which every run meets."""
_CODES: dict[int, tuple[str, str]] = {
    OUT_OF_MEMORY: FULL,
    100: NO_DEVICE,
    101: NO_DEVICE,
    **dict.fromkeys((35, 801, 803, 804), TOO_OLD),
    **dict.fromkeys((200, 209, 222, 223), UNREADABLE),
    **dict.fromkeys((46, 802), IN_USE),
    **dict.fromkeys((700, 714, 715, 716, 717, 718, 719), STOPPED),
    **dict.fromkeys((205, 214, 220, 226, 709, 999), LOST),
    702: SLOW,
}


class DeviceError(RuntimeError_):
    """A call failed; the process that uses the device has to be replaced."""

    number = 0


def kind_of(number: int) -> tuple[str, str]:
    """Return the name of an error, and the way out."""
    return _CODES.get(number, OTHER)


def failure(call: str, number: int, name: str = "") -> CompileError:
    """Make the error for a call that failed with a CUDA error number."""
    kind = kind_of(number)
    message = f"{kind[0].removesuffix('.')} ({name or f'error {number}'} in `{call}`)."
    if kind in _SETUP:
        return UsageError(message, hint=kind[1])
    error = DeviceError(message, hint=kind[1])
    error.number = number
    return error


def usage(kind: tuple[str, str], more: str = "") -> UsageError:
    """Make the UsageError of a kind, with details."""
    message = f"{kind[0].removesuffix('.')}: {more}." if more else f"{kind[0].removesuffix('.')}."
    return UsageError(message, hint=kind[1])
