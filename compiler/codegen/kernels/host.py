"""Print the host part of a program with kernels, as Python over `device`.

The runtime is `runtime/cuda_device.py`. Scalars are exact as in `py_runtime.py`; a launch names its
kernel's threads and parameters, so that the text reads like the imperative program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from math import ceil
from typing import Any

from compiler.base.names import Name
from compiler.base.spans import Prov, merge_prov
from compiler.codegen.c.stms import Sites, Writer
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import called_functions
from compiler.codegen.index import poly_exp, product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.narrow import Bound
from compiler.codegen.kernels.repeats import Turning
from compiler.codegen.kernels.walk import free_names, launch_sized
from compiler.codegen.py_scalar import (
    applied,
    called,
    py_name,
    show,
    show_count,
    shown_operand,
    shown_tuple,
)
from compiler.codegen.signature import symbol
from compiler.dialect.visiting import NodeRules
from compiler.ir.nodes import SE, ZERO, Bin

NOTHING: Mapping[str, Bound] = {}
Repeats = Callable[[imp.For], Turning | None]
"""Returns the block rotation of a loop whose iterations may be captured, or None."""
BLOCK, ROUNDS = "block", "rounds"
"""Placeholders for the type of a block parameter, and of the iteration number."""
MOST_READ = 16
"""Maximum number of cells read at once, limited by the buffer beside the failure flag."""


class Host(Writer, NodeRules):
    """Prints host statements. `launched` receives each launch.

    `sites` are the checks, by number, `most` the bounds of kernels' narrow indices, and `turning`
    recognises loops whose iterations may be captured. In the loops `asking`, by id, the host
    periodically tests whether a check has failed.
    """

    language = k.KERNELS

    def __init__(
        self,
        numbers: Iterator[int],
        sites: Sites,
        launched: Callable[[k.Launch, Host], None],
        most: Mapping[str, Bound] = NOTHING,
        turning: Repeats = lambda _: None,
        asking: Set[int] = frozenset(),
    ) -> None:
        super().__init__(numbers)
        self.sites = sites
        self.launched = launched
        self.most = most
        self.turning = turning
        self.asking = asking
        self.tuned: Mapping[Name, str] = {}
        """Thresholds given at run time, by the names of comparisons with them."""
        self.kernels: dict[str, list[str]] = {}
        """Parameter types of each kernel, `BLOCK` for blocks. `ROUNDS` follows if the kernel is
        given the iteration number of its graph's first iteration; its cell is 0 outside graphs."""
        self.rounds: dict[Name, SE] = {}
        """Trip counts of captured loops, by the name of their index."""

    def scalar_function(self, fun: imp.ScalarFun) -> None:
        """Print a scalar function."""
        self.src = fun.prov
        self.line("")
        self.open(f"def {py_name(fun.name)}({', '.join(py_name(p.name) for p in fun.params)}):")
        self.stms(fun.body)
        self.line(f"return {shown_tuple(fun.values)}")
        self.indent = ""

    def function(self, fun: imp.ImpFun, called: bool = False) -> None:
        """Print an entry point, a `called` function, or both."""
        self.src = fun.prov
        self.line("")
        given = ", ".join(["device", *(py_name(p.name) for p in fun.params)])
        own = py_name(fun.name) if called else symbol(fun.name)
        self.open(f"def {own}({given}):")
        self.stms(fun.body)
        if fun.entry and not called:
            self.line("device.check()")
        self.line(f"return {shown_tuple(fun.values)}")
        self.indent = ""
        if fun.entry and called:
            self.line("")
            self.open(f"def {symbol(fun.name)}({given}):")
            self.line(f"found = {own}({given})")
            self.line("device.check()")
            self.line("return found")
            self.indent = ""

    def functions(self, prog: imp.ImpProg) -> None:
        """Print all host functions."""
        called = called_functions(prog)
        for fun in prog.funs:
            self.function(fun, fun.name in called)

    def stms(self, stms: Sequence[imp.Stm]) -> None:
        """Print statements with their provenance."""
        src, node = self.src, self.node
        if not stms:
            self.line("pass")
        for group in _together(stms):
            self.src = merge_prov(*(stm.prov for stm in group)) or src
            self.node = next(self.numbers)
            if isinstance(group[0], imp.Load | k.Fetch):
                self.read(group)
            else:
                self.rules[type(group[0])](self, group[0])
        self.src, self.node = src, node

    def nested(self, head: str, stms: imp.Stms) -> None:
        """Print a head and its block."""
        self.open(head)
        self.stms(stms)
        self.indent = self.indent[:-4]

    def define(self, s: imp.Define) -> None:
        """Print a scalar, or a comparison with a threshold."""
        threshold = self.tuned.get(s.name)
        if threshold is not None and isinstance(s.value, Bin):
            amount = show(s.value.lhs)
            self.line(f"{py_name(s.name)} = device.reached({threshold!r}, {amount})")
        else:
            self.line(f"{py_name(s.name)} = {show(s.value)}")

    def apply(self, s: imp.Apply) -> None:
        """Print a scalar call."""
        self.line(applied(s))

    def call(self, s: imp.Call) -> None:
        """Print a call of a host function."""
        self.line(called(s, "device"))
        for name in s.gone:
            self.line(f"{py_name(name)} = None")

    def declare(self, s: imp.Declare) -> None:
        """Print a variable."""
        start = "None" if s.value is None else shown_operand(s.value)
        self.line(f"{py_name(s.name)} = {start}")

    def assign(self, s: imp.Assign) -> None:
        """Print an assignment."""
        self.line(f"{py_name(s.name)} = {shown_operand(s.value)}")

    def alloc(self, s: imp.Alloc) -> None:
        """Print a device allocation."""
        place = self.site(
            s.prov, ("There is not enough memory on the device for ", s.count, " elements.")
        )
        self.line(f'{py_name(s.name)} = device.alloc({show_count(s.count)}, "{s.prim}", {place})')

    def free(self, s: imp.Free) -> None:
        """Drop the reference to a block."""
        self.line(f"{py_name(s.name)} = None")

    def read(self, cells: Sequence[Any]) -> None:
        """Print a synchronous read of several cells (`imp.Load` or `k.Fetch`) at once."""
        names = ", ".join(py_name(s.name) for s in cells)
        places = ", ".join(f"({py_name(s.block)}, {show(s.at)})" for s in cells)
        self.line(f"{names} = device.read({places})")

    def store(self, s: imp.Store) -> None:
        """Print a store."""
        self.line(f"device.write({py_name(s.block)}, {show(s.at)}, {show(s.value)})")

    def copy(self, s: imp.Copy) -> None:
        """Print a contiguous device copy; other copies are kernels."""
        count = show(product([poly_exp(d.size) for d in s.dest_lmad.dims]))
        dest = f"{py_name(s.dest)}, {show(poly_exp(s.dest_lmad.offset))}"
        source = f"{py_name(s.source)}, {show(poly_exp(s.source_lmad.offset))}"
        self.line(f"device.copy({dest}, {source}, {count})")

    def branch(self, s: imp.If) -> None:
        """Print a branch."""
        self.nested(f"if {show(s.cond)}:", s.then)
        if s.orelse:
            self.nested("else:", s.orelse)

    def count_loop(self, s: imp.For) -> None:
        """Print a counting loop."""
        count, turning = show(s.bound), self.turning(s)
        if id(s) in self.asking:
            count = f"device.sure({count})"
        if turning is None:
            self.nested(f"for {py_name(s.index)} in range({count}):", s.body)
            return
        blocks = "".join(f"{py_name(name)}, " for name in turning.blocks)
        numbered = ", numbered=True" if turning.numbered else ""
        self.rounds[s.index] = s.bound
        head = f"for {py_name(s.index)} in device.rounds({count}, lambda: ({blocks}){numbered}):"
        self.nested(head, s.body)
        if turning.done:
            self.line(f"    {' = '.join(map(py_name, turning.done))} = None")

    def while_loop(self, s: imp.While) -> None:
        """Print a loop with a condition."""
        self.open(f"while {py_name(s.cond)}:")
        if id(s) in self.asking:
            self.line("device.sure(1)")
        self.stms(s.body)
        self.indent = self.indent[:-4]

    def check(self, s: imp.Assert) -> None:
        """Print a check of the host."""
        values = "".join(f"{show(p)}, " for p in s.message if not isinstance(p, str))
        self.line(f"if not ({show(s.cond)}):")
        self.line(f"    device.fail({self.site(s.prov, s.message)}, ({values}))")

    def site(self, prov: Prov, message: tuple[str | SE, ...]) -> int:
        """Register a check; return its number."""
        self.sites.append((prov, message))
        return len(self.sites) - 1

    # --- kernels -----------------------------------------------------------------------------

    def launch(self, s: k.Launch) -> None:
        """Print the kernel's function, and its launch."""
        self.launched(s, self)
        taken = s.kernel.params
        kinds = [BLOCK if one.block else one.prim for one in taken]
        if any(one.name in self.rounds for one in taken):
            kinds.append(ROUNDS)
        self.kernels[s.kernel.name] = kinds
        arguments = ", ".join(py_name(one.name) for one in taken)
        count = self.times(s.count, s.times)
        bound = self.most.get(s.kernel.name)
        most = "" if bound is None else f", most={self.bound(bound, s)}"
        bytes_ = launch_sized(s.kernel)[1]
        shared = "" if bytes_ == ZERO else f", shared={show(bytes_)}"
        busy = "" if s.busy is None else f", busy={show(s.busy)}"
        given = f"{s.unit}={count}{busy}{most}{shared}"
        self.line(f'device.launch("{s.kernel.name}", {given})({arguments})')

    def bound(self, bound: Bound, s: k.Launch) -> str:
        """Print a bound as an exact expression."""
        count = self.times(s.count, s.times)
        blocks = count if count.isidentifier() or count.isdigit() else f"({count})"
        # A captured launch must be valid for all iterations.
        spelled = {k.BLOCK: blocks, **{n: f"({show(end)})" for n, end in self.rounds.items()}}
        terms = []
        for monomial, factor in sorted(bound.items()):
            names = [spelled.get(name) or py_name(name) for name in monomial]
            number = str(ceil(factor))
            term = f"abs({' * '.join(names)})" if names else number
            terms += [f"{term} * {number}" if names and number != "1" else term] if factor else []
        return " + ".join(terms) or "0"

    def times(self, count: SE, factor: str) -> str:
        """Print a number of blocks, or of cells for them."""
        return f"{show(count)} * {py_name(factor)}" if factor else show(count)

    def ranges(self, s: k.Ranges) -> None:
        """Print the partition of segments into ranges."""
        given = ", ".join(map(show, (s.segments, s.size, s.least)))
        self.line(f"{py_name(s.blocks)}, {py_name(s.chunk)} = device.ranges({given})")

    def part(self, s: k.Part) -> None:
        """Print a block for partial results."""
        count = self.times(s.count, s.times)
        self.line(f'{py_name(s.name)} = device.part({count}, "{s.prim}")')

    def zeros(self, s: k.Zeros) -> None:
        """Print a block of zeros."""
        self.line(f'{py_name(s.name)} = device.zeros({show(s.count)}, "{s.prim}")')


def _together(stms: Sequence[imp.Stm]) -> Iterator[list[Any]]:
    """Group consecutive cell reads; other statements stand alone."""
    cells: list[Any] = []
    for stm in stms:
        if not isinstance(stm, imp.Load | k.Fetch):
            if cells:
                yield cells
            cells = []
            yield [stm]
            continue
        known = free_names((stm,)).scalars.keys()
        if len(cells) == MOST_READ or any(s.name in known for s in cells):
            yield cells
            cells = []
        cells.append(stm)
    if cells:
        yield cells
