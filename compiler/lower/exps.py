"""Lower scalars, records and bindings."""

from __future__ import annotations

import numpy as np

from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompilerBug
from compiler.base.names import Name, base_of
from compiler.base.prim import BYTES, FLOATS, INTS, SIGNED, UNSIGNED, Prim, int_range
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.frontend import typed as ty
from compiler.frontend.types import PrimT, Record, Size, Sum, Type
from compiler.ir import nodes as ir
from compiler.ir.build import both, either
from compiler.ir.may_fail import is_division, operator_may_fail
from compiler.ir.nodes import FALSE, SE, Bin, Conv, Fun, Lit, Un
from compiler.ir.sizes import prim_of, se_of
from compiler.lower.build import Lower, Lowering, origin
from compiler.lower.components import PayloadSize, components, field_at, payload_dims, sum_slots
from compiler.lower.payload_checks import check_payloads
from compiler.lower.payloads import as_brought, fit, fit_all, shapes_of, zeros
from compiler.lower.values import Arr, Shape, Value

SCRATCH = Rule(
    "soa/scratch", "Does not initialise an array whose first contents do not matter (`#[scratch]`)."
)
RULES: dict[type, Lower] = {}


def literal(value: int | float | bool, prim: Prim) -> Lit:
    """Return a literal, wrapped or rounded to its type."""
    if prim == "bool":
        return Lit(bool(value), prim)
    if prim == "f64":
        return Lit(float(value), prim)
    if prim in FLOATS:
        with np.errstate(over="ignore"):
            return Lit(float(DTYPE[prim].type(value)), prim)
    low, high = int_range(prim)
    return Lit((int(value) - low) % (high - low + 1) + low, prim)


# --- scalars -----------------------------------------------------------------------------------


@handles(RULES, ty.Const)
def _const(s: Lowering, e: ty.Const, hint: Name) -> Value:
    """Lower a literal."""
    if not isinstance(e.type, PrimT):
        raise CompilerBug("a literal of no primitive type", e.span)
    return (literal(e.value, e.type.prim),)


@handles(RULES, ty.Var)
def _var(s: Lowering, e: ty.Var, hint: Name) -> Value:
    """Lower a variable, a size, or a constant of the program."""
    value = s.env.get(e.name)
    if value is not None:
        return value
    poly = s.sizes.get(e.name)
    if poly is not None:
        return (se_of(poly),)
    value = s.constant(e.name)
    if value is None:
        raise CompilerBug(f"{e.name} is not in scope", e.span)
    return value


def se(s: Lowering, e: ty.Exp, hint: Name = "") -> SE:
    """Lower an expression of primitive type."""
    component = s.lower(e, hint)[0]
    if isinstance(component, Arr):
        raise CompilerBug("an array where a scalar should be", e.span)
    return component


@handles(RULES, ty.PrimOp)
def _prim_op(s: Lowering, e: ty.PrimOp, hint: Name) -> Value:
    """Lower an operator; division and powers of integers are guarded."""
    args = [se(s, a) for a in e.args]
    s.prov = (e.span,)
    if len(args) == 1:
        return (Un(e.op, e.at, args[0]),)
    lhs, rhs = args
    if is_division(e.op, e.at):
        if operator_may_fail(e.op, e.at, rhs):
            rhs = s.atom(rhs)
            s.check(Bin("!=", e.at, rhs, Lit(0, e.at)), ("division by zero",))
    elif e.op == "**" and e.at in SIGNED and not (isinstance(rhs, Lit) and rhs.value >= 0):
        rhs = s.atom(rhs)
        s.check(Bin("<=", e.at, Lit(0, e.at), rhs), ("Negative exponent.",))
    elif e.op == "&&":
        return (both(lhs, rhs),)
    elif e.op == "||":
        return (either(lhs, rhs),)
    return (Bin(e.op, e.at, lhs, rhs),)


