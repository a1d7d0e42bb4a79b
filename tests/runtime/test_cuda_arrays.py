"""Arrays that lie on a device already, as others tell of theirs; the driver is the observer's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.text import plain
from compiler.codegen.cuda.program import split
from compiler.driver.pipeline import Compilation
from compiler.lower.strided import name_of
from compiler.runtime import cupy_gpu
from compiler.runtime.cuda_arrays import DeviceArray, DeviceProgram
from compiler.runtime.device_process import Toolkit
from compiler.runtime.interface import INTERFACE
from compiler.runtime.observer import build
from compiler.semantics import interp
from testing.fake_cupy import FakeCupy
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


@pytest.fixture(scope="module", params=["observer", "cupy"])
def program(request: pytest.FixtureRequest) -> Iterator[DeviceProgram]:
    """On a device of the observer's, and on what CuPy is called with, which is one as well."""
    with pytest.MonkeyPatch.context() as patch:
        fake = FakeCupy()
        patch.setattr(cupy_gpu, "imported", lambda: fake)
        driver = build.driver() if request.param == "observer" else None
        yield DeviceProgram(
            code_of(SOURCE, None), toolkit=Toolkit(driver, lambda text, *_: build.library(text))
        )


def library(program: DeviceProgram) -> Any:
    gpu: Any = program.gpu
    return gpu.library if hasattr(gpu, "library") else gpu.cupy.calls


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


