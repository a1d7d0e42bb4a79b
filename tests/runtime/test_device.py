"""Runs on devices, whose driver is the observer's: the host code is that of a GPU."""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from compiler.base.deadline import Deadline
from compiler.base.errors import CompileError, Limitation, RuntimeError_, TimeoutError_, UsageError
from compiler.codegen.cuda.program import split
from compiler.runtime import cuda_device, device_child, device_process, devices, gpu_errors, nvrtc
from compiler.runtime.cuda_device import Device, about, run_on
from compiler.runtime.device_process import Child, Toolkit, run_cuda
from compiler.runtime.observer import build, records
from compiler.runtime.observer.gpu import ObservedGpu, ObservedGpus
from compiler.sandbox.policies import DEVICE
from compiler.semantics import interp
from testing.kernels import same
from tests.codegen.helpers import compiled, needs_nvrtc
from tests.codegen.test_cuda import code_of
from tests.runtime.cuda_on_cpu import needs_cxx

pytestmark = needs_cxx
SOURCE = """
entry main [n] (xs: [n]i32) (is: [n]i64) (k: i64): ([]i32, []i32, i32, f16) =
  let ys = map (\\i -> xs[i] * 2) is
  let zs = filter (> 3) (scan (+) 0 ys)
  in (ys, zs, reduce i32.max 0 xs + i32.i64 (k / (k + 1)), f16.i64 k)
entry other (n: i64) = iota n
"""
FAILS = b"FAILS=" + b" " * 50


def image(kernels: str, *_: object) -> Path:
    return build.library(kernels)


@pytest.fixture(scope="module")
def toolkit() -> Toolkit:
    return Toolkit(build.driver(), image)


@pytest.fixture
def failing(tmp_path: Path) -> Callable[[str], Toolkit]:
    def make(how: str) -> Toolkit:
        data = build.driver().read_bytes()
        assert FAILS in data
        path = tmp_path / f"{how}.so"
        path.write_bytes(data.replace(FAILS, b"FAILS=" + how.encode().ljust(50)))
        return Toolkit(path, image)

    return make


def given(n: int) -> list[Any]:
    return [np.arange(n, dtype=np.int32), np.arange(n)[::-1].copy(), np.int64(n)]


def the_process() -> int:
    (one,) = device_process._CHILDREN.values()
    return one.process.pid


