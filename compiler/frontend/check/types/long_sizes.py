"""Bound the length of sizes: bind long ones to names.

The size of `drop (count p xs) xs` mentions that of `xs` several times, so that a chain of such
calls doubles its sizes at each. Where a size is longer than `LONGEST`, the value is bound to a name
and the size is read off it: `let [d] x = drop (count p xs) xs in x`. What `d` equals stays known,
but only as far as that is short when everything in it is put in: a name that would mean more than
`MOST` parts is one of its own, equal to those that were given the same text (`SizeAtom`).
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.frontend import typed as t
from compiler.frontend.check.types.metas import resolve, resolve_size
from compiler.frontend.check.types.size_exps import SizeHole, sub_expressions
from compiler.frontend.types import (
    Array,
    Size,
    SizeExp,
    SizeOp,
    SizeVar,
    Type,
)

LONGEST = 64
"""Most parts of a size in the type of an application, the types of its calls included."""
MOST = 128
"""Most parts of the expanded meaning of a name."""


@dataclass(frozen=True, slots=True)
class SizeAtom(Size):
    """The meaning of a size name that is too long to expand; equal if the `key`s are."""

    key: str


def is_long(size: Size, limit: int = LONGEST) -> bool:
    """Test whether a size has more than `limit` parts."""
    size = resolve_size(size)
    return isinstance(size, SizeOp | SizeExp) and not _Counting(limit).size(size)


class _Counting:
    """Counts the parts of sizes, of expressions in them and of their types, up to a limit."""

    def __init__(self, left: int) -> None:
        self._left = left

    def size(self, size: Size) -> bool:
        """Count a size; False once the limit is exceeded."""
        size = resolve_size(size)
        self._left -= 1
        match size:
            case SizeOp(_, lhs, rhs):
                return self._left > 0 and self.size(lhs) and self.size(rhs)
            case SizeExp(_, exp) if isinstance(exp, t.Exp):
                return self._left > 0 and self._exp(exp)
        return self._left > 0

    def _exp(self, exp: t.Exp) -> bool:
        self._left -= 1
        if self._left <= 0 or not self._type(exp.type):
            return False
        if isinstance(exp, SizeHole):
            return self.size(exp.size)
        if isinstance(exp, t.Var):
            return all(map(self._type, exp.type_args)) and all(map(self.size, exp.size_args))
        return all(map(self._exp, sub_expressions(exp)))

    def _type(self, type_: Type) -> bool:
        type_ = resolve(type_)
        self._left -= 1
        dims = type_.dims if isinstance(type_, Array) else ()
        return self._left > 0 and all(map(self.size, dims)) and all(map(self._type, type_.parts))


def weight(size: Size, weights: Mapping[Name, int]) -> int:
    """Bound the number of parts of a size's normal form; `weights`: those of names in it.

    The size itself is not long.
    """
    size = resolve_size(size)
    match size:
        case SizeVar(name):
            return weights.get(name, 1)
        case SizeOp(op, lhs, rhs):
            left, right = weight(lhs, weights), weight(rhs, weights)
            return max(left + right, left * right if op == "*" else 0)
    return 1