@handles(RULES, ty.PrimFun)
def _prim_fun(s: Lowering, e: ty.PrimFun, hint: Name) -> Value:
    """Lower a built-in function."""
    return (Fun(e.fun, e.at, tuple(se(s, a) for a in e.args)),)


@handles(RULES, ty.Convert)
def _convert(s: Lowering, e: ty.Convert, hint: Name) -> Value:
    """Lower a conversion; widening to an unsigned type zero-extends the bits."""
    arg = se(s, e.exp, hint)
    src = prim_of(arg)
    if src == e.to:
        return (arg,)
    if isinstance(arg, Lit) and src in INTS and e.to in INTS and arg.value >= 0:
        return (literal(arg.value, e.to),)
    if src in SIGNED and e.to in UNSIGNED and BYTES[src] < BYTES[e.to]:
        same_width: Prim = UNSIGNED[SIGNED.index(src)]
        return (Conv(same_width, e.to, Conv(src, same_width, arg)),)
    return (Conv(src, e.to, arg),)


# --- records and sums --------------------------------------------------------------------------


@handles(RULES, ty.RecordExp)
def _record(s: Lowering, e: ty.RecordExp, hint: Name) -> Value:
    """Lower a record: fields in the type's order, evaluated as written."""
    found = {
        name: s.lower(x, _field_hint(s, hint, name) if len(e.fields) > 1 else hint)
        for name, x in e.fields
    }
    if not isinstance(e.type, Record):
        raise CompilerBug("a record of no record type", e.span)
    return tuple(component for name, _ in e.type.fields for component in found[name])


def _field_hint(s: Lowering, hint: Name, field: str) -> Name:
    """Return the name hint for a field's value."""
    if not hint:
        return "" if field.isdigit() else field
    return f"{base_of(hint)}{'' if field.isdigit() else '_'}{field}"


@handles(RULES, ty.Project)
def _project(s: Lowering, e: ty.Project, hint: Name) -> Value:
    """Return a field's components."""
    value = s.lower(e.exp, hint)
    if not isinstance(e.exp.type, Record):
        raise CompilerBug("a field of no record", e.span)
    start, end = field_at(e.exp.type, e.field)
    return value[start:end]


@handles(RULES, ty.RecordUpdate)
def _record_update(s: Lowering, e: ty.RecordUpdate, hint: Name) -> Value:
    """Replace the components of one field."""
    value, new = s.lower(e.exp), s.lower(e.value, hint)
    start, end, t = 0, len(value), e.exp.type
    for field in e.path:
        if not isinstance(t, Record):
            raise CompilerBug("a field of no record", e.span)
        first, last = field_at(t, field)
        start, end, t = start + first, start + last, dict(t.fields)[field]
    return value[:start] + new + value[end:]


@handles(RULES, ty.Constr)
def _constr(s: Lowering, e: ty.Constr, hint: Name) -> Value:
    """Lower a constructor: the tag, then the payload in its slots.

    Other slots are empty or zeros.
    """
    if not isinstance(e.type, Sum):
        raise CompilerBug("a variant of no sum type", e.span)
    given = [component for x in e.args for component in s.lower(x)]
    slots, uses = sum_slots(e.type)
    tag = [name for name, _ in e.type.variants].index(e.name)
    filled = dict(zip(uses[tag], given, strict=True))
    result: list[SE | Arr] = [Lit(tag, "i8")]
    payload = dict(zip(uses[tag], payload_dims(e.type.variants[tag][1]), strict=True))
    for k, (prim, dims, _) in enumerate(slots):
        if k not in filled:
            result.append(zeros(s, prim, _known_or_none(s, dims)))
            continue
        have = filled[k]
        (own,) = shapes_of((have,))
        shape = as_brought(s, s.stated(own, payload[k]), dims)
        result.append(fit(s, have, shape, payload[k]))
    return tuple(result)


