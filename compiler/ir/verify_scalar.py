"""Verify scalar expressions and sizes: scopes and types, for the core language and for IMP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import (
    ARITH_OPS,
    COMPARE_OPS,
    FLOATS,
    FUNS,
    INTS,
    LOGIC_OPS,
    NUMBERS,
    PRIMS,
    FunKind,
    Prim,
    fun_params,
    int_range,
)
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Scalar, Select, Type, Un, Var
from compiler.ir.show_scalar import show_se
from compiler.ir.sizes import prim_of

_OPERATORS: dict[str, tuple[Prim, ...]] = {
    **dict.fromkeys(ARITH_OPS, NUMBERS),
    **dict.fromkeys(("<<", ">>"), INTS),
    **dict.fromkeys(("&", "|", "^"), (*INTS, "bool")),
    **dict.fromkeys(COMPARE_OPS, PRIMS),
    **dict.fromkeys(LOGIC_OPS, ("bool",)),
    **dict.fromkeys(("//", "%%"), INTS),
}
_UNARY: dict[str, tuple[Prim, ...]] = {
    **dict.fromkeys(("neg", "abs", "sgn"), NUMBERS),
    "not": (*INTS, "bool"),
}
_KINDS: dict[FunKind, tuple[Prim, ...]] = {
    "float": FLOATS,
    "int": INTS,
    "number": NUMBERS,
    "any": PRIMS,
    "lmad": ("i64",),
}


class ScalarChecker:
    """Types of names in scope; a subclass defines `fail`."""

    def __init__(self) -> None:
        self.types: dict[Name, Type] = {}

    def fail(self, message: str) -> NoReturn:
        """Raise an error at the current statement."""
        raise NotImplementedError

    def must(self, holds: bool, message: str) -> None:
        """Fail with `message` unless `holds`."""
        if not holds:
            self.fail(message)

    def sizes(self, polys: Iterable[Poly]) -> None:
        """Check that the names in sizes are i64 and in scope."""
        for poly in polys:
            for name in poly.names():
                self.must(
                    self.types.get(name) == Scalar("i64"), f"the size `{name}` is no i64 in scope"
                )

    def se(self, se: SE) -> Prim:
        """Check a scalar expression and return its type."""
        match se:
            case Lit(value, prim):
                self.must(_is_literal(value, prim), f"bad literal {value} of type {prim}")
            case Var(name, prim):
                kind = self.types.get(name)
                self.must(kind is not None, f"`{name}` is not in scope")
                self.must(kind == Scalar(prim), f"`{name}` is used as {prim} and is another type")
            case Bin(op, at, a, b):
                if self.se(a) != at or self.se(b) != at:
                    self.fail(f"mixed types in {show_se(se)}")
                self.must(at in _OPERATORS.get(op, ()), f"`{op}` does not work on {at}")
            case Un(op, at, a):
                if self.se(a) != at:
                    self.fail(f"mixed types in {show_se(se)}")
                self.must(at in _UNARY.get(op, ()), f"`{op}` does not work on {at}")
            case Conv(src, _, a):
                if self.se(a) != src:
                    self.fail(f"the argument of {show_se(se)} has another type")
            case Fun(fun, at, args):
                self.must(fun in FUNS, f"there is no function `{fun}`")
                self.must(at in _KINDS[FUNS[fun][1]], f"`{fun}` does not work on {at}")
                if tuple(self.se(arg) for arg in args) != fun_params(fun, at):
                    self.fail(f"wrong arguments in {show_se(se)}")
            case Select(c, a, b):
                if self.se(c) != "bool":
                    self.fail(f"the condition of {show_se(se)} is no bool")
                if self.se(a) != self.se(b):
                    self.fail(f"mixed types in {show_se(se)}")
        return prim_of(se)

    def scalar(self, se: SE, prim: Prim, what: str) -> None:
        """Check that a scalar expression has type `prim`."""
        found = self.se(se)
        self.must(found == prim, f"{what} is {found} and not {prim}")


def _is_literal(value: int | float | bool, prim: Prim) -> bool:
    if prim == "bool":
        return isinstance(value, bool)
    if prim in FLOATS:
        return isinstance(value, float)
    low, high = int_range(prim)
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
