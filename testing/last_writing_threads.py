"""Record the last writer of each cell that threads read, while the kernels of a program run.

A place is a path of vertices from the entry point's body on. Which round of a loop or which thread
it was is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.py_scalar import py_name, show
from compiler.explain.reaching_definitions import Reaching, graph_of
from compiler.ir.values import Value
from testing import kernel_interp
from testing.kernel_interp import Cells, ThreadText, WatchedDevice


class Place(NamedTuple):
    """A vertex of a body."""

    graph: Reaching
    vertex: int


Places = tuple[Place, ...]


class _Device(WatchedDevice):
    """With the place where the running thread is, and who has written each cell."""

    place: Places = ()

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.flows: set[tuple[Places, Places]] = set()
        self.writers: dict[tuple[int, int], tuple[Cells, Places]] = {}

    def touched(self, block: Cells, at: int, writes: bool) -> None:
        """A thread reads or writes a cell, which is kept so that its number stays its own."""
        if writes:
            self.writers[id(block), at] = block, self.place
        elif (id(block), at) in self.writers:
            self.flows.add((self.writers[id(block), at][1], self.place))

    def write(self, block: Cells, at: int, value: Any) -> None:
        """The host writes a cell, at no place."""
        super().write(block, at, value)
        self.writers.pop((id(block), at), None)

    def copy(self, dest: Cells, to: int, source: Cells, start: int, count: int) -> None:
        """The host copies cells, at no place."""
        super().copy(dest, to, source, start, count)
        for at in range(to, to + count):
            self.writers.pop((id(dest), at), None)


class _Placed(ThreadText):
    """Prints statements so that the device knows which of them runs."""

    def __init__(self, env: dict[str, Any]) -> None:
        super().__init__(env)
        self.body: Places = ()
        self.count = self.part = 0
        self.opens: Places | None = None

    def kernel_function(self, kernel: k.Kernel) -> str:
        """The function of a thread, at its place in the program."""
        self.env["device"].flows = self.env["flows"]
        self.opens = self.env["launches"][kernel.name]
        return super().kernel_function(kernel)

    def block(self, stms: imp.Stms) -> None:
        """The statements of the body that was opened last."""
        assert self.opens is not None
        kept = self.body, self.count, self.opens
        graph, vertex = self.opens[-1]
        self.body = (*self.opens, Place(graph.inside[vertex][self.part], -1))
        self.count = 0
        self.indent += "    "
        self.line("pass")
        self.here(stms)
        self.indent = self.indent[:-4]
        self.body, self.count, self.opens = kept
        self.part = 1  # another arm may follow

    def here(self, stms: imp.Stms) -> None:
        """Statements in turn."""
        for stm in stms:
            match stm:
                case k.Scope(body):
                    self.here(body)
                case k.Barrier() | imp.Free() | imp.Declare(value=None | str()):
                    self.rules[type(stm)](self, stm)
                case imp.Assign(value=str()):
                    self.rules[type(stm)](self, stm)
                case _:
                    place = (*self.body[:-1], Place(self.body[-1].graph, self.count))
                    self.count += 1
                    self.at(place)
                    self.opens, self.part = place, 0
                    self.rules[type(stm)](self, stm)

    def at(self, place: Places) -> None:
        """Set the place of the code from here on."""
        name = f"place_{len(self.env)}"
        self.env[name] = place
        self.line(f"device.place = {name}")

    def scope(self, s: k.Scope) -> None:
        """Write the body of an exchange or a lock."""
        self.indent = self.indent[:-4]
        self.block(s.body)
        self.indent += "    "

    def exchange(self, s: k.Exchange) -> None:
        place = self.opens
        assert place is not None
        at = show(s.at)
        self.line("device.together = 'atomic'")
        self.line(f"{py_name(s.name)} = {py_name(s.block)}.read({at})")
        self.scope(k.Scope(s.body))
        self.at(place)
        self.line(f"{py_name(s.block)}.write({at}, {py_name(s.name)})")
        self.line("device.together = None")


def launches(graph: Reaching, above: Places = ()) -> dict[str, Places]:
    """Where each kernel is launched."""
    found: dict[str, Places] = {}
    for vertex, stm in enumerate(graph.stms):
        here = (*above, Place(graph, vertex))
        if isinstance(stm, k.Launch):
            found[stm.kernel.name] = here
            continue
        for body in graph.inside.get(vertex, ()):
            found |= launches(body, here)
    return found


def recorded(
    prog: imp.ImpProg, entry: str, args: Sequence[Value], threads: int
) -> set[tuple[Places, Places]]:
    """Run an entry point; the pairs of places that wrote a cell last and read it."""
    graph = graph_of(next(fun for fun in prog.funs if fun.name == entry))
    flows: set[tuple[Places, Places]] = set()
    more = {"launches": launches(graph), "flows": flows}
    kernel_interp.run(
        prog, entry, args, threads, device_class=_Device, text_class=_Placed, more=more
    )
    return flows
