"""The semantics of IMP (thesis, figure 4.13): a program becomes Python text, which is run.

Blocks are lists of Python values. A kernel is a loop over its threads in order (`sequential.py`),
so only programs whose kernels race may differ from parallel machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug, RuntimeError_
from compiler.base.spans import NOWHERE, Prov
from compiler.codegen import py_runtime
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import called_functions
from compiler.codegen.index import poly_exp
from compiler.codegen.py_scalar import (
    applied,
    called,
    py_name,
    show,
    show_count,
    shown_operand,
    shown_tuple,
)
from compiler.codegen.sequential import sequential, update_bins
from compiler.codegen.signature import choose_entry, signatures
from compiler.dialect.visiting import NodeRules
from compiler.ir import values
from compiler.ir.nodes import SE, Mem
from compiler.runtime.runs import Value, arguments, prepare, results

Number = int | float
Namespace = dict[str, Any]
"""The globals of generated Python text."""
EntryPoint = Callable[..., Iterable[object]]
MAX_CELLS = 1 << 28
"""Largest block, in elements."""


def run(prog: imp.ImpProg, entry: str, args: Sequence[Value]) -> list[values.Value]:
    """Run an entry point; return NumPy arrays and scalars.

    Raises RuntimeError_ for a failed check, UsageError for inputs that do not fit.
    """
    env = {**RUNTIME}
    add_functions(prog, env)
    add_called(prog, env)

    def function(fun: imp.ImpFun) -> EntryPoint:
        exec(compile(python_text(fun, env), f"<imp {entry}>", "exec"), env)
        found: EntryPoint = env["entry"]
        return found

    try:
        return call(prog, entry, args, function)
    except IndexError:
        raise CompilerBug("the program read or wrote outside of a block") from None


def call(
    prog: imp.ImpProg,
    entry: str,
    args: Sequence[Value],
    function: Callable[[imp.ImpFun], EntryPoint],
    block: Callable[[list[Number]], object] = lambda cells: cells,
) -> list[values.Value]:
    """Call an entry point as a Python function, of scalars and blocks.

    `block` makes a block from a list of values; its cells are read by index.
    """
    about = {"entries": signatures(prog)}
    chosen = choose_entry(about, entry)
    fun = next(f for f in prog.funs if f.name == entry)
    arrays, sizes = prepare(chosen, args)
    given = arguments(chosen, arrays, sizes, lambda cells: block(cells.tolist()))
    outcome = function(fun)(*given)
    with np.errstate(all="ignore"):
        return results(
            chosen, outcome, sizes, lambda cells, count, dtype: np.array(cells[:count], dtype)
        )


def python_text(fun: imp.ImpFun, env: Namespace, name: str = "entry") -> str:
    """Print a function as a Python function; messages and spans go to `env`."""
    out = _Python(env)
    out.line(f"def {name}({', '.join(py_name(p.name) for p in fun.params)}):")
    out.block(fun.body)
    out.line(f"    return {shown_tuple(fun.values)}")
    return "\n".join(out.lines)


def add_called(prog: imp.ImpProg, env: Namespace) -> None:
    """Add the host functions of IMP to the globals of an entry point's text."""
    for name, fun in called_functions(prog).items():
        text = python_text(fun, env, py_name(name))
        exec(compile(text, f"<imp {name}>", "exec"), env)


def add_functions(prog: imp.ImpProg, env: Namespace) -> None:
    """Add the scalar functions to the globals of an entry point's text."""
    for fun in prog.applied:
        out = _Python(env)
        out.line(f"def {py_name(fun.name)}({', '.join(py_name(p.name) for p in fun.params)}):")
        out.block(fun.body)
        out.line(f"    return {shown_tuple(fun.values)}")
        exec(compile("\n".join(out.lines), f"<imp {fun.name}>", "exec"), env)


