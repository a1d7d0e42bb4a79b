"""The attempts of short-circuiting on a program, and thresholds for all code versions."""

from __future__ import annotations

from typing import Any

from compiler.base.context import Ctx, Options
from compiler.base.names import NameSource
from compiler.ir.nodes import Prog
from compiler.storage.short_circuit import ID, short_circuit
from compiler.storage.short_circuit.trial import FREE
from compiler.targets import target_named


class Always(dict[str, int]):
    """Thresholds that every amount of parallelism reaches."""

    def get(self, name: str, default: object = None) -> int:
        """The least amount."""
        return 0


THRESHOLDS: tuple[dict[str, int], ...] = ({}, Always())
"""Those of a run: the usual ones, and the versions that these leave out."""


def attempts(
    prog: Prog, options: Options | None = None, names: NameSource | None = None
) -> list[dict[str, Any]]:
    """The attempts of short-circuiting on a program of stage `funmem`, as plain data."""
    options = options or Options()
    tags, target = (names or NameSource()).fork(FREE), target_named(options.target)
    ctx = Ctx(options, tags, target=target, stage="shortcircuit")
    short_circuit(prog, ctx)
    found: list[dict[str, Any]] = ctx.records[ID].told()
    return found
