"""Counterexamples from runs of refused attempts: an early write, or a failing check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.algebra import constant
from compiler.algebra.disjoint import Overlap
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir.nodes import Stm
from compiler.ir.values import Value


@dataclass(frozen=True, slots=True)
class WitnessedAccess:
    """A write or read of an array's cell by a statement.

    `around` are the enclosing statements, outermost first, ending with itself; `indices` those of
    its loops and kernels; `values` all named integers.
    """

    array: Name
    writes: bool
    around: tuple[Stm, ...]
    indices: Mapping[Name, int]
    values: Mapping[Name, int]


@dataclass(frozen=True, slots=True)
class Clash:
    """A cell written too early while another access needs it, in a run on `args`.

    `inputs` are the sizes and integers among them.
    """

    cell: int
    write: WitnessedAccess
    use: WitnessedAccess
    inputs: Mapping[Name, int]
    args: Sequence[Value]

    def overlap(self, write: Lmad[Poly], use: Lmad[Poly]) -> Overlap | None:
        """Return how two sets of cells share the cell in that run; None if they do not.

        A primed name belongs to the other iteration, which needs the cell.
        """
        point: dict[Name, int] = {}
        for name in write.names() | use.names():
            if name.endswith("'"):
                found = self.use.values.get(name[:-1])
            else:
                found = self.write.values.get(name, self.use.values.get(name))
            if found is None:
                return None
            point[name] = found
        indices = []
        for lmad in (write.evaluate(point), use.evaluate(point)):
            dims = [(dim.size, dim.stride) for dim in lmad.dims]
            try:
                met = constant.meet((lmad.offset, dims), (self.cell, []))
            except constant.TooHard:
                return None
            if met is None:
                return None
            indices.append(tuple(met[1]))
        return Overlap(point, self.cell, indices[0], indices[1])


@dataclass(frozen=True, slots=True)
class Stop:
    """A check that fails in a run on `args`; `inputs` are the sizes and integers among them."""

    inputs: Mapping[Name, int]
    args: Sequence[Value]
