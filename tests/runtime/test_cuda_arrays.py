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
entry picks [n] (xs: [n]i64) (is: [n]i64) = map (\\i -> xs[i]) is
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
        (np.ones((1, 3), np.float32), {"strides": (999, 4)}, ""),
        (np.ones((3, 1), np.float32), {"strides": (4, 7)}, ""),
        (np.ones((2, 3), np.float32), {"version": 2, "stream": 0}, ""),
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


@pytest.mark.parametrize(
    "more",
    [
        {"stream": 0},
        {"stream": -4},
        {"stream": "per-thread"},
        {"version": 4},
        {"version": None},
        {"shape": (2, -3)},
        {"shape": (2.5, 3)},
        {"shape": 6},
        {"strides": (12,)},
        {"strides": 12},
        {"typestr": "float-like"},
        {"data": None},
        {"data": (None, False)},
        {"data": 4096},
    ],
    ids=str,
)
def test_an_interface_that_makes_no_sense_is_refused(program: DeviceProgram, more: Any) -> None:
    given = [there(program, np.ones((2, 3), np.float32), **more), 1]
    with pytest.raises(UsageError) as caught:
        program.run("main", given)
    assert "Input 1 has no `__cuda_array_interface__` of version 2 or 3" in caught.value.message
    del getattr(given[0], INTERFACE)["shape"]
    with pytest.raises(UsageError):
        program.run("main", given)


def test_an_address_that_is_not_aligned_or_not_of_the_device_is_refused(
    program: DeviceProgram,
) -> None:
    array = np.ones((2, 3), np.float32)
    place = getattr(there(program, array), INTERFACE)["data"][0]
    for address, says in (
        (place + 2, "makes sense"),
        (0, "not in the memory of the device"),
        (array.ctypes.data, "not in the memory of the device"),
    ):
        with pytest.raises(UsageError, match=says):
            program.run("main", [there(program, array, data=(address, False)), 1])
    nothing = there(program, np.ones((0, 3), np.float32), data=(0, False))
    assert got(program.run("main", [nothing, 1]))[1] == 0


def test_what_may_not_be_written_stays_so(program: DeviceProgram) -> None:
    """What an entry point consumes is copied; a result that is an input says so."""
    numbers = np.arange(5, dtype=np.int32)
    given = there(program, numbers)
    given = there(program, numbers, data=(getattr(given, INTERFACE)["data"][0], True))
    keeps = there(program, numbers)
    (over,) = program.run("over", [keeps, 2])
    assert getattr(over, INTERFACE)["data"][1] is False
    array = there(program, np.ones((2, 3), np.float32))
    place = getattr(array, INTERFACE)["data"][0]
    setattr(array, INTERFACE, getattr(array, INTERFACE) | {"data": (place, True)})
    turned, _, itself = program.run("main", [array, 1])
    assert getattr(itself, INTERFACE)["data"] == (place, True)
    assert getattr(turned, INTERFACE)["data"][1] is False


def test_the_interface_is_read_once(program: DeviceProgram) -> None:
    """What it says when it is asked again may be something else."""
    array = np.ones((2, 3), np.float32)

    class Lies:
        asked = 0

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            self.asked += 1
            return getattr(first, INTERFACE) if self.asked < 3 else {"typestr": "<f8"}

    first, lies = there(program, array), Lies()
    program.run("main", [lies, 1])
    assert lies.asked == 2  # the first is whether there is one


def test_a_check_that_fails_is_forgotten_by_the_next_run(program: DeviceProgram) -> None:
    right, wrong = there(program, np.arange(4)), there(program, np.array([0, 9, 1, 2]))
    for _ in range(2):
        with pytest.raises(RuntimeError_, match=r"\[9\] out of bounds"):
            program.run("picks", [right, wrong])
        assert got(program.run("picks", [right, right]))[0].tolist() == [0, 1, 2, 3]


def test_each_program_is_on_its_device_and_the_users_stays_current(program: DeviceProgram) -> None:
    """Memory is given back to the device that it is of, and taken only from there."""
    other = DeviceProgram(program.code, 1, program.toolkit)
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = []
    for one in (other, program, other):
        before = one.driver.number("cuCtxGetCurrent")
        with one.gpu.current():
            given = there(one, array)
        found.append(one.run("main", [given, 2])[0])
        same(got(found[-1:]), [2 * array.T])
        assert one.driver.number("cuCtxGetCurrent") == before
    for one, wrong in ((program, found[0]), (other, found[1])):
        with pytest.raises(UsageError, match="not in the memory of the device"):
            one.run("main", [wrong, 1])
    other.run("main", [found[0], 1])
    free = [one.gpu.free_bytes() for one in (other, program)]
    del given, found, wrong
    assert all(
        one.gpu.free_bytes() > before for one, before in zip((other, program), free, strict=True)
    )
