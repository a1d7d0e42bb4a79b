"""Limit the memory of runs, and give errors their places: for all interpreters.

Time is bounded from outside, by `base/deadline.py`.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from compiler.base.errors import RuntimeError_
from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Prov, merge_prov
from compiler.ir import nodes as ir
from compiler.ir.entry import visible_results
from compiler.ir.recursion import DEEPEST, calls_itself, tail_call_index, too_deep
from compiler.ir.sizes import signed

USUAL_BYTES = 1 << 33
_MEMORY = "The run needs more memory than the machine has."
_RESERVE, _STEP = 1 << 26, 256
"""Bytes of address space to leave free, tested after so many calls."""


@contextmanager
def running(machine: Watched) -> Iterator[None]:
    """Run within the available memory, with calls nested up to DEEPEST.

    Python's frames are on the heap, since the interpreters call each other in Python alone, never
    through C.
    """
    limit, deep = sys.getrecursionlimit(), any(map(calls_itself, machine.funs.values()))
    if deep:
        sys.setrecursionlimit(1 << 30)
    try:
        with np.errstate(all="ignore"):
            yield
    except MemoryError:
        raise machine.error(_MEMORY, "memory") from None
    finally:
        sys.setrecursionlimit(limit)


def _is_short() -> bool:
    """Return True if the process's address space is nearly used up.

    CPython 3.11 crashes where a call finds no memory for its frame, without an error.
    """
    try:
        mmap.mmap(-1, _RESERVE).close()
    except OSError:
        return True
    return False


def of_rows(shape: Iterable[int]) -> tuple[int, ...]:
    """Return a shape; in an array without rows negative sizes of rows become 0."""
    found: list[int] = []
    for size in shape:
        found.append(0 if size < 0 and 0 in found else size)
    return tuple(found)


class Again(list[Any]):
    """The arguments of a tail call."""


class Watched:
    """A run within `most_bytes`, per array or in all; `prov` is the current statement's."""

    __slots__ = ("_ends", "calls", "env", "funs", "most_bytes", "prov")

    def __init__(self, most_bytes: int, funs: Mapping[str, ir.Function]) -> None:
        self.most_bytes = most_bytes
        self.funs = funs
        self.prov: Prov = ()
        self.env: dict[Name, Any] = {}
        self.calls: dict[str, int] = {}
        """Active calls of each function."""
        self._ends: dict[int, tuple[ir.Body, int | None]] = {}

    def error(self, message: str, cause: str = "") -> RuntimeError_:
        """Make an error at the current statement."""
        error = RuntimeError_(message, self.prov[0] if self.prov else NOWHERE)
        error.prov, error.cause = self.prov, cause
        return error

    # --- what the machines are asked for -------------------------------------------------------

    def give(self, params: Sequence[ir.Param], args: Sequence[Any]) -> None:
        """Bind parameters to their arguments."""
        raise NotImplementedError

    def stms(self, stms: Sequence[ir.Stm]) -> None:
        """Run statements in order."""
        raise NotImplementedError

    def body(self, body: ir.Body) -> list[Any]:
        """Run a body and return its results."""
        raise NotImplementedError

    def operand(self, operand: ir.Operand) -> Any:
        """Evaluate an operand."""
        raise NotImplementedError

    def se(self, se: ir.SE) -> Any:
        """Evaluate a scalar expression."""
        raise NotImplementedError

    def forget(self, body: ir.Body) -> None:
        """Drop the values bound by a body, if that matters."""

    def tell(self, fun: ir.Function, args: list[Any]) -> None:
        """Report a call to the watcher."""

    # --- calls ---------------------------------------------------------------------------------

    def ending(self, body: ir.Body, name: str) -> int | None:
        """Return the position of the statement that ends a body with calls of a function."""
        found = self._ends.get(id(body))
        if found is None:
            found = self._ends[id(body)] = body, tail_call_index(body, name)
        return found[1]

    def end(self, body: ir.Body, name: str) -> list[Any]:
        """Run a body that ends a function; return its results or `Again`."""
        at = self.ending(body, name)
        if at is None:
            return self.body(body)
        self.stms(body.stms[:at])
        stm, before = body.stms[at], self.prov
        self.prov = stm.prov or before
        if isinstance(stm.exp, ir.Call):
            args = Again(self.operand(arg) for arg in stm.exp.args)
            self.tell(self.funs[name], args)
            return args
        assert isinstance(stm.exp, ir.If)
        cond = self.se(stm.exp.cond)
        if cond.ndim == 0:
            values = self.end(stm.exp.then if cond else stm.exp.orelse, name)
            if type(values) is Again:
                return values
            self.give(stm.pat, values)
            del values
            at += 1
        self.prov = before
        self.stms(body.stms[at:])
        results = [self.operand(result) for result in body.results]
        self.forget(body)
        return results

    def called(self, fun: ir.Function, args: list[Any]) -> list[Any]:
        """Call a function; its names are local to the call.

        Errors record the calls that led to them, but do not keep the frames in between, of which
        there may be millions.
        """
        name, call, env = fun.name, self.prov, self.env
        depth = self.calls.get(name, 0)
        if depth >= DEEPEST:
            self.prov = fun.prov or call
            raise self.error(too_deep(name))
        if depth % _STEP == _STEP - 1 and _is_short():
            raise self.error(_MEMORY, "memory")
        self.calls[name] = depth + 1
        try:
            while True:
                self.env = {}
                self.give(fun.params, args)
                del args
                args = self.end(fun.body, name)
                if type(args) is not Again:
                    return args
        except BaseException as error:
            if isinstance(error, RuntimeError_):
                error.prov = merge_prov(error.prov, call)
            if depth:
                error.__traceback__ = None
            raise
        finally:
            self.calls[name] = depth
            self.env = env

    def shown(self, fun: ir.Function, results: Sequence[Any]) -> list[Any]:
        """Check results for the caller: none may have a negative size.

        Arrays of no elements may: their rows are neither made nor measured.
        """
        pairs = zip(fun.results, results, strict=True)
        made = {param.name: value for param, value in pairs if isinstance(param.type, ir.Scalar)}
        seen = visible_results(fun)
        for kind in [fun.results[k].type for k in seen]:
            for size in kind.shape if isinstance(kind, ir.Array) else ():
                known = {n: int(made[n] if n in made else self.env[n]) for n in size.names()}
                self.room((min(signed(size.evaluate(known)), 0),), 1)
        return [results[k] for k in seen]

    def room(self, shape: Sequence[int], itemsize: int) -> None:
        """Raise an error for an array of negative size, or of more bytes than allowed."""
        total = rows = itemsize
        for size in shape:
            if size < 0:
                raise self.error(f"An array cannot have the negative size {size}.")
            total *= size
            rows *= max(size, 1)
        if rows >= 1 << 63:
            wanted = f"An array of shape {list(shape)} has rows of {rows} bytes"
            raise self.error(f"{wanted}, which is more than 64 bits can count.")
        if total > self.most_bytes:
            wanted = f"An array of shape {list(shape)} needs {total} bytes"
            said = f"{wanted}, which is more than the {self.most_bytes} allowed."
            raise self.error(said, "memory")
