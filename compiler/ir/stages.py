"""Which constructs may occur at which stage: the table that `verify` checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from compiler.ir import nodes
from compiler.ir.nodes import SE_NODES, Alloc, Assert, Call, If, Loop, Threshold

STAGES = (
    "soa",
    "simplified",
    "fused",
    "flat",
    "tiled",
    "funmem",
    "shortcircuit",
    "expanded",
    "merged",
)
"""The stages whose programs are in the core language, in the pipeline's order."""

MEMORY_STAGES = frozenset(("funmem", "shortcircuit", "expanded", "merged"))
"""From here on every array has a block and an LMAD."""

EXPANDED_STAGES = frozenset(("expanded", "merged"))
"""From here on no kernel allocates in device memory."""

_BASE = frozenset((*SE_NODES, *get_args(nodes.ArrayOp), If, Loop, Assert))
_SOACS = frozenset(get_args(nodes.Soac))
_KERNELS = frozenset((*get_args(nodes.SegOp), Threshold))

NESTED = _BASE | _SOACS
FLAT = _BASE | _KERNELS
MEMORY = FLAT | {Alloc}

MAY_OCCUR: Mapping[str, frozenset[type]] = {
    "soa": NESTED | {Call},
    "simplified": NESTED,
    "fused": NESTED,
    "flat": FLAT,
    "tiled": FLAT,
    "funmem": MEMORY,
    "shortcircuit": MEMORY,
    "expanded": MEMORY,
    "merged": MEMORY,
}
