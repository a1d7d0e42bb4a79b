"""The process that runs CUDA programs on one device, or observes them on the processor.

`device_process.py` is the other end. Requests and answers are JSON on standard input, a socket,
with arrays in memory files beside them. It answers one request after the other, until the other end
is gone.
"""

from __future__ import annotations

import dataclasses
import json
import mmap
import os
import resource
import select
import socket
import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compiler.base.errors import CompileError, RuntimeError_
from compiler.codegen.signature import Plain
from compiler.ir import values
from compiler.runtime import cuda_device
from compiler.runtime import runner_child as child
from compiler.runtime.gpu import Gpu, Gpus
from compiler.runtime.gpu_errors import DeviceError
from compiler.runtime.observer import records
from compiler.runtime.open_devices import gpus
from compiler.runtime.runs import Cells, seal

FILES = ("driver", "image", "inputs", "results")
"""Files that may come with a request, in this order."""


LARGEST = (
    "The results take {:,} bytes, but a run on a GPU can return at most {:,}.",
    "Return less, such as a part of the array, or run with the C backend.",
)


def write(file: int, arrays: Sequence[Cells | values.Value]) -> list[Plain]:
    """Append arrays and scalars to a file; return their types, shapes and offsets.

    Raises RuntimeError_ where they exceed the file size limit of this process.
    """
    layout, at = [], 0
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    total = sum((np.asarray(array).nbytes + 63) // 64 * 64 for array in arrays)
    if most != resource.RLIM_INFINITY and total > most:
        raise RuntimeError_(LARGEST[0].format(total, most), hint=LARGEST[1])
    for array in map(np.asarray, arrays):
        layout.append({"type": array.dtype.name, "shape": list(array.shape), "at": at})
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if data.size:
            child.write_all(file, data, at)
        at += (data.size + 63) // 64 * 64
    os.ftruncate(file, at)
    return layout


def read(file: int, layout: Sequence[Plain]) -> list[Cells]:
    """Read arrays written by `write`. Raises ValueError, TypeError or KeyError if malformed."""
    size = os.fstat(file).st_size
    seal(file)
    area = mmap.mmap(file, size, mmap.MAP_SHARED) if size else b""
    found = []
    for array in layout:
        shape = [int(n) for n in array["shape"]]
        dtype = np.dtype(str(array["type"]))
        if dtype.hasobject or min(shape, default=0) < 0:
            raise ValueError("this is no array of numbers")
        count = int(np.prod([1, *shape], dtype=object))
        flat = np.frombuffer(area, dtype, count, int(array["at"])) if count else np.empty(0, dtype)
        found.append(flat.reshape(shape))
    return found


class _Session:
    """State between requests: the devices, and the open one."""

    gpus: Gpus | None = None
    gpu: Gpu | None = None
    device: cuda_device.Device | None = None

    def answer(self, request: Plain, files: Mapping[str, int]) -> Plain:
        """Handle a request."""
        library = f"/proc/self/fd/{files['driver']}" if "driver" in files else ""
        if request["ask"] == "observe":
            return _observed(request, files, library)
        self.gpus = self.gpus or gpus(library, own=True)
        if request["ask"] == "devices":
            return {"devices": [dataclasses.asdict(one) for one in self.gpus.found()]}
        return self.run(request, files, self.gpus)

    def run(self, request: Plain, files: Mapping[str, int], visible: Gpus) -> Plain:
        """Run a program on the first visible device."""
        gpu = self.gpu = self.gpu or visible.open()
        free = gpu.free_bytes()
        code, given = request["code"], read(files["inputs"], request["values"])
        most = min(request["most"] or free, free)
        image = _whole(files["image"])
        described, wide = cuda_device.about(code), request["wide"]
        self.device = cuda_device.Device(gpu, image, described, most, wide)
        try:
            done = cuda_device.run_on(self.device, code, request["entry"], given, request["runs"])
        except cuda_device.TooWide:
            return {"wide": True}
        laid = write(files["results"], done.values)
        return {"values": laid, "times": list(done.times), "peak": done.peak_bytes}

    def rest(self) -> Plain:
        """Release a run's memory, after its error, which refers to the arrays, is gone."""
        device, self.device = self.device, None
        if device is not None:
            device.close()
        return {}


def _whole(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _observed(request: Plain, files: Mapping[str, int], driver: str) -> Plain:
    """Run kernels compiled as libraries, and return what was observed."""
    code, entry, seconds = request["code"], request["entry"], request["seconds"]
    given = read(files["inputs"], request["values"])
    image = _whole(files["image"])
    wide = request["wide"]
    try:
        raw = records.run(driver, image, code, entry, given, "ascending", True, seconds, wide=wide)
    except cuda_device.TooWide:
        return {"wide": True}
    report = np.frombuffer(raw.report.encode(), np.uint8)
    # A loop of the host may launch hundreds of thousands: they go as arrays, by kernel and blocks.
    kernels = {
        name: number for number, name in enumerate(dict.fromkeys(n for n, _ in raw.launches))
    }
    launches = np.array([(kernels[name], blocks) for name, blocks in raw.launches], np.int64)
    answer: Plain = {
        "values": write(files["results"], [report, launches.reshape(-1, 2), *(raw.results or ())]),
        "kernels": list(kernels),
        "ended": raw.results is not None,
    }
    return answer | ({} if raw.error is None else {"error": told(raw.error)})


def told(error: CompileError) -> Plain:
    """Serialise an error; `fatal` if the process is unusable afterwards."""
    said: Plain = {"kind": error.kind, "message": error.message, "hint": error.hint}
    site = getattr(error, "site", None)
    fatal = isinstance(error, DeviceError) or not isinstance(error, RuntimeError_)
    return said | {"span": list(error.span), "site": site, "fatal": fatal}


def main() -> None:
    """Answer requests until the other end is gone, which also ends unfinished work."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)
    threading.Thread(target=_end_with, args=(control.fileno(),), daemon=True).start()
    session = _Session()
    while True:
        said, fds, _, _ = socket.recv_fds(control, 1, len(FILES))
        if not said:
            return
        request = json.loads(child.read_message(0, None) or b"{}")
        files = dict(zip(request["files"], fds, strict=True))
        answer = _caught(lambda: session.answer(request, files))  # noqa: B023
        if not answer.get("error", {}).get("fatal"):
            answer |= _caught(session.rest)
        for fd in fds:
            os.close(fd)
        child.write_message(0, json.dumps(answer).encode())


def _caught(work: Callable[[], Plain]) -> Plain:
    """Call `work`; return its result or error."""
    try:
        return work()
    except CompileError as error:
        return {"error": told(error)}
    except Exception as problem:
        message = f"The CUDA program could not be run: {type(problem).__name__}: {problem}"
        return {"error": {"kind": "runtime", "message": message, "hint": "", "fatal": True}}


def _end_with(control: int) -> None:
    """End this process when the other end closes the socket, even during work."""
    waiting = select.poll()
    waiting.register(control, 0)
    waiting.poll()
    os._exit(1)


if __name__ == "__main__":
    main()
