"""The processes of compiled programs; `runner.py` is the other end.

`main` is the zygote: a process that runs only this file. Each run is a child that it forks in a
millisecond, and which sandboxes itself before it loads the library. The zygote reports the child's
exit status. Imports little, so that it starts quickly.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import mmap
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
import types
from typing import Any

name, folder = "compiler.runtime", os.path.dirname(os.path.abspath(__file__))
while name := name.rpartition(".")[0]:
    # Run as a file: the packages are found without a look into the folders that they lie in.
    folder = os.path.dirname(folder)
    if name not in sys.modules:
        sys.modules[name] = package = types.ModuleType(name)
        package.__path__ = [folder]

from compiler.runtime.windows import Windows  # noqa: E402
from compiler.sandbox import filters, kernel  # noqa: E402

HELLO, RUN, KILL = b"h", b"r", b"k"
"""Messages between runner and zygote; the status of a run is packed as WAIT."""
WAIT = struct.Struct("<i")
HEAD = struct.Struct("<Q")
LIBRARY, RESULTS, INPUTS = 1, 2, 3
"""The descriptors that come with RUN, after the socket of the run."""
MOST_DATA = 8
"""Files that a run may read window by window: their descriptors come last."""
COUNTED = ("allocs", "bytes_allocated")
COPIES = 8
"""Two numbers for each kind of copies."""
SHORT_MS = 5.0
"""A run is repeated while all took less: the first one starts threads and touches memory."""
WATCH_MS = 2
"""Polling interval for the child on systems without process descriptors."""


def main() -> None:
    """Start runs until the other end closes the socket, which also ends a run."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)
    orders = json.loads(sys.argv[1])
    if orders["user"]:
        kernel.become(orders["user"])
    with contextlib.suppress(OSError):
        kernel.no_new_privileges()
        kernel.undumpable()
    for name in orders["preload"]:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
    gc.freeze()
    control.sendall(HELLO)
    zygote = os.getpid()
    while True:
        said, fds, _, _ = socket.recv_fds(control, 1, 1 + INPUTS + MOST_DATA)
        if not said:
            return
        if said != RUN:
            continue  # the run that was to be killed had ended
        child = os.fork()
        if not child:
            control.close()
            live(zygote, fds)
        for fd in fds:
            os.close(fd)
        status, gone = watch(child, control)
        if gone:
            return
        control.sendall(WAIT.pack(status))


def watch(child: int, control: socket.socket) -> tuple[int, bool]:
    """Wait until a child has ended, or kill it on request; return True if the other end is gone."""
    gone = False
    handle = os.pidfd_open(child) if hasattr(os, "pidfd_open") else -1
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    if handle >= 0:
        waiting.register(handle, select.POLLIN)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        for fd, _ in waiting.poll(None if handle >= 0 else WATCH_MS):
            if fd == control.fileno():
                gone = not control.recv(1)
                waiting.unregister(control)
                os.kill(child, signal.SIGKILL)
    if handle >= 0:
        os.close(handle)
    return os.waitstatus_to_exitcode(status), gone


def live(zygote: int, fds: list[int]) -> None:
    """Do one run: read the orders, answer, and exit."""
    channel, *files = fds
    status = 1
    try:
        with contextlib.suppress(OSError):
            kernel.die_with_parent()
        if os.getppid() == zygote:  # else it has died already
            message = json.loads(read_message(channel, None) or b"{}")
            answer = serve(message, files)
            write_message(channel, json.dumps(answer).encode())
            status = 0
    finally:
        os._exit(status)


def write_message(channel: int, data: bytes) -> None:
    """Write a message: its length, then itself."""
    view = memoryview(HEAD.pack(len(data)) + data)
    while view:
        view = view[os.write(channel, view) :]


def read_message(channel: int, longest: int | None) -> bytes | None:
    """Read a message; None when the other end is gone.

    ValueError if it is longer than `longest`.
    """
    head = read_exactly(channel, HEAD.size)
    if head is None:
        return None
    (length,) = HEAD.unpack(head)
    if longest is not None and length > longest:
        raise ValueError("the message is too long")
    return read_exactly(channel, length)


def read_exactly(channel: int, length: int) -> bytes | None:
    """Read exactly so many bytes, or return None when the other end is gone."""
    data = bytearray()
    while len(data) < length:
        piece = os.read(channel, min(1 << 20, length - len(data)))
        if not piece:
            return None
        data += piece
    return bytes(data)


