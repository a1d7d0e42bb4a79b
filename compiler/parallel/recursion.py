"""Turn recursive functions into loops, before inlining.

Tail calls become iterations of a loop over the parameters. Otherwise there is a stack for each type
of element, which grows by doubling, and the function falls into steps, each a part of its body up
to a call, or up to where branches or iterations with calls meet. One iteration of the loop runs one
step:

    call      push live values, the step to continue with, and the arguments
    return    pop the step to continue with, and push the results

Parameters that every call passes on unchanged stay outside. Parallel operators around calls inside
the function become loops; calls in operators of other functions are up to `growing.py`.

Keeps: results, failures and provenance. Afterwards no function calls itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.base.rules import Pass, Rule
from compiler.ir import nodes as ir
from compiler.ir.build import Builder, full_slices
from compiler.ir.recursion import DEEPEST, calls, calls_itself, is_result, too_deep
from compiler.ir.sizes import poly_of, prim_of, se_of
from compiler.ir.types import as_operand, shape_of
from compiler.ir.walk import NESTED, all_stms, free, map_stms, rename, subst
from compiler.parallel.sequentialise import SOACS, outer_loop

TAIL = Rule(
    "recursion/tail",
    "Turns tail calls of a function into iterations of a loop.",
    optional=False,
)
STACK = Rule(
    "recursion/stack",
    "Turns a function that continues after calling itself into a loop with a stack.",
    optional=False,
)
FIRST = 64
"""Initial size of each stack, in elements."""


def unroll_calls(prog: ir.Prog, ctx: Ctx) -> ir.Prog:
    """Turn every recursive function into one with a loop."""
    if not any(map(calls_itself, prog.funs)):
        return prog
    return ir.Prog(tuple(_as_loop(f, ctx) if calls_itself(f) else f for f in prog.funs))


def _as_loop(fun: ir.Function, ctx: Ctx) -> ir.Function:
    """Turn a recursive function into one with a loop."""
    name = base_of(fun.name)
    if _ends_with_calls(fun.body, fun.name):
        said = (
            f"All recursive calls of `{name}` are tail calls, so they become iterations of a loop."
        )
        ctx.tell("applied", TAIL, fun.prov, said)
        return _Tail(fun, ctx).made()
    said = (
        f"`{name}` continues after it calls itself, so a stack stores the values that it "
        "needs then."
    )
    ctx.tell("applied", STACK, fun.prov, said)
    stms = _loops_around(fun.body.stms, fun.name, ctx)
    return _Stack(replace(fun, body=ir.Body(stms, fun.body.results, fun.body.prov)), ctx).made()


# --- where the calls are ---------------------------------------------------------------------


def _loops_around(stms: tuple[ir.Stm, ...], name: str, ctx: Ctx) -> tuple[ir.Stm, ...]:
    """Turn parallel operators around calls of a function into loops."""
    if not calls(stms, name):
        return stms
    out: list[ir.Stm] = []
    for stm in stms:
        inside = type(stm.exp) in SOACS and calls([stm], name)
        for one in outer_loop(stm, ctx.fresh) if inside else [stm]:
            exp = one.exp
            if type(exp) in NESTED:
                exp = map_stms(exp, lambda inner: _loops_around(inner, name, ctx))
            out.append(replace(one, exp=exp))
    return tuple(out)


def _ends_with_calls(body: ir.Body, name: str) -> bool:
    """Return True if all calls of a function in its body are tail calls."""
    at = _first_call(body.stms, name)
    if at is None:
        return True
    stm = body.stms[at]
    if not is_result(stm.pat, body.stms[at + 1 :], body.results):
        return False
    if isinstance(stm.exp, ir.If):
        return _ends_with_calls(stm.exp.then, name) and _ends_with_calls(stm.exp.orelse, name)
    return isinstance(stm.exp, ir.Call)


def _first_call(stms: Sequence[ir.Stm], name: str) -> int | None:
    return next((at for at, stm in enumerate(stms) if calls([stm], name)), None)


# --- what both kinds have in common ----------------------------------------------------------


class _Machine:
    """A recursive function being turned into a loop."""

    def __init__(self, fun: ir.Function, ctx: Ctx) -> None:
        self.fun = fun
        self.fresh = ctx.fresh
        calls = [
            stm.exp.args
            for stm in all_stms(fun.body.stms)
            if isinstance(stm.exp, ir.Call) and stm.exp.fun == fun.name
        ]
        same = [all(args[k] == as_operand(p) for args in calls) for k, p in enumerate(fun.params)]
        self.moving = [k for k, kept in enumerate(same) if not kept]
        """Positions of parameters that differ between calls."""
        self.params = [fun.params[k] for k in self.moving]

    def args(self, call: ir.Call) -> list[ir.Operand]:
        """Return a call's arguments for the parameters that differ between calls."""
        return [call.args[k] for k in self.moving]

    def named(self, params: Iterable[ir.Param]) -> list[ir.Param]:
        """Rename parameters, also in types."""
        names: dict[Name, ir.Operand | Poly] = {}
        new: list[ir.Param] = []
        for param in params:
            name = self.fresh(param.name)
            new.append(ir.Param(name, subst(param.type, names), param.unique))
            names[param.name] = Poly.var(name) if isinstance(param.type, ir.Scalar) else name
        return new


