"""Parse scalar expressions, sizes and types of the text form."""

from __future__ import annotations

import math
import re
from typing import cast

import numpy as np

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import BIN_OPS, FUNS, INTS, PRIMS, Prim
from compiler.dialect.tokens import Tokens
from compiler.ir import nodes as ir
from compiler.ir.sizes import prim_of
from compiler.ir.syntax import CALLS, KEYWORDS, PRECEDENCE

_FLOAT_OF: dict[Prim, Prim] = {"u16": "f16", "u32": "f32", "u64": "f64"}
_NUMBER = re.compile(r"([\d.]+(?:[eE][+-]?\d+)?)([iuf]\d+)?")
_INFIX = frozenset(BIN_OPS) & frozenset(PRECEDENCE)


class ScalarParser:
    """Parser below the level of expressions. `types` holds the names bound so far."""

    def __init__(self, source: str) -> None:
        self.tokens = Tokens(source, KEYWORDS)
        self.types: dict[Name, ir.Type] = {}

    # --- scalar expressions ------------------------------------------------------------------

    def se(self, least: int = 1) -> ir.SE:
        """Parse a scalar expression of operators that bind at least as tightly as `least`."""
        t = self.tokens
        left = self._unary()
        while t.kind == "op" and t.text in _INFIX and PRECEDENCE[t.text] >= least:
            op = t.next()
            left = self.infix(op, left, self.se(PRECEDENCE[op] + 1))
        return left

    def infix(self, op: str, left: ir.SE, right: ir.SE) -> ir.SE:
        """Build a binary operation on operands of one type."""
        return ir.Bin(op, prim_of(left), left, right)

    def _unary(self) -> ir.SE:
        t = self.tokens
        if t.take("!"):
            arg = self._unary()
            return ir.Un("not", prim_of(arg), arg)
        if t.kind == "op" and t.text == "-":
            after = t.peek()
            t.next()
            if after.kind == "number":
                return self._number(negative=True)
            arg = self._unary()
            infinite = after.kind == "word" and isinstance(arg, ir.Lit)
            return ir.Lit(-arg.value, arg.prim) if infinite else ir.Un("neg", prim_of(arg), arg)  # type: ignore[union-attr]
        return self._atom()

    def _atom(self) -> ir.SE:
        t = self.tokens
        if t.kind == "number":
            return self._number(negative=False)
        if t.kind == "name":
            return self._variable()
        if t.take("("):
            inner = self.se()
            t.expect(")")
            return inner
        if t.kind == "word":
            if t.text in ("true", "false"):
                return ir.Lit(t.next() == "true", "bool")
            if t.text in CALLS:
                return self._call(t.next())
            if t.text in PRIMS:
                return self._of_type(cast(Prim, t.next()))
        raise t.error("expected a scalar expression")

    def _variable(self) -> ir.SE:
        t = self.tokens
        kind = self.types.get(t.text)
        if kind is None:
            t.fail("expected a name that is bound above")
        if not isinstance(kind, ir.Scalar):
            t.fail("expected a scalar")
        return ir.Var(t.next(), kind.prim)

    def _number(self, negative: bool) -> ir.SE:
        t = self.tokens
        found = _NUMBER.fullmatch(t.text)
        if found is None or (found[2] or "i64") not in PRIMS:
            t.fail("expected a number with a type")
        prim = cast(Prim, found[2] or "i64")
        if prim in INTS and not found[1].isdigit():
            t.fail(f"expected an integer of type {prim}")
        t.next()
        value: int | float = int(found[1]) if prim in INTS else _round(found[1], prim)
        return ir.Lit(-value if negative else value, prim)

    def _of_type(self, prim: Prim) -> ir.SE:
        """Parse the rest of `f32.nan`, `f32.inf`, or the conversion `f32.i64(x)`."""
        t = self.tokens
        t.expect(".")
        if t.kind == "name" and t.text in ("nan", "inf"):
            return ir.Lit(math.nan if t.next() == "nan" else math.inf, prim)
        source = self.prim()
        t.expect("(")
        arg = self.se()
        t.expect(")")
        return ir.Conv(source, prim, arg)

    def _call(self, fun: str) -> ir.SE:
        t = self.tokens
        t.expect("(")
        args = [self.se()]
        while t.take(","):
            args.append(self.se())
        wanted = (
            3 if fun == "select" else FUNS[fun][0] if fun in FUNS else 2 if fun[0] == "m" else 1
        )
        if len(args) != wanted:
            t.fail(f"`{fun}` takes {wanted} arguments and not {len(args)}")
        t.expect(")")
        at = prim_of(args[0])
        if fun == "select":
            return ir.Select(args[0], args[1], args[2])
        if fun in ("min", "max"):
            return ir.Bin(fun, at, args[0], args[1])
        if fun in ("abs", "sgn"):
            return ir.Un(fun, at, args[0])
        return ir.Fun(fun, _FLOAT_OF.get(at, at) if fun == "from_bits" else at, tuple(args))

    def operand(self) -> ir.Operand:
        """Parse a scalar expression, or the name of an array or block."""
        t = self.tokens
        if t.kind == "name" and not isinstance(self.types.get(t.text), ir.Scalar):
            if t.text not in self.types:
                t.fail("expected a name that is bound above")
            return t.next()
        return self.se()

    def operands(self) -> tuple[ir.Operand, ...]:
        """Parse operands in parentheses."""
        t = self.tokens
        t.expect("(")
        found: list[ir.Operand] = []
        while not t.take(")"):
            found.append(self.operand())
            if t.text != ")":
                t.expect(",")
        return tuple(found)

    # --- sizes and types -----------------------------------------------------------------------

    def poly(self) -> Poly:
        """Parse a polynomial in the form of `Poly.__str__`; stops before `+ {`."""
        t = self.tokens
        total = self._term(-1 if t.take("-") else 1)
        while t.kind == "op" and t.text in ("+", "-") and t.peek().text != "{":
            total = total + self._term(-1 if t.next() == "-" else 1)
        return total

    def _term(self, sign: int) -> Poly:
        term = self._factor() * sign
        while self.tokens.take("*"):
            term = term * self._factor()
        return term

    def _factor(self) -> Poly:
        t = self.tokens
        if t.kind == "number":
            return Poly.const(t.integer())
        base = Poly.var(t.name("a size"))
        return base ** t.integer("a power") if t.take("**") else base

    def shape(self) -> tuple[Poly, ...]:
        """Parse sizes as `[n][m]`, or `[]` for none."""
        t = self.tokens
        sizes: list[Poly] = []
        while t.take("["):
            if t.take("]"):
                break
            sizes.append(self.poly())
            t.expect("]")
        return tuple(sizes)

    def prim(self) -> Prim:
        """Parse a primitive type."""
        if self.tokens.text not in PRIMS:
            self.tokens.fail("expected a primitive type")
        return cast(Prim, self.tokens.next())

    def level(self) -> ir.Level:
        """Parse the level of a kernel."""
        if self.tokens.text not in ("grid", "block", "thread"):
            self.tokens.fail("expected `grid`, `block` or `thread`")
        return cast(ir.Level, self.tokens.next())

    def message(self) -> tuple[str | ir.SE, ...]:
        """Parse the message of an assertion: texts and values, each after a comma."""
        t = self.tokens
        found: list[str | ir.SE] = []
        while t.take(","):
            found.append(t.string() if t.kind == "string" else self.se())
        return tuple(found)

    def function_name(self) -> str:
        """Parse the name of a function."""
        return self.tokens.name("a function's name")

    def prim_of(self, se: ir.SE) -> Prim:
        """Return the type of an expression."""
        return prim_of(se)

    def scalar(self, prim: Prim) -> ir.Type:
        """Return the scalar type of a primitive type."""
        return ir.Scalar(prim)

    def space(self) -> ir.Space:
        """Parse a memory space."""
        if self.tokens.text not in ("device", "shared", "private"):
            self.tokens.fail("expected `device`, `shared` or `private`")
        return cast(ir.Space, self.tokens.next())

    def type(self) -> ir.Type:
        """Parse a scalar, array or block type."""
        t = self.tokens
        if t.take("mem"):
            t.expect("(")
            prim = self.prim()
            space: ir.Space = self.space() if t.take(",") else "device"
            t.expect(")")
            return ir.Mem(prim, space)
        if t.text != "[":
            return ir.Scalar(self.prim())
        shape = self.shape()
        return ir.Array(self.prim(), shape, self._binding() if t.take("@") else None)

    def _binding(self) -> ir.MemBind:
        t = self.tokens
        block = t.name("a block")
        t.expect("->")
        return ir.MemBind(block, self.lmad())

    def lmad(self) -> Lmad[Poly]:
        """Parse an LMAD in the form of `show_lmad`."""
        t = self.tokens
        offset = self.poly()
        t.expect("+")
        t.expect("{")
        dims: list[Dim[Poly]] = []
        while not t.take("}"):
            t.expect("(")
            size = self.poly()
            t.expect(":")
            dims.append(Dim(size, self.poly()))
            t.expect(")")
            if t.text != "}":
                t.expect(",")
        return Lmad(offset, tuple(dims))

    def types_in_parentheses(self) -> tuple[ir.Type, ...]:
        """Parse types such as `(f32, [n]i32)`."""
        t = self.tokens
        t.expect("(")
        found: list[ir.Type] = []
        while not t.take(")"):
            found.append(self.type())
            if t.text != ")":
                t.expect(",")
        return tuple(found)

    def params(self, start: str = "(", end: str = ")") -> tuple[ir.Param, ...]:
        """Parse and bind typed names; between brackets the type i64 is implied."""
        t = self.tokens
        t.expect(start)
        found: list[ir.Param] = []
        while not t.take(end):
            found.append(self._param(implied=start == "["))
            if t.text != end:
                t.expect(",")
        return tuple(found)

    def _param(self, implied: bool) -> ir.Param:
        t = self.tokens
        name = t.name()
        kind: ir.Type = ir.Scalar("i64")
        unique = False
        if not implied or t.text == ":":
            t.expect(":")
            unique = t.take("*")
            kind = self.type()
        self.types[name] = kind
        return ir.Param(name, kind, unique)


def _round(text: str, prim: Prim) -> float:
    if prim == "f64":
        return float(text)
    return float(np.float32(text) if prim == "f32" else np.float16(text))
