"""Record the last writer of each cell that a run of IMP reads, as statements run.

A place is a path: for each body from the entry point's on its graph, which run of the body it is
(each iteration of a loop and each point of a kernel is one), and the vertex that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from compiler.codegen.imp import nodes as imp
from compiler.codegen.py_scalar import py_name, show
from compiler.codegen.sequential import accumulate, begin, finish, update_bins
from compiler.codegen.stm_uses import StmUses
from compiler.explain.reaching_definitions import Reaching, graph_of
from compiler.ir.values import Value
from compiler.runtime.imp_interp import RUNTIME, PythonText, add_called, add_functions, call


class Step(NamedTuple):
    """A vertex of a body as it runs."""

    graph: Reaching
    run: int
    vertex: int


Path = tuple[Step, ...]


class Flow(NamedTuple):
    """A flow of data: the place that writes a cell and the place that reads it."""

    writer: Path
    reader: Path


class Cells(list[Any]):
    """A block that remembers who wrote each cell; `last`: which statement of the host wrote it."""

    def __init__(self, values: Sequence[Any], run: Run, given: bool = False) -> None:
        super().__init__(values)
        self.run = run
        self.writers: dict[int, Path] = {}
        self.last: Path | None = None

    def __getitem__(self, at: Any) -> Any:
        """A read; slices are the caller's."""
        if isinstance(at, int):
            self.run.saw(self.writers.get(at), self.run.cells)
            self.run.saw(self.last, self.run.blocks, host=True)
        return super().__getitem__(at)

    def __setitem__(self, at: Any, value: Any) -> None:
        self.writers[at] = self.run.here()
        if not self.run.kernels:
            self.last = self.run.here()
        super().__setitem__(at, value)


class Run:
    """The place where a run is, and what it has seen."""

    def __init__(self) -> None:
        self.path: list[Step] = []
        self.runs = self.kernels = 0
        self.cells: set[Flow] = set()
        self.blocks: set[Flow] = set()
        self.scalars: dict[tuple[str, Flow], None] = {}
        self.written: dict[str, Path] = {}
        self.depth = 0

    def here(self) -> Path:
        """The place."""
        return tuple(self.path)

    def saw(self, writer: Path | None, into: set[Flow], host: bool = False) -> None:
        """Something is read here."""
        if writer is not None:
            here = self.here()
            into.add(Flow(writer, here[: self.depth] if host and self.kernels else here))

    def enter(self, graph: Reaching) -> None:
        """A body begins."""
        self.runs += 1
        self.path.append(Step(graph, self.runs, -1))

    def at(self, vertex: int, names: Sequence[str]) -> None:
        """A vertex begins, which reads these scalars."""
        self.path[-1] = self.path[-1]._replace(vertex=vertex)
        for name in names:
            if name in self.written:
                self.scalars[name, Flow(self.written[name], self.here())] = None

    def leave(self) -> None:
        """A body ends."""
        self.path.pop()

    def define(self, *names: str) -> None:
        """Scalars have got values."""
        for name in names:
            self.written[name] = self.here()

    def launch(self) -> None:
        """A kernel begins."""
        if not self.kernels:
            self.depth = len(self.path)
        self.kernels += 1

    def landed(self, *blocks: Cells | None) -> None:
        """A kernel that writes these blocks ends."""
        self.kernels -= 1
        for block in blocks:
            if not self.kernels and block is not None:
                block.last = self.here()

    def copied(self, dest: Cells, *rest: Any) -> None:
        """A copy, maybe of nothing."""
        RUNTIME["copy"](dest, *rest)
        if not self.kernels:
            dest.last = self.here()


