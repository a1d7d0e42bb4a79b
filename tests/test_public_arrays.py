"""Entry points as functions of Python, on arrays of the host and on those that lie on a device."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from compiler import public
from compiler.public.program import CompiledProgram
from compiler.runtime.cuda_arrays import DeviceArray
from compiler.runtime.device_process import GPUS, Toolkit, why_not
from compiler.runtime.interface import INTERFACE
from compiler.runtime.observer import build
from tests.runtime.cuda_on_cpu import needs_cxx

SOURCE = """
-- | Sums of rows, and the largest.
entry rows [n][m] (xss: [n][m]f32): ([n]f32, f32) =
  let sums = map f32.sum xss in (sums, f32.maximum sums)
entry plus [n] (xs: [n]i32) (k: i32): [n]i32 = map (+ k) xs
entry five [n] (a: [n][n][n][n][n]i8): [n]i8 = map (\\x -> x[0, 0, 0, 0]) a
"""


class OnDevice:
    """An array of a library that has neither DLPack nor a `from_dlpack`."""

    def __init__(self, of: DeviceArray, array: Any, place: Any = None) -> None:
        self.of = of
        told = dict(getattr(of, INTERFACE))
        if place is not None:
            told |= {"strides": place.strides, "shape": place.shape}
        setattr(self, INTERFACE, told)


@pytest.fixture(scope="module")
def program() -> CompiledProgram:
    made = public.compile(SOURCE)
    if not build.why_not():
        made._toolkit = Toolkit(build.driver(), lambda text, *_: build.library(text))
    return made


def there(program: CompiledProgram, array: Any, view: Any = None) -> OnDevice:
    block = program.on_gpu(0).device.given(np.ascontiguousarray(array).reshape(-1))
    return OnDevice(DeviceArray(block, array.shape, array.dtype), array, view)


def test_entry_points_are_methods_that_tell_what_they_take(program: CompiledProgram) -> None:
    assert program.entries == ("rows", "plus", "five")
    assert {*program.entries} < {*dir(program)}
    assert repr(program) == "<CompiledProgram with the entry points rows, plus, five>"
    assert program.plus.params == ("[n]i32", "i32")
    assert program["rows"].results == ("[n]f32", "f32")
    assert program.plus.__doc__ == "plus(xs: [n]i32, k: i32) -> [n]i32"


@pytest.mark.parametrize("target", ["ref", "c"])
def test_one_result_is_given_as_it_is_and_several_as_a_tuple(
    program: CompiledProgram, target: str
) -> None:
    found = program.plus([1, 2], 3, target=target)
    assert (found.dtype, found.tolist()) == (np.dtype("int32"), [4, 5])
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    sums, most = program.rows(array.T, target=target)
    assert (sums.tolist(), most) == ([3, 5, 7], 7)
    out = np.zeros(3, np.float32)
    assert program.rows(array.T, target=target, out=out)[0] is out
    assert out.tolist() == [3, 5, 7]


@pytest.mark.parametrize(
    ("out", "says"),
    [
        (np.zeros(2, np.int64), "must be a NumPy array of int32"),
        (np.zeros(3, np.int32), r"of shape \(2,\)"),
        ([None, None], "has 2 arrays for 1 results"),
    ],
)
def test_an_out_that_does_not_fit_is_told(program: CompiledProgram, out: Any, says: str) -> None:
    with pytest.raises(public.Error, match=says):
        program.plus([1, 2], 3, target="ref", out=out)


class ByDlpack:
    """An array of the host that has nothing but DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **named: Any) -> Any:
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_arrays_of_the_host_come_and_go_by_dlpack(program: CompiledProgram) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    sums, _ = program.rows(ByDlpack(array.T), target="ref")
    assert np.from_dlpack(sums).tolist() == [3, 5, 7]
    array.flags.writeable = False
    assert program.rows(ByDlpack(array), target="ref")[1] == 12
    with pytest.raises(public.Error, match="`xss` should be"):
        program.rows(ByDlpack(np.zeros((2, 2))), target="ref")
    broken = ByDlpack(array)
    broken.__dict__["array"] = np.array(["text"])
    with pytest.raises(public.Error, match="cannot be taken by DLPack"):
        program.rows(broken, target="ref")


@pytest.mark.parametrize("name", ["torch", "jax.numpy"])
def test_arrays_of_other_libraries_on_the_host(program: CompiledProgram, name: str) -> None:
    library = pytest.importorskip(name)
    sums, _ = program.rows(library.ones((2, 3), dtype=library.float32), target="ref")
    assert sums.tolist() == [3, 3]


