"""Lower calls of definitions."""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name, base_of
from compiler.frontend import typed as ty
from compiler.frontend.types import Size
from compiler.ir import nodes as ir
from compiler.ir.nodes import I64, SE, Operand, Param
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.types import as_operand
from compiler.lower.build import Lower, Lowering
from compiler.lower.components import PayloadSize, components
from compiler.lower.constants import Lowered
from compiler.lower.payloads import fit
from compiler.lower.soacs import intrinsic
from compiler.lower.values import Arr, Component, Value, instance_params, operand


def _apply(s: Lowering, e: ty.Apply, hint: Name) -> Value:
    """Lower a call of an intrinsic or of a definition."""
    fn = e.fn
    if not isinstance(fn, ty.Var):
        raise CompilerBug("a call of something without a name", e.span)
    if fn.name.startswith("intrinsics."):
        value = intrinsic(s, e, fn, hint)
    else:
        value = _call(s, e, fn, hint)
    s.bind_sizes(e.ext, e.type, value)
    return value


def _call(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower a call; sizes are passed first, and existential sizes are results.

    Variables are looked up last: they may be sizes that come with other arguments.
    """
    target = s.constants.lowered[fn.name]
    lowered = {k: s.lower(a) for k, a in enumerate(e.args) if not isinstance(a, ty.Var)}
    args = [
        component
        for k, a in enumerate(e.args)
        for component in (lowered[k] if k in lowered else s.lower(a))
    ]
    if s.own is not None and fn.name == s.own.name:
        leading = s.own.params[: len(s.own.params) - len(e.args)]
        brought = [x for p in leading if isinstance(p, ty.PVar) for x in s.env[p.name]]
        args = [*brought, *args]
    sizes = [se_of(s.size(size)) for size in fn.size_args]
    s.prov = (e.span,)
    dims = [dims for a in e.args for _, dims, _ in components(a.type)]
    given: list[Component] = [*sizes, *(_size_of(args[k], at) for k, at in target.extra), *args]
    constants = [p for c in target.needs for p in s.constant_params(c)]
    params = target.fun.params
    mapping = {
        param.name: Poly.var(actual.name)
        for param, actual in zip(params[: len(constants)], constants, strict=True)
    }
    operands: list[Operand] = [as_operand(p) for p in constants]
    declared = [*[()] * (len(given) - len(dims)), *dims]
    for param, component, own in zip(params[len(constants) :], given, declared, strict=True):
        operands.append(operand(_argument(s, param, component, own, mapping)))
    return _results(s, target, tuple(operands), mapping, e, hint)


def _argument(
    s: Lowering,
    param: Param,
    component: Component,
    dims: tuple[Size, ...],
    mapping: dict[Name, Poly],
) -> Component:
    """Convert an argument for its parameter; `mapping` has the sizes to its left.

    `dims` are the sizes of its own type, unknown for a variant that is never chosen.
    """
    if isinstance(component, Arr):
        assert isinstance(param.type, ir.Array)
        shape = tuple(s.put_in(p, mapping) for p in param.type.shape)
        always = any(isinstance(dim, PayloadSize) and dim.always for dim in dims)
        fitting = fit(s, component, shape, dims) if always else s.expect(component, shape)
        if param.unique and isinstance(fitting, Arr) and fitting.borrowed:
            return s.copied(fitting)
        return fitting
    if param.type != I64:
        return component
    poly = poly_of(component)
    if poly is None:
        component = s.atom(component, base_of(param.name))
        poly = poly_of(component)
    if poly is not None:
        mapping[param.name] = poly.put_in(s.defined)
    return component


def _results(
    s: Lowering,
    target: Lowered,
    operands: tuple[Operand, ...],
    mapping: dict[Name, Poly],
    e: ty.Apply,
    hint: Name,
) -> Value:
    """Emit the call; return results with shapes in the caller's names."""
    fun = target.fun
    s.shares = s.shares or any(target.doubled)
    extra = len(fun.results) - len(components(e.type))
    names = [s.name(base_of(p.name)) for p in fun.results[:extra]]
    names += s.names(hint or "r", e.type)
    pat, value = instance_params(fun.results, names, mapping, s.put_in)
    s.emit(pat, ir.Call(fun.name, operands))
    for head, parts in target.either.items():
        name = mapping[head].as_name
        assert name is not None
        s.either[name] = tuple(part.subst(mapping) for part in parts)
    for component in value:
        if isinstance(component, Arr):
            s.facts.array(component.shape)
    shared = [p.name for p in fun.results if isinstance(p.type, ir.Array) and not p.unique]
    if len(shared) < 2:
        return value[extra:]
    return tuple(
        s.borrowed(x) if isinstance(x, Arr) and p.name in shared else x
        for x, p in zip(value[extra:], fun.results[extra:], strict=True)
    )


def _size_of(component: Component, at: int) -> SE:
    assert isinstance(component, Arr)
    return se_of(component.shape[at])


RULES: dict[type, Lower] = {
    ty.Apply: _apply,
}