def test_a_stream_of_the_owners_is_followed(
    program: DeviceProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: list[int] = []
    monkeypatch.setattr(program.gpu, "follow", followed.append)
    array = np.ones((2, 2), np.float32)
    other = library(program).number("stream")
    for stream in (None, 1, 2, other):
        followed.clear()
        program.run("main", [there(program, array, stream=stream), 1])
        assert followed == ([] if stream is None else [stream])


def test_a_stream_of_the_callers_is_where_work_goes(program: DeviceProgram) -> None:
    """A result says so, and what is captured there is refused."""
    other = library(program).number("stream")
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned = program.run("main", [array, 2], stream=other)[0]
    assert isinstance(turned, DeviceArray)
    assert getattr(turned, INTERFACE)["stream"] == other
    same(got(program.run("main", [turned, 1]))[:1], [2 * array])
    assert getattr(program.run("main", [array, 2])[0], INTERFACE)["stream"] == 1


@pytest.mark.parametrize(
    ("array", "more", "says"),
    [
        (np.ones((2, 3), np.float64), {}, "must be of type f32, not float64"),
        (np.ones(3, np.float32), {}, "must be of 2 dimensions, not of 1"),
        (np.ones((2, 3), np.float32), {"strides": (4, 8)}, "not row-major"),
        (np.ones((2, 3), np.float32), {"strides": (12, 2)}, "are not aligned"),
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
    assert "Input 1 " in caught.value.message
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
        {"mask": ...},
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
    assert isinstance(given[0], Foreign)
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
        before = library(one).number("current")
        with one.gpu.current():
            given = there(one, array)
        found.append(one.run("main", [given, 2])[0])
        same(got(found[-1:]), [2 * array.T])
        assert library(one).number("current") == before
    for one, wrong in ((program, found[0]), (other, found[1])):
        with pytest.raises(UsageError, match="not in the memory of the device"):
            one.run("main", [wrong, 1])
    other.run("main", [found[0], 1])
    free = program.gpu.free_bytes()
    del given, found, wrong
    assert program.gpu.free_bytes() > free


# --- strides -------------------------------------------------------------------------------------

STRIDED = """
entry rows [n][m] (xss: [n][m]f32) (ys: [m]f32): [n]f32 =
  map (\\xs -> f32.sum (map2 (*) xs ys)) xss
entry itself [n][m] (xss: [n][m]f32) (k: i64): ([n][m]f32, []f32) =
  (xss, filter (> 3) (map (* f32.i64 k) (flatten xss)))
entry over [n] (xs: *[n]f32) (i: i64): *[n]f32 = xs with [i] = 7
entry twice [n] (xs: [2 * n]f32) (ys: [n]f32) =
  map2 (+) (take n xs) (map2 (*) ys (drop n xs :> [n]f32))
"""


@pytest.fixture(scope="module")
def strided(program: DeviceProgram) -> DeviceProgram:
    def version(entry: str, which: tuple[int, ...]) -> tuple[str, str]:
        options = Options(target="cuda", strides=(entry, which), verify=True)
        return plain(Compilation(STRIDED, options).result("cuda").text), name_of((entry, which))

    return DeviceProgram(code_of(STRIDED, None), toolkit=program.toolkit, strided=version)


def view(program: DeviceProgram, whole: Any, part: Any) -> Foreign:
    """`part`, a view of a NumPy array, as a view of a copy of that on the device."""
    copy = there(program, whole)
    place = getattr(copy, INTERFACE)["data"][0]
    offset = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return Foreign(
        copy.of, shape=part.shape, strides=part.strides, data=(place + offset, False), stream=None
    )


WHOLE = np.arange(7 * 9, dtype=np.float32).reshape(7, 9)
VIEWS = {
    "transposed": WHOLE.T,
    "rows": WHOLE[::2],
    "columns": WHOLE[:, 1::3],
    "reversed": WHOLE[::-1, ::-1],
    "both": WHOLE[5:1:-2, 7:0:-3].T,
    "row for all": np.broadcast_to(WHOLE[3], (4, 9)),
    "column for all": np.broadcast_to(WHOLE[:, 4:5], (7, 5)),
    "one for all": np.broadcast_to(WHOLE[2:3, 2:3], (3, 4)),
    "nothing": WHOLE[::2, 9:],
    "overlapping": np.lib.stride_tricks.sliding_window_view(WHOLE[0], 4),
}


@pytest.mark.parametrize("name", VIEWS)
def test_an_input_of_any_strides_is_the_lmad_that_it_is(strided: DeviceProgram, name: str) -> None:
    part = VIEWS[name]
    ys = np.linspace(1, 2, 5 * part.shape[1], dtype=np.float32)
    far = ys[::5][: part.shape[1]]
    expected = (part.astype(np.float64) * far).sum(1)
    before = strided.device.used
    for more in (view(strided, ys, far), far):
        (found,) = got(strided.run("rows", [view(strided, WHOLE, part), more]))
        assert np.allclose(found, expected, rtol=1e-5)
    itself, some = got(strided.run("itself", [view(strided, WHOLE, part), 2]))
    assert itself.tolist() == part.tolist()
    assert some.tolist() == [2 * x for x in part.flatten().tolist() if 2 * x > 3]
    assert strided.device.used == before


def test_no_copy_is_made_of_an_input_that_is_only_read(strided: DeviceProgram) -> None:
    version = strided.versions["rows", (0, 1)][0]
    used = version.device.used
    part = view(strided, WHOLE, WHOLE.T)
    version.device.peak = used
    (found,) = strided.run("rows", [part, view(strided, WHOLE, WHOLE[:, 0])])
    assert isinstance(found, DeviceArray)
    assert version.device.peak == used + found.block.bytes


def test_what_is_consumed_and_sizes_that_are_computed(strided: DeviceProgram) -> None:
    whole = np.arange(12, dtype=np.float32)
    given = view(strided, whole, whole[::-2])
    (over,) = got(strided.run("over", [given, 1]))
    assert over.tolist() == [11, 7, 7, 5, 3, 1]
    assert given.of.get().tolist() == whole.tolist()
    ys = np.arange(3, dtype=np.float32)
    (found,) = got(strided.run("twice", [view(strided, whole, whole[::2]), ys]))
    assert found.tolist() == (whole[:6:2] + ys * whole[6::2]).tolist()
    with pytest.raises(RuntimeError_, match="Input 1 has size 6"):
        strided.run("twice", [view(strided, whole, whole[::2]), ys[:2]])
    with pytest.raises(RuntimeError_, match=r"\[9\] out of bounds"):
        strided.run("over", [given, 9])


def test_more_elements_than_32_bits_count_are_counted(program: DeviceProgram) -> None:
    """One cell that stands for 2^33: nothing of that size is made."""
    source = "entry pick [n] (xs: [n]i8) (k: i64): (i8, i64) = (xs[k], n)"

    def version(entry: str, which: tuple[int, ...]) -> tuple[str, str]:
        options = Options(target="cuda", strides=(entry, which))
        return plain(Compilation(source, options).result("cuda").text), name_of((entry, which))

    made = DeviceProgram(code_of(source, None), toolkit=program.toolkit, strided=version)
    one, many = np.array([5], np.int8), 1 << 33
    far = view(made, one, np.broadcast_to(one, many))
    assert made.run("pick", [far, many - 1]) == [5, many]
    with pytest.raises(RuntimeError_, match="out of bounds"):
        made.run("pick", [far, many])


# --- arrays of others, and for others ----------------------------------------------------------


class ByDlpack:
    """An array that has nothing but DLPack; `place` is where it says it lies."""

    def __init__(self, array: Any, place: tuple[int, int]) -> None:
        self.array, self.place = array, place

    def __dlpack__(self, **named: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place


def test_arrays_are_taken_by_dlpack(program: DeviceProgram, strided: DeviceProgram) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    host = ByDlpack(array, (1, 0))
    same(got(program.run("main", [host, 2]))[:1], [2 * array.T])
    on_device = program.run("main", [array, 1])[2]
    assert isinstance(on_device, DeviceArray)
    for shown in (on_device.exported(), on_device.exported()[::-1]):
        far = ByDlpack(shown, (2, 0))
        monkey = pytest.MonkeyPatch()
        with monkey.context() as patch:
            patch.setattr(np, "from_dlpack", lambda one: one.array)
            (found,) = got(strided.run("rows", [far, np.ones(3, np.float32)]))
        assert found.tolist() == shown.sum(1).tolist()


def test_results_are_given_by_dlpack(program: DeviceProgram) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned = program.run("main", [array, 2])[0]
    assert isinstance(turned, DeviceArray)
    shown = np.from_dlpack(turned)
    assert shown.tolist() == (2 * array.T).tolist()
    used = program.device.used
    del turned
    assert program.device.used == used  # who has the array keeps its memory
    del shown
    assert program.device.used == used - array.nbytes
    constant = there(program, array)
    place = getattr(constant, INTERFACE)["data"][0]
    itself = program.run("main", [there(program, array, data=(place, True)), 1])[2]
    with pytest.raises(BufferError, match="is a read-only input"):
        np.from_dlpack(itself)


def test_results_go_where_the_caller_wants_them(program: DeviceProgram) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    out, itself = there(program, np.zeros((3, 2), np.float32)), there(program, array)
    found = program.run("main", [itself, 2], out=[out, None, itself])
    assert found[0] is out
    assert found[2] is itself
    assert out.of.get().tolist() == (2 * array.T).tolist()
    assert itself.of.get().tolist() == array.tolist()
    place = getattr(out, INTERFACE)["data"][0]
    for wrong, says in (
        ([there(program, array)], "of shape"),
        ([there(program, np.zeros((3, 2), np.int32))], "must be an array of float32"),
        ([None, out], "the result is a number"),
        ([there(program, np.zeros((3, 2), np.float32), strides=(4, 12))], "row-major"),
        ([there(program, np.zeros((3, 2), np.float32), data=(place, True))], "writable"),
        ([np.zeros((3, 2), np.float32)], "no array"),
    ):
        with pytest.raises(UsageError, match=says):
            program.run("main", [array, 2], out=wrong)


def test_an_array_that_cannot_be_had_says_why(program: DeviceProgram) -> None:
    class Gone:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            raise RuntimeError("Array has been deleted.")

    with pytest.raises(UsageError, match=r"Input 1 gives no array: Array has been deleted\."):
        program.run("main", [Gone(), 1])
