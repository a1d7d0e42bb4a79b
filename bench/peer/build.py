"""Compile the stand-in for CUDA's driver, and the kernels of Futhark's programs.

`python -m bench.peer.build FOLDER` is the compiler that the stand-in calls: it makes
`FOLDER/kernels.so` of `FOLDER/kernels.cu`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench.machine import ROOT
from compiler.runtime.observer import build

HERE = Path(__file__).parent
_COMMON = ("-std=c++17", "-g1", "-w", "-fwrapv", "-fPIC", "-shared")
_NAMES = ("libcuda.so", "libcudart.so", "libnvrtc.so")
_HEADERS = ("cuda_runtime.h", "nvrtc.h")
_KERNEL = re.compile(r'extern\s+"C"\s+OF_PEER\s+void\s+(\w+)\s*\(')


def libraries(folder: Path) -> dict[str, str]:
    """Build the libraries in `folder`.

    Return the environment for `futhark cuda` and its programs.
    """
    for name in ("cuda.h", *_HEADERS):
        shutil.copy(HERE / "cuda.h", folder / name)
    text = (build.HERE / "watch.cpp").read_text() + (HERE / "driver.cpp").read_text()
    made = folder / _NAMES[0]
    _compile(text, ["-O2", "-x", "c++", "-", "-ldl", f"-I{HERE}", "-o", str(made)])
    for name in _NAMES[1:]:
        shutil.copy(made, folder / name)
    at = str(folder)
    compiler = f"cd {ROOT} && {sys.executable} -m bench.peer.build"
    return {"CPATH": at, "LIBRARY_PATH": at, "LD_LIBRARY_PATH": at, "PEER_COMPILER": compiler}


def kernels(folder: Path) -> None:
    """Compile the kernels of a text, each with a function `launch_NAME(arguments)`."""
    text = (folder / "kernels.cu").read_text()
    text = build.with_turns(text)
    text = f'#include "kernels.hpp"\n#define __global__ OF_PEER\n{text}'
    plain = _compile(text, [*build.KERNELS, "-E", "-x", "c++", "-", f"-I{HERE}"])
    launches = "".join(
        f'extern "C" QUIET void launch_{name}(void **given) {{ called({name}, given); }}\n'
        for name in dict.fromkeys(_KERNEL.findall(plain))
    )
    text = f"{text}\n#undef __global__\n{_SHARED}{launches}{build.END}"
    text = text.replace("#define __global__ OF_PEER", "#define __global__", 1)
    made = str(folder / "kernels.so")
    _compile(text, [*build.KERNELS, "-x", "c++", "-", f"-I{HERE}", "-o", made])


_SHARED = "volatile unsigned char __shared__ shared_mem[232448] __attribute__((aligned(128)));\n"


def _compile(text: str, flags: list[str]) -> str:
    command = [build.compiler(), f"-I{build.HERE}", *_COMMON, *flags]
    return subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    kernels(Path(sys.argv[1]))
