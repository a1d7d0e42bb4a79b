"""The state of a heap run: blocks, variables, scalar evaluation, traced accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompilerBug, RuntimeError_
from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.ir import nodes as ir
from compiler.ir import scalar
from compiler.ir.may_fail import is_division
from compiler.ir.sizes import signed
from compiler.semantics.limits import Watched
from compiler.semantics.trace import RunningKernel, Trace

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """Cells of one type; `label` is its name and a number, as shown in traces."""

    label: str
    cells: npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Location:
    """An array at run time: its block and the LMAD of its elements."""

    block: Block
    lmad: Lmad[int]

    def cells(self) -> Cells:
        """Return the cell of every element, in row-major order."""
        at = np.array(self.lmad.offset, dtype=np.int64)
        for dim in self.lmad.dims:
            at = at[..., np.newaxis] + np.arange(max(dim.size, 0)) * dim.stride
        return at.reshape(-1)


Step = Callable[[dict[Name, Any]], Any]


class Machine(Watched):
    """Variables, blocks and running kernels; `heap.py` has the semantics of statements."""

    def __init__(
        self,
        funs: Mapping[str, ir.Function],
        thresholds: Mapping[str, int],
        steps: Mapping[type, StepOf],
        most_bytes: int,
    ) -> None:
        super().__init__(most_bytes, funs)
        self.thresholds = thresholds
        self.steps = steps
        """Rules by the class of a statement's expression; other expressions are numbers."""
        self.tracing = False
        self.env: dict[Name, Any] = {}
        """Numbers, blocks, and locations of arrays, by name."""
        self.trace = Trace()
        self.frames: list[RunningKernel] = []
        self._compiled: dict[int, tuple[ir.SE, Step]] = {}
        self._blocks = 0

    # --- statements ---

    def stms(self, code: Sequence[ir.Stm]) -> None:
        """Run statements in order."""
        steps = self.steps
        for stm in code:
            self.prov = stm.prov
            step = steps.get(type(stm.exp))
            if step is None:
                assert isinstance(stm.exp, ir.SE_NODES)
                self.env[stm.pat[0].name] = self.number(stm.exp)
            else:
                step(self, stm, stm.exp)

    def body(self, code: ir.Body) -> list[Any]:
        """Run a body and return its results."""
        self.stms(code.stms)
        return [self.operand(result) for result in code.results]

    def end(self, body: ir.Body, name: str) -> list[Any]:
        """Run the body of a function; no function calls itself in stages with memory."""
        return self.body(body)

    def operand(self, value: ir.Operand) -> Any:
        """Evaluate to a number, a block, or an array's location."""
        return self.env[value] if isinstance(value, str) else self.number(value)

    def give(self, params: Sequence[ir.Param], args: Sequence[Any]) -> None:
        """Bind parameters to their arguments, from left to right, all at once.

        An array lies where its type says; this is checked against the location of the argument.
        """
        for param, value in zip(params, args, strict=True):
            if not isinstance(param.type, ir.Array):
                self.env[param.name] = value
                continue
            location = self.location(param.type.mem)
            empty = 0 in location.lmad.shape
            same = location.block is value.block and location.lmad.same_cells(value.lmad)
            if not same and not empty:
                raise CompilerBug(
                    f"`{param.name}` should lie at {location.lmad} of {location.block.label} and "
                    f"lies at {value.lmad} of {value.block.label}"
                )
            self.env[param.name] = location

    def target(self, param: ir.Param) -> Location:
        """Bind an array to the location of its type."""
        assert isinstance(param.type, ir.Array)
        location = self.location(param.type.mem)
        self.env[param.name] = location
        return location

    # --- numbers ---

    def number(self, se: ir.SE) -> Any:
        """Evaluate a scalar expression to a NumPy scalar."""
        if type(se) is ir.Var:
            return self.env[se.name]
        found = self._compiled.get(id(se))
        if found is None:
            found = self._compiled[id(se)] = (se, compile_se(se))
        return found[1](self.env)

    def size(self, poly: Poly) -> int:
        """Evaluate a polynomial in 64-bit arithmetic."""
        return signed(self.exact(poly))

    def exact(self, poly: Poly) -> int:
        """Evaluate a polynomial exactly, without wrap-around."""
        value = poly.constant
        return int(poly.evaluate(self.env)) if value is None else value

    # --- blocks and locations ---

    def allocate(self, name: Name, prim: Prim, count: int) -> Block:
        """Allocate a block, filled with a pattern."""
        size = max(count, 0) * DTYPE[prim].itemsize
        self.trace.allocated += size
        if self.trace.allocated > self.most_bytes:
            raise self.error(f"The run allocates more than {self.most_bytes} bytes.", "memory")
        cells = np.full(size, 0x5A, dtype=np.uint8).view(DTYPE[prim])
        if prim == "bool":
            cells = np.ones(max(count, 0), dtype=np.bool_)
        return self.block(name, cells)

    def block(self, name: Name, cells: npt.NDArray[np.generic]) -> Block:
        """Make a block with the given contents."""
        self._blocks += 1
        return Block(f"{base_of(name)}#{self._blocks}", cells)

    def location(self, mem: ir.MemBind | None) -> Location:
        """Return the current location of an array, by its type."""
        if mem is None:
            raise CompilerBug("an array has no memory")
        lmad = mem.lmad
        dims = tuple([Dim(self.size(dim.size), self.size(dim.stride)) for dim in lmad.dims])
        return Location(self.env[mem.block], Lmad(self.size(lmad.offset), dims))

    def array(self, name: Name) -> Location:
        """Return the location of the array with that name."""
        found = self.env[name]
        assert isinstance(found, Location)
        return found

    # --- access ---

    def check(self, block: Block, low: int, high: int) -> None:
        """Raise an error unless `low <= cell <= high` are cells of the block."""
        if low < 0 or high >= len(block.cells):
            raise self.error(
                f"Cell {low if low < 0 else high} lies outside of `{block.label}`, which has "
                f"{len(block.cells)}.",
                "bounds",
            )

    def read_cell(self, location: Location, index: Iterable[int]) -> Any:
        """Read the element at `index`."""
        cell = location.lmad.index(*index)
        block = location.block
        self.check(block, cell, cell)
        if self.tracing:
            self.traced_read(block, (cell,))
        return block.cells[cell]

    def write_cell(self, block: Block, cell: int, value: Any, meeting: bool = False) -> None:
        """Write one cell."""
        self.check(block, cell, cell)
        if self.tracing:
            self.traced_write(block, (cell,), meeting)
        block.cells[cell] = value

    def read(self, location: Location) -> npt.NDArray[np.generic]:
        """Read all elements in row-major order."""
        return location.block.cells[self._touch(location, False, False)]

    def write(self, location: Location, values: Any, meeting: bool = False) -> None:
        """Write all elements, given in row-major order or as one number for all."""
        cells = self._touch(location, True, meeting)
        location.block.cells[cells] = values

    def copy(self, source: Location, target: Location, meeting: bool = False) -> None:
        """Copy (`memcopy` of figure 4.10); the arrays must not overlap unless they are equal."""
        if source.block is target.block:
            if source.lmad.same_cells(target.lmad):
                return
            shared = np.intersect1d(source.cells(), target.cells())
            if shared.size:
                raise self.error(
                    f"A copy within `{source.block.label}` reads cells that it writes, such as "
                    f"{shared[0]}.",
                    "race",
                )
        self.write(target, self.read(source), meeting)

    def _touch(self, location: Location, writes: bool, meeting: bool) -> Cells:
        cells = location.cells()
        if cells.size:
            self.check(location.block, int(cells.min()), int(cells.max()))
            if self.tracing:
                if writes:
                    self.traced_write(location.block, cells.tolist(), meeting)
                else:
                    self.traced_read(location.block, cells.tolist())
        return cells

    def traced_read(self, block: Block, cells: Sequence[int]) -> None:
        """Record a read in the trace and in all running kernels."""
        self.trace.reads.setdefault(block.label, set()).update(cells)
        for frame in self.frames:
            frame.read(block.label, cells)

    def traced_write(self, block: Block, cells: Sequence[int], meeting: bool) -> None:
        """Record a write in the trace and in all running kernels."""
        self.trace.writes.setdefault(block.label, set()).update(cells)
        for frame in self.frames:
            frame.write(block.label, cells, meeting)

    def store(self, target: Location, value: ir.Operand, meeting: bool = False) -> None:
        """Copy a number or an array to a location."""
        if isinstance(value, str):
            self.copy(self.array(value), target, meeting)
        else:
            self.write_cell(target.block, target.lmad.offset, self.number(value), meeting)


