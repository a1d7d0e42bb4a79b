"""CUDA programs on the CPU: the kernels compiled as C++, a block's threads run as fibers.

`__syncthreads` hands over to the next thread of the block, so that each piece of code between two
barriers runs for one thread after another; blocks run one after another. `Numpy` stands in for
CuPy under the host program.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from compiler.codegen.cuda.runtime import THREADS
from compiler.runtime import cuda_device

FIBERS = 32
"""Threads of a block here: switching between them takes time."""
CXX = shutil.which("g++") or shutil.which("clang++")
needs_cxx = pytest.mark.skipif(CXX is None, reason="no C++ compiler to run CUDA kernels with")

SHIM = r"""
#include <cmath>
#include <cstring>
#include <ucontext.h>
#include <vector>
#define __global__
#define __device__ static
#define __noinline__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
struct Place { unsigned x; };
static Place threadIdx, blockIdx;
static ucontext_t scheduler, fibers[1024];
static bool finished[1024];
static int current;
static void (*work)();
static void __syncthreads() { int me = current; swapcontext(&fibers[me], &scheduler); }
static void __threadfence() {}
static long long __mul64hi(long long a, long long b) { return ((__int128)a * b) >> 64; }
static void fiber() { work(); finished[current] = true; swapcontext(&fibers[current], &scheduler); }
static void run_blocks(long long blocks, int threads, void (*body)()) {
    static std::vector<std::vector<char>> stacks(1024, std::vector<char>(1 << 16));
    work = body;
    for (long long b = 0; b < blocks; b++) {
        blockIdx.x = (unsigned)b;
        for (int t = 0; t < threads; t++) {
            finished[t] = false;
            getcontext(&fibers[t]);
            fibers[t].uc_stack.ss_sp = stacks[t].data();
            fibers[t].uc_stack.ss_size = stacks[t].size();
            fibers[t].uc_link = 0;
            makecontext(&fibers[t], fiber, 0);
        }
        for (bool more = true; more;) {
            more = false;
            for (int t = 0; t < threads; t++) {
                if (finished[t]) continue;
                current = t;
                threadIdx.x = (unsigned)t;
                swapcontext(&scheduler, &fibers[t]);
                more = true;
            }
        }
    }
}
template <class T> T atomicAdd(T *p, T v) { T old = *p; *p = old + v; return old; }
template <class T> T atomicMin(T *p, T v) { T old = *p; *p = v < old ? v : old; return old; }
template <class T> T atomicMax(T *p, T v) { T old = *p; *p = v > old ? v : old; return old; }
template <class T> T atomicAnd(T *p, T v) { T old = *p; *p = old & v; return old; }
template <class T> T atomicOr(T *p, T v) { T old = *p; *p = old | v; return old; }
template <class T> T atomicXor(T *p, T v) { T old = *p; *p = old ^ v; return old; }
template <class T, class U> T atomicExch(T *p, U v) { T old = *p; *p = (T)v; return old; }
template <class T, class U, class V> T atomicCAS(T *p, U c, V v) {
    T old = *p;
    if (old == (T)c) *p = (T)v;
    return old;
}
static long long __double_as_longlong(double x) { long long r; memcpy(&r, &x, 8); return r; }
"""

_TYPEDEFS = re.compile(r"^typedef .*\n", re.MULTILINE)
_HEAD = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')


def library(kernels: str) -> ctypes.CDLL:
    """The kernels as a shared library, with a function `launch_NAME(blocks, arguments)` each."""
    launches = [_launch(name, params) for name, params in _HEAD.findall(kernels)]
    body = _TYPEDEFS.sub("", kernels)
    text = f"#include <cstdint>\n{SHIM}\n{body}\n{''.join(launches)}"
    folder = Path(tempfile.gettempdir()) / "stridescope-cuda-on-cpu"
    folder.mkdir(exist_ok=True)
    target = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.so"
    if not target.exists():
        made = target.with_suffix(".tmp")
        command = [str(CXX), "-std=c++17", "-O1", "-w", "-fwrapv", "-shared", "-fPIC"]
        command += ["-fpermissive", "-x", "c++", "-", "-o", str(made)]
        subprocess.run(command, input=text, text=True, check=True)
        made.replace(target)
    return ctypes.CDLL(str(target))


def _launch(name: str, params: str) -> str:
    """Globals for the parameters, and a function that fills them and runs the blocks."""
    kinds = [p.rsplit(" ", 1)[0].replace("const ", "") for p in params.split(", ")]
    kinds = [k + " *" if "*" in p else k for k, p in zip(kinds, params.split(", "), strict=True)]
    fields = "".join(f"static {k} {name}_{i};\n" for i, k in enumerate(kinds))
    takes = "".join(f"    {name}_{i} = *({k} *)given[{i}];\n" for i, k in enumerate(kinds))
    call = ", ".join(f"{name}_{i}" for i in range(len(kinds)))
    return (
        f"{fields}static void body_{name}() {{ {name}({call}); }}\n"
        f'extern "C" void launch_{name}(long long blocks, int threads, void **given) {{\n'
        f"{takes}    run_blocks(blocks, threads, body_{name});\n}}\n"
    )


class _Array(np.ndarray):
    def get(self) -> Any:
        return np.array(self)


class Numpy:
    """As much of CuPy as the host program needs."""

    float16 = np.float16

    def empty(self, count: int, dtype: Any) -> Any:
        return np.full(count, 77, dtype).view(_Array)

    def zeros(self, count: int, dtype: Any) -> Any:
        return np.zeros(count, dtype).view(_Array)

    def asarray(self, array: Any) -> Any:
        return np.asarray(array).view(_Array)

    class RawModule:
        """Kernels by name."""

        def __init__(self, code: str, **_: Any) -> None:
            self.library = library(code)

        def get_function(self, name: str) -> Any:
            function = getattr(self.library, f"launch_{name}")

            def start(grid: tuple[int], block: tuple[int], given: Sequence[Any]) -> None:
                cells = [
                    ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else np.array([a])
                    for a in given
                ]
                pointers = (ctypes.c_void_p * len(cells))(
                    *(
                        c.ctypes.data if isinstance(c, np.ndarray) else ctypes.addressof(c)
                        for c in cells
                    )
                )
                function(ctypes.c_longlong(grid[0]), ctypes.c_int(block[0]), pointers)

            return start

    cuda = SimpleNamespace(
        memory=SimpleNamespace(OutOfMemoryError=MemoryError),
        runtime=SimpleNamespace(deviceSynchronize=lambda: None),
    )

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(total_bytes=lambda: 0)


def run(code: str, args: Sequence[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The results of `main` of a CUDA text."""
    monkeypatch.setattr(cuda_device, "cupy", Numpy)
    monkeypatch.setattr(cuda_device, "THREADS", FIBERS)
    code = code.replace(f"THREADS = {THREADS}", f"THREADS = {FIBERS}")
    return cuda_device.run_cuda(code, "main", args).values
