"""Lower the three forms of loops."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.frontend import typed as ty
from compiler.frontend.types import Size, SizeVar
from compiler.ir import nodes as ir
from compiler.ir.aliases import of_body
from compiler.ir.build import full_slices
from compiler.ir.nodes import SE, ZERO, Param, Var
from compiler.ir.sizes import se_of
from compiler.lower.build import Lower, Lowering, origin
from compiler.lower.components import PayloadSize, components
from compiler.lower.exps import bind_pat, component_names, pat_hint, se
from compiler.lower.payloads import fit_all, name_of, payload_sizes
from compiler.lower.values import Arr, Shape, Value, as_params, operand


@dataclass(frozen=True, slots=True)
class Carried:
    """The state that a loop carries: shapes of components, and the sizes that change.

    `heads` are the parameters for these sizes; `starts` their initial values.
    """

    shapes: list[Shape]
    heads: dict[Size, Name]
    starts: list[Poly]

    def shapes_of(self) -> list[Shape]:
        """Return the initial shapes."""
        now = dict(zip(self.heads.values(), self.starts, strict=True))
        return [tuple(p.subst(now) for p in shape) for shape in self.shapes]


@dataclass(frozen=True, slots=True)
class Head:
    """A loop's bound, as a name and as computed, and the components of its array."""

    bound: SE
    limit: SE
    rows: Value


def _loop(s: Lowering, e: ty.Loop, hint: Name) -> Value:
    """A loop in any of its forms."""
    init = s.lower(e.init, pat_hint(s, e.pat))
    head = _loop_head(s, e)
    s.prov = (e.span,)
    carried = _carried(s, e, init)
    init = _fit(s, e, init, carried, carried.starts)
    pairs = component_names(s, e.pat)
    values = s.params([name for name, _ in pairs], e.pat.type, carried.shapes)
    start = _condition(s, e, carried, carried.starts, init)
    cond_name = s.ctx.fresh("go") if start else ""
    _bind_heads(s, carried, carried.heads.values())
    depth = s.facts.depth
    outer = s.open()
    _bind_told(s, e, carried, values)
    bind_pat(s, e.pat, values)
    form = _loop_form(s, e, head, cond_name)
    result = s.lower(e.body)
    s.prov = (e.span,)
    ends = _ends(s, e, carried, result)
    kept = _kept_sizes(s, carried, ends, depth)
    ends = [
        Poly.var(carried.heads[dim]) if dim in kept else end
        for dim, end in zip(carried.heads, ends, strict=True)
    ]
    result = _fit(s, e, result, carried, ends)
    goes_on = _condition(s, e, carried, ends, result)
    ends = [end for dim, end in zip(carried.heads, ends, strict=True) if dim not in kept]
    results = (*goes_on, *(se_of(p) for p in ends), *(operand(x) for x in result))
    body = ir.Body(tuple(s.close(outer)), results, origin(e.body))
    if kept:
        carried = _bind_kept(s, carried, kept)
        init = fit_all(s, init, carried.shapes_of(), e.pat.type)
    heads = [Param(cond_name, ir.BOOL)] if cond_name else []
    heads += [Param(head, ir.I64) for head in carried.heads.values()]
    params = [
        Param(p.name, p.type, unique and isinstance(p.type, ir.Array))
        for p, (_, unique) in zip(as_params(values), pairs, strict=True)
    ]
    params = _consumed_params(s, params, body, len(heads))
    inits = (*start, *(se_of(p) for p in carried.starts), *(operand(x) for x in init))
    s.prov = (e.span,)
    if not e.span.in_prelude:
        s.ctx.source.loops.add(e.span)
    return _loop_result(s, e, ir.Loop((*heads, *params), inits, form, body), carried, hint)


def _carried(s: Lowering, e: ty.Loop, init: Value) -> Carried:
    """Determine the state that a loop carries; changing sizes become parameters."""
    found = Carried([], {}, [])
    changing = _changing(e)
    for (_, dims, _), component in zip(components(e.pat.type), init, strict=True):
        shape: list[Poly] = []
        for at, dim in enumerate(dims):
            if dim in changing and dim not in found.heads and isinstance(component, Arr):
                found.heads[dim] = s.name(name_of(dim))
                if at == 0:
                    s.facts.array([Poly.var(found.heads[dim])])
                found.starts.append(component.shape[at])
                _bind_head(s, dim, Poly.var(found.heads[dim]))
            head = found.heads.get(dim)
            shape.append(Poly.var(head) if head else s.size(dim))
        found.shapes.append(tuple(shape))
    return found