def _divisor(value: Any) -> Any:
    """Return a divisor, after checking that it is not zero."""
    if value == 0:
        raise RuntimeError_("Division by zero.")
    return value


StepOf = Callable[[Machine, ir.Stm, Any], None]
"""Runs one statement."""


def compile_se(se: ir.SE) -> Step:
    """Compile a scalar expression to a function of the variables."""
    match se:
        case ir.Lit(value, prim):
            constant = DTYPE[prim].type(value)
            return lambda env: constant
        case ir.Var(name, _):
            return lambda env: env[name]
        case ir.Bin("&&", _, lhs, rhs):
            left, right = compile_se(lhs), compile_se(rhs)
            return lambda env: left(env) and right(env)
        case ir.Bin("||", _, lhs, rhs):
            left, right = compile_se(lhs), compile_se(rhs)
            return lambda env: left(env) or right(env)
        case ir.Bin(op, at, lhs, rhs):
            left, right = compile_se(lhs), compile_se(rhs)
            combine = scalar.bin_function(op, at)
            if is_division(op, at):
                return lambda env: combine(left(env), _divisor(right(env)))
            return lambda env: combine(left(env), right(env))
        case ir.Un(op, at, arg):
            inner = compile_se(arg)
            change = scalar.un_function(op, at)
            return lambda env: change(inner(env))
        case ir.Conv(src, dst, arg):
            inner = compile_se(arg)
            return lambda env: scalar.convert(src, dst, inner(env))
        case ir.Fun(fun, at, args):
            parts = [compile_se(arg) for arg in args]
            apply = scalar.fun_function(fun, at)
            return lambda env: apply(*(part(env) for part in parts))
        case ir.Select(cond, then, orelse):
            test, one, other = compile_se(cond), compile_se(then), compile_se(orelse)
            return lambda env: one(env) if test(env) else other(env)
