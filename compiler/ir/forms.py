"""Define which constructs may occur in each form of the core language; `verify` checks them.

The pipeline assigns a form to each stage.
"""

from __future__ import annotations

from typing import get_args

from compiler.base.dataclass import dataclass
from compiler.ir import nodes
from compiler.ir.nodes import SE_NODES, Alloc, Apply, Assert, Call, If, Loop, Push, Threshold

_BASE = frozenset((*SE_NODES, *get_args(nodes.ArrayOp), If, Loop, Assert, Push))
_NESTED = _BASE | frozenset(get_args(nodes.Soac))
_FLAT = _BASE | frozenset((*get_args(nodes.SegOp), Threshold, Apply))


@dataclass(frozen=True, slots=True)
class Form:
    """The expressions that may occur, and the constraints on memory.

    `memory`: every array has a block and an LMAD. `expanded`: no kernel allocates device memory.
    """

    may_occur: frozenset[type]
    memory: bool = False
    expanded: bool = False


DERIVATIVES = Form(_NESTED | {Call, nodes.WithVjp} | frozenset(get_args(nodes.Derivative)))
CALLS = Form(_NESTED | {Call})
NESTED = Form(_NESTED | {Apply, Call})
FLAT = Form(_FLAT | {Call})
MEMORY = Form(_FLAT | {Alloc, Call}, memory=True)
EXPANDED = Form(_FLAT | {Alloc, Call}, memory=True, expanded=True)