def _known_or_none(s: Lowering, dims: tuple[Size, ...]) -> Shape:
    """Return known sizes, 0 for unknown ones."""
    known = [s.known_size(dim) for dim in dims]
    return tuple(Poly.const(0) if size is None else size for size in known)


def _blank(s: Lowering, t: Type) -> Value:
    """Make an unused value, with sizes 0 where they are unknown."""
    return tuple(zeros(s, prim, _known_or_none(s, dims)) for prim, dims, _ in components(t))


# --- bindings ----------------------------------------------------------------------------------


@handles(RULES, ty.Let)
def _let(s: Lowering, e: ty.Let, hint: Name) -> Value:
    """Lower a chain of bindings, then the body."""
    rest: ty.Exp = e
    while isinstance(rest, ty.Let):
        _bind_let(s, rest.sizes, rest.pat, rest.rhs)
        rest = rest.body
    return s.lower(rest, hint)


def _bind_let(s: Lowering, sizes: tuple[Name, ...], pat: ty.Pat, rhs: ty.Exp) -> None:
    """Lower one binding."""
    value = s.lower(rhs, pat_hint(s, pat))
    s.prov = (rhs.span, *(span for span in origin(rhs) if not rhs.span.holds(span)))
    s.bind_sizes(sizes, pat.type, value)
    bind_pat(s, pat, value)


def pat_hint(s: Lowering, pat: ty.Pat) -> Name:
    """Return the name of a pattern that is a variable."""
    return pat.name if isinstance(pat, ty.PVar) else ""


def bind_pat(s: Lowering, pat: ty.Pat, value: Value) -> None:
    """Bind a pattern's names to components; compound scalars get a name."""
    if isinstance(pat, ty.PVar):
        names = [pat.name] if len(value) == 1 else [base_of(pat.name)] * len(value)
        ends = components(pat.type)
        s.env[pat.name] = tuple(
            component
            if isinstance(component, Arr)
            else s.let(component, name if len(value) == 1 else f"{name}{end}")
            for component, name, (_, _, end) in zip(value, names, ends, strict=True)
        )
    elif isinstance(pat, ty.PRecord):
        start = 0
        for _, inner in pat.fields:
            end = start + len(components(inner.type))
            bind_pat(s, inner, value[start:end])
            start = end
    elif isinstance(pat, ty.PConstr):
        _bind_constr(s, pat, value)


def _bind_constr(s: Lowering, pat: ty.PConstr, value: Value) -> None:
    """Bind a variant's payload."""
    assert isinstance(pat.type, Sum)
    _, uses = sum_slots(pat.type)
    tag = [name for name, _ in pat.type.variants].index(pat.name)
    held = tuple(value[1 + k] for k in uses[tag])
    declared = payload_dims(tuple(inner.type for inner in pat.args))
    payload = tuple(
        fit(s, x, s.stated(own, dims), dims)
        for x, own, dims in zip(held, shapes_of(held), declared, strict=True)
    )
    start = 0
    for inner in pat.args:
        end = start + len(components(inner.type))
        bind_pat(s, inner, payload[start:end])
        start = end


def component_names(s: Lowering, pat: ty.Pat) -> list[tuple[Name, bool]]:
    """Return for each component of a parameter a new name, and whether it may be consumed."""
    if isinstance(pat, ty.PRecord):
        return [pair for _, inner in pat.fields for pair in component_names(s, inner)]
    hint = pat.name if isinstance(pat, ty.PVar) else "unused"
    unique = isinstance(pat, ty.PVar) and pat.consumes
    return [(n, unique) for n in s.names(hint, pat.type)]


# --- the rest ----------------------------------------------------------------------------------


@handles(RULES, ty.Assert)
def _assert_exp(s: Lowering, e: ty.Assert, hint: Name) -> Value:
    """Lower the program's own assertion."""
    cond = se(s, e.cond)
    s.prov = (e.span,)
    s.check(cond, (f"Assertion is false: {e.text}",))
    return s.lower(e.exp, hint)


