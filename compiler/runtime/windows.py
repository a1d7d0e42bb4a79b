"""Windows of files as blocks of a run's program, prefetched while it works on others.

Imports little. A window that fits the processor's cache is read: mapping a page costs more than
copying it. The memory of a closed window is reused. A larger window is mapped privately, and its
pages come from the system's read-ahead.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import SimpleQueue

LARGEST_READ = 1 << 24
"""Bytes of the largest window that is read; larger ones are mapped."""
_AHEAD = 1 << 20
"""Bytes that the system reads ahead at a time, whatever is requested."""
_HEADER = 64
"""Bytes of a block before its elements (`codegen/c/runtime.py`)."""
_HELD = 1 << 40
"""A reference count that never reaches 0: the program must not free a window."""
_FIXED, _NORESERVE, _WILLNEED = 0x10, 0x4000, 3
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
    ctypes.c_int64,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.pread.restype = ctypes.c_ssize_t  # what `os.preadv` needs is not within the walls of a run
_libc.pread.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)


class Window:
    """A part of a file; `cells` is the address of its first element."""

    def __init__(self, cells: int, room: int) -> None:
        self.cells, self.room = cells, room
        self.file = self.first = self.bytes = 0
        self.done = threading.Event()
        self.wrong: OSError | None = None
        header = (ctypes.c_int64 * 4).from_address(cells - _HEADER)
        header[:] = [_HELD, 0, 0, 0]

    def bring(self) -> None:
        """Prefetch its bytes.

        Errors: OSError.
        """
        raise NotImplementedError

    def wait(self) -> int:
        """Wait until it is prefetched; return the address of its elements.

        Errors: OSError where they cannot be read.
        """
        self.done.wait()
        if self.wrong is not None:
            raise self.wrong
        return self.cells


class ReadWindow(Window):
    """Memory into which one part after another is read."""

    def __init__(self, room: int) -> None:
        try:
            self.area = mmap.mmap(-1, mmap.PAGESIZE + max(room, 1))
        except OSError:
            raise MemoryError("there is no room for a window of the data") from None
        with suppress(OSError, AttributeError):
            self.area.madvise(mmap.MADV_HUGEPAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.area))
        super().__init__(start + mmap.PAGESIZE, room)

    def bring(self) -> None:
        """Read the bytes."""
        at = 0
        while at < self.bytes:
            got = _libc.pread(self.file, self.cells + at, self.bytes - at, self.first + at)
            if got <= 0:
                why = os.strerror(ctypes.get_errno()) if got else "it ends before its data does"
                raise OSError(f"a file cannot be read: {why}")
            at += got


class MappedWindow(Window):
    """Mapped pages of a file behind one for the header; writes do not reach the file."""

    def __init__(self, file: int, first: int, count: int) -> None:
        page = mmap.PAGESIZE
        inside = first % page
        self.size = inside + count
        both = mmap.PROT_READ | mmap.PROT_WRITE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        self.start = _libc.mmap(None, page + self.size, both, flags, -1, 0)
        if self.start == _FAILED:
            raise MemoryError("there is no room for a window of the data")
        flags = mmap.MAP_PRIVATE | _FIXED | _NORESERVE
        area = self.start + page
        if _libc.mmap(area, self.size, both, flags, file, first - inside) == _FAILED:
            raise MemoryError("there is no room for a window of the data")
        super().__init__(area + inside, 0)

    def bring(self) -> None:
        """Have the system read ahead; pages are mapped on first touch."""
        area = self.start + mmap.PAGESIZE
        for at in range(0, self.size, _AHEAD):
            _libc.madvise(area + at, min(_AHEAD, self.size - at), _WILLNEED)

    def unmap(self) -> None:
        """Unmap the memory."""
        self.wait()
        _libc.munmap(self.start, mmap.PAGESIZE + self.size)


class Windows:
    """The files of a run, by number, and the thread that prefetches their windows in turn."""

    def __init__(self, files: Sequence[int]) -> None:
        self.files = files
        self.free: list[Window] = []
        self.asked: SimpleQueue[Window] = SimpleQueue()
        threading.Thread(target=self._bring, daemon=True).start()

    def open(self, file: int, first: int, count: int) -> Window:
        """Open a window of so many bytes from the first one on.

        Errors: MemoryError.
        """
        fit: Window | None = next((one for one in self.free if one.room >= count), None)
        if fit is not None:
            self.free.remove(fit)
        elif count > LARGEST_READ:
            fit = MappedWindow(self.files[file], first, count)
        else:
            fit = ReadWindow(count)
        fit.file, fit.first, fit.bytes = self.files[file], first, count
        fit.done.clear()
        self.asked.put(fit)
        return fit

    def close(self, window: Window) -> None:
        """Close a window, and keep its memory for reuse."""
        if isinstance(window, MappedWindow):
            window.unmap()
        else:
            self.free.append(window)

    def _bring(self) -> None:
        while True:
            window = self.asked.get()
            try:
                window.bring()
            except OSError as error:
                window.wrong = error
            window.done.set()