def _bare(params: Iterable[ir.Param]) -> tuple[ir.Param, ...]:
    """Return parameters as a pattern."""
    return tuple(ir.Param(p.name, p.type) for p in params)


def _nothing(builder: Builder, like: ir.Param) -> ir.Operand:
    """Return any value of a type, never used."""
    if isinstance(like.type, ir.Scalar):
        prim = like.type.prim
        return ir.Lit(False if prim == "bool" else 0.0 if prim[0] == "f" else 0, prim)
    return builder.scratch(like).name


def _fitting(builder: Builder, value: ir.Operand, have: ir.Type, want: ir.Type) -> ir.Operand:
    """Reshape a value to a type whose sizes are spelt otherwise."""
    if not isinstance(value, str) or have == want or not isinstance(want, ir.Array):
        return value
    return builder.bind(value, want, ir.Reshape(want.shape, value)).name


def _types(fun: ir.Function) -> dict[Name, ir.Type]:
    """Return the types of all names of a function."""
    found = {p.name: p.type for p in fun.params}
    for stm in all_stms(fun.body.stms):
        if isinstance(stm.exp, ir.Loop):
            found.update((p.name, p.type) for p in stm.exp.params)
            if isinstance(stm.exp.form, ir.ForLoop):
                found[stm.exp.form.index] = ir.Scalar(stm.exp.form.prim)
        found.update((p.name, p.type) for p in stm.pat)
    return found


# --- calls at the end ------------------------------------------------------------------------


