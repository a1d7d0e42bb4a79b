"""All operations, by their ids."""

from __future__ import annotations

from typing import Any

from compiler.protocol import programs, proofs, runs, storage
from compiler.protocol.kinds import Operation

OPERATIONS: dict[str, Operation[Any]] = {
    one.id: one
    for module in (programs, runs, storage, proofs)
    for one in vars(module).values()
    if isinstance(one, Operation)
}
