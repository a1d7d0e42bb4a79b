"""Scalars, records, bindings and control."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.base.errors import CompilerBug
from compiler.base.names import Name, base_of
from compiler.base.prim import DTYPE, FLOATS, INTS, SIGNED, Prim, int_range
from compiler.frontend import typed as ty
from compiler.frontend.types import PrimT, Record, Size, SizeVar, Sum, Type
from compiler.ir import nodes as ir
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Operand, Param, Select, Stm, Un, Var
from compiler.ir.poly import Poly
from compiler.ir.sizes import poly_of, prim_of, se_of
from compiler.lower.build import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Arr,
    Builder,
    Value,
    as_params,
    both,
    either,
    operand,
)
from compiler.lower.leaves import field_at, leaves, sum_slots

SELECT_WEIGHT = 12
"""A scalar `if` whose branches weigh no more than this computes both."""


def literal(value: int | float | bool, prim: Prim) -> Lit:
    """A literal, wrapped or rounded to its type."""
    if prim == "bool":
        return Lit(bool(value), prim)
    if prim in FLOATS:
        with np.errstate(over="ignore"):
            return Lit(float(DTYPE[prim].type(value)), prim)
    low, high = int_range(prim)
    return Lit((int(value) - low) % (high - low + 1) + low, prim)


def weight(se: SE) -> int:
    """A rough cost; functions and divisions count more."""
    match se:
        case Lit() | Var():
            return 0
        case Bin(op, _, lhs, rhs):
            return (4 if op in ("/", "%", "//", "%%", "**") else 1) + weight(lhs) + weight(rhs)
        case Un(_, _, arg) | Conv(_, _, arg):
            return 1 + weight(arg)
        case Fun(_, _, args):
            return 6 + sum(weight(a) for a in args)
        case Select(cond, then, orelse):
            return 1 + weight(cond) + weight(then) + weight(orelse)


def select(cond: SE, then: SE, orelse: SE) -> SE:
    """`then` if `cond` else `orelse`, as a logic operator where one branch is a truth value."""
    if then == orelse:
        return then
    if then == TRUE:
        return either(cond, orelse)
    if orelse == FALSE:
        return both(cond, then)
    return Select(cond, then, orelse)


class Exps(Builder):
    """Lowering of everything that is not about arrays."""

    # --- scalars -----------------------------------------------------------------------------

    def const(self, e: ty.Const, hint: Name) -> Value:
        """A literal."""
        if not isinstance(e.type, PrimT):
            raise CompilerBug("a literal of no primitive type", e.span)
        return (literal(e.value, e.type.prim),)

    def var(self, e: ty.Var, hint: Name) -> Value:
        """A variable, a size, or a constant of the program."""
        value = self.env.get(e.name)
        if value is not None:
            return value
        poly = self.sizes.get(e.name)
        if poly is not None:
            return (se_of(poly),)
        value = self.constant(e.name)
        if value is None:
            raise CompilerBug(f"{e.name} is not in scope", e.span)
        return value

    def se(self, e: ty.Exp, hint: Name = "") -> SE:
        """The value of an expression of primitive type."""
        leaf = self.lower(e, hint)[0]
        if isinstance(leaf, Arr):
            raise CompilerBug("an array where a scalar should be", e.span)
        return leaf

    def prim_op(self, e: ty.PrimOp, hint: Name) -> Value:
        """An operator; division and powers of integers are guarded."""
        args = [self.se(a) for a in e.args]
        self.prov = (e.span,)
        if len(args) == 1:
            return (Un(e.op, e.at, args[0]),)
        lhs, rhs = args
        if e.at in INTS and e.op in ("/", "%", "//", "%%"):
            if not (isinstance(rhs, Lit) and rhs.value):
                rhs = self.atom(rhs)
                self.check(Bin("!=", e.at, rhs, Lit(0, e.at)), ("division by zero",))
        elif e.op == "**" and e.at in SIGNED and not (isinstance(rhs, Lit) and rhs.value >= 0):
            rhs = self.atom(rhs)
            self.check(Bin("<=", e.at, Lit(0, e.at), rhs), ("Negative exponent.",))
        elif e.op == "&&":
            return (both(lhs, rhs),)
        elif e.op == "||":
            return (either(lhs, rhs),)
        return (Bin(e.op, e.at, lhs, rhs),)

    def prim_fun(self, e: ty.PrimFun, hint: Name) -> Value:
        """A built-in function."""
        return (Fun(e.fun, e.at, tuple(self.se(a) for a in e.args)),)

    def convert(self, e: ty.Convert, hint: Name) -> Value:
        """A conversion."""
        arg = self.se(e.exp, hint)
        src = prim_of(arg)
        if src == e.to:
            return (arg,)
        if isinstance(arg, Lit) and src in INTS and e.to in INTS:
            return (literal(arg.value, e.to),)
        return (Conv(src, e.to, arg),)

    # --- records and sums --------------------------------------------------------------------

    def record(self, e: ty.RecordExp, hint: Name) -> Value:
        """The fields' leaves, in the type's order; fields are evaluated as written."""
        found = {
            name: self.lower(x, self.field_hint(hint, name) if len(e.fields) > 1 else hint)
            for name, x in e.fields
        }
        if not isinstance(e.type, Record):
            raise CompilerBug("a record of no record type", e.span)
        return tuple(leaf for name, _ in e.type.fields for leaf in found[name])

    def field_hint(self, hint: Name, field: str) -> Name:
        """What a field's value would like to be called."""
        if not hint:
            return "" if field.isdigit() else field
        return f"{base_of(hint)}{'' if field.isdigit() else '_'}{field}"

    def project(self, e: ty.Project, hint: Name) -> Value:
        """A field's leaves."""
        value = self.lower(e.exp, hint)
        if not isinstance(e.exp.type, Record):
            raise CompilerBug("a field of no record", e.span)
        start, end = field_at(e.exp.type, e.field)
        return value[start:end]

    def record_update(self, e: ty.RecordUpdate, hint: Name) -> Value:
        """The leaves with those of one field exchanged."""
        value, new = self.lower(e.exp), self.lower(e.value, hint)
        start, end, t = 0, len(value), e.exp.type
        for field in e.path:
            if not isinstance(t, Record):
                raise CompilerBug("a field of no record", e.span)
            first, last = field_at(t, field)
            start, end, t = start + first, start + last, dict(t.fields)[field]
        return value[:start] + new + value[end:]

    def constr(self, e: ty.Constr, hint: Name) -> Value:
        """The tag, then the payload in its slots; other slots hold zeros."""
        if not isinstance(e.type, Sum):
            raise CompilerBug("a variant of no sum type", e.span)
        given = [leaf for x in e.args for leaf in self.lower(x)]
        slots, uses = sum_slots(e.type)
        tag = [name for name, _ in e.type.variants].index(e.name)
        filled = dict(zip(uses[tag], given, strict=True))
        result: list[SE | Arr] = [Lit(tag, "i8")]
        for k, (prim, dims, _) in enumerate(slots):
            shape = tuple(self.size(d) for d in dims)
            if k in filled:
                result.append(self.expect(filled[k], shape))
            elif shape:
                blank = ir.Replicate(shape, literal(0, prim))
                result.append(self.array(blank, prim, shape))
            else:
                result.append(literal(0, prim))
        return tuple(result)

    # --- bindings ----------------------------------------------------------------------------

    def let(self, e: ty.Let, hint: Name) -> Value:
        """A chain of bindings, then the body."""
        rest: ty.Exp = e
        while isinstance(rest, ty.Let):
            self.bind_let(rest.sizes, rest.pat, rest.rhs)
            rest = rest.body
        return self.lower(rest, hint)

    def bind_let(self, sizes: tuple[Name, ...], pat: ty.Pat, rhs: ty.Exp) -> None:
        """Bind one pattern."""
        value = self.lower(rhs, self.pat_hint(pat))
        self.prov = (rhs.span,)
        self.bind_sizes(sizes, pat.type, value)
        self.bind_pat(pat, value)

    def pat_hint(self, pat: ty.Pat) -> Name:
        """The name of a pattern that is one."""
        return pat.name if isinstance(pat, ty.PVar) else ""

    def bind_pat(self, pat: ty.Pat, value: Value) -> None:
        """Bind a pattern's names to leaves; compound scalars get a name."""
        if isinstance(pat, ty.PVar):
            names = [pat.name] if len(value) == 1 else [base_of(pat.name)] * len(value)
            ends = leaves(pat.type)
            self.env[pat.name] = tuple(
                leaf
                if isinstance(leaf, Arr)
                else self.atom(leaf, name if len(value) == 1 else f"{name}{end}")
                for leaf, name, (_, _, end) in zip(value, names, ends, strict=True)
            )
        elif isinstance(pat, ty.PRecord):
            start = 0
            for _, inner in pat.fields:
                end = start + len(leaves(inner.type))
                self.bind_pat(inner, value[start:end])
                start = end
        elif isinstance(pat, ty.PConstr):
            self.bind_constr(pat, value)

    def bind_constr(self, pat: ty.PConstr, value: Value) -> None:
        """Bind a variant's payload."""
        assert isinstance(pat.type, Sum)
        _, uses = sum_slots(pat.type)
        tag = [name for name, _ in pat.type.variants].index(pat.name)
        payload = tuple(value[1 + k] for k in uses[tag])
        start = 0
        for inner in pat.args:
            end = start + len(leaves(inner.type))
            self.bind_pat(inner, payload[start:end])
            start = end

    def leaf_names(self, pat: ty.Pat) -> list[tuple[Name, bool]]:
        """For each leaf that a parameter pattern matches: a new name, and whether it may be consumed."""
        if isinstance(pat, ty.PRecord):
            return [pair for _, inner in pat.fields for pair in self.leaf_names(inner)]
        hint = pat.name if isinstance(pat, ty.PVar) else "unused"
        unique = isinstance(pat, ty.PVar) and pat.consumes
        return [(n, unique) for n in self.names(hint, (end for _, _, end in leaves(pat.type)))]

    # --- branches ----------------------------------------------------------------------------

    def if_exp(self, e: ty.If, hint: Name) -> Value:
        """An `if`."""
        cond = self.se(e.cond)
        if isinstance(cond, Lit):
            return self.lower(e.then if cond.value else e.orelse, hint)
        return self.branch(
            e, cond, lambda: self.lower(e.then, hint), lambda: self.lower(e.orelse, hint), hint
        )

    def branch(
        self,
        e: ty.If | ty.Match,
        cond: SE,
        then: Callable[[], Value],
        orelse: Callable[[], Value],
        hint: Name,
    ) -> Value:
        """One of two values: a `Select` if both are cheap and cannot fail, else an `If`."""
        outer = self.open()
        first = then()
        first_stms = self.close(outer)
        outer = self.open()
        second = orelse()
        second_stms = self.close(outer)
        self.prov = (e.span,)
        if not first_stms and not second_stms:
            chosen = self.choose(cond, first, second)
            if chosen is not None:
                return chosen
        return self.join(e, cond, (first_stms, first), (second_stms, second), hint)

    def choose(self, cond: SE, first: Value, second: Value) -> Value | None:
        """The values as selects, if they are scalars of little cost."""
        total = 0
        for a, b in zip(first, second, strict=True):
            if isinstance(a, Arr) or isinstance(b, Arr):
                if a == b:
                    continue
                return None
            total += weight(a) + weight(b)
        if total > SELECT_WEIGHT:
            return None
        if len(first) > 1:
            cond = self.atom(cond, "c")
        return tuple(
            a if isinstance(a, Arr) or isinstance(b, Arr) else select(cond, a, b)
            for a, b in zip(first, second, strict=True)
        )

    def join(
        self,
        e: ty.If | ty.Match,
        cond: SE,
        then: tuple[list[Stm], Value],
        orelse: tuple[list[Stm], Value],
        hint: Name,
    ) -> Value:
        """The `If` statement over two lowered branches."""
        blocks = [then[0], orelse[0]]
        values = [list(then[1]), list(orelse[1])]
        inside = [{p.name for stm in block for p in stm.pat} for block in blocks]
        sizes: dict[Size, Poly] = {}
        new: list[tuple[Name, list[SE]]] = []
        shapes: list[tuple[Poly, ...]] = []
        declared = leaves(e.type)
        for k, (_, dims, _) in enumerate(declared):
            arrays = [v[k] for v in values]
            shape: list[Poly] = []
            for at, dim in enumerate(dims):
                if dim not in sizes:
                    have = [a.shape[at] for a in arrays if isinstance(a, Arr)]
                    sizes[dim] = self.join_size(dim, e.ext, have, inside, new)
                shape.append(sizes[dim])
            shapes.append(tuple(shape))
        self.sizes.update({d.name: p for d, p in sizes.items() if isinstance(d, SizeVar)})
        bodies: list[ir.Body] = []
        for which in (0, 1):
            own = {name: _poly(args[which]) for name, args in new}
            wanted = [tuple(p.subst(own) for p in shape) for shape in shapes]
            outer, self.stms = self.stms, blocks[which]
            result = self.expect_all(tuple(values[which]), wanted)
            block, self.stms = self.stms, outer
            heads: list[Operand] = [args[which] for _, args in new]
            bodies.append(ir.Body(tuple(block), (*heads, *(operand(x) for x in result))))
        names = self.names(hint or "r", (end for _, _, end in declared))
        value = self.params(names, e.type, shapes)
        heads_pat = tuple(Param(name, ir.I64) for name, _ in new)
        self.emit(heads_pat + as_params(value), ir.If(cond, bodies[0], bodies[1]))
        return value

    def join_size(
        self,
        dim: Size,
        ext: tuple[Name, ...],
        have: list[Poly],
        inside: list[set[Name]],
        new: list[tuple[Name, list[SE]]],
    ) -> Poly:
        """One size of an `If`'s result: known outside, or another result of it."""
        free = not any(names & poly.names() for poly in have for names in inside)
        if free and have[0] == have[1]:
            return have[0]
        if not (isinstance(dim, SizeVar) and dim.name in ext):
            known = self.known_size(dim)
            if known is not None and not any(names & known.names() for names in inside):
                return known
        name = self.name(dim.name if isinstance(dim, SizeVar) else "n")
        self.nonneg.add(name)
        new.append((name, [se_of(have[0]), se_of(have[1])]))
        return Poly.var(name)

    def match(self, e: ty.Match, hint: Name) -> Value:
        """Cases as a chain of branches; the last one needs no test."""
        value = self.lower(e.exp)
        self.prov = (e.span,)
        value = tuple(x if isinstance(x, Arr) else self.atom(x) for x in value)
        return self.cases(e, value, 0, hint)

    def cases(self, e: ty.Match, value: Value, at: int, hint: Name) -> Value:
        """The cases from number `at` on."""
        case = e.cases[at]

        def body() -> Value:
            self.bind_pat(case.pat, value)
            return self.lower(case.body, hint)

        cond = TRUE if at == len(e.cases) - 1 else self.matches(case.pat, value)
        if cond == TRUE:
            return body()
        return self.branch(e, cond, body, lambda: self.cases(e, value, at + 1, hint), hint)

    def matches(self, pat: ty.Pat, value: Value) -> SE:
        """Whether a pattern matches."""
        if isinstance(pat, ty.PLit):
            leaf = value[0]
            assert not isinstance(leaf, Arr)
            assert isinstance(pat.type, PrimT)
            return Bin("==", pat.type.prim, leaf, literal(pat.value, pat.type.prim))
        inner: tuple[ty.Pat, ...] = ()
        cond: SE = TRUE
        if isinstance(pat, ty.PRecord):
            inner = tuple(p for _, p in pat.fields)
        elif isinstance(pat, ty.PConstr):
            assert isinstance(pat.type, Sum)
            _, uses = sum_slots(pat.type)
            tag = [name for name, _ in pat.type.variants].index(pat.name)
            cond = Bin("==", "i8", operand(value[0]), Lit(tag, "i8"))  # type: ignore[arg-type]
            value = tuple(value[1 + k] for k in uses[tag])
            inner = pat.args
        start = 0
        for p in inner:
            end = start + len(leaves(p.type))
            cond = both(cond, self.matches(p, value[start:end]))
            start = end
        return cond

    # --- loops -------------------------------------------------------------------------------

    def loop(self, e: ty.Loop, hint: Name) -> Value:
        """A loop in any of its forms."""
        init = self.lower(e.init, self.pat_hint(e.pat))
        bound, rows = self.loop_head(e)
        self.prov = span = (e.span,)
        declared = leaves(e.pat.type)
        heads: dict[Name, Name] = {}
        starts: list[SE] = []
        shapes: list[tuple[Poly, ...]] = []
        for (_, dims, _), leaf in zip(declared, init, strict=True):
            shape: list[Poly] = []
            for at, dim in enumerate(dims):
                if isinstance(dim, SizeVar) and dim.name in e.sizes and isinstance(leaf, Arr):
                    if dim.name not in heads:
                        heads[dim.name] = self.name(dim.name)
                        self.nonneg.add(heads[dim.name])
                        self.sizes[dim.name] = Poly.var(heads[dim.name])
                        starts.append(se_of(leaf.shape[at]))
                shape.append(self.size(dim))
            shapes.append(tuple(shape))
        first = {h: _poly(s) for h, s in zip(heads.values(), starts, strict=True)}
        init = self.expect_all(init, [tuple(p.subst(first) for p in s) for s in shapes])
        pairs = self.leaf_names(e.pat)
        values = self.params([name for name, _ in pairs], e.pat.type, shapes)
        params = [
            Param(p.name, p.type, unique and isinstance(p.type, ir.Array))
            for p, (_, unique) in zip(as_params(values), pairs, strict=True)
        ]
        start_cond: list[SE] = []
        cond_name = ""
        if isinstance(e.form, ty.While):
            self.sizes.update({size: first[head] for size, head in heads.items()})
            self.bind_pat(e.pat, init)
            start_cond.append(self.se(e.form.cond))
            cond_name = self.ctx.fresh("go")
            self.sizes.update({size: Poly.var(head) for size, head in heads.items()})
        self.bind_pat(e.pat, values)
        outer = self.open()
        form = self.loop_form(e, bound, rows, cond_name)
        result = self.lower(e.body)
        self.prov = span
        ends: list[SE] = []
        own: dict[Name, Poly] = {}
        for size, head in heads.items():
            for (_, dims, _), leaf in zip(declared, result, strict=True):
                if isinstance(leaf, Arr) and SizeVar(size) in dims:
                    own[head] = leaf.shape[dims.index(SizeVar(size))]
                    ends.append(se_of(own[head]))
                    break
        result = self.expect_all(result, [tuple(p.subst(own) for p in s) for s in shapes])
        end_cond: list[SE] = []
        if isinstance(e.form, ty.While):
            self.sizes.update({size: own[head] for size, head in heads.items()})
            self.bind_pat(e.pat, result)
            end_cond.append(self.se(e.form.cond))
        stms = self.close(outer)
        body = ir.Body(tuple(stms), (*end_cond, *ends, *(operand(x) for x in result)))
        inner = tuple(Param(head, ir.I64) for head in heads.values())
        cond_param = (Param(cond_name, ir.BOOL),) if cond_name else ()
        loop = ir.Loop(
            (*cond_param, *inner, *params),
            (*start_cond, *starts, *(operand(x) for x in init)),
            form,
            body,
        )
        self.prov = span
        return self.loop_result(e, loop, cond_name, heads, shapes, hint)

    def loop_result(
        self,
        e: ty.Loop,
        loop: ir.Loop,
        cond_name: Name,
        heads: dict[Name, Name],
        shapes: list[tuple[Poly, ...]],
        hint: Name,
    ) -> Value:
        """The loop's statement and what its names stand for afterwards."""
        after = {head: self.name(head) for head in heads.values()}
        final = {head: Poly.var(name) for head, name in after.items()}
        shapes = [tuple(p.subst(final) for p in shape) for shape in shapes]
        self.nonneg.update(after.values())
        hint = hint or (self.pat_hint(e.pat) and base_of(self.pat_hint(e.pat)))
        if hint or not isinstance(e.pat, ty.PRecord):
            names = self.names(hint or "r", (end for _, _, end in leaves(e.pat.type)))
        else:
            names = [self.ctx.fresh(name) for name, _ in self.leaf_names(e.pat)]
        value = self.params(names, e.pat.type, shapes)
        head_params = tuple(Param(name, ir.I64) for name in after.values())
        cond_param = (Param(self.ctx.fresh("go"), ir.BOOL),) if cond_name else ()
        self.emit((*cond_param, *head_params, *as_params(value)), loop)
        for size, head in heads.items():
            self.sizes[size] = final[head]
        self.bind_sizes(e.ext, e.type, value)
        return value

    def loop_head(self, e: ty.Loop) -> tuple[SE, Value]:
        """What a loop's form evaluates once: the bound, and the array to walk over."""
        if isinstance(e.form, ty.For):
            return self.atom(self.se(e.form.bound), "bound"), ()
        if isinstance(e.form, ty.ForIn):
            rows = self.lower(e.form.array)
            first = rows[0]
            assert isinstance(first, Arr)
            return se_of(first.shape[0]), rows
        return ZERO, ()

    def loop_form(
        self, e: ty.Loop, bound: SE, rows: Value, cond_name: Name
    ) -> ir.ForLoop | ir.WhileLoop:
        """The IR form; binds what each iteration starts with."""
        match e.form:
            case ty.For(name, prim, _):
                index = self.name(name)
                self.env[name] = (Var(index, prim),)
                limit = poly_of(bound) if prim == "i64" else None
                if limit is None and isinstance(bound, Lit):
                    limit = Poly.const(int(bound.value))
                if limit is None:
                    wide = Conv(prim, "i64", bound)
                    limit = Poly.var(self.named[0][wide]) if wide in self.named[0] else None
                if limit is not None:
                    self.upper[index] = limit.subst(self.defined)
                return ir.ForLoop(index, prim, bound)
            case ty.ForIn(pat, _):
                index = self.ctx.fresh("i")
                at = Var(index, "i64")
                self.upper[index] = _poly(bound)
                row = tuple(self.row(x, at) for x in rows if isinstance(x, Arr))
                self.bind_pat(pat, row if leaves(pat.type) else ())
                return ir.ForLoop(index, "i64", bound)
        return ir.WhileLoop(cond_name)

    def row(self, array: Arr, at: SE) -> SE | Arr:
        """`array[at]`, not checked."""
        if len(array.shape) == 1:
            return self.scalar(ir.Index(array.name, (at,)), array.prim, f"{base_of(array.name)}_el")
        rest = tuple(ir.DimSlice(ZERO, n, ONE) for n in array.shape[1:])
        exp = ir.Slice(array.name, (ir.DimFix(at), *rest))
        return self.array(exp, array.prim, array.shape[1:], f"{base_of(array.name)}_row")

    # --- the rest ----------------------------------------------------------------------------

    def assert_exp(self, e: ty.Assert, hint: Name) -> Value:
        """The program's own assertion."""
        cond = self.se(e.cond)
        self.prov = (e.span,)
        self.check(cond, (f"Assertion is false: ({e.text})",))
        return self.lower(e.exp, hint)

    def attr(self, e: ty.Attr, hint: Name) -> Value:
        """`unsafe` drops checks if the options allow it; other attributes do not matter here."""
        if e.attr == "unsafe" and self.ctx.options.unsafe and not self.unsafe:
            self.unsafe = True
            value = self.lower(e.exp, hint)
            self.unsafe = False
            return value
        return self.lower(e.exp, hint)

    def coerce(self, e: ty.Coerce, hint: Name) -> Value:
        """A check at run time that sizes are as stated."""
        value = self.lower(e.exp, hint)
        self.prov = (e.span,)
        return self.retype(value, e.type)

    def retype(self, value: Value, t: Type) -> Value:
        """`value` with the sizes that `t` declares."""
        return self.expect_all(value, self.shapes(t))


def _poly(se: SE) -> Poly:
    poly = poly_of(se)
    if poly is None:
        raise CompilerBug("a size that is no polynomial")
    return poly