def serve(message: dict[str, Any], files: list[int]) -> dict[str, Any]:
    """Enter the sandbox, load the library, run an entry point."""
    try:
        library = load(message, files)
        return run(library, message, files)
    except MemoryError as problem:
        return {"error": str(problem) or "there is not enough memory"}
    except (OSError, ValueError) as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}


def load(message: dict[str, Any], files: list[int]) -> ctypes.CDLL:
    """Load the library, whose initialisers already run in the sandbox."""
    limit(message)
    path = message["library"] or f"/proc/self/fd/{files[LIBRARY - 1]}"
    if not message["confined"]:
        return ctypes.CDLL(path)
    pid = os.getpid()
    with contextlib.suppress(OSError):
        kernel.landlock([])
    with contextlib.suppress(OSError):
        kernel.seccomp(filters.program(pid, loading=True))
    library = ctypes.CDLL(path)
    with contextlib.suppress(OSError):
        kernel.seccomp(filters.program(pid, loading=False))
    return library


def limit(message: dict[str, Any]) -> None:
    """Limit CPU time, address space, file size and threads for good."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime + message["cpu_seconds"]) + 1
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    for name, value in message["limits"].items():
        kernel.limit(name, value)


def run(library: ctypes.CDLL, message: dict[str, Any], files: list[int]) -> dict[str, Any]:
    """Run an entry point as often as requested; return the results of the last run."""
    counter = {
        name: ctypes.c_int64.in_dll(library, f"ss_bytes_{name}") for name in ("peak", "limit")
    }
    counter["limit"].value = message["memory_bytes"] or (1 << 62)
    counter["peak"].value = 0
    counts = {name: ctypes.c_int64.in_dll(library, f"ss_{name}") for name in COUNTED}
    copies = (ctypes.c_int64 * COPIES).in_dll(library, "ss_copies")
    profile = None
    if message["measured"]:
        profile = (ctypes.c_int64 * message["measured"]).in_dll(library, "ss_profile")
    beginning = message.get("given") or [0] * message["measured"]
    failed = ctypes.c_int.in_dll(library, "ss_failed")
    failed.value = 0
    entry = getattr(library, message["entry"])
    entry.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    entry.restype = ctypes.c_int
    times: list[float] = []
    # With a limit on its time Linux counts that of a process in whole ticks only.
    clock = time.thread_time if message.get("processor") else time.perf_counter
    results = message["results"]
    out = (ctypes.c_int64 * max(1, len(results)))()
    inputs = Inputs(library, files[INPUTS - 1] if message["input_bytes"] else -1, message)
    if "steps" in message:
        return stream(library, message, files, entry, inputs)
    for number in range(max(message["runs"], message["short_runs"])):
        if number >= message["runs"] and sum(times) > SHORT_MS:
            break
        if number:
            release(library, results, out)
        slots = inputs.slots(again=number > 0)
        for count in counts.values():
            count.value = 0
        ctypes.memset(copies, 0, ctypes.sizeof(copies))
        if profile is not None:
            profile[:] = beginning
        start = clock()
        entry(slots, out)
        times.append((clock() - start) * 1000)
        if failed.value:
            return failure(library)
    found: dict[str, Any] = {name: count.value for name, count in counts.items()}
    found |= {"peak": counter["peak"].value, "copies": list(copies)}
    given, _ = outputs(message, results, out, files[RESULTS - 1])
    return {"slots": given, "times": times, "profile": list(profile or ()), **found}


def stream(
    library: ctypes.CDLL, message: dict[str, Any], files: list[int], entry: Any, inputs: Inputs
) -> dict[str, Any]:
    """Run an entry point once for each step, on its windows of files; return all results.

    A step has numbers for slots, and for each window its slot, file, first byte and length.
    """
    failed = ctypes.c_int.in_dll(library, "ss_failed")
    results, steps = message["results"], message["steps"]
    out = (ctypes.c_int64 * max(1, len(results)))()
    windows = Windows(files[INPUTS - (not message["input_bytes"]) :])
    given: list[int] = []
    end = 0
    began = time.perf_counter()
    here = [windows.open(*window) for _, *window in steps[0]["windows"]] if steps else []
    for k, step in enumerate(steps):
        slots = inputs.slots(again=False)
        for slot, number in step["numbers"]:
            slots[slot] = number
        for (slot, *_), window in zip(step["windows"], here, strict=True):
            slots[slot] = window.wait()
        next_ = steps[k + 1]["windows"] if k + 1 < len(steps) else []
        ahead = [windows.open(*window) for _, *window in next_]
        entry(slots, out)
        if failed.value:
            return failure(library)
        env = {message["names"][slot]: number for slot, number in step["numbers"]}
        found, end = outputs(message, results, out, files[RESULTS - 1], env, end)
        given += found
        release(library, results, out)
        for window in here:
            windows.close(window)
        here = ahead
    took = (time.perf_counter() - began) * 1000
    counts: dict[str, Any] = {
        name: ctypes.c_int64.in_dll(library, f"ss_{name}").value for name in COUNTED
    }
    counts["copies"] = list((ctypes.c_int64 * COPIES).in_dll(library, "ss_copies"))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"slots": given, "times": [took], "profile": [], "peak": most, **counts}


def failure(library: ctypes.CDLL) -> dict[str, Any]:
    """Return the number of the failed check, and the values of its message."""
    site = ctypes.c_int64.in_dll(library, "ss_site").value
    values = list((ctypes.c_int64 * 16).in_dll(library, "ss_values"))
    return {"site": site, "values": values}


class Inputs:
    """The input slots. Blocks are copied to the program's own memory, which has large pages."""

    def __init__(self, library: ctypes.CDLL, fd: int, message: dict[str, Any]) -> None:
        library.ss_input.argtypes = (ctypes.c_void_p, ctypes.c_int64)
        library.ss_input.restype = ctypes.c_void_p
        self.library = library
        self.kinds = message["slots"]
        self.area = None
        self.base = 0
        size = message["input_bytes"]
        if size:
            self.area = mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
            self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.area))
        self.made = (ctypes.c_int64 * max(1, len(self.kinds)))()
        for k, (_, value, size) in enumerate(self.kinds):
            if size < 0:
                self.made[k] = value
            else:
                self.made[k] = library.ss_input(self.base + value, size) or 0
                if not self.made[k]:
                    raise MemoryError("no room for the inputs")

    def slots(self, again: bool) -> Any:
        """Return the slots of a run; with `again`, first restore consumed inputs."""
        if again:
            for k, (consumed, value, size) in enumerate(self.kinds):
                if consumed and size > 0:
                    ctypes.memmove(self.made[k], self.base + value, size)
        return self.made


