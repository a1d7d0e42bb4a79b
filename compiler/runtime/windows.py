"""Windows of files, mapped into a run's memory as blocks of its program. Imports little.

A block has a header before its elements (`codegen/c/runtime.py`), and a part of a file has none, so
each window is mapped behind a page of its own, privately: what is written there is in no file.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from typing import Any

_HEADER = 64
_HELD = 1 << 40
"""Holders that a block never loses: the program must not give a window back."""
_FIXED, _NORESERVE = 0x10, 0x4000
_POPULATE_READ = 22
_FAILED = ctypes.c_void_p(-1).value


class Windows:
    """The files of a run, by number."""

    def __init__(self, files: list[int]) -> None:
        self.files = files
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = (
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int64,
        )
        self.libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self.libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

    def open(self, file: int, first: int, count: int) -> Window:
        """So many bytes from the first one on, which a thread begins to read.

        Errors: MemoryError.
        """
        return Window(self.libc, self.files[file], first, count)


class Window:
    """A part of a file; `cells` is the address of its first element."""

    def __init__(self, libc: Any, file: int, first: int, count: int) -> None:
        page = mmap.PAGESIZE
        inside = first % page
        self.libc = libc
        self.bytes = inside + count
        both = mmap.PROT_READ | mmap.PROT_WRITE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        self.start = libc.mmap(None, page + self.bytes, both, flags, -1, 0)
        if self.start == _FAILED:
            raise MemoryError("there is no room for a window of the data")
        self.area = self.start + page
        if count:
            flags = mmap.MAP_PRIVATE | _FIXED | _NORESERVE
            if libc.mmap(self.area, self.bytes, both, flags, file, first - inside) == _FAILED:
                raise MemoryError("there is no room for a window of the data")
        self.cells = self.area + inside
        header = (ctypes.c_int64 * 4).from_address(self.cells - _HEADER)
        header[:] = [_HELD, 0, 0, 0]
        self.reading = threading.Thread(target=self.read, daemon=True)
        self.reading.start()

    def read(self) -> None:
        """Have its pages there before they are needed; where that is not known, they come then."""
        self.libc.madvise(self.area, self.bytes, _POPULATE_READ)

    def close(self) -> None:
        """Give the memory back."""
        self.reading.join()
        self.libc.munmap(self.start, mmap.PAGESIZE + self.bytes)
