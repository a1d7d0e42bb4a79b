"""Arrays that lie on a device already, as others tell of theirs; the driver is the observer's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_, UsageError
from compiler.codegen.cuda.program import split
from compiler.runtime.cuda_arrays import INTERFACE, DeviceArray, DeviceProgram
from compiler.runtime.device_process import Toolkit
from compiler.runtime.observer import build
from compiler.semantics import interp
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.codegen.test_cuda import code_of
from tests.runtime.cuda_on_cpu import needs_cxx

pytestmark = needs_cxx
SOURCE = """
entry main [n][m] (xss: [n][m]f32) (k: i64): ([m][n]f32, f32, [n][m]f32) =
  (transpose (map (map (* f32.i64 k)) xss), f32.sum (flatten xss), xss)
entry over [n] (xs: *[n]i32) (i: i64): *[n]i32 = xs with [i] = 7
entry none: []u8 = []
"""


class Foreign:
    """An array of somebody else, as CuPy would tell of it."""

    def __init__(self, of: DeviceArray, **more: Any) -> None:
        self.of = of
        setattr(self, INTERFACE, getattr(of, INTERFACE) | {"stream": None, **more})


@pytest.fixture(scope="module")
def program() -> DeviceProgram:
    code = code_of(SOURCE, None)
    return DeviceProgram(
        code, toolkit=Toolkit(build.driver(), lambda text, *_: build.library(text))
    )


def there(program: DeviceProgram, array: Any, **more: Any) -> Foreign:
    flat = np.ascontiguousarray(array).reshape(-1)
    return Foreign(DeviceArray(program.device.given(flat), array.shape, array.dtype), **more)


def got(values: list[Any]) -> list[Any]:
    return [v.get() if isinstance(v, DeviceArray) else v for v in values]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1), (3, 5), (70, 33)])
@pytest.mark.parametrize("host", [False, True])
def test_results_are_those_of_the_program(
    program: DeviceProgram, shape: tuple[int, int], host: bool
) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    given = [array if host else there(program, array), np.int64(3)]
    expected = interp.run(compiled(SOURCE).result("soa").prog, "main", [array, np.int64(3)])
    found = program.run("main", given)
    same(got(found), expected)
    told = getattr(found[0], INTERFACE)
    assert (told["shape"], told["typestr"], told["version"]) == (shape[::-1], "<f4", 3)
    assert bool(told["data"][0]) == bool(array.size)


def test_what_a_program_gives_it_takes_and_nothing_is_copied_or_overwritten(
    program: DeviceProgram,
) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    first = there(program, array)
    turned, _, itself = program.run("main", [first, 1])
    assert isinstance(itself, DeviceArray)
    assert getattr(itself, INTERFACE)["data"] == getattr(first, INTERFACE)["data"]
    same(got(program.run("main", [turned, 2]))[:1], [2 * array])
    numbers = np.arange(5, dtype=np.int32)
    given = there(program, numbers)
    (over,) = program.run("over", [given, 2])
    assert got([over])[0].tolist() == [0, 1, 7, 3, 4]
    assert given.of.get().tolist() == numbers.tolist()
    (none,) = program.run("none", [])
    assert got([none])[0].shape == (0,)


def test_memory_is_the_owners_as_long_as_somebody_has_it(program: DeviceProgram) -> None:
    device = program.device
    before = device.used
    array = np.ones((4, 4), np.float32)
    one = there(program, array)
    assert device.used == before + array.nbytes
    itself = program.run("main", [one, 1])[2]
    del one
    assert device.used >= before + array.nbytes
    same(got([itself]), [array])
    del itself
    assert device.used == before


def test_a_stream_of_the_owners_is_waited_for(program: DeviceProgram) -> None:
    calls: list[Any] = []
    driver = program.device.gpu.driver
    kept = type(driver).__call__
    array = np.ones((2, 2), np.float32)
    try:
        type(driver).__call__ = lambda d, *a: (calls.append(a), kept(d, *a))[1]  # type: ignore
        other = program.gpu.aside
        for stream in (None, 1, 2, other):
            calls.clear()
            program.run("main", [there(program, array, stream=stream), 1])
            assert (("cuStreamSynchronize", stream) in calls) == (stream in (2, other))
    finally:
        type(driver).__call__ = kept  # type: ignore


@pytest.mark.parametrize(
    ("array", "more", "says"),
    [
        (np.ones((2, 3), np.float64), {}, "must be of type f32, not float64"),
        (np.ones(3, np.float32), {}, "must be of 2 dimensions, not of 1"),
        (np.ones((2, 3), np.float32), {"strides": (4, 8)}, "not row-major"),
        (np.ones((2, 3), np.float32), {"mask": object()}, "not row-major"),
        (np.ones((2, 3), np.float32), {"strides": (12, 4)}, ""),
        (np.ones((0, 3), np.float32), {"strides": (0, 0)}, ""),
    ],
)
def test_what_does_not_fit_is_told(
    program: DeviceProgram, array: Any, more: Any, says: str
) -> None:
    given = [there(program, array, **more), 1]
    if not says:
        program.run("main", given)
        return
    with pytest.raises(UsageError) as caught:
        program.run("main", given)
    assert f"Input 1 {'is' if says.startswith('not') else ''}".strip() in caught.value.message
    assert says in caught.value.message


def test_numbers_of_values_and_failed_checks_are_told(program: DeviceProgram) -> None:
    array = there(program, np.arange(4, dtype=np.int32))
    with pytest.raises(UsageError, match="takes 2 values, not 1"):
        program.run("over", [array])
    with pytest.raises(UsageError, match="Input 2 must be a number, not of 1 dimensions"):
        program.run("over", [array, array])
    with pytest.raises(RuntimeError_, match="out of bounds"):
        program.run("over", [array, 4])
    assert split(program.code)[0]