def test_the_lines_of_the_readme_run(
    program: CompiledProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With arrays of the observer's devices in CuPy's place."""
    if build.why_not():
        pytest.skip(build.why_not())
    text = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    start = text.index("    import cupy, stridescope")
    lines = text[start : text.index("\n\n", start)].replace("\n    ", "\n").strip()

    class Turnable(OnDevice):
        @property
        def T(self) -> OnDevice:  # noqa: N802
            return OnDevice(self.of, None, np.broadcast_to(np.float32(0), self.of.shape[::-1]))

    cupy = ModuleType("cupy")
    cupy.ones = lambda shape, kind: Turnable(there(program, np.ones(shape, kind)).of, None)  # type: ignore
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "stridescope", public)
    monkeypatch.setattr("compiler.public.program.GPUS", program._toolkit)
    names: dict[str, Any] = {}
    exec(lines.replace("(1000, 500)", "(10, 5)"), names)
    assert names["sums"].get().shape == (5,)


@needs_cxx
def test_arrays_on_a_device_choose_the_target(program: CompiledProgram) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    sums, most = program.rows(there(program, array))
    assert isinstance(sums, DeviceArray)
    assert (sums.get().tolist(), most) == ([3, 12], 12)
    turned = there(program, array, array.T)
    assert program.rows(turned)[0].get().tolist() == [3, 5, 7]
    more = program.plus(there(program, np.arange(3, dtype=np.int32)), 2)
    assert more.get().tolist() == [2, 3, 4]
    with pytest.raises(public.Error, match="lies on a GPU, and the target is `c`"):
        program.rows(turned, target="c")
    with pytest.raises(public.Error, match="takes 2 values, not 1"):
        program.plus(there(program, np.arange(3, dtype=np.int32)))
    with pytest.raises(public.Error, match="`k` has type i32"):
        program.plus(there(program, np.arange(3, dtype=np.int32)), 1.5)


@needs_cxx
def test_results_are_arrays_of_the_library_of_the_inputs(
    program: CompiledProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of PyTorch, which takes DLPack."""
    library = ModuleType("torch_of_a_test")
    library.from_dlpack = np.from_dlpack  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_of_a_test", library)
    kind = type("Tensor", (OnDevice,), {"__module__": "torch_of_a_test.tensors"})
    given = there(program, np.arange(4, dtype=np.int32))
    given.__class__ = kind
    found = program.plus(given, 1)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [1, 2, 3, 4]


@needs_cxx
def test_steps_of_many_dimensions_are_refused(program: CompiledProgram) -> None:
    array = np.zeros((2,) * 5, np.int8)
    assert program.five(there(program, array)).get().tolist() == [0, 0]
    with pytest.raises(public.Error, match="Input 1 has 5 dimensions and is not row-major"):
        program.five(there(program, array, array.T))


@pytest.mark.skipif(not why_not(), reason="there is a GPU")
def test_without_a_gpu_its_arrays_are_refused() -> None:
    made = public.compile(SOURCE)
    array = OnDevice.__new__(OnDevice)
    setattr(array, INTERFACE, {"shape": (1, 1), "typestr": "<f4", "data": (4096, False)})
    with pytest.raises(public.Error) as caught:
        made.rows(array)
    assert caught.value.hint


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_cupy_and_others_on_a_gpu(program: CompiledProgram) -> None:
    """Of any strides, on a stream, into an array of the caller's; and PyTorch's, if it is there."""
    import cupy

    program._toolkit = GPUS
    program._on_gpus.clear()
    whole = cupy.arange(40_000, dtype="f4").reshape(200, 200)
    for part in (whole, whole.T, whole[::2, 5:], whole[::-1, ::-3]):
        sums, most = program.rows(part)
        assert isinstance(sums, cupy.ndarray)
        assert cupy.allclose(sums, part.sum(1), rtol=1e-4)
        assert np.isclose(most, float(part.sum(1).max()), rtol=1e-4)
    out = cupy.zeros(200, "f4")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        assert program.rows(whole * 2, out=out)[0] is out
    stream.synchronize()
    assert cupy.allclose(out, 2 * whole.sum(1), rtol=1e-4)
    if importlib.util.find_spec("torch") is not None:
        import torch  # type: ignore[import-not-found]

        tensor = torch.arange(12, dtype=torch.int32, device="cuda")
        found = program.plus(tensor, 3)
        assert isinstance(found, torch.Tensor)
        assert found.tolist() == [*range(3, 15)]
        with pytest.raises(public.Error, match="gives no array"):
            program.rows(torch.ones(2, 2, device="cuda", requires_grad=True))
