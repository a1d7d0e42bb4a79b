"""Branches, cases and loops."""

from __future__ import annotations

from collections.abc import Callable

from compiler.base.errors import CompilerBug
from compiler.base.names import Name, base_of
from compiler.frontend import typed as ty
from compiler.frontend.types import PrimT, Size, SizeVar, Sum
from compiler.ir import nodes as ir
from compiler.ir.effects import aliases, consumed
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Operand, Param, Select, Stm, Un, Var
from compiler.ir.poly import Poly
from compiler.ir.sizes import poly_of, se_of
from compiler.lower.build import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Arr,
    Value,
    as_params,
    both,
    either,
    operand,
)
from compiler.lower.exps import Exps, literal
from compiler.lower.leaves import leaves, sum_slots

SELECT_WEIGHT = 12
"""A scalar `if` whose branches weigh no more than this computes both."""


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


class Control(Exps):
    """Lowering of branches and loops."""

    # --- branches ----------------------------------------------------------------------------

    def if_exp(self, e: ty.If, hint: Name) -> Value:
        """An `if`."""
        cond = self.se(e.cond)
        if isinstance(cond, Lit):
            value = self.lower(e.then if cond.value else e.orelse, hint)
        else:
            value = self.branch(
                e, cond, lambda: self.lower(e.then, hint), lambda: self.lower(e.orelse, hint), hint
            )
        self.bind_sizes(e.ext, e.type, value)
        return value

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
        self.facts.learn(cond, True)
        first = then()
        first_stms = self.close(outer)
        outer = self.open()
        self.facts.learn(cond, False)
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
            result = tuple(self.own(x) for x in self.expect_all(tuple(values[which]), wanted))
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
        self.facts.size(name)
        new.append((name, [se_of(have[0]), se_of(have[1])]))
        return Poly.var(name)

    def match(self, e: ty.Match, hint: Name) -> Value:
        """Cases as a chain of branches; the last one needs no test."""
        value = self.lower(e.exp)
        self.prov = (e.span,)
        value = tuple(x if isinstance(x, Arr) else self.atom(x) for x in value)
        result = self.cases(e, value, 0, hint)
        self.bind_sizes(e.ext, e.type, result)
        return result

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
                size = dim.name if isinstance(dim, SizeVar) else ""
                if size in e.sizes and size not in heads and isinstance(leaf, Arr):
                    heads[size] = self.name(size)
                    self.facts.size(heads[size])
                    self.sizes[size] = Poly.var(heads[size])
                    starts.append(se_of(leaf.shape[at]))
                shape.append(self.size(dim))
            shapes.append(tuple(shape))
        first = {h: _poly(s) for h, s in zip(heads.values(), starts, strict=True)}
        init = self.expect_all(init, [tuple(p.subst(first) for p in s) for s in shapes])
        init = tuple(self.own(x) for x in init)
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
        result = tuple(self.own(x) for x in result)
        end_cond: list[SE] = []
        if isinstance(e.form, ty.While):
            self.sizes.update({size: own[head] for size, head in heads.items()})
            self.bind_pat(e.pat, result)
            end_cond.append(self.se(e.form.cond))
        stms = self.close(outer)
        body = ir.Body(tuple(stms), (*end_cond, *ends, *(operand(x) for x in result)))
        inner = tuple(Param(head, ir.I64) for head in heads.values())
        params = self.consumed_params(params, body, len(inner) + bool(cond_name))
        cond_param = (Param(cond_name, ir.BOOL),) if cond_name else ()
        loop = ir.Loop(
            (*cond_param, *inner, *params),
            (*start_cond, *starts, *(operand(x) for x in init)),
            form,
            body,
        )
        self.prov = span
        return self.loop_result(e, loop, cond_name, heads, shapes, hint)

    def consumed_params(self, params: list[Param], body: ir.Body, skip: int) -> list[Param]:
        """The parameters; unique where the body consumes them or passes them on to unique ones."""
        unique = set(consumed(ir.If(TRUE, body, ir.Body((), ())), self.funs))
        unique |= {p.name for p in params if p.unique}
        if not unique.isdisjoint(p.name for p in params):
            results = ir.Body(body.stms, body.results[skip:])
            found = aliases(Stm(tuple(params), ir.If(TRUE, results, results)), self.funs)
            for _ in params:
                for p, names in zip(params, found, strict=True):
                    if p.name in unique:
                        unique |= names
        return [Param(p.name, p.type, True) if p.name in unique else p for p in params]

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
        self.facts.size(*after.values())
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
                    self.facts.index(index, limit.subst(self.facts.defined))
                return ir.ForLoop(index, prim, bound)
            case ty.ForIn(pat, _):
                index = self.ctx.fresh("i")
                at = Var(index, "i64")
                self.facts.index(index, _poly(bound))
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
        return self.view(exp, array, array.shape[1:], f"{base_of(array.name)}_row")


def _poly(se: SE) -> Poly:
    poly = poly_of(se)
    if poly is None:
        raise CompilerBug("a size that is no polynomial")
    return poly
