"""Vectorise a thread's scans of integer rows.

Each prefix needs the one before it; lanes compute those of a register together, in logarithmically
many steps, which regroups the elements: equal for integers.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.imp.nodes import Assign, Define, For, Load, Stms, Store
from compiler.codegen.imp.parts import names
from compiler.codegen.stm_uses import StmUses
from compiler.codegen.traits import BUILTIN, loaded, reads, stored
from compiler.ir.nodes import Bin, Lit, Var
from compiler.ir.sizes import poly_of

LANE_SCANS = Rule("c/lane-scans", "Scans a row of integers in vector registers.")
BECAUSE = (
    "The elements are integers, so any grouping gives the same result, and the "
    "prefixes of a register are computed together."
)
SCANS = frozenset(("+", "*", "min", "max"))
"""Operators that GCC scans in lanes."""


@dataclass(frozen=True, slots=True)
class LaneScan:
    """`before` computes the value added to `acc`, `after` uses the sum.

    `apart`: pairs of blocks that must differ.
    """

    acc: Name
    kind: str
    before: Stms
    after: Stms
    apart: tuple[tuple[Name, Name], ...]


def lane_scan(stm: For) -> LaneScan | None:
    """Match a loop that scans adjacent integers into adjacent cells; None for others."""
    ends = [k for k, s in enumerate(stm.body) if isinstance(s, Assign)]
    if len(ends) != 1 or not all(isinstance(s, (Load, Define, Store, Assign)) for s in stm.body):
        return None
    (at,) = ends
    end = stm.body[at]
    assert isinstance(end, Assign)
    before, after = stm.body[:at], stm.body[at + 1 :]
    if isinstance(end.value, Var):
        for k, one in enumerate(before):
            if isinstance(one, Define) and one.name == end.value.name:
                end = Assign(end.name, one.value, end.prov)
                own = Define(one.name, one.prim, Var(end.name, one.prim), one.prov)
                before, after = before[:k], (own, *before[k + 1 :], *after)
                break
    value = end.value
    if not isinstance(value, Bin) or value.op not in SCANS or value.at[0] not in "iu":
        return None
    acc = Var(end.name, value.at)
    added = value.rhs if value.lhs == acc else value.lhs
    if acc not in (value.lhs, value.rhs) or end.name in reads(added):
        return None
    if stored(before) or not stored(after) or _reads(before) & {end.name}:
        return None
    if names(before, "bind") & _reads(after) or (loaded(before) | loaded(after)) & stored(after):
        return None
    if not all(_near(one, stm.index, names(stm.body, "bind")) for one in (*before, *after)):
        return None
    pairs = ((one, other) for one in sorted(stored(after)) for other in sorted(loaded(stm.body)))
    return LaneScan(end.name, BUILTIN[value.op], (*before, end), after, tuple(pairs))


def _reads(stms: Stms) -> set[Name]:
    return {name for stm in stms for name in StmUses(stm).scalars}


def _near(stm: object, index: Name, bound: set[Name]) -> bool:
    """True for an access with unit stride in the index, and for other statements."""
    if not isinstance(stm, (Load, Store)):
        return True
    at = poly_of(stm.at)
    return at is not None and not (at - Poly.var(index)).names() & (bound | {index})


def is_short(stm: For, least: int) -> bool:
    """True if a loop certainly has fewer than `least` iterations."""
    return isinstance(stm.bound, Lit) and int(stm.bound.value) < least
