"""From the text form of the core language (see `printer.py`) back to a program.

Errors are `SyntaxError_` with the position. Provenance is not part of the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from compiler.algebra.poly import Poly
from compiler.ir.nodes import (
    ONE,
    SE,
    Alloc,
    ArrayLit,
    Assert,
    Body,
    Call,
    Concat,
    Copy,
    Dest,
    DimFix,
    DimIndex,
    DimLmad,
    DimSlice,
    Exp,
    ForLoop,
    Function,
    Hist,
    HistOp,
    If,
    Index,
    Iota,
    KernelBody,
    KernelResult,
    Lambda,
    Level,
    Loop,
    Map,
    Operand,
    Operator,
    Prog,
    Rearrange,
    Reduce,
    Replicate,
    Reshape,
    Scalar,
    Scan,
    Scatter,
    Scratch,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegSpace,
    Slice,
    Stm,
    Threshold,
    Update,
    WhileLoop,
    Write,
)
from compiler.ir.parse_scalar import ScalarParser
from compiler.ir.sizes import prim_of


def parse(text: str) -> Prog:
    """Read a program; `parse(show_text(p)) == p` but for provenance."""
    return Parser(text).prog()


class Parser(ScalarParser):
    """A recursive descent over tokens, one method per form."""

    def prog(self) -> Prog:
        """Functions up to the end of the text."""
        funs: list[Function] = []
        while self.tokens.kind != "end":
            funs.append(self._function())
        return Prog(tuple(funs))

    def _function(self) -> Function:
        t = self.tokens
        entry = t.take("entry")
        if not entry and not t.take("fun"):
            t.fail("expected `entry` or `fun`")
        name = t.name("a function's name")
        sizes = self.params("[", "]") if t.text == "[" else ()
        params = self.params()
        t.expect(":")
        results = self.params()
        t.expect("=")
        return Function(name, sizes + params, results, self.body(), entry, len(sizes))

    def body(self) -> Body:
        """Statements and `in (results)`, or just `(results)`."""
        stms = self._stms()
        return Body(stms, self.operands())

    def _stms(self) -> tuple[Stm, ...]:
        """Statements up to and with `in`; none before a parenthesis."""
        t = self.tokens
        stms: list[Stm] = []
        if t.text == "(" and t.kind == "op":
            return ()
        while not t.take("in"):
            if t.text == "assert":
                stms.append(Stm((), self.exp()))
            else:
                t.expect("let")
                pat = self.params()
                t.expect("=")
                stms.append(Stm(pat, self.exp()))
        return tuple(stms)

    # --- expressions ---------------------------------------------------------------------------

    def exp(self) -> Exp:
        """Any expression."""
        t = self.tokens
        if t.kind == "word":
            form = _FORMS.get(t.text)
            if form is not None:
                t.next()
                return form(self)
        elif t.kind == "name":
            after = t.peek()
            if after.kind == "op" and after.text == "[":
                return self._indexed()
            if after.kind == "word" and after.text == "with":
                return self._update()
        elif t.text == "[":
            return self._array_literal()
        return self.se()

    def _array_literal(self) -> Exp:
        t = self.tokens
        t.expect("[")
        elems: list[Operand] = []
        while not t.take("]"):
            elems.append(self.operand())
            if t.text != "]":
                t.expect(",")
        return ArrayLit(tuple(elems))

    def _indexed(self) -> Exp:
        array = self.tokens.name()
        dims = self._dims()
        fixed = [dim.at for dim in dims if isinstance(dim, DimFix)]
        return Index(array, tuple(fixed)) if len(fixed) == len(dims) else Slice(array, dims)

    def _update(self) -> Exp:
        t = self.tokens
        array = t.name()
        t.expect("with")
        dims = self._dims()
        t.expect("=")
        return Update(array, dims, self.operand())

    def _dims(self) -> tuple[DimIndex, ...]:
        t = self.tokens
        t.expect("[")
        dims: list[DimIndex] = []
        while not t.take("]"):
            start = self.se()
            if not t.take(":+"):
                dims.append(DimFix(start))
            elif t.take("("):
                dims.append(self._lmad_dim(start))
            else:
                count = self.poly()
                dims.append(DimSlice(start, count, self.se() if t.take(":") else ONE))
            if t.text != "]":
                t.expect(",")
        return tuple(dims)

    def _lmad_dim(self, start: SE) -> DimLmad:
        t = self.tokens
        counts: list[Poly] = []
        strides: list[SE] = []
        while not t.take(")"):
            counts.append(self.poly())
            t.expect(":")
            strides.append(self.se())
            if t.text != ")":
                t.expect(",")
        return DimLmad(start, tuple(counts), tuple(strides))

    def _rearrange(self) -> Exp:
        t = self.tokens
        t.expect("(")
        t.expect("(")
        perm: list[int] = []
        while not t.take(")"):
            perm.append(t.integer("a dimension"))
            if t.text != ")":
                t.expect(",")
        t.expect(",")
        return Rearrange(tuple(perm), self._last_name())

    def _last_name(self) -> str:
        name = self.tokens.name()
        self.tokens.expect(")")
        return name

    def _reshape(self) -> Exp:
        self.tokens.expect("(")
        shape = self.shape()
        self.tokens.expect(",")
        return Reshape(shape, self._last_name())

    def _copy(self) -> Exp:
        self.tokens.expect("(")
        return Copy(self._last_name())

    def _iota(self) -> Exp:
        t = self.tokens
        t.expect("(")
        count = self.poly()
        t.expect(",")
        start = self.se()
        t.expect(",")
        step = self.se()
        t.expect(")")
        return Iota(count, start, step, prim_of(start))

    def _replicate(self) -> Exp:
        t = self.tokens
        t.expect("(")
        shape = self.shape()
        t.expect(",")
        value = self.operand()
        t.expect(")")
        return Replicate(shape, value)

    def _scratch(self) -> Exp:
        t = self.tokens
        t.expect("(")
        shape = self.shape()
        prim = self.prim()
        t.expect(")")
        return Scratch(prim, shape)

    def _alloc(self) -> Exp:
        t = self.tokens
        t.expect("(")
        count = self.poly()
        t.expect(",")
        prim = self.prim()
        space = self.space() if t.take(",") else "device"
        t.expect(")")
        return Alloc(count, prim, space)

    # --- control -------------------------------------------------------------------------------

    def _assert(self) -> Exp:
        t = self.tokens
        t.expect("(")
        cond = self.se()
        message: list[str | SE] = []
        while t.take(","):
            message.append(t.string() if t.kind == "string" else self.se())
        t.expect(")")
        return Assert(cond, tuple(message))

    def _if(self) -> Exp:
        t = self.tokens
        cond = self.se()
        t.expect("then")
        then = self.body()
        t.expect("else")
        return If(cond, then, self.body())

    def _loop(self) -> Exp:
        t = self.tokens
        params = self.params()
        t.expect("=")
        init = self.operands()
        form: ForLoop | WhileLoop
        if t.take("while"):
            form = WhileLoop(t.name())
        else:
            t.expect("for")
            index = t.name()
            t.expect(":")
            prim = self.prim()
            self.types[index] = Scalar(prim)
            t.expect("<")
            bound, unroll = self.se(), 0
            if t.text == "unroll":
                t.next()
                unroll = t.integer()
            form = ForLoop(index, prim, bound, unroll)
        t.expect("do")
        return Loop(params, init, form, self.body())

    def _call_function(self) -> Exp:
        return Call(self.tokens.name("a function's name"), self.operands())

    def _threshold(self) -> Exp:
        t = self.tokens
        t.expect("(")
        name = t.string()
        t.expect(",")
        amount = self.se()
        t.expect(",")
        default = t.integer()
        t.expect(")")
        return Threshold(name, amount, default)

    # --- parallel operators --------------------------------------------------------------------

    def _lambda(self) -> Lambda:
        t = self.tokens
        t.expect("\\")
        params = self.params()
        t.expect(":")
        returns = self.types_in_parentheses()
        t.expect("->")
        return Lambda(params, self.body(), returns)

    def _names(self) -> tuple[str, ...]:
        t = self.tokens
        t.expect("(")
        names: list[str] = []
        while not t.take(")"):
            names.append(t.name("an array"))
            if t.text != ")":
                t.expect(",")
        return tuple(names)

    def _over(self) -> tuple[Poly, tuple[str, ...]]:
        t = self.tokens
        t.expect("[")
        width = self.poly()
        t.expect("]")
        return width, self._names()

    def _map(self) -> Exp:
        width, arrays = self._over()
        return Map(width, self._lambda(), arrays)

    def _mapped(self) -> Lambda:
        self.tokens.expect("map")
        return self._lambda()

    def _operator(self) -> Operator:
        neutral = self.operands()
        commutative = self.tokens.take("comm")
        return Operator(self._lambda(), neutral, commutative)

    def _operators(self) -> tuple[Operator, ...]:
        ops: list[Operator] = []
        while self.tokens.take("op"):
            ops.append(self._operator())
        return tuple(ops)

    def _reduce(self) -> Exp:
        width, arrays = self._over()
        ops = self._operators()
        return Reduce(width, ops, self._mapped(), arrays)

    def _scan(self) -> Exp:
        width, arrays = self._over()
        ops = self._operators()
        return Scan(width, ops, self._mapped(), arrays)

    def _scatter(self) -> Exp:
        t = self.tokens
        width, arrays = self._over()
        t.expect("into")
        dests: list[Dest] = []
        while t.kind == "name":
            dests.append(Dest(t.next(), self._indexed_dims()))
            if not t.take(","):
                break
        return Scatter(width, tuple(dests), self._mapped(), arrays)

    def _indexed_dims(self) -> int:
        t = self.tokens
        rank = 0
        t.expect("[")
        while not t.take("]"):
            t.name("`_`")
            rank += 1
            if t.text != "]":
                t.expect(",")
        return rank

    def _hist_ops(self) -> tuple[HistOp, ...]:
        ops: list[HistOp] = []
        while self.tokens.take("into"):
            dests = self._names()
            rank = self._indexed_dims()
            self.tokens.expect("op")
            ops.append(HistOp(dests, rank, self._operator()))
        return tuple(ops)

    def _hist(self) -> Exp:
        width, arrays = self._over()
        ops = self._hist_ops()
        return Hist(width, ops, self._mapped(), arrays)

    def _space(self) -> tuple[Level, SegSpace]:
        t = self.tokens
        t.expect("@")
        if t.text not in ("grid", "block", "thread"):
            t.fail("expected `grid`, `block` or `thread`")
        level = cast(Level, t.next())
        t.expect("(")
        dims: list[tuple[str, Poly]] = []
        while not t.take(")"):
            index = t.name("an index")
            self.types[index] = Scalar("i64")
            t.expect("<")
            dims.append((index, self.poly()))
            if t.text != ")":
                t.expect(",")
        return level, SegSpace(tuple(dims))

    def _kernel(self) -> KernelBody:
        t = self.tokens
        t.expect(":")
        returns = self.types_in_parentheses()
        t.expect("->")
        stms = self._stms()
        t.expect("(")
        results: list[KernelResult] = []
        while not t.take(")"):
            results.append(self._result())
            if t.text != ")":
                t.expect(",")
        return KernelBody(stms, tuple(results), returns)

    def _result(self) -> KernelResult:
        t = self.tokens
        if t.kind != "name" or t.peek().text != "with":
            return self.operand()
        dest = t.name()
        t.expect("with")
        t.expect("{")
        writes: list[tuple[tuple[SE, ...], Operand]] = []
        while not t.take("}"):
            at = tuple(dim.at for dim in self._dims() if isinstance(dim, DimFix))
            t.expect("=")
            writes.append((at, self.operand()))
            if t.text != "}":
                t.expect(",")
        return Write(dest, tuple(writes))

    def _segmap(self) -> Exp:
        level, space = self._space()
        per_block = self.tokens.take("per_block")
        return SegMap(level, space, self._kernel(), per_block)

    def _kernel_of_operators(self) -> KernelBody:
        self.tokens.expect("body")
        return self._kernel()

    def _segred(self) -> Exp:
        level, space = self._space()
        ops = self._operators()
        return SegRed(level, space, ops, self._kernel_of_operators())

    def _segscan(self) -> Exp:
        level, space = self._space()
        ops = self._operators()
        return SegScan(level, space, ops, self._kernel_of_operators())

    def _seghist(self) -> Exp:
        level, space = self._space()
        ops = self._hist_ops()
        return SegHist(level, space, ops, self._kernel_of_operators())

    def _concat(self) -> Exp:
        return Concat(self._names())


_FORMS: dict[str, Callable[[Parser], Exp]] = {
    "rearrange": Parser._rearrange,
    "reshape": Parser._reshape,
    "copy": Parser._copy,
    "concat": Parser._concat,
    "iota": Parser._iota,
    "replicate": Parser._replicate,
    "scratch": Parser._scratch,
    "alloc": Parser._alloc,
    "assert": Parser._assert,
    "if": Parser._if,
    "loop": Parser._loop,
    "call": Parser._call_function,
    "threshold": Parser._threshold,
    "map": Parser._map,
    "reduce": Parser._reduce,
    "scan": Parser._scan,
    "scatter": Parser._scatter,
    "hist": Parser._hist,
    "segmap": Parser._segmap,
    "segred": Parser._segred,
    "segscan": Parser._segscan,
    "seghist": Parser._seghist,
}