class _Tail(_Machine):
    """A tail-recursive function: the loop carries a flag, the parameters, and the final results."""

    copies = False

    def made(self) -> ir.Function:
        fun = self.fun
        outer = self.named(self.params)
        names: dict[Name, ir.Operand | Poly] = {
            p.name: Poly.var(new.name) if isinstance(p.type, ir.Scalar) else new.name
            for p, new in zip(self.params, outer, strict=True)
        }
        self.types = _types(fun)
        results = tuple(ir.Param(r.name, subst(r.type, names), r.unique) for r in fun.results)
        self.results = [replace(r, unique=False) for r in self.named(results)]
        self.go = ir.Param(self.fresh("go"), ir.BOOL)
        carried = (self.go, *self.params, *self.results)
        builder = Builder(self.fresh, fun.prov)
        init = (ir.TRUE, *map(as_operand, outer), *self._none(builder, self.results))
        after = self.named(carried)
        loop = ir.Loop(carried, init, ir.WhileLoop(self.go.name), self.step(fun.body))
        builder.add(_bare(after), loop)
        last = after[1 + len(outer) :]
        heads: dict[Name, ir.Operand | Poly] = {
            r.name: Poly.var(p.name)
            for r, p in zip(results, last, strict=True)
            if isinstance(p.type, ir.Scalar)
        }
        last = [
            builder.copy(p) if self.copies and isinstance(p.type, ir.Array) else p for p in last
        ]
        ends = [
            _fitting(builder, as_operand(p), p.type, subst(r.type, heads))
            for p, r in zip(last, results, strict=True)
        ]
        moved = dict(zip(self.moving, outer, strict=True))
        params = tuple(moved.get(k, p) for k, p in enumerate(fun.params))
        params = tuple(replace(p, type=subst(p.type, names)) for p in params)
        return replace(fun, params=params, results=results, body=builder.body(ends))

    def _none(self, builder: Builder, params: Iterable[ir.Param]) -> list[ir.Operand]:
        """Return unused values for parameters; sizes are 0."""
        values: list[ir.Operand] = []
        sizes: dict[Name, ir.Operand | Poly] = {}
        for p in params:
            values.append(_nothing(builder, replace(p, type=subst(p.type, sizes))))
            if p.type == ir.I64:
                sizes[p.name] = Poly.const(0)
        return values

    def step(self, body: ir.Body) -> ir.Body:
        """Return the body of an iteration: the state of the next one, or the results."""
        at = _first_call(body.stms, self.fun.name)
        if at is None:
            builder = Builder(self.fresh, self.fun.prov, body.stms)
            values: list[ir.Operand] = []
            heads: dict[Name, ir.Operand | Poly] = {}
            for r, value in zip(self.results, body.results, strict=True):
                have = self.types[value] if isinstance(value, str) else r.type
                values.append(_fitting(builder, value, have, subst(r.type, heads)))
                size = None if isinstance(value, str) else poly_of(value)
                if r.type == ir.I64 and size is not None:
                    heads[r.name] = size
            return builder.body((ir.FALSE, *self._none(builder, self.params), *values))
        stm = body.stms[at]
        self.copies |= at + 1 < len(body.stms)
        builder = Builder(self.fresh, stm.prov, body.stms[:at])
        if isinstance(stm.exp, ir.Call):
            kept = [as_operand(r) for r in self.results]
            return builder.body((ir.TRUE, *self.args(stm.exp), *kept))
        assert isinstance(stm.exp, ir.If)
        state = self.named((self.go, *self.params, *self.results))
        then, orelse = self.step(stm.exp.then), self.step(stm.exp.orelse)
        builder.add(_bare(state), ir.If(stm.exp.cond, then, orelse))
        return builder.body(map(as_operand, state))


# --- calls anywhere --------------------------------------------------------------------------


@dataclass(slots=True)
class _Stacks:
    """By type of element: the used part of its stack, its size, and the stack."""

    used: dict[Prim, Poly]
    size: dict[Prim, Poly]
    stack: dict[Prim, Name]

    def copy(self) -> _Stacks:
        """Copy the state for one branch."""
        return _Stacks(dict(self.used), dict(self.size), dict(self.stack))


@dataclass(frozen=True, slots=True)
class _Jump:
    """A jump to a step, which pops these values and then the current results."""

    step: int
    values: tuple[ir.Operand, ...]


@dataclass(slots=True)
class _Steps:
    """The steps made so far."""

    bodies: dict[int, ir.Body] = field(default_factory=dict)
    count: int = 0

    def next(self) -> int:
        """Return the number of a new step."""
        self.count += 1
        return self.count - 1


