"""From the text form of the core language (see `printer.py`) back to a program.

Errors are `SyntaxError_` with the position. Provenance is not part of the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from compiler.algebra.poly import Poly
from compiler.ir import nodes as ir
from compiler.ir.parse_scalar import ScalarParser
from compiler.ir.sizes import prim_of


def parse(text: str) -> ir.Prog:
    """Read a program; `parse(show_text(p)) == p` but for provenance."""
    return Parser(text).prog()


class Parser(ScalarParser):
    """A recursive descent over tokens, one method per form."""

    def prog(self) -> ir.Prog:
        """Functions up to the end of the text."""
        funs: list[ir.Function] = []
        while self.tokens.kind != "end":
            funs.append(self._function())
        return ir.Prog(tuple(funs))

    def _function(self) -> ir.Function:
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
        return ir.Function(name, sizes + params, results, self.body(), entry, len(sizes))

    def body(self) -> ir.Body:
        """Statements and `in (results)`, or just `(results)`."""
        stms = self._stms()
        return ir.Body(stms, self.operands())

    def _stms(self) -> tuple[ir.Stm, ...]:
        """Statements up to and with `in`; none before a parenthesis."""
        t = self.tokens
        stms: list[ir.Stm] = []
        if t.text == "(" and t.kind == "op":
            return ()
        while not t.take("in"):
            if t.text in ("assert", "push"):
                stms.append(ir.Stm((), self.exp()))
            else:
                t.expect("let")
                pat = self.params()
                t.expect("=")
                stms.append(ir.Stm(pat, self.exp()))
        return tuple(stms)

    # --- expressions ---------------------------------------------------------------------------

    def exp(self) -> ir.Exp:
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

    def _array_literal(self) -> ir.Exp:
        t = self.tokens
        t.expect("[")
        elems: list[ir.Operand] = []
        while not t.take("]"):
            elems.append(self.operand())
            if t.text != "]":
                t.expect(",")
        return ir.ArrayLit(tuple(elems))

    def _indexed(self) -> ir.Exp:
        array = self.tokens.name()
        dims = self._dims()
        fixed = [dim.at for dim in dims if isinstance(dim, ir.DimFix)]
        return ir.Index(array, tuple(fixed)) if len(fixed) == len(dims) else ir.Slice(array, dims)

    def _update(self) -> ir.Exp:
        t = self.tokens
        array = t.name()
        t.expect("with")
        dims = self._dims()
        t.expect("=")
        return ir.Update(array, dims, self.operand())

    def _dims(self) -> tuple[ir.DimIndex, ...]:
        t = self.tokens
        t.expect("[")
        dims: list[ir.DimIndex] = []
        while not t.take("]"):
            start = self.se()
            if not t.take(":+"):
                dims.append(ir.DimFix(start))
            elif t.take("("):
                dims.append(self._lmad_dim(start))
            else:
                count = self.poly()
                dims.append(ir.DimSlice(start, count, self.se() if t.take(":") else ir.ONE))
            if t.text != "]":
                t.expect(",")
        return tuple(dims)

    def _lmad_dim(self, start: ir.SE) -> ir.DimLmad:
        t = self.tokens
        counts: list[Poly] = []
        strides: list[ir.SE] = []
        while not t.take(")"):
            counts.append(self.poly())
            t.expect(":")
            strides.append(self.se())
            if t.text != ")":
                t.expect(",")
        return ir.DimLmad(start, tuple(counts), tuple(strides))

    def _rearrange(self) -> ir.Exp:
        t = self.tokens
        t.expect("(")
        t.expect("(")
        perm: list[int] = []
        while not t.take(")"):
            perm.append(t.integer("a dimension"))
            if t.text != ")":
                t.expect(",")
        t.expect(",")
        return ir.Rearrange(tuple(perm), self._last_name())

    def _last_name(self) -> str:
        name = self.tokens.name()
        self.tokens.expect(")")
        return name

    def _reshape(self) -> ir.Exp:
        self.tokens.expect("(")
        shape = self.shape()
        self.tokens.expect(",")
        return ir.Reshape(shape, self._last_name())

    def _copy(self) -> ir.Exp:
        self.tokens.expect("(")
        return ir.Copy(self._last_name())

    def _iota(self) -> ir.Exp:
        t = self.tokens
        t.expect("(")
        count = self.poly()
        t.expect(",")
        start = self.se()
        t.expect(",")
        step = self.se()
        t.expect(")")
        return ir.Iota(count, start, step, prim_of(start))

    def _replicate(self) -> ir.Exp:
        t = self.tokens
        t.expect("(")
        shape = self.shape()
        t.expect(",")
        value = self.operand()
        t.expect(")")
        return ir.Replicate(shape, value)

    def _scratch(self) -> ir.Exp:
        t = self.tokens
        t.expect("(")
        shape = self.shape()
        prim = self.prim()
        t.expect(")")
        return ir.Scratch(prim, shape)

    def _alloc(self) -> ir.Exp:
        t = self.tokens
        t.expect("(")
        count = self.poly()
        t.expect(",")
        prim = self.prim()
        space = self.space() if t.take(",") else "device"
        t.expect(")")
        return ir.Alloc(count, prim, space)

    # --- control -------------------------------------------------------------------------------

    def _assert(self) -> ir.Exp:
        t = self.tokens
        t.expect("(")
        cond = self.se()
        message: list[str | ir.SE] = []
        while t.take(","):
            message.append(t.string() if t.kind == "string" else self.se())
        t.expect(")")
        return ir.Assert(cond, tuple(message))

    def _if(self) -> ir.Exp:
        t = self.tokens
        cond = self.se()
        t.expect("then")
        then = self.body()
        t.expect("else")
        return ir.If(cond, then, self.body())

    def _loop(self) -> ir.Exp:
        t = self.tokens
        params = self.params()
        t.expect("=")
        init = self.operands()
        form: ir.ForLoop | ir.WhileLoop
        if t.take("while"):
            form = ir.WhileLoop(t.name())
        else:
            t.expect("for")
            index = t.name()
            t.expect(":")
            prim = self.prim()
            self.types[index] = ir.Scalar(prim)
            t.expect("<")
            bound, unroll = self.se(), 0
            if t.text == "unroll":
                t.next()
                unroll = t.integer()
            form = ir.ForLoop(index, prim, bound, unroll)
        t.expect("do")
        return ir.Loop(params, init, form, self.body())

    def _call_function(self) -> ir.Exp:
        return ir.Call(self.tokens.name("a function's name"), self.operands())

    def _apply(self) -> ir.Exp:
        t = self.tokens
        name = t.name("a function's name")
        args: list[ir.SE] = []
        t.expect("(")
        while not t.take(")"):
            if args:
                t.expect(",")
            args.append(self.se())
        return ir.Apply(name, tuple(args))

    def _threshold(self) -> ir.Exp:
        t = self.tokens
        t.expect("(")
        name = t.string()
        t.expect(",")
        amount = self.se()
        t.expect(",")
        default = t.integer()
        t.expect(")")
        return ir.Threshold(name, amount, default)

    # --- parallel operators --------------------------------------------------------------------

    def _lambda(self) -> ir.Lambda:
        t = self.tokens
        t.expect("\\")
        params = self.params()
        t.expect(":")
        returns = self.types_in_parentheses()
        t.expect("->")
        return ir.Lambda(params, self.body(), returns)

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

    def _map(self) -> ir.Exp:
        width, arrays = self._over()
        return ir.Map(width, self._lambda(), arrays)

    def _mapped(self) -> ir.Lambda:
        self.tokens.expect("map")
        return self._lambda()

    def _operator(self) -> ir.Operator:
        neutral = self.operands()
        commutative = self.tokens.take("comm")
        return ir.Operator(self._lambda(), neutral, commutative)

    def _operators(self) -> tuple[ir.Operator, ...]:
        ops: list[ir.Operator] = []
        while self.tokens.take("op"):
            ops.append(self._operator())
        return tuple(ops)

    def _reduce(self) -> ir.Exp:
        width, arrays = self._over()
        ops = self._operators()
        return ir.Reduce(width, ops, self._mapped(), arrays)

    def _scan(self) -> ir.Exp:
        width, arrays = self._over()
        ops = self._operators()
        return ir.Scan(width, ops, self._mapped(), arrays)

    def _scatter(self) -> ir.Exp:
        t = self.tokens
        width, arrays = self._over()
        t.expect("into")
        dests: list[ir.Dest] = []
        while t.kind == "name":
            array, rank = t.next(), self._indexed_dims()
            dests.append(ir.Dest(array, rank, t.integer() if t.take("*") else 1))
            if not t.take(","):
                break
        return ir.Scatter(width, tuple(dests), self._mapped(), arrays)

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

    def _hist_ops(self) -> tuple[ir.HistOp, ...]:
        ops: list[ir.HistOp] = []
        while self.tokens.take("into"):
            dests = self._names()
            rank = self._indexed_dims()
            self.tokens.expect("op")
            ops.append(ir.HistOp(dests, rank, self._operator()))
        return tuple(ops)

    def _hist(self) -> ir.Exp:
        width, arrays = self._over()
        ops = self._hist_ops()
        return ir.Hist(width, ops, self._mapped(), arrays)

    def _stream(self) -> ir.Exp:
        width, arrays = self._over()
        self.tokens.expect("into")
        dests = self._names()
        return ir.Stream(width, dests, self._lambda(), arrays)

    def _push(self) -> ir.Exp:
        dests = self._names()
        at = tuple(dim.at for dim in self._dims() if isinstance(dim, ir.DimFix))
        self.tokens.expect("=")
        values = self.operands()
        return ir.Push(dests, at, values, (self._lambda(),) if self.tokens.take("op") else ())

    def _space(self) -> tuple[ir.Level, ir.SegSpace]:
        t = self.tokens
        t.expect("@")
        if t.text not in ("grid", "block", "thread"):
            t.fail("expected `grid`, `block` or `thread`")
        level = cast(ir.Level, t.next())
        t.expect("(")
        dims: list[tuple[str, Poly]] = []
        while not t.take(")"):
            index = t.name("an index")
            self.types[index] = ir.Scalar("i64")
            t.expect("<")
            dims.append((index, self.poly()))
            if t.text != ")":
                t.expect(",")
        return level, ir.SegSpace(tuple(dims))

    def _kernel(self) -> ir.KernelBody:
        t = self.tokens
        t.expect(":")
        returns = self.types_in_parentheses()
        t.expect("->")
        stms = self._stms()
        t.expect("(")
        results: list[ir.KernelResult] = []
        while not t.take(")"):
            results.append(self._result())
            if t.text != ")":
                t.expect(",")
        return ir.KernelBody(stms, tuple(results), returns)

    def _result(self) -> ir.KernelResult:
        t = self.tokens
        if t.kind != "name" or t.peek().text != "with":
            return self.operand()
        dest = t.name()
        t.expect("with")
        t.expect("{")
        writes: list[tuple[tuple[ir.SE, ...], ir.Operand]] = []
        while not t.take("}"):
            at = tuple(dim.at for dim in self._dims() if isinstance(dim, ir.DimFix))
            t.expect("=")
            writes.append((at, self.operand()))
            if t.text != "}":
                t.expect(",")
        return ir.Write(dest, tuple(writes))

    def _segmap(self) -> ir.Exp:
        level, space = self._space()
        per_block = self.tokens.take("per_block")
        return ir.SegMap(level, space, self._kernel(), per_block)

    def _kernel_of_operators(self) -> ir.KernelBody:
        self.tokens.expect("body")
        return self._kernel()

    def _segred(self) -> ir.Exp:
        level, space = self._space()
        ops = self._operators()
        return ir.SegRed(level, space, ops, self._kernel_of_operators())

    def _segscan(self) -> ir.Exp:
        level, space = self._space()
        ops = self._operators()
        return ir.SegScan(level, space, ops, self._kernel_of_operators())

    def _seghist(self) -> ir.Exp:
        level, space = self._space()
        ops = self._hist_ops()
        return ir.SegHist(level, space, ops, self._kernel_of_operators())

    def _concat(self) -> ir.Exp:
        return ir.Concat(self._names())


_FORMS: dict[str, Callable[[Parser], ir.Exp]] = {
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
    "apply": Parser._apply,
    "threshold": Parser._threshold,
    "map": Parser._map,
    "reduce": Parser._reduce,
    "scan": Parser._scan,
    "scatter": Parser._scatter,
    "hist": Parser._hist,
    "stream": Parser._stream,
    "push": Parser._push,
    "segmap": Parser._segmap,
    "segred": Parser._segred,
    "segscan": Parser._segscan,
    "seghist": Parser._seghist,
}
