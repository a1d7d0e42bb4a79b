"""The process that a compiled program runs in; `runner.py` is the other end.

Reads one JSON message per request from the socket on file descriptor 0, with a file descriptor that
holds the inputs, and answers in the same way. Imports little, so that it starts quickly.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import resource
import socket
import struct
import sys
import tempfile
import time
from typing import Any


def main() -> None:
    """Serve requests until the other end closes the socket."""
    channel = socket.socket(fileno=0)
    libraries: dict[str, ctypes.CDLL] = {}
    while True:
        message, fds = receive(channel)
        if message is None:
            return
        try:
            answer, fd = serve(message, fds, libraries)
        except (OSError, MemoryError, ValueError) as problem:
            answer, fd = {"error": f"{type(problem).__name__}: {problem}"}, -1
        for received in fds:
            os.close(received)
        send(channel, answer, fd)
        if fd >= 0:
            os.close(fd)


def send(channel: socket.socket, message: dict[str, Any], fd: int = -1) -> None:
    """One message: its length, a descriptor if any, then JSON."""
    data = json.dumps(message).encode()
    head = struct.pack("<Q", len(data))
    if fd >= 0:
        socket.send_fds(channel, [head], [fd])
    else:
        channel.sendall(head)
    channel.sendall(data)


def receive(channel: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """One message and its descriptors; None when the other end is gone."""
    head, fds, _, _ = socket.recv_fds(channel, 8, 1)
    while head and len(head) < 8:
        head += channel.recv(8 - len(head))
    if not head:
        return None, []
    (length,) = struct.unpack("<Q", head)
    data = bytearray()
    while len(data) < length:
        piece = channel.recv(min(1 << 20, length - len(data)))
        if not piece:
            return None, fds
        data += piece
    return json.loads(data), fds


def serve(
    message: dict[str, Any], fds: list[int], libraries: dict[str, ctypes.CDLL]
) -> tuple[dict[str, Any], int]:
    """Load a library, or run an entry point of it."""
    path = message["library"]
    if path not in libraries:
        libraries[path] = ctypes.CDLL(path)
    library = libraries[path]
    if message["op"] == "load":
        about = ctypes.c_char.in_dll(library, "ss_about")
        return {"about": ctypes.string_at(ctypes.addressof(about)).decode()}, -1
    return run(library, message, fds)


def limit(message: dict[str, Any]) -> None:
    """Processor time and address space from here on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime + message["cpu_seconds"]) + 1
    lower(resource.RLIMIT_CPU, seconds)
    if message["memory_bytes"] and message["address_space"]:
        lower(resource.RLIMIT_AS, message["memory_bytes"] + (2 << 30))


def lower(what: int, value: int) -> None:
    """Set a soft limit, within the hard one."""
    _, hard = resource.getrlimit(what)
    most = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (most, hard))


def run(
    library: ctypes.CDLL, message: dict[str, Any], fds: list[int]
) -> tuple[dict[str, Any], int]:
    """Run an entry point as often as asked; the results of the last run."""
    limit(message)
    counter = {
        name: ctypes.c_int64.in_dll(library, f"ss_bytes_{name}") for name in ("peak", "limit")
    }
    counter["limit"].value = message["memory_bytes"] or (1 << 62)
    counter["peak"].value = 0
    counts = {
        name: ctypes.c_int64.in_dll(library, f"ss_{name}")
        for name in ("allocs", "bytes_allocated", "bytes_copied")
    }
    failed = ctypes.c_int.in_dll(library, "ss_failed")
    failed.value = 0
    entry = getattr(library, message["entry"])
    entry.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    entry.restype = ctypes.c_int
    times: list[float] = []
    results = message["results"]
    out = (ctypes.c_int64 * max(1, len(results)))()
    inputs = Inputs(library, fds[0] if fds else -1, message)
    for turn in range(message["runs"]):
        if turn:
            release(library, results, out)
        slots = inputs.slots(turn)
        for count in counts.values():
            count.value = 0
        start = time.perf_counter()
        entry(slots, out)
        times.append((time.perf_counter() - start) * 1000)
        if failed.value:
            return failure(library), -1
    found = {name: count.value for name, count in counts.items()}
    found["peak"] = counter["peak"].value
    given, fd = outputs(message, results, out)
    library.ss_clear()
    return {"slots": given, "times": times, **found}, fd


def failure(library: ctypes.CDLL) -> dict[str, Any]:
    """Which check failed, and the values that its message shows."""
    site = ctypes.c_int64.in_dll(library, "ss_site").value
    values = list((ctypes.c_int64 * 16).in_dll(library, "ss_values"))
    library.ss_clear()
    return {"site": site, "values": values}


class Inputs:
    """The input slots. Blocks are copied to memory of the program's own, where pages are large."""

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

    def slots(self, turn: int) -> Any:
        """The slots of a run; what an earlier run may have consumed is as it was."""
        if turn:
            for k, (consumed, value, size) in enumerate(self.kinds):
                if consumed and size > 0:
                    ctypes.memmove(self.made[k], self.base + value, size)
        return self.made


def release(library: ctypes.CDLL, results: list[dict[str, Any]], out: Any) -> None:
    """Give back the results of a run that are not wanted."""
    library.ss_release.argtypes = (ctypes.c_void_p,)
    for k, slot in enumerate(results):
        if slot["block"]:
            library.ss_release(out[k])


def outputs(
    message: dict[str, Any], results: list[dict[str, Any]], out: Any
) -> tuple[list[int], int]:
    """Result slots, with blocks replaced by offsets in a new file, and that file."""
    sizes = [0] * len(results)
    names = {slot["name"]: k for k, slot in enumerate(results)}
    env = {slot["name"]: out[k] for k, slot in enumerate(results) if not slot["block"]}
    env |= message["sizes"]
    for give in message["gives"]:
        if give["shape"] is not None:
            count = give["bytes"]
            for poly in give["shape"]:
                count *= evaluate(poly, env)
            k = names[give["block"]]
            sizes[k] = max(sizes[k], count)
    total = sum((size + 63) // 64 * 64 for size in sizes)
    given = list(out)[: len(results)]
    if not total:
        return [0 if results[k]["block"] else v for k, v in enumerate(given)], -1
    fd = memory_file()
    os.ftruncate(fd, total)
    at = 0
    for k, size in enumerate(sizes):
        if results[k]["block"]:
            if size:
                write_all(fd, (ctypes.c_char * size).from_address(given[k]), at)
            given[k] = at
            at += (size + 63) // 64 * 64
    return given, fd


def memory_file() -> int:
    """A file without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("values")
    with tempfile.TemporaryFile() as made:
        return os.dup(made.fileno())


def write_all(fd: int, data: Any, at: int) -> None:
    """Write all bytes of `data`; one call writes 2 GB at most."""
    view = memoryview(data).cast("B")
    while view:
        done = os.pwrite(fd, view, at)
        view = view[done:]
        at += done


def evaluate(poly: list[Any], env: dict[str, int]) -> int:
    """The value of a polynomial as `signature.py` writes it."""
    total = 0
    for coeff, names in poly:
        for name in names:
            coeff *= env[name]
        total += coeff
    return total


if __name__ == "__main__":
    main()
    sys.exit(0)
