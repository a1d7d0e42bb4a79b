"""CuPy as the runner: calls that CuPy has, in its order, over devices of the observer's."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import CompileError, RuntimeError_, UsageError
from compiler.codegen.cuda.program import split
from compiler.public import program
from compiler.runtime import cupy_gpu, device_process, gpu_errors
from compiler.runtime.cuda_device import Device, about, run_on
from compiler.runtime.cupy_gpu import CupyGpus
from compiler.runtime.device_process import Toolkit
from compiler.runtime.observer import build
from compiler.sandbox import walls
from compiler.semantics import interp
from testing.fake_cupy import CUDARuntimeError, Driver, FakeCupy, Runtime
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.codegen.test_cuda import code_of
from tests.runtime.cuda_on_cpu import needs_cxx

needs_cupy = pytest.mark.skipif(
    importlib.util.find_spec("cupy") is None,
    reason="CuPy is not installed",
)
SOURCE = """
entry main [n] (xs: [n]i32) (k: i64): ([]i32, [n]i32, i32) =
  let ys = loop ys = xs for _i < k do map2 (\\y z -> y * 3 + z) ys (rotate 1 ys)
  in (filter (> 3) (scan (+) 0 xs), ys, reduce i32.max 0 xs / i32.i64 (n - 3))
"""


@pytest.fixture
def fake() -> FakeCupy:
    return FakeCupy()


def opened(fake: FakeCupy, own: bool = True) -> Any:
    return CupyGpus(own, fake).open()


def device_of(gpu: Any, source: str = SOURCE) -> Device:
    code = code_of(source, None)
    return Device(gpu, build.library(split(code)[0]).read_bytes(), about(code), gpu.free_bytes())


@needs_cxx
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("pooled", [True, False])
def test_a_program_runs_with_its_launches_graphs_and_copies(
    fake: FakeCupy, own: bool, pooled: bool
) -> None:
    fake.cuda.runtime.pooled = int(pooled)
    args = [np.arange(600, dtype=np.int32), np.int64(50)]
    free = fake.calls.number("free_bytes")
    gpu = opened(fake, own)
    device = device_of(gpu)
    done = run_on(device, code_of(SOURCE, None), "main", args, 3)
    same(done.values, interp.run(compiled(SOURCE).result("soa").prog, "main", args))
    assert len(done.times) == 3
    assert min(done.times) > 0
    assert fake.calls.asked["repeat"] >= 3
    device.close()
    assert not gpu.held
    assert fake.calls.number("free_bytes") == free


@needs_cxx
def test_a_check_that_fails_and_no_memory_are_told(fake: FakeCupy) -> None:
    device = device_of(opened(fake))
    code = code_of(SOURCE, None)
    with pytest.raises(RuntimeError_, match=r"[Dd]ivi"):
        run_on(device, code, "main", [np.arange(3, dtype=np.int32), np.int64(1)])
    with pytest.raises(gpu_errors.DeviceError) as caught:
        device.gpu.allocate(1 << 40, 1)
    assert caught.value.number == gpu_errors.OUT_OF_MEMORY
    assert caught.value.hint == gpu_errors.FULL[1]


@needs_cxx
@pytest.mark.parametrize(
    ("call", "number", "kind"),
    [
        ("driver.moduleLoadData", 209, gpu_errors.UNREADABLE),
        ("driver.moduleGetFunction", 500, gpu_errors.OTHER),
        ("driver.launchKernel", 700, gpu_errors.STOPPED),
        ("runtime.memcpyAsync", 999, gpu_errors.LOST),
        ("runtime.memsetAsync", 2, gpu_errors.FULL),
        ("runtime.streamSynchronize", 702, gpu_errors.SLOW),
        ("runtime.eventRecord", 1, gpu_errors.OTHER),
        ("runtime.setDevice", 46, gpu_errors.IN_USE),
        ("runtime.memGetInfo", 803, gpu_errors.TOO_OLD),
    ],
)
def test_each_error_of_cupys_has_our_name(
    fake: FakeCupy, call: str, number: int, kind: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where, _, name = call.partition(".")

    def fails(*_: object, **__: object) -> None:
        raise CUDARuntimeError(number)

    visible = CupyGpus(True, fake)
    monkeypatch.setattr(getattr(fake.cuda, where), name, fails)
    with pytest.raises(CompileError) as caught:
        run_on(
            device_of(visible.open()),
            code_of(SOURCE, None),
            "main",
            [np.arange(60, dtype=np.int32), np.int64(2)],
        )
    assert caught.value.message.startswith(kind[0].removesuffix("."))
    assert caught.value.hint == kind[1]
    assert isinstance(caught.value, UsageError) == (kind in gpu_errors._SETUP)


# --- what is there -------------------------------------------------------------------------------


def test_what_is_found_of_the_machine_is_told(
    fake: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = [bytes(range(16)), bytes(16)]
    bindings = SimpleNamespace(
        cuInit=lambda _: (0,),
        cuDeviceGet=lambda number: (0, number),
        cuDeviceGetUuid=lambda handle: (0, SimpleNamespace(bytes=marks[handle])),
    )
    monkeypatch.setattr(cupy_gpu.importlib, "import_module", lambda name: bindings)
    first, second = CupyGpus(True, fake).found()
    assert first.identity == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert (second.name, second.capability, second.driver) == ("Observer 1", 90, (13, 0))
    with pytest.raises(UsageError, match="none of number 2"):
        CupyGpus(True, fake).open(2)


@pytest.mark.parametrize(
    ("version", "built", "kind", "says"),
    [
        (0, 13020, gpu_errors.NO_DRIVER, "libcuda.so.1"),
        (12040, 13020, gpu_errors.TOO_OLD, "it knows CUDA 12.4, CuPy is for CUDA 13"),
        (13000, 12090, None, ""),
        (13000, 13020, None, ""),
    ],
)
def test_a_driver_that_does_not_fit_is_told(
    fake: FakeCupy, version: int, built: int, kind: tuple[str, str] | None, says: str
) -> None:
    """One of the same CUDA does, whatever its second number."""
    fake.cuda.runtime.version, fake.cuda.runtime.built = version, built
    if kind is None:
        assert CupyGpus(True, fake).version == (13, 0)
        return
    with pytest.raises(UsageError) as caught:
        CupyGpus(True, fake)
    assert says in caught.value.message
    assert caught.value.hint == kind[1]


@pytest.mark.parametrize(("major", "minor", "right"), [(6, 1, False), (7, 0, True), (7, 5, True)])
def test_a_gpu_that_is_too_old_is_refused(
    fake: FakeCupy, major: int, minor: int, right: bool
) -> None:
    fake.cuda.runtime.major, fake.cuda.runtime.minor = major, minor
    if right:
        assert opened(fake).capability == 10 * major + minor
        return
    with pytest.raises(UsageError, match=r"The GPU is too old: its compute capability is 6\.1"):
        opened(fake)


def installed(monkeypatch: pytest.MonkeyPatch, names: list[str], module: Any) -> None:
    found = [SimpleNamespace(metadata={"Name": name}) for name in names]
    monkeypatch.setattr(cupy_gpu.importlib.metadata, "distributions", lambda: iter(found))

    def importing(_: str) -> Any:
        if isinstance(module, Exception):
            raise module
        return module

    monkeypatch.setattr(cupy_gpu.importlib, "import_module", importing)


@pytest.mark.parametrize(
    ("names", "module", "kind", "says"),
    [
        (
            [],
            ModuleNotFoundError("no", name="cupy"),
            gpu_errors.NO_CUPY,
            "CuPy, which runs programs on a GPU, is not installed",
        ),
        (["cupy-cuda13x"], ModuleNotFoundError("no", name="x"), gpu_errors.BROKEN_CUPY, "`x`"),
        (["cupy"], ImportError("a\nb"), gpu_errors.BROKEN_CUPY, "ImportError: a."),
        (["numpy", "cupy-cuda13x", "cupy-cuda12x"], None, gpu_errors.TWO_CUPYS, "cuda12x, cupy-c"),
        (["cupy-cuda12x"], SimpleNamespace(__version__="13.6.0"), gpu_errors.OLD_CUPY, "13.6.0"),
        (
            ["cupy-rocm-7-0"],
            SimpleNamespace(
                __version__="14.0.1", cuda=SimpleNamespace(runtime=SimpleNamespace(is_hip=True))
            ),
            gpu_errors.OTHER_CUPY,
            "AMD",
        ),
    ],
)
def test_what_is_wrong_with_the_installation_is_told(
    names: list[str], module: Any, kind: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, names, module)
    with pytest.raises(UsageError) as caught:
        cupy_gpu.imported()
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint == kind[1]


def test_without_nvidias_bindings_devices_cannot_be_told_apart(
    fake: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, [], ImportError("no"))
    with pytest.raises(UsageError, match="`cuda-bindings`, which identify GPUs, are not installed"):
        CupyGpus(True, fake).found()
    assert opened(fake).capability == 90


# --- streams -------------------------------------------------------------------------------------


@needs_cxx
def test_work_goes_to_the_callers_stream_behind_the_run_before(fake: FakeCupy) -> None:
    gpu = opened(fake, own=False)
    stream = fake.cuda.Stream(non_blocking=True)
    waited = fake.calls.asked
    with gpu.on(None):
        assert gpu.stream == 0
    assert not waited["streamWaitEvent"]
    for how in (stream.ptr, stream, SimpleNamespace(cuda_stream=stream.ptr)):
        with gpu.on(how):
            assert gpu.stream == stream.ptr
    assert waited["streamWaitEvent"] == 1
    with stream, gpu.on(None):
        assert gpu.stream == stream.ptr
        gpu.follow(stream.ptr)
        assert waited["streamWaitEvent"] == 1
        gpu.follow(1)
    assert waited["streamWaitEvent"] == 2
    with gpu.on(1):
        gpu.follow(1)
    assert waited["streamWaitEvent"] == 3


@needs_cxx
def test_a_stream_that_is_captured_is_refused(fake: FakeCupy) -> None:
    gpu = opened(fake, own=False)
    stream = fake.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    with pytest.raises(UsageError, match="The stream is being captured"), gpu.on(stream):
        pass
    stream.end_capture()
    with gpu.on(stream):
        pass


# --- CuPy itself ---------------------------------------------------------------------------------


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    return ((n, f) for n, f in vars(kind).items() if inspect.isfunction(f) and n[0] != "_")


@needs_cupy
@pytest.mark.parametrize(("where", "kind"), [("runtime", Runtime), ("driver", Driver)])
def test_cupy_has_the_functions_that_are_called_with_these_parameters(
    where: str, kind: type
) -> None:
    """As far as they can be told from what CuPy says of them: names, in order."""
    module: ModuleType = getattr(pytest.importorskip("cupy").cuda, where)
    for name, ours in methods(kind):
        said = str(getattr(module, name).__doc__)
        found = re.match(rf"{name}\((.*?)\)", said)
        assert found, name
        theirs = [p.partition("=")[0].split()[-1] for p in found[1].split(", ") if p]
        assert [*inspect.signature(ours).parameters][1:] == theirs
    for name, value in vars(kind).items():
        if isinstance(value, int) and not isinstance(value, bool):
            assert getattr(module, name) == value, name


@needs_cupy
def test_cupy_has_the_classes_that_are_called() -> None:
    cupy = pytest.importorskip("cupy")
    cuda = cupy.cuda
    for name in vars(FakeCupy().cuda):
        assert hasattr(cuda, name), name
    named = inspect.signature(cuda.Event).parameters
    assert "disable_timing" in named
    assert "non_blocking" in inspect.signature(cuda.Stream).parameters
    for name in ("begin_capture", "end_capture", "from_external", "__enter__", "__cuda_stream__"):
        assert hasattr(cuda.Stream, name)
    assert issubclass(cuda.memory.OutOfMemoryError, MemoryError)
    assert cupy_gpu.imported() is cupy
    assert cupy.ndarray.__module__ == program._RUNNER


def test_nvidias_bindings_tell_all_bytes_of_a_devices_mark() -> None:
    driver = pytest.importorskip("cuda.bindings.driver")
    assert callable(driver.cuDeviceGetUuid)
    assert driver.CUuuid().bytes == bytes(16)


@needs_cupy
@pytest.mark.skipif(bool(walls.devices()), reason="there is a GPU")
def test_cupy_without_a_driver_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        CupyGpus(True)
    assert (caught.value.message, caught.value.hint) == gpu_errors.NO_DRIVER


@needs_cupy
@pytest.mark.skipif(bool(walls.devices()), reason="there is a GPU")
def test_a_devices_process_imports_cupy_behind_its_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls, "devices", lambda: ["/dev/null"])
    with pytest.raises(UsageError) as caught:
        device_process.found(Toolkit())
    assert (caught.value.message, caught.value.hint) == gpu_errors.NO_DRIVER