class _Python(NodeRules):
    """Prints statements as Python."""

    language = imp.IMP

    def __init__(self, env: Namespace) -> None:
        self.lines: list[str] = []
        self.indent = ""
        self.env = env

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def block(self, stms: imp.Stms) -> None:
        """Print indented statements."""
        self.indent += "    "
        if not stms:
            self.line("pass")
        for stm in stms:
            self.rules[type(stm)](self, stm)
        self.indent = self.indent[:-4]

    def define(self, s: imp.Define) -> None:
        self.line(f"{py_name(s.name)} = {show(s.value)}")

    def apply(self, s: imp.Apply) -> None:
        self.line(applied(s))

    def call(self, s: imp.Call) -> None:
        self.line(called(s))

    def declare(self, s: imp.Declare) -> None:
        start = None if s.value is None else shown_operand(s.value)
        if start is None:
            start = "None" if isinstance(s.type, Mem) else "0.0" if s.type.prim[0] == "f" else "0"
            start = "False" if s.type.prim == "bool" and start == "0" else start
        self.line(f"{py_name(s.name)} = {start}")

    def assign(self, s: imp.Assign) -> None:
        self.line(f"{py_name(s.name)} = {shown_operand(s.value)}")

    def alloc(self, s: imp.Alloc) -> None:
        zero = "0.0" if s.prim[0] == "f" else "False" if s.prim == "bool" else "0"
        span = self.site(s.prov)
        self.line(f"{py_name(s.name)} = allocate({zero}, {show_count(s.count)}, {span})")

    def free(self, s: imp.Free) -> None:
        self.line(f"{py_name(s.name)} = None")

    def load(self, s: imp.Load) -> None:
        self.line(f"{py_name(s.name)} = {py_name(s.block)}[{show(s.at)}]")

    def store(self, s: imp.Store) -> None:
        self.line(f"{py_name(s.block)}[{show(s.at)}] = {show(s.value)}")

    def copy(self, s: imp.Copy) -> None:
        dest, source = _lmad(s.dest_lmad), _lmad(s.source_lmad)
        self.line(f"copy({py_name(s.dest)}, {dest}, {py_name(s.source)}, {source})")

    def branch(self, s: imp.If) -> None:
        self.line(f"if {show(s.cond)}:")
        self.block(s.then)
        if s.orelse:
            self.line("else:")
            self.block(s.orelse)

    def count_loop(self, s: imp.For) -> None:
        self.line(f"for {py_name(s.index)} in upto({show(s.bound)}):")
        self.block(s.body)

    def while_loop(self, s: imp.While) -> None:
        self.line(f"while {py_name(s.cond)}:")
        self.block(s.body)

    def check(self, s: imp.Assert) -> None:
        self.line(f"if not ({show(s.cond)}):")
        parts = "".join(f"{p!r}, " if isinstance(p, str) else f"{show(p)}, " for p in s.message)
        self.line(f"    fail({self.site(s.prov)}, ({parts}))")

    def kernel(self, s: imp.Kernel) -> None:
        for stm in sequential(s):
            self.rules[type(stm)](self, stm)

    def push(self, s: imp.Push) -> None:
        for stm in update_bins(s.hist, s.prov):
            self.rules[type(stm)](self, stm)

    def site(self, prov: Prov) -> str:
        """Bind a provenance to a new name."""
        name = f"site_{len(self.env)}"
        self.env[name] = prov
        return name


PythonText = _Python
"""Base class for IRs with more statements than IMP."""


def _lmad(lmad: Lmad[Poly]) -> str:
    def text(poly: Poly) -> str:
        se: SE = poly_exp(poly)
        return show(se)

    dims = "".join(f"({text(d.size)}, {text(d.stride)}), " for d in lmad.dims)
    return f"{text(lmad.offset)}, ({dims})"


# --- what programs call ----------------------------------------------------------------------


def _allocate(zero: Number, count: int, prov: Prov) -> list[Number]:
    """Allocate a block; `count` is exact."""
    if not 0 <= count <= MAX_CELLS:
        raise _failure(
            f"There is not enough memory for an array of {count} elements: the "
            f"interpreter allows at most {MAX_CELLS}.",
            prov,
        )
    return [zero] * count


def _fail(prov: Prov, parts: Sequence[str | Number]) -> None:
    raise _failure("".join(_shown(p) for p in parts), prov)


def _failure(message: str, prov: Prov) -> RuntimeError_:
    error = RuntimeError_(message, prov[0] if prov else NOWHERE)
    error.prov = prov
    return error


def _shown(part: str | Number) -> str:
    return ("false", "true")[part] if isinstance(part, bool) else str(part)


def _copy(
    dest: list[Number],
    dest_at: int,
    dest_dims: Sequence[tuple[int, int]],
    source: list[Number],
    source_at: int,
    source_dims: Sequence[tuple[int, int]],
) -> None:
    for to, come in zip(_cells(dest_at, dest_dims), _cells(source_at, source_dims), strict=True):
        dest[to] = source[come]


def _cells(offset: int, dims: Sequence[tuple[int, int]]) -> list[int]:
    """Return all cells of an LMAD, in order."""
    cells = [offset]
    for size, stride in dims:
        steps = [k * stride for k in range(size)]
        cells = [cell + step for cell in cells for step in steps]
    return cells


RUNTIME: Namespace = {
    **{k: v for k, v in vars(py_runtime).items() if not k.startswith("_")},
    "allocate": _allocate,
    "fail": _fail,
    "copy": _copy,
    "upto": range,  # kernels have a `range` of their own
}
