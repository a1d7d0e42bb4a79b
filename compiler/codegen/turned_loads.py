"""Find maps that read matrices across: neighbouring points read cells that lie far apart.

`map (map f) (transpose xss)` reads down the columns of `xss` while it writes along rows. Squares of
the points can read their cells along the rows of `xss` first, and write along their own then.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.codegen.imp import nodes as imp
from compiler.codegen.traits import traits_of
from compiler.ir.nodes import SE, Lit
from compiler.ir.sizes import poly_of
from compiler.storage.strides import MOST_BYTES, PITCH, SIDE, SMALL, turned_along


@dataclass(frozen=True, slots=True)
class TurnedLoad:
    """A load, and its cell in terms of the map's indices."""

    load: imp.Load
    place: Poly

    @property
    def square(self) -> Name:
        """Return the name of the square that holds its cells."""
        return f"{self.load.name}_square"


@dataclass(frozen=True, slots=True)
class TurnedLoads:
    """The loads of a map that read along `across` and not along `lane`, its last dimension.

    All points execute them, before any of them stores anything.
    """

    across: Name
    lane: Name
    loads: tuple[TurnedLoad, ...]

    def served(self, body: imp.Stms, slot: SE) -> imp.Stms:
        """Return the body with loads from the squares, at `slot`."""
        squares = {one.load.name: one.square for one in self.loads}
        return tuple(
            replace(stm, block=squares[stm.name], at=slot)
            if isinstance(stm, imp.Load) and stm.name in squares
            else stm
            for stm in body
        )


def turned_loads(kernel: imp.Kernel) -> TurnedLoads | None:
    """Return the loads that squares of points would serve; None if there are none."""
    *outer, (lane, size) = kernel.dims
    if not outer or kernel.per_block or not isinstance(kernel.work, imp.MapWork) or _is_few(size):
        return None
    if not traits_of(kernel.body).straight:
        return None
    many = {name for name, bound in outer if not _is_few(bound)}
    known: dict[Name, Poly] = {}
    inside: set[Name] = set()
    found: dict[Name, list[TurnedLoad]] = {}
    for stm in kernel.body:
        if not isinstance(stm, imp.Define | imp.Load):
            break
        poly = poly_of(stm.at if isinstance(stm, imp.Load) else stm.value)
        value = None if poly is None else poly.put_in(known)
        inside.add(stm.name)
        if value is None or value.names() & inside:
            continue
        if isinstance(stm, imp.Load):
            across = turned_along(value, lane, many, BYTES[stm.prim])
            if across:
                found.setdefault(across, []).append(TurnedLoad(stm, value))
        elif stm.prim == "i64":
            known[stm.name] = value
    if not found:
        return None
    across = max(found, key=lambda name: len(found[name]))
    room = accumulate(SIDE * PITCH * BYTES[one.load.prim] for one in found[across])
    chosen = [one for one, bytes_ in zip(found[across], room, strict=True) if bytes_ <= MOST_BYTES]
    return TurnedLoads(across, lane, tuple(chosen)) if chosen else None


def _is_few(size: SE) -> bool:
    return isinstance(size, Lit) and int(size.value) < SMALL
