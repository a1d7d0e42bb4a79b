"""All operations, by their ids."""

from __future__ import annotations

from typing import Any

from compiler.protocol import (
    accesses,
    cost_formulas,
    editing,
    flows,
    graphs,
    listings,
    measurements,
    notebooks,
    profiles,
    programs,
    proofs,
    runs,
    source_costs,
    storage,
    teaching,
    tests,
)
from compiler.protocol.kinds import Operation

OPERATIONS: dict[str, Operation[Any]] = {
    one.id: one
    for module in (
        programs,
        editing,
        runs,
        profiles,
        flows,
        graphs,
        listings,
        tests,
        measurements,
        notebooks,
        storage,
        proofs,
        accesses,
        source_costs,
        cost_formulas,
        teaching,
    )
    for one in vars(module).values()
    if isinstance(one, Operation)
}
