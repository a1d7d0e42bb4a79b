"""Recognise loops of a thread that can be vectorised."""

from __future__ import annotations

from compiler.base.rules import Rule
from compiler.codegen.c.types import c_name
from compiler.codegen.imp.nodes import Assign, Declare, For
from compiler.codegen.stm_uses import StmUses
from compiler.codegen.traits import BUILTIN, reads, stored, traits_of
from compiler.ir.nodes import Bin, Var

SHORT = 32
"""Iterations below which a loop stays scalar. Setting up and combining lanes has a cost: with
registers of 16 f32, rows of 31 took 1.8 times as long vectorised, rows of 32 nine tenths."""
SHORT_ROWS = Rule(
    "c/short-rows", "Reduces a row of fewer than 32 elements in order, without vector registers."
)
BECAUSE = (
    "Setting up vector lanes and combining them takes longer than reducing a short row in order."
)


def reduction_pragma(stm: For) -> str:
    """Return `#pragma omp simd ..` for a vectorisable loop; "" for others.

    The body must be straight, store nothing and end in `acc := acc op value` for outer variables
    that are used nowhere else.
    """
    traits = traits_of(stm.body)
    if not traits.straight or traits.branches or stored(stm.body):
        return ""
    ends = [s for s in stm.body if isinstance(s, Assign)]
    if not ends:
        return ""
    shares = []
    accumulators = {s.name for s in ends}
    for other in stm.body:
        used = accumulators.intersection(StmUses(other).scalars)
        if isinstance(other, Declare) or (used and not isinstance(other, Assign)):
            return ""
    for end in ends:
        kind = _shared(end)
        if kind is None:
            return ""
        shares.append(f"reduction({kind}:{c_name(end.name)})")
    return f"#pragma omp simd {' '.join(shares)}"


def _shared(end: Assign) -> str | None:
    """Return the operator of `acc := acc op value` where `value` does not read `acc`."""
    value = end.value
    if not isinstance(value, Bin) or value.op not in BUILTIN or value.at in ("f16", "bool"):
        return None
    sides = [value.lhs, value.rhs]
    own = [s for s in sides if isinstance(s, Var) and s.name == end.name]
    rest = [s for s in sides if not (isinstance(s, Var) and s.name == end.name)]
    if len(own) != 1 or len(rest) != 1 or end.name in reads(rest[0]):
        return None
    return BUILTIN[value.op]