class _Recorded(PythonText):
    """Prints statements so that the run knows where it is."""

    def __init__(self, env: dict[str, Any], graph: Reaching) -> None:
        super().__init__(env)
        self.graph, self.count = graph, 0

    def block(self, stms: imp.Stms) -> None:
        """Statements, each with its place."""
        self.indent += "    "
        self.line("pass")
        for stm in stms:
            self.stm(stm)
        self.indent = self.indent[:-4]

    def stm(self, stm: imp.Stm) -> None:
        """A statement; those that are no vertices are no places."""
        match stm:
            case imp.Free() | imp.Declare(value=None):
                self.rules[type(stm)](self, stm)
                return
            case imp.Declare(value=str()) | imp.Assign(value=str()):
                self.rules[type(stm)](self, stm)
                return
        vertex = self.place(stm)
        uses = StmUses(stm)
        match stm:
            case imp.If(cond, then, orelse):
                self.line(f"if {show(cond)}:")
                self.inner(vertex, 0, then)
                if orelse:
                    self.line("else:")
                    self.inner(vertex, 1, orelse)
            case imp.For(index, _, bound, body):
                self.line(f"for {py_name(index)} in upto({show(bound)}):")
                self.inner(vertex, 0, body)
            case imp.While(cond, body):
                self.line(f"while {py_name(cond)}:")
                self.inner(vertex, 0, body)
            case imp.Kernel():
                self.points(stm, vertex)
            case _:
                self.rules[type(stm)](self, stm)
                self.line(f"run.define({', '.join(map(repr, uses.bound))})")

    def place(self, stm: Any) -> int:
        vertex, self.count = self.count, self.count + 1
        uses = StmUses(stm)
        names = [*uses.scalars, *((stm.cond,) if isinstance(stm, imp.While) else ())]
        self.line(f"run.at({vertex}, {names!r})")
        return vertex

    @contextmanager
    def inside(self, vertex: int, part: int) -> Iterator[None]:
        """The statements of a body of a vertex."""
        kept = self.graph, self.count
        graph = self.graph.inside[vertex][part]
        self.graph, self.count = graph, 0
        name = f"graph_{len(self.env)}"
        self.env[name] = graph
        self.line(f"    run.enter({name})")
        yield
        self.line("    run.leave()")
        self.graph, self.count = kept

    def inner(self, vertex: int, part: int, stms: imp.Stms) -> None:
        with self.inside(vertex, part):
            self.block(stms)

    def points(self, s: imp.Kernel, vertex: int) -> None:
        """Its points in order, as `sequential` has them."""
        self.line("run.launch()")
        kept = self.indent
        folds = getattr(s.work, "folds", ())
        scan = isinstance(s.work, imp.ScanWork)
        for index, bound in s.dims[:-1]:
            self.line(f"for {py_name(index)} in upto({show(bound)}):")
            self.indent += "    "
        outer = self.indent
        self.plain([stm for fold in folds for stm in begin(fold.op, ())])
        index, bound = s.dims[-1]
        self.line(f"for {py_name(index)} in upto({show(bound)}):")
        with self.inside(vertex, 0):
            self.block(s.body)
            self.indent += "    "
            for fold in folds:
                self.place(fold)
                self.plain([*accumulate(fold, ()), *(finish(fold, ()) if scan else ())])
            for hist in getattr(s.work, "hists", ()):
                self.place(hist)
                self.plain(update_bins(hist, ()))
            self.indent = outer
        if not scan:
            self.plain([stm for fold in folds for stm in finish(fold, ())])
        self.indent = kept
        names = [place for fold in folds for place in fold.into if isinstance(place, str)]
        self.line(f"run.define({', '.join(map(repr, names))})")
        blocks = written(self.graph.inside[vertex][0])
        self.line(f"run.landed({', '.join(f'locals().get({py_name(b)!r})' for b in blocks)})")

    def plain(self, stms: Sequence[imp.Stm]) -> None:
        """Statements that are a part of the place."""
        for stm in stms:
            PythonText.rules[type(stm)](_Plain(self), stm)


class _Plain(PythonText):
    """Prints into the lines of another."""

    def __init__(self, of: PythonText) -> None:
        super().__init__(of.env)
        self.lines, self.indent = of.lines, of.indent


def written(graph: Reaching) -> list[str]:
    """The blocks that a body writes, or bodies in it."""
    found: dict[str, None] = {}
    for stm in graph.stms:
        found |= dict.fromkeys(StmUses(stm).written)
    for bodies in graph.inside.values():
        for body in bodies:
            found |= dict.fromkeys(written(body))
    return list(found)


def recorded(prog: imp.ImpProg, entry: str, args: Sequence[Value]) -> tuple[Reaching, Run]:
    """Run an entry point; its graph, and what the run has seen."""
    run = Run()
    graph = graph_of(next(fun for fun in prog.funs if fun.name == entry))
    env = {**RUNTIME, "run": run, "copy": run.copied}
    add_functions(prog, env)
    add_called(prog, env)
    env["allocate"] = lambda *of: Cells(RUNTIME["allocate"](*of), run)

    def function(fun: imp.ImpFun) -> Callable[..., Any]:
        out = _Recorded(env, graph)
        out.line(f"def entry({', '.join(py_name(p.name) for p in fun.params)}):")
        out.block(fun.body)
        values = [py_name(v) if isinstance(v, str) else show(v) for v in fun.values]
        out.line(f"    return ({''.join(f'{v}, ' for v in values)})")
        exec(compile("\n".join(out.lines), "<recorded>", "exec"), env)
        entry: Callable[..., Any] = env["entry"]
        return entry

    run.enter(graph)
    call(prog, entry, args, function, lambda cells: Cells(cells, run))
    return graph, run