@handles(RULES, ty.Hole)
def _hole(s: Lowering, e: ty.Hole, hint: Name) -> Value:
    """Lower a typed hole to a failure, even if checks are dropped."""
    s.prov = (e.span,)
    unsafe, s.unsafe = s.unsafe, False
    s.check(FALSE, (f"Reached a hole of type {e.text}.",))
    s.unsafe = unsafe
    return _blank(s, e.type)


@handles(RULES, ty.Attr)
def _attr(s: Lowering, e: ty.Attr, hint: Name) -> Value:
    """Lower attributes: `unsafe`, `blank`, `scratch`, and tuning parameters.

    `unsafe` drops checks if the options allow it. A `blank` value is not computed; its sizes must
    be known without it. Arrays that are `scratch` have any contents, if the options allow it. A
    tuning parameter that has a value has that value. Other attributes do not matter here.
    """
    if e.attr == "blank":
        s.prov = (e.span,)
        if all(_is_known(s, dim) for _, dims, _ in components(e.type) for dim in dims):
            return _blank(s, e.type)
    tuned = dict(s.ctx.options.thresholds).get(e.parameter)
    if tuned is not None and e.type == PrimT("i64"):
        return (literal(tuned, "i64"),)
    if e.attr == "scratch":
        return _scratch(s, e, hint)
    if e.attr == "unsafe" and s.ctx.options.unsafe and not s.unsafe:
        s.unsafe = True
        value = s.lower(e.exp, hint)
        s.unsafe = False
        return value
    return s.lower(e.exp, hint)


def _is_known(s: Lowering, dim: Size) -> bool:
    return isinstance(dim, PayloadSize) or s.known_size(dim) is not None


def _scratch(s: Lowering, e: ty.Attr, hint: Name) -> Value:
    """Note [Arrays that nobody has written].

    `#[scratch] e` is arrays of the sizes of `e` whose contents do not matter until the program
    writes them; its scalars and its checks stay. The code of the contents is then dead. A program
    that reads a cell before writing it would find what was in memory before, of other runs as well,
    so this needs the option that drops checks, which no server accepts. Without it the contents are
    those of `e`: one of the values that the program allows.
    """
    value = s.lower(e.exp, hint)
    s.prov = (e.span,)
    if not any(isinstance(x, Arr) for x in value):
        return value
    outcome: Outcome[bool]
    if s.ctx.options.unsafe:
        outcome = Applied(
            True,
            "The program says that the contents do not matter, so the array is not initialised.",
        )
    else:
        outcome = Missed(
            "The program says that the contents do not matter, but reading them would "
            "reveal earlier contents of memory, so the array is initialised.",
            "Compile with `--unsafe` to skip the initialisation.",
        )
    return unwritten(s, value, hint) if s.ctx.commit(SCRATCH, s.prov, outcome) else value


def unwritten(s: Lowering, value: Value, hint: Name) -> Value:
    """Make uninitialised arrays of the shapes in `value`; keep its scalars."""
    return tuple(
        s.array(ir.Scratch(x.prim, x.shape), x.prim, x.shape, hint or base_of(x.name))
        if isinstance(x, Arr)
        else x
        for x in value
    )


@handles(RULES, ty.Coerce)
def _coerce(s: Lowering, e: ty.Coerce, hint: Name) -> Value:
    """Lower a coercion: check at run time that sizes are as stated."""
    value = s.lower(e.exp, hint)
    s.prov = (e.span,)
    return _retype(s, value, e.type)


def _retype(s: Lowering, value: Value, t: Type) -> Value:
    """Give `value` the sizes that `t` declares; payloads as far as their variants are present."""
    shapes = shapes_of(value)
    for k, (_, dims, _) in enumerate(components(t)):
        pairs = zip(shapes[k], dims, strict=True)
        shapes[k] = tuple(p if isinstance(d, PayloadSize) else s.size(d) for p, d in pairs)
    check_payloads(s, value, t)
    return fit_all(s, value, shapes, t)