class _Stack(_Machine):
    """A general recursive function: the loop carries the step, the depth, and the stacks."""

    def made(self) -> ir.Function:
        fun = self.fun
        self.types = _types(fun)
        kinds = (*self.types.values(), *(r.type for r in fun.results), ir.I64)
        self.prims: list[Prim] = sorted(
            {kind.prim for kind in kinds if not isinstance(kind, ir.Mem)}
        )
        self.steps = _Steps()
        self.go = ir.Param(self.fresh("go"), ir.BOOL)
        self.next = ir.Param(self.fresh("step"), ir.I64)
        self.depth = ir.Param(self.fresh("depth"), ir.I64)
        carried = [self.go, self.next, self.depth]
        for prim in self.prims:
            size = self.fresh(f"size_{prim}")
            carried += [
                ir.Param(self.fresh(f"used_{prim}"), ir.I64),
                ir.Param(size, ir.I64),
                ir.Param(self.fresh(f"stack_{prim}"), ir.Array(prim, (Poly.var(size),)), True),
            ]
        self.carried = carried
        self.begin()
        before = Builder(self.fresh, fun.prov)
        count = Poly.const(FIRST)
        stacks = _Stacks(
            dict.fromkeys(self.prims, Poly.const(0)),
            dict.fromkeys(self.prims, count),
            {
                p: before.bind("stack", ir.Array(p, (count,)), ir.Scratch(p, (count,))).name
                for p in self.prims
            },
        )
        self.push(before, stacks, [ir.Lit(-1, "i64")])
        self.push(before, stacks, [as_operand(p) for p in self.params])
        init = self.goto(before, stacks, ir.ZERO, ir.ZERO).results
        loop = ir.Loop(tuple(carried), init, ir.WhileLoop(self.go.name), self.choice())
        after = self.named(carried)
        before.add(_bare(after), loop)
        results = self.named(fun.results)
        for stm in self.take(before, self.stacks_of(after), results):
            before.add(*stm)
        return replace(fun, body=before.body(map(as_operand, results)))

    def stacks_of(self, carried: Sequence[ir.Param]) -> _Stacks:
        """Return the stacks under the names bound by a loop or branch."""
        rest = carried[3:]
        return _Stacks(
            {prim: Poly.var(rest[3 * k].name) for k, prim in enumerate(self.prims)},
            {prim: Poly.var(rest[3 * k + 1].name) for k, prim in enumerate(self.prims)},
            {prim: rest[3 * k + 2].name for k, prim in enumerate(self.prims)},
        )

    def choice(self) -> ir.Body:
        """Return the choice of the next step, as a chain of branches."""
        *first, last = (self.steps.bodies[k] for k in range(self.steps.count))
        body = rename(last, self.fresh)
        for k, step in reversed(list(enumerate(first))):
            pat = self.named(self.carried)
            cond = ir.Bin("==", "i64", ir.Var(self.next.name, "i64"), ir.Lit(k, "i64"))
            stm = ir.Stm(_bare(pat), ir.If(cond, rename(step, self.fresh), body), self.fun.prov)
            body = ir.Body((stm,), tuple(map(as_operand, pat)))
        return body

    # --- the stacks ----------------------------------------------------------------------------

    def type_of(self, value: ir.Operand) -> ir.Type:
        """Return the type of a value."""
        return self.types[value] if isinstance(value, str) else ir.Scalar(prim_of(value))

    def push(self, b: Builder, stacks: _Stacks, values: Sequence[ir.Operand]) -> None:
        """Push values: arrays first, so that sizes are popped before them."""
        typed = [(value, self.type_of(value)) for value in values]
        for prim in self.prims:
            arrays = [(v, t.shape) for v, t in typed if isinstance(t, ir.Array) and t.prim == prim]
            scalars = [v for v, t in typed if t == ir.Scalar(prim)]
            sizes = [Poly.product(shape) for _, shape in arrays]
            if not arrays and not scalars:
                continue
            at = stacks.used[prim]
            end = self.sized(b, sum(sizes, at + Poly.const(len(scalars))))
            self.reserve(b, stacks, prim, end)
            for (value, _), size in zip(arrays, sizes, strict=True):
                flat = b.bind("flat", ir.Array(prim, (size,)), ir.Reshape((size,), str(value)))
                self.write(b, stacks, prim, ir.DimSlice(se_of(at), size, ir.ONE), flat.name)
                at = at + size
            for k, value in enumerate(scalars):
                self.write(b, stacks, prim, ir.DimFix(se_of(at + Poly.const(k))), value)
            stacks.used[prim] = end

    def sized(self, b: Builder, size: Poly) -> Poly:
        """Bind a size to a name."""
        return Poly.var(b.scalar("used", se_of(size)).name)

    def write(
        self, b: Builder, stacks: _Stacks, prim: Prim, at: ir.DimIndex, value: ir.Operand
    ) -> None:
        """Overwrite part of a stack."""
        kind = ir.Array(prim, (stacks.size[prim],))
        stacks.stack[prim] = b.bind("stack", kind, ir.Update(stacks.stack[prim], (at,), value)).name

    def reserve(self, b: Builder, stacks: _Stacks, prim: Prim, end: Poly) -> None:
        """Grow a stack that is too short; then it has room for as much again."""
        used, size = stacks.used[prim], se_of(stacks.size[prim])
        larger = b.nested()
        old = larger.bind(
            "old",
            ir.Array(prim, (used,)),
            ir.Slice(stacks.stack[prim], full_slices((used,))),
        )
        wanted = end + end
        room = wanted - used
        new = larger.bind("room", ir.Array(prim, (room,)), ir.Scratch(prim, (room,)))
        both = larger.bind("stack", ir.Array(prim, (wanted,)), ir.Concat((old.name, new.name)))
        count = ir.Param(self.fresh("size"), ir.I64)
        stack = ir.Param(self.fresh("stack"), ir.Array(prim, (Poly.var(count.name),)))
        same = ir.Body((), (size, stacks.stack[prim]))
        b.add(
            (count, stack),
            ir.If(
                ir.Bin("<=", "i64", se_of(end), size), same, larger.body((se_of(wanted), both.name))
            ),
        )
        stacks.size[prim], stacks.stack[prim] = Poly.var(count.name), stack.name

    def pop(self, b: Builder, stacks: _Stacks, params: Sequence[ir.Param]) -> None:
        """Pop parameters that `push` has pushed."""
        scalars = {prim: [p for p in params if p.type == ir.Scalar(prim)] for prim in self.prims}
        for prim, ones in scalars.items():
            first = stacks.used[prim] - Poly.const(len(ones))
            for k, p in enumerate(ones):
                cell = ir.Index(stacks.stack[prim], (se_of(first + Poly.const(k)),))
                b.add((ir.Param(p.name, p.type),), cell)
            if ones:
                stacks.used[prim] = self.sized(b, first)
        for prim in self.prims:
            arrays = [p for p in params if isinstance(p.type, ir.Array) and p.type.prim == prim]
            sizes = [Poly.product(p.type.shape) for p in arrays if isinstance(p.type, ir.Array)]
            if not arrays:
                continue
            at = first = stacks.used[prim] - sum(sizes, Poly.const(0))
            for p, size in zip(arrays, sizes, strict=True):
                assert isinstance(p.type, ir.Array)
                kind = ir.Array(prim, (size,))
                dims = (ir.DimSlice(se_of(at), size, ir.ONE),)
                part = b.bind(p.name, kind, ir.Slice(stacks.stack[prim], dims))
                own = b.bind(p.name, kind, ir.Copy(part.name))
                b.add((ir.Param(p.name, p.type),), ir.Reshape(p.type.shape, own.name))
                at = at + size
            stacks.used[prim] = self.sized(b, first)

    def give(self, b: Builder, stacks: _Stacks, results: Sequence[ir.Operand]) -> None:
        """Push a call's results, with the sizes of its arrays."""
        sizes = [se_of(size) for x in results for size in shape_of(self.type_of(x))]
        self.push(b, stacks, [*results, *sizes])

    def take(
        self, b: Builder, stacks: _Stacks, pat: Sequence[ir.Param]
    ) -> list[tuple[tuple[ir.Param, ...], ir.Exp]]:
        """Pop a call's scalar results; return the bindings of arrays for when sizes are known."""
        sizes: list[ir.Param] = []
        taken: list[ir.Param] = []
        found: list[tuple[tuple[ir.Param, ...], ir.Exp]] = []
        for p in pat:
            if not isinstance(p.type, ir.Array):
                taken.append(p)
                continue
            own = [ir.Param(self.fresh("n"), ir.I64) for _ in p.type.shape]
            kind = ir.Array(p.type.prim, tuple(Poly.var(n.name) for n in own))
            sizes += own
            taken.append(ir.Param(self.fresh(p.name), kind))
            found.append(((ir.Param(p.name, p.type),), ir.Reshape(p.type.shape, taken[-1].name)))
        self.pop(b, stacks, [*taken, *sizes])
        return found

    # --- the steps -----------------------------------------------------------------------------

    def goto(self, b: Builder, stacks: _Stacks, step: ir.SE, depth: ir.SE) -> ir.Body:
        """End a step by setting the next one."""
        state: list[ir.Operand] = [ir.Bin(">=", "i64", step, ir.ZERO), step, depth]
        for prim in self.prims:
            state += [se_of(stacks.used[prim]), se_of(stacks.size[prim]), stacks.stack[prim]]
        return b.body(state)

    def begin(self) -> None:
        """Make step 0, which starts a call."""
        number = self.steps.next()
        b, stacks = Builder(self.fresh, self.fun.prov), self.stacks_of(self.carried)
        depth = ir.Var(self.depth.name, "i64")
        fits = ir.Bin("<", "i64", depth, ir.Lit(DEEPEST, "i64"))
        b.add((), ir.Assert(fits, (too_deep(self.fun.name),)))
        self.pop(b, stacks, self.params)
        self.steps.bodies[number] = self.rest(b, stacks, self.fun.body, None)

    def live(self, node: object, jump: _Jump | None, without: Iterable[Name]) -> list[Name]:
        """Return the names that must be saved for `node` and `jump`, in order of definition."""
        needed = free(node) | (free(jump.values) if jump else set())
        needed -= set(without)
        needed &= self.types.keys()
        needed -= {p.name for k, p in enumerate(self.fun.params) if k not in self.moving}
        todo = list(needed)
        while todo:
            kind = self.types[todo.pop()]
            for size in kind.shape if isinstance(kind, ir.Array) else ():
                more = {n for n in size.names() if n in self.types} - needed
                more -= {p.name for k, p in enumerate(self.fun.params) if k not in self.moving}
                needed |= more
                todo += more
        return [name for name in self.types if name in needed]

    def operands(self, names: Iterable[Name]) -> list[ir.Operand]:
        """Return names as operands."""
        return [as_operand(ir.Param(name, self.types[name])) for name in names]

    def bound(self, names: Iterable[Name]) -> list[ir.Param]:
        """Return names as parameters."""
        return [ir.Param(name, self.types[name]) for name in names]

    def rest(self, b: Builder, stacks: _Stacks, body: ir.Body, jump: _Jump | None) -> ir.Body:
        """Return the rest of a step: `body`, and then a return, or the jump."""
        at = _first_call(body.stms, self.fun.name)
        depth: ir.SE = ir.Var(self.depth.name, "i64")
        b.stms += body.stms[:at]
        if at is None and jump is None:
            back = ir.Param(self.fresh("back"), ir.I64)
            self.pop(b, stacks, [back])
            self.give(b, stacks, body.results)
            depth = ir.Bin("-", "i64", depth, ir.ONE)
            return self.goto(b, stacks, ir.Var(back.name, "i64"), depth)
        if at is None:
            assert jump is not None
            self.push(b, stacks, [*jump.values, *body.results])
            return self.goto(b, stacks, ir.Lit(jump.step, "i64"), depth)
        stm, after = body.stms[at], replace(body, stms=body.stms[at + 1 :])
        is_last = jump is None and is_result(stm.pat, after.stms, after.results)
        b.prov = stm.prov
        if isinstance(stm.exp, ir.Call):
            if not is_last:
                kept = self.live(after, jump, (p.name for p in stm.pat))
                number = self.next_step(kept, stm.pat, after, jump, is_call=True)
                self.push(b, stacks, [*self.operands(kept), ir.Lit(number, "i64")])
                depth = ir.Bin("+", "i64", depth, ir.ONE)
            self.push(b, stacks, self.args(stm.exp))
            return self.goto(b, stacks, ir.ZERO, depth)
        if isinstance(stm.exp, ir.Loop):
            return self.loop(b, stacks, stm, stm.exp, after, jump)
        assert isinstance(stm.exp, ir.If)
        if not is_last:
            kept = self.live(after, jump, (p.name for p in stm.pat))
            number = self.next_step(kept, stm.pat, after, jump, is_call=False)
            jump = _Jump(number, tuple(self.operands(kept)))
        then = self.rest(b.nested(), stacks.copy(), stm.exp.then, jump)
        return self.either(
            b, stm.exp.cond, then, self.rest(b.nested(), stacks, stm.exp.orelse, jump)
        )

    def either(self, b: Builder, cond: ir.SE, then: ir.Body, orelse: ir.Body) -> ir.Body:
        """End a step by a branch."""
        state = self.named(self.carried)
        b.add(_bare(state), ir.If(cond, then, orelse))
        return b.body(map(as_operand, state))

    def next_step(
        self,
        kept: Sequence[Name],
        pat: Sequence[ir.Param],
        after: ir.Body,
        jump: _Jump | None,
        *,
        is_call: bool,
    ) -> int:
        """Make a step that continues with `after` behind a call, or where branches meet."""
        number = self.steps.next()
        b, stacks = Builder(self.fresh, self.fun.prov), self.stacks_of(self.carried)
        found = self.take(b, stacks, pat) if is_call else []
        self.pop(b, stacks, [*self.bound(kept), *([] if is_call else pat)])
        for stm in found:
            b.add(*stm)
        self.steps.bodies[number] = self.rest(b, stacks, after, jump)
        return number

    def loop(
        self,
        b: Builder,
        stacks: _Stacks,
        stm: ir.Stm,
        loop: ir.Loop,
        after: ir.Body,
        jump: _Jump | None,
    ) -> ir.Body:
        """Make the step of a loop with calls inside, in which each of its iterations begins."""
        number = self.steps.next()
        counters: list[ir.Operand] = []
        inner: list[ir.Operand] = []
        held: list[ir.Param] = []
        cond: ir.SE
        if isinstance(loop.form, ir.ForLoop):
            prim = loop.form.prim
            index, bound = ir.Var(loop.form.index, prim), ir.Var(self.fresh("bound"), prim)
            held = [ir.Param(index.name, ir.Scalar(prim)), ir.Param(bound.name, ir.Scalar(prim))]
            self.types[bound.name] = ir.Scalar(prim)
            counters = [ir.Lit(0, prim), loop.form.bound]
            inner = [ir.Bin("+", prim, index, ir.Lit(1, prim)), bound]
            cond = ir.Bin("<", prim, index, bound)
        else:
            cond = ir.Var(loop.form.cond, "bool")
        own = [p.name for p in (*held, *loop.params, *stm.pat)]
        kept = self.live((loop.body, after), jump, own)
        values = tuple(self.operands(kept))
        self.push(b, stacks, [*values, *counters, *loop.init])
        begun = self.goto(b, stacks, ir.Lit(number, "i64"), ir.Var(self.depth.name, "i64"))
        b, stacks = Builder(self.fresh, stm.prov), self.stacks_of(self.carried)
        self.pop(b, stacks, [*self.bound(kept), *held, *loop.params])
        again = _Jump(number, (*values, *inner))
        step = self.rest(b.nested(), stacks.copy(), loop.body, again)
        over = b.nested()
        for p, q in zip(_bare(stm.pat), loop.params, strict=True):
            shape = p.type.shape if isinstance(p.type, ir.Array) else ()
            over.add((p,), ir.Reshape(shape, q.name) if shape else ir.Var(q.name, q.type.prim))
        orelse = self.rest(over, stacks, after, jump)
        self.steps.bodies[number] = self.either(b, cond, step, orelse)
        return begun


RECURSION = Pass("recursion", "Turns recursive functions into loops.", unroll_calls, (TAIL, STACK))