def release(library: ctypes.CDLL, results: list[dict[str, Any]], out: Any) -> None:
    """Free the unwanted results of a run."""
    library.ss_release.argtypes = (ctypes.c_void_p,)
    for k, slot in enumerate(results):
        if slot["block"]:
            library.ss_release(out[k])


def outputs(
    message: dict[str, Any],
    results: list[dict[str, Any]],
    out: Any,
    file: int,
    numbers: dict[str, int] | None = None,
    at: int = 0,
) -> tuple[list[int], int]:
    """Write blocks to `file` from `at` on; return result slots (offsets for blocks) and the end.

    `numbers`: sizes of this run.
    """
    sizes = [0] * len(results)
    names = {slot["name"]: k for k, slot in enumerate(results)}
    env = {slot["name"]: out[k] for k, slot in enumerate(results) if not slot["block"]}
    env |= message["sizes"] | (numbers or {})
    for output in message["outputs"]:
        if output["shape"] is not None:
            count = output["bytes"]
            for poly in output["shape"]:
                count *= evaluate(poly, env)
            k = names[output["block"]]
            sizes[k] = max(sizes[k], count)
    total = at + sum((size + 63) // 64 * 64 for size in sizes)
    given = list(out)[: len(results)]
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most != resource.RLIM_INFINITY and total > most:
        raise MemoryError(f"the results need {total} bytes, more than the limit of {most}")
    os.ftruncate(file, total)
    for k, size in enumerate(sizes):
        if results[k]["block"]:
            if size:
                write_all(file, (ctypes.c_char * size).from_address(given[k]), at)
            given[k] = at
            at += (size + 63) // 64 * 64
    return given, at


def write_all(fd: int, data: Any, at: int) -> None:
    """Write all bytes of `data`; one call writes at most 2 GB."""
    view = memoryview(data).cast("B")
    while view:
        done = os.pwrite(fd, view, at)
        view = view[done:]
        at += done


def evaluate(poly: list[Any], env: dict[str, int]) -> int:
    """Evaluate a polynomial of `signature.py` in 64-bit arithmetic."""
    total = 0
    for coeff, names in poly:
        for name in names:
            coeff *= env[name]
        total += coeff
    return (total + (1 << 63)) % (1 << 64) - (1 << 63)


if __name__ == "__main__":
    main()
    sys.exit(0)