def test_seconds_begin_when_machine_code_is_there_and_a_deadline_before(
    toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No device is held meanwhile: what takes a compiler long keeps nobody from it."""
    made: list[float] = []
    turn = devices.turn

    def slow(kernels: str, *_: object) -> Path:
        assert not any(one.locked() for one in devices._OURS.values())
        library = build.library(kernels)
        made.append(time.monotonic())
        return library

    def waited(places: Any, deadline: Deadline) -> Any:
        assert deadline.until >= made[-1] + deadline.seconds
        return turn(places, deadline)

    monkeypatch.setattr(devices, "turn", waited)
    own = Toolkit(toolkit.driver, slow)
    done = run_cuda(code_of(SOURCE, None), "main", given(3), 30.0, toolkit=own)
    assert made
    assert done.compile_ms > 0
    shared = Deadline.of(0.0)
    with pytest.raises(TimeoutError_, match="Compiling the program"):
        run_cuda(code_of(SOURCE, None), "main", given(3), shared, toolkit=own)


def test_any_number_of_elements_in_one_process(toolkit: Toolkit) -> None:
    """Also after a program that failed in the first of its kernels: the device is as before."""
    device_process.close_children()
    code, meaning = code_of(SOURCE, None), compiled(SOURCE).result("soa").prog
    used = set()
    for n in (0, 1, 33, 255, 256, 257, 1025):
        done = run_cuda(code, "main", given(n), toolkit=toolkit, runs=2)
        same(done.values, interp.run(meaning, "main", given(n)))
        assert len(done.times) == 2
        used.add(the_process())
        if n:
            wrong = given(n)
            wrong[1][n // 2] = n + 7
            with pytest.raises(RuntimeError_) as caught:
                run_cuda(code, "main", wrong, toolkit=toolkit)
            assert f"[{n + 7}] out of bounds" in caught.value.message
            assert caught.value.span.line == 3
    assert len(used) == 1
    with pytest.raises(RuntimeError_) as caught:
        run_cuda(code, "other", [np.int64(1 << 40)], toolkit=toolkit)
    assert "memory" in caught.value.message
    assert caught.value.hint == gpu_errors.FULL[1]
    assert used == {the_process()}


@pytest.mark.parametrize(
    ("how", "says", "kind"),
    [
        ("start 0 100", gpu_errors.NO_DEVICE, UsageError),
        ("start 0 803", gpu_errors.TOO_OLD, UsageError),
        ("open 0 46", gpu_errors.IN_USE, UsageError),
        ("load 0 209", gpu_errors.UNREADABLE, UsageError),
        ("allocate 0 2", gpu_errors.FULL, RuntimeError_),
        ("launch 0 999", gpu_errors.LOST, RuntimeError_),
        ("launch 3 700", gpu_errors.STOPPED, RuntimeError_),
        ("wait 1 702", gpu_errors.SLOW, RuntimeError_),
        ("mark 1 1", gpu_errors.OTHER, RuntimeError_),
        ("wait 0 -1", ("did not finish within 3 s", "loop"), TimeoutError_),
    ],
)
def test_every_failure_has_a_name_and_a_way_out(
    failing: Callable[[str], Toolkit], how: str, says: tuple[str, str], kind: type[CompileError]
) -> None:
    device_process.close_children()
    made = failing(how)
    seconds = 3.0 if how.endswith("-1") else 60.0
    with pytest.raises(kind) as caught:
        run_cuda(code_of(SOURCE, None), "main", given(300), seconds, toolkit=made)
    assert says[0].removesuffix(".") in caught.value.message
    assert says[1] in caught.value.hint
    assert not device_process._CHILDREN, "a process that failed is not used again"


@pytest.mark.parametrize(
    "how",
    [
        "stream 0 2",
        "begin_capture 0 900",
        "end_capture 0 901",
        "end_capture 0 2",
        "repeat 2 700",
        "forget 0 999",
    ],
)
def test_a_failure_of_what_is_captured_has_a_name(
    failing: Callable[[str], Toolkit], how: str
) -> None:
    """Each ends the run and its process, and the next one is as if nothing had been."""
    turns = "def main (xs: []i32) (k: i64) = loop ys = xs for _i < k do map (+ 1) (rotate 1 ys)"
    args = [np.arange(9, dtype=np.int32), np.int64(100)]
    device_process.close_children()
    call, _, number = how.split()
    with pytest.raises(RuntimeError_) as caught:
        run_cuda(code_of(turns, None), "main", args, toolkit=failing(how))
    assert f"in `{call}`" in caught.value.message
    named = gpu_errors.kind_of(int(number))
    assert named[0].removesuffix(".") in caught.value.message
    assert not device_process._CHILDREN


def test_a_device_that_is_lost_is_there_again_for_the_next_run(
    failing: Callable[[str], Toolkit],
) -> None:
    made, code = failing("free 60 999"), code_of(SOURCE, None)
    wrong = 0
    for _ in range(8):
        try:
            run_cuda(code, "main", given(300), toolkit=made)
        except RuntimeError_ as error:
            assert gpu_errors.LOST[0] in error.message
            wrong += 1
        else:
            wrong *= -1  # it works after it has failed
    assert wrong


def test_a_kernel_without_end_is_ended(toolkit: Toolkit) -> None:
    endless = "def main (xs: []i32) = map (\\x -> loop y = x while y >= 0 do y ^ 1) xs"
    with pytest.raises(TimeoutError_) as caught:
        run_cuda(code_of(endless, None), "main", given(9)[:1], 2.0, toolkit=toolkit)
    assert "did not finish within 2 s" in caught.value.message
    done = run_cuda(code_of(SOURCE, None), "main", given(3), toolkit=toolkit)
    assert done.values[0].tolist() == [4, 2, 0]


def test_a_process_ends_with_who_asks_it(failing: Callable[[str], Toolkit]) -> None:
    process = Child(failing("count 0 -1"), DEVICE)
    with pytest.raises(TimeoutError):
        process.ask({"ask": "devices"}, time.monotonic() + 2)
    process.channel.close()
    assert process.process.wait(30) in (1, -9)
    process.close()


def test_a_run_gets_no_more_memory_than_it_may(
    toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(devices.MOST_MB, "1")
    code = code_of(SOURCE, None)
    done = run_cuda(code, "other", [np.int64(100_000)], toolkit=toolkit)
    assert 800_000 <= done.peak_bytes <= 1 << 20
    for n in (140_000, 1 << 40):
        with pytest.raises(RuntimeError_) as caught:
            run_cuda(code, "other", [np.int64(n)], toolkit=toolkit)
        assert f"memory on the device for {n} elements" in caught.value.message
    monkeypatch.setenv(devices.MOST_MB, "much")
    with pytest.raises(UsageError):
        run_cuda(code, "other", [np.int64(1)], toolkit=toolkit)


def test_results_that_a_process_may_not_hand_over_are_told_of(
    toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_process, "DEVICE", replace(DEVICE, scratch_bytes=1 << 20))
    device_process.close_children()
    code = code_of(SOURCE, None)
    assert len(run_cuda(code, "other", [np.int64(1 << 17)], toolkit=toolkit).values[0]) == 1 << 17
    with pytest.raises(RuntimeError_) as caught:
        run_cuda(code, "other", [np.int64((1 << 17) + 1)], toolkit=toolkit)
    assert "1,048,640 bytes" in caught.value.message
    assert "1,048,576" in caught.value.message
    assert caught.value.hint == device_child.LARGEST[1]
    assert run_cuda(code, "other", [np.int64(3)], toolkit=toolkit).values[0].tolist() == [0, 1, 2]
    device_process.close_children()


def test_each_run_begins_with_what_was_given() -> None:
    """Inputs are copied to the device once; what a run overwrites is a copy."""
    source = """
entry main [n] (xs: *[n]i32) (ys: [n]i32): ([n]i32, [n]i32) =
  (loop xs for i < n do xs with [i] = xs[i] + ys[i], map2 (*) ys (rotate 1 ys))"""
    code, gpu = code_of(source, None), ObservedGpus(str(build.driver())).open()
    made = build.library(split(code)[0]).read_bytes()
    args = [np.arange(9, dtype=np.int32), np.arange(9, dtype=np.int32) + 2]
    for runs in (1, 4):
        device = Device(gpu, made, about(code), gpu.free_bytes())
        done = run_on(device, code, "main", args, runs)
        device.close()
        assert len(done.times) == runs
        assert done.values[0].tolist() == (args[0] + args[1]).tolist()
        assert done.values[1].tolist() == (args[1] * np.roll(args[1], -1)).tolist()
        assert not device.used


def test_it_observes_where_the_compiler_asks_for_checks_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ubuntu's does: leaving a stack for another is then taken for a fault."""
    usual, strict = build.compiler(), tmp_path / "g++"
    strict.write_text(f'#!/bin/sh\nexec {usual} -D_FORTIFY_SOURCE=2 "$@"\n')
    strict.chmod(0o755)
    monkeypatch.setattr(build, "compiler", lambda: str(strict))
    code = code_of(SOURCE, None)
    seen = device_process.observe(code, "main", given(300))
    assert seen.results is not None
    same(seen.results, interp.run(compiled(SOURCE).result("soa").prog, "main", given(300)))


def test_memory_that_is_given_back_is_at_hand_for_the_next_block_of_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_device, "KEPT_BYTES", 5000)
    gpu = ObservedGpus(str(build.driver())).open()
    asked: list[tuple[str, int]] = []

    class Told(ObservedGpu):
        watches, keeps = False, True  # as a GPU that nobody else uses

        def allocate(self, size: int, cell: int) -> int:
            asked.append(("allocate", size))
            return super().allocate(size, cell)

        def free(self, address: int) -> None:
            asked.append(("free", address))
            super().free(address)

    code = code_of(SOURCE, None)
    made = build.library(split(code)[0]).read_bytes()
    gpu.__class__ = Told
    device = Device(gpu, made, about(code), 10_500)
    asked.clear()
    used = device.used
    first = device.part(500, "i32")
    where = first.address
    del first
    assert device.used == used
    again, other = device.part(250, "i64"), device.part(250, "i64")
    assert again.address == where
    assert asked == [("allocate", 2000)] * 2
    assert device.used == used + 4000
    kept = {again.address, other.address}
    del again, other
    large = device.part(750, "i64")  # for which there is room beside what is kept, and only once
    assert asked == [("allocate", 2000)] * 2 + [("allocate", 6000)]
    del large  # more than is kept: the driver has it back
    assert asked[3][0] == "free"
    whole = device.part(9_000, "i8")
    assert {where for name, where in asked[4:6]} == kept
    assert asked[6:] == [("allocate", 9000)]
    del whole
    device.close()
    assert sum(name == "allocate" for name, _ in asked) == 4
    assert sum(name == "free" for name, _ in asked) == 5  # the flag of failures with them


