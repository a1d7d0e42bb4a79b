"""Measure arrays that lie on a GPU already, as a part of `bench.device`.

CuPy's arrays of all kinds of strides, and those of PyTorch and JAX where they are installed, go
through an entry point; a call on a small array is timed on the host and beside CuPy's own.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import compiler.public as stridescope
from compiler.public.program import CompiledProgram
from compiler.runtime.device_process import Toolkit

SOURCE = """
entry rows [n][m] (a: [n][m]f32): [n]f32 = map f32.sum a
entry plus [n] (xs: [n]f32): [n]f32 = map (+ 1) xs
entry over [n] (xs: *[n]f32): *[n]f32 = xs with [0] = 42
entry fails [n] (xs: [n]f32) (k: i64): f32 = f32.sum (map (\\i -> xs[i + k]) (iota n))
"""
CALLS = 2000
SMALL = 1000


def arrays(toolkit: Toolkit) -> dict[str, Any]:
    """Return the defect of each kind of array, "" if none, and the microseconds of a call."""
    cupy = importlib.import_module("cupy")
    program = stridescope.compile(SOURCE)
    program._toolkit = toolkit
    return {
        "results": {name: _tried(check, program, cupy) for name, check in CHECKS.items()},
        "call_us": _microseconds(lambda xs: program.plus(xs), cupy),
        "cupy_call_us": _microseconds(lambda xs: xs + 1, cupy),
    }


def _tried(
    check: Callable[[CompiledProgram, Any], str], program: CompiledProgram, cupy: Any
) -> str:
    try:
        return check(program, cupy)
    except Exception as error:  # the device's time is short: the other checks go on
        return f"{type(error).__name__}: {error}"


def _microseconds(call: Callable[[Any], Any], cupy: Any) -> float:
    """Return the microseconds of host time of a call, while the device is idle."""
    xs = cupy.ones(SMALL, "f4")
    for _ in range(10):
        call(xs)
    cupy.cuda.runtime.deviceSynchronize()
    began = time.perf_counter()
    for _ in range(CALLS):
        call(xs)
    cupy.cuda.runtime.deviceSynchronize()
    return (time.perf_counter() - began) / CALLS * 1e6


def _same(found: Any, expected: Any) -> str:
    return "" if np.allclose(np.asarray(found), np.asarray(expected), rtol=1e-4) else "differs"


def _strides(program: CompiledProgram, cupy: Any) -> str:
    whole = cupy.random.rand(300, 200, dtype=cupy.float32)
    views = {
        "row-major": whole,
        "transposed": whole.T,
        "rows": whole[::3],
        "columns": whole[:, 1::2],
        "reversed": whole[::-1, ::-1],
        "one row": cupy.broadcast_to(whole[7], (50, 200)),
        "empty": whole[:0],
    }
    wrong = [n for n, v in views.items() if _same(program.rows(v).get(), v.sum(1).get())]
    return ", ".join(wrong)


def _consumed(program: CompiledProgram, cupy: Any) -> str:
    xs = cupy.arange(9, dtype="f4")
    found = program.over(xs)
    return _same([found[0].get(), xs[0].get()], [42, 0])


def _streams(program: CompiledProgram, cupy: Any) -> str:
    """On CuPy's current stream, behind slow work; `out` as well; then one that is captured."""
    stream, out = cupy.cuda.Stream(non_blocking=True), cupy.empty(4000, "f4")
    with stream:
        xs = cupy.ones((4000, 4000), "f4")
        for _ in range(30):
            xs = xs * 1.0001
        assert program.rows(xs, out=out) is out
        expected = xs.sum(1)
    stream.synchronize()
    late = program.rows(xs, stream=cupy.cuda.Stream(non_blocking=True))
    cupy.cuda.runtime.deviceSynchronize()
    with stream:
        stream.begin_capture()
        try:
            program.rows(xs)
            return "a stream that is captured is taken"
        except stridescope.Error:
            pass
        finally:
            stream.end_capture()
    return _same(out.get(), expected.get()) or _same(late.get(), expected.get())


def _failed(program: CompiledProgram, cupy: Any) -> str:
    """A check that fails says so, and the next call is as if it had not been."""
    xs = cupy.arange(100, dtype="f4")
    try:
        program.fails(xs, 1)
        return "nothing is raised"
    except stridescope.Error as error:
        if "out of bounds" not in error.message:
            return error.message
    return _same(program.fails(xs, 0), 4950)


def _lifetime(program: CompiledProgram, cupy: Any) -> str:
    """A result outlives what it came from, and memory is CuPy's again when it goes."""
    pool = cupy.get_default_memory_pool()
    expected = program.plus(cupy.arange(100_000, dtype="f4")).get()
    kept = program.plus(cupy.arange(100_000, dtype="f4"))
    more = [program.plus(cupy.zeros(100_000, "f4")) for _ in range(20)]
    wrong = _same(kept.get(), expected)
    used = pool.used_bytes()
    del more
    return wrong or ("" if pool.used_bytes() <= used - 20 * 400_000 else "memory stays")


def _torch(program: CompiledProgram, cupy: Any) -> str:
    if importlib.util.find_spec("torch") is None:
        return ""
    torch: Any = importlib.import_module("torch")
    tensor = torch.rand(300, 200, device="cuda")
    found = program.rows(tensor.T)
    if not isinstance(found, torch.Tensor):
        return f"a result is of type {type(found).__name__}"
    with torch.cuda.stream(torch.cuda.Stream()):
        other = program.rows(tensor, stream=torch.cuda.current_stream())
    torch.cuda.synchronize()
    return _same(found.cpu(), tensor.sum(0).cpu()) or _same(other.cpu(), tensor.sum(1).cpu())


def _jax(program: CompiledProgram, cupy: Any) -> str:
    if importlib.util.find_spec("jax") is None:
        return ""
    jax: Any = importlib.import_module("jax")
    array = jax.numpy.arange(600.0, dtype="float32").reshape(20, 30)
    if array.devices().pop().platform != "gpu":
        return ""
    return _same(program.rows(array), array.sum(1))


CHECKS: dict[str, Callable[[CompiledProgram, Any], str]] = {
    "strides": _strides,
    "consumed inputs": _consumed,
    "streams": _streams,
    "failed checks": _failed,
    "lifetime": _lifetime,
    "PyTorch": _torch,
    "JAX": _jax,
}