def _changing(e: ty.Loop) -> set[Size]:
    """Return the sizes that may change: those that the loop binds, and those of payloads."""
    return {*map(SizeVar, e.sizes), *payload_sizes(e.pat.type)}


def _bind_head(s: Lowering, dim: Size, value: Poly) -> None:
    if isinstance(dim, SizeVar):
        s.sizes[dim.name] = value


def _fit(s: Lowering, e: ty.Loop, value: Value, carried: Carried, sizes: list[Poly]) -> Value:
    """Fit `value` to the carried shapes, when the changing sizes are `sizes`."""
    now = dict(zip(carried.heads.values(), sizes, strict=True))
    shapes = [tuple(p.subst(now) for p in shape) for shape in carried.shapes]
    return fit_all(s, value, shapes, e.pat.type)


def _bind_heads(s: Lowering, carried: Carried, values: Iterable[Name | Poly]) -> None:
    """Bind the changing sizes to `values`."""
    for dim, value in zip(carried.heads, values, strict=True):
        _bind_head(s, dim, Poly.of(value))


def _bind_told(s: Lowering, e: ty.Loop, carried: Carried, value: Value) -> None:
    """Bind sizes that only variants mention to those of a loop's value."""
    told = tuple(size for size in e.sizes if SizeVar(size) not in carried.heads)
    s.bind_sizes(told, e.pat.type, value)


def _condition(
    s: Lowering, e: ty.Loop, carried: Carried, sizes: list[Poly], value: Value
) -> tuple[SE, ...]:
    """Return the condition of a `while` on these values; () for other loops."""
    if not isinstance(e.form, ty.While):
        return ()
    _bind_heads(s, carried, sizes)
    _bind_told(s, e, carried, value)
    bind_pat(s, e.pat, value)
    return (se(s, e.form.cond),)


def _ends(s: Lowering, e: ty.Loop, carried: Carried, result: Value) -> list[Poly]:
    """Return the changing sizes at the end of an iteration."""
    ends: dict[Size, Poly] = {}
    for (_, dims, _), component in zip(components(e.pat.type), result, strict=True):
        for dim, poly in zip(
            dims, component.shape if isinstance(component, Arr) else (), strict=True
        ):
            if dim in carried.heads:
                ends.setdefault(dim, poly)
    return [ends[size] for size in carried.heads]


def _kept_sizes(
    s: Lowering, carried: Carried, ends: list[Poly], depth: int
) -> dict[Size, list[Poly]]:
    """Return payload sizes that need not change, with the sizes that they are the maximum of.

    An iteration passes on payloads that it was given, initial ones, or none; inside a map also
    payloads with the size of an existing array, since threads reserve memory in advance.
    """
    found: dict[Size, list[Poly]] = {}
    for (dim, head), start, end in zip(carried.heads.items(), carried.starts, ends, strict=True):
        if isinstance(dim, PayloadSize):
            own = s.one_of(end) - {Poly.const(0), Poly.var(head), start}
            if not own or (s.points and all(_is_there(s, size, depth) for size in own)):
                found[dim] = [start, *sorted(own, key=str)]
    return found


def _is_there(s: Lowering, size: Poly, depth: int) -> bool:
    inside = {param.name for stm in s.stms for param in stm.pat}
    return inside.isdisjoint(size.names()) and s.facts.is_size(size, depth)


def _bind_kept(s: Lowering, carried: Carried, kept: dict[Size, list[Poly]]) -> Carried:
    """Bind these sizes before the loop; return the loop's state without them."""
    for dim, sizes in kept.items():
        s.emit((Param(carried.heads[dim], ir.I64),), se_of(s.largest(sizes)))
    pairs = list(zip(carried.heads.items(), carried.starts, strict=True))
    heads = {dim: head for (dim, head), _ in pairs if dim not in kept}
    return Carried(carried.shapes, heads, [p for (dim, _), p in pairs if dim not in kept])


