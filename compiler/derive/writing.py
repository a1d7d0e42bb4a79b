"""Base of derivations: appended statements, types, zeros, and refusals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler import codes
from compiler.base.context import Ctx
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.derive.partials import UNKNOWN, zero
from compiler.ir import nodes as ir
from compiler.ir.nodes import SE, Lit, Operand, Param, Type, Var
from compiler.ir.sizes import prim_of
from compiler.ir.types import as_operand, prim_type, shape_of


class Writing:
    """Writes the statements of the current body, each with the provenance of its primal."""

    def __init__(self, ctx: Ctx) -> None:
        self.ctx = ctx
        self.stms: list[ir.Stm] = []
        self.prov: Prov = ()
        self.types: dict[Name, Type] = {}

    # --- names and statements ------------------------------------------------------------------

    def fresh(self, like: Name, kind: Type, end: str = "") -> Param:
        """Make a new name; `end` is a suffix to the primal's name."""
        names = self.ctx.names
        name = self.ctx.fresh(f"{names.called(like)}{end}")
        return self.known(Param(name, kind))

    def known(self, param: Param) -> Param:
        """Record the type of a name."""
        self.types[param.name] = param.type
        return param

    def learn(self, params: Iterable[Param]) -> None:
        """Record the types of names."""
        for param in params:
            self.types[param.name] = param.type

    def add(self, pat: Sequence[Param], exp: ir.Exp) -> None:
        """Append `let pat = exp`."""
        self.learn(pat)
        self.stms.append(ir.Stm(tuple(pat), exp, self.prov))

    def bind(self, like: Name, kind: Type, exp: ir.Exp, end: str = "") -> Operand:
        """Append `let name = exp` under a new name; return it as an operand."""
        param = self.fresh(like, kind, end)
        self.add((param,), exp)
        return as_operand(param)

    def scalar(self, like: Name, se: SE, end: str = "") -> SE:
        """Bind a scalar to a name unless it is atomic."""
        if isinstance(se, Lit | Var):
            return se
        found = self.bind(like, ir.Scalar(prim_of(se)), se, end)
        assert not isinstance(found, str)
        return found

    def open(self) -> list[ir.Stm]:
        """Begin a body; pass the result to `close`."""
        outer, self.stms = self.stms, []
        return outer

    def close(self, outer: list[ir.Stm], results: Iterable[Operand]) -> ir.Body:
        """End a body."""
        body = ir.Body(tuple(self.stms), tuple(results))
        self.stms = outer
        return body

    # --- types ---------------------------------------------------------------------------------

    def type_of(self, operand: Operand) -> Type:
        """Return the type of an operand."""
        return self.types[operand] if isinstance(operand, str) else ir.Scalar(prim_of(operand))

    def zero(self, kind: Type, like: Name = "zero") -> Operand:
        """Return the zero slope of a type."""
        shape, prim = shape_of(kind), prim_type(kind)
        if not shape:
            return zero(prim)
        return self.bind(like, kind, ir.Replicate(shape, zero(prim)))

    # --- refusals ------------------------------------------------------------------------------

    def check_known(self, se: SE) -> None:
        """Raise `Limitation` for a function without a known derivative."""
        if isinstance(se, ir.Fun) and se.fun in UNKNOWN:
            raise self.refuse(
                f"The derivative of `{se.fun}` is not a function of the language.",
                "Compute it by a formula of your own, such as a series, and differentiate that.",
            )

    def refuse(self, because: str, hint: str) -> Limitation:
        """Make an error at the current statement."""
        return Limitation.at(codes.limits.DERIVATIVE, because, self.prov, hint)


def plus(prim: Prim) -> str:
    """Return the operator that adds slopes of a type."""
    return "||" if prim == "bool" else "+"