def test_the_deadline_of_an_observed_run_ends_with_it() -> None:
    """Also where somebody else's block of memory stays: then the driver does not begin anew."""
    code = code_of(SOURCE, None)
    gpu = ObservedGpus(str(build.driver())).open()
    made = build.library(split(code)[0]).read_bytes()
    left = Device(gpu, made, about(code), gpu.free_bytes())
    records.observe(code, "main", given(9), seconds=0.5)
    kept = left.given(np.zeros(9))
    time.sleep(0.6)
    device = Device(gpu, made, about(code), gpu.free_bytes())
    assert run_on(device, code, "main", given(3000)).values
    assert kept.count == 9


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_leaves_nothing_behind(fails: bool) -> None:
    """Also where it ends in an error, which knows the arrays while it is told."""
    gpu = ObservedGpus(str(build.driver())).open()
    code = code_of(SOURCE, None)
    made = build.library(split(code)[0]).read_bytes()
    device = Device(gpu, made, about(code), gpu.free_bytes())
    args = given(300)
    args[1][7] += 300 if fails else 0
    try:
        run_on(device, code, "main", args)
    except RuntimeError_:
        assert fails
    device.close()
    assert device.peak
    assert not device.used


# --- several devices, several users ------------------------------------------------------------


def test_devices_are_chosen_by_name(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    found = device_process.found(toolkit)
    first, second = found
    assert first.identity != second.identity
    for names, chosen in {
        "": [first],
        "1": [second],
        "1, 0": [second, first],
        "observer": [first, second],
        f"{second.identity},Observer 1": [second],
    }.items():
        monkeypatch.setenv(devices.CHOSEN, names)
        assert devices.places(found) == chosen
    for wrong in ("2", "GPU-77", "1,H100"):
        monkeypatch.setenv(devices.CHOSEN, wrong)
        with pytest.raises(UsageError) as caught:
            devices.places(found)
        assert first.identity in caught.value.hint
    monkeypatch.setenv(devices.CHOSEN, "1")
    device_process.close_children()
    run_cuda(code_of(SOURCE, None), "main", given(3), toolkit=toolkit)
    assert [key[1] for key in device_process._CHILDREN] == [second.identity]


def test_one_run_at_a_time_on_each_device(
    toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where the other runs are those of other processes."""
    shared = tmp_path / "nvidiactl"
    shared.touch()
    monkeypatch.setattr(devices, "SHARED", str(shared))
    first, second = both = device_process.found(toolkit)
    soon = Deadline.of(0.1)
    with devices.turn(both, soon) as one, devices.turn(both, soon) as other:
        assert (one, other) == (first, second)
        with pytest.raises(TimeoutError_) as caught, devices.turn(both, soon):
            pass
        assert devices.BUSY[0] in caught.value.message
    elsewhere = os.open(shared, os.O_RDWR)
    everything = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(elsewhere, fcntl.F_OFD_SETLK, everything)
    with pytest.raises(TimeoutError_), devices.turn(both, soon):
        pass
    os.close(elsewhere)
    with devices.turn(both, soon) as one:
        assert one == first


# --- toolkit code -------------------------------------------------------------------------------


@needs_nvrtc
def test_machine_code_is_for_the_device_and_its_driver() -> None:
    mine = nvrtc.version()
    made = nvrtc.kept("__global__ void one() {}", 90, mine)
    assert made.read_bytes()[:4] == b"\x7fELF"
    assert nvrtc.kept("__global__ void one() {}", 90, mine) == made
    lib, arch = nvrtc.fitting(90, mine)
    assert (nvrtc.version(lib), arch) == (mine, "sm_90")
    for capability, driver, says in (
        (90, (mine[0] - 1, 8), nvrtc.OLD_DRIVER),
        (35, mine, nvrtc.NOT_FOR_IT),
        (990, mine, nvrtc.NOT_FOR_IT),
    ):
        with pytest.raises(UsageError) as caught:
            nvrtc.kept("", capability, driver)
        assert says[0] in caught.value.message
        assert caught.value.hint == says[1]


class Nvrtc:
    """One of some CUDA, with the architectures that it knows."""

    def __init__(self, cuda: int, *known: int) -> None:
        self.cuda, self.known = cuda, known

    def nvrtcVersion(self, major: Any, minor: Any) -> int:  # noqa: N802
        major._obj.value, minor._obj.value = self.cuda, 9
        return 0

    def nvrtcGetNumSupportedArchs(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.known)
        return 0

    def nvrtcGetSupportedArchs(self, known: Any) -> int:  # noqa: N802
        known[:] = self.known
        return 0


@pytest.mark.parametrize(
    ("capability", "driver", "cuda", "wanted"),
    [
        (90, (13, 0), 13, "sm_90"),
        (90, (12, 4), 12, "sm_90"),
        (110, (13, 2), 13, "sm_110"),
        (61, (13, 0), 12, "sm_60"),
        (90, (11, 8), 0, "the driver knows CUDA 11.8, NVRTC is of 12.9"),
        (110, (12, 9), 0, "sm_110; it knows sm_50 to sm_101"),
        (35, (13, 0), 0, "sm_35; it knows sm_50 to sm_110"),
    ],
)
def test_of_several_nvrtc_the_one_is_taken_that_fits(
    capability: int,
    driver: tuple[int, int],
    cuda: int,
    wanted: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = {"13": Nvrtc(13, 75, 90, 110), "12": Nvrtc(12, 50, 60, 90, 101)}
    monkeypatch.setattr(nvrtc, "_candidates", lambda: list(both))
    monkeypatch.setattr(nvrtc.ctypes, "CDLL", both.__getitem__)
    monkeypatch.setattr(nvrtc, "library", lambda: both["13"])
    if not cuda:
        with pytest.raises(UsageError) as caught:
            nvrtc.fitting(capability, driver)
        assert wanted in caught.value.message
        return
    assert nvrtc.fitting(capability, driver) == (both[str(cuda)], wanted)


def test_packages_of_the_newest_cuda_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ("cuda_nvrtc/lib/libnvrtc.so.12", "cu13/lib/libnvrtc.so.13", "cu9/bin/x", "cu13/bin/x")
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(nvrtc.importlib.util, "find_spec", lambda _: spec)
    found = nvrtc.packaged("lib/libnvrtc.so.*")
    assert [one.name for one in found] == ["libnvrtc.so.13", "libnvrtc.so.12"]
    assert [one.parts[-3] for one in nvrtc.packaged("bin/x")] == ["cu13", "cu9"]


@needs_nvrtc
def test_machine_code_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc.tools, "SECONDS", 0)
    with pytest.raises(Limitation) as caught:
        nvrtc.kept("__global__ void slow() {}", 90, nvrtc.version())
    assert caught.value.message == "NVRTC needs more than 0 s for this program"