def _consumed_params(s: Lowering, params: list[Param], body: ir.Body, skip: int) -> list[Param]:
    """Make parameters unique that the body consumes, or passes on to unique ones."""
    taken, found = of_body(body.stms, body.results[skip:], s.funs)
    unique = set(taken)
    unique |= {p.name for p in params if p.unique}
    if not unique.isdisjoint(p.name for p in params):
        for _ in params:
            for p, names in zip(params, found, strict=True):
                if p.name in unique:
                    unique |= names
    return [Param(p.name, p.type, True) if p.name in unique else p for p in params]


def _loop_result(s: Lowering, e: ty.Loop, loop: ir.Loop, carried: Carried, hint: Name) -> Value:
    """Emit the loop's statement; return its results."""
    after = {head: s.ctx.fresh(head) for head in carried.heads.values()}
    final = {head: Poly.var(name) for head, name in after.items()}
    shapes = [tuple(p.subst(final) for p in shape) for shape in carried.shapes]
    own = pat_hint(s, e.pat)
    hint = hint or (own and base_of(own))
    if hint or not isinstance(e.pat, ty.PRecord):
        names = s.names(hint or "r", e.pat.type)
    else:
        names = [s.ctx.fresh(name) for name, _ in component_names(s, e.pat)]
    value = s.params(names, e.pat.type, shapes)
    for component in value:
        if isinstance(component, Arr):
            s.facts.array(component.shape)
    heads = [Param(name, ir.I64) for name in after.values()]
    if isinstance(loop.form, ir.WhileLoop):
        heads.insert(0, Param(s.ctx.fresh("go"), ir.BOOL))
    s.emit((*heads, *as_params(value)), loop)
    _bind_heads(s, carried, final.values())
    _bind_told(s, e, carried, value)
    s.bind_sizes(e.ext, e.type, value)
    return value


def _loop_head(s: Lowering, e: ty.Loop) -> Head:
    """Evaluate the loop-invariant part of a loop's form."""
    if isinstance(e.form, ty.For):
        bound = se(s, e.form.bound)
        return Head(s.atom(bound, "bound"), bound, ())
    if isinstance(e.form, ty.ForIn):
        rows = s.lower(e.form.array)
        first = rows[0]
        assert isinstance(first, Arr)
        return Head(se_of(first.shape[0]), se_of(first.shape[0]), rows)
    return Head(ZERO, ZERO, ())


def _loop_form(s: Lowering, e: ty.Loop, head: Head, cond_name: Name) -> ir.ForLoop | ir.WhileLoop:
    """Return the IR form; bind the names of an iteration."""
    match e.form:
        case ty.For(name, prim, _):
            index = s.name(name)
            s.env[name] = (Var(index, prim),)
            s.facts.counter(index, prim, head.limit)
            return ir.ForLoop(index, prim, head.bound, _unroll(s, e))
        case ty.ForIn(pat, _):
            index = s.ctx.fresh("i")
            at = Var(index, "i64")
            s.facts.counter(index, "i64", head.limit)
            s.facts.runs(s.poly(head.limit))
            row = tuple(_row(s, x, at) for x in head.rows if isinstance(x, Arr))
            bind_pat(s, pat, row if components(pat.type) else ())
            return ir.ForLoop(index, "i64", head.bound, _unroll(s, e))
    return ir.WhileLoop(cond_name)


MOST_UNROLLED = 2000
"""Statements that a loop with `#[unroll]` may become, at most."""


def _unroll(s: Lowering, e: ty.Loop) -> int:
    return MOST_UNROLLED if "unroll" in s.ctx.asked((e.span,)) else 0


def _row(s: Lowering, array: Arr, at: SE) -> SE | Arr:
    """Return `array[at]`, unchecked."""
    if len(array.shape) == 1:
        return s.scalar(ir.Index(array.name, (at,)), array.prim, f"{base_of(array.name)}_el")
    exp = ir.Slice(array.name, (ir.DimFix(at), *full_slices(array.shape[1:])))
    return s.view(exp, array, array.shape[1:], f"{base_of(array.name)}_row")


RULES: dict[type, Lower] = {
    ty.Loop: _loop,
}
