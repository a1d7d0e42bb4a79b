"""Lower the monomorphic program to the core language: first-order, A-normal, no records.

Needs: `monomorphise` has run. Keeps: results and failures of every entry point. Gives: arrays of
primitives only (arrays of tuples become tuples of arrays), sizes as polynomials over explicit i64
parameters, and a check in front of whatever may fail.

Provenance: a statement has the span of the expression that it computes. Code of the prelude that
was inlined carries the user's call already; in functions of the prelude that are called, spans keep
their file, and inlining replaces them by the call's.

Note [Borrowed arrays]. A zip gives no new array in this representation, although the source takes
its result for fresh: both may be consumed. So its components are marked as borrowed, and are copied
before they are consumed. Two cases remain: a borrowed array that is used while its lender is
consumed, and a slice by an LMAD that has a cell twice: `copies.py` finds where functions that
have such arrays overwrite them.

Constants of the program are functions without parameters. An entry point evaluates those that it
needs once, at its start; other functions take them as leading parameters.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.rules import Pass
from compiler.frontend import typed as ty
from compiler.frontend.types import Size, SizeVar, Type, tuple_type
from compiler.ir import nodes as ir
from compiler.ir.aliases import of_body
from compiler.ir.nodes import I64, Function, Operand, Param, Prog
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.types import as_operand
from compiler.ir.walk import map_stms
from compiler.lower import arrays, branches, exps, invoke, loops
from compiler.lower.build import COPY, Lowering, origin
from compiler.lower.components import components
from compiler.lower.constants import Definitions, Lowered
from compiler.lower.copies import copy_before_writes
from compiler.lower.exps import bind_pat, component_names
from compiler.lower.payload_checks import check_payloads, told_by_payloads
from compiler.lower.payloads import fit_all, largest, name_of, payload_sizes
from compiler.lower.strided import with_steps
from compiler.lower.values import Arr, Component, Shape, Value, as_params, operand

_RULES = {**exps.RULES, **branches.RULES, **loops.RULES, **arrays.RULES, **invoke.RULES}

# --- definitions -------------------------------------------------------------------------------


def _definition(s: Lowering, code: ty.Def) -> Lowered:
    """Lower one definition."""
    s.prov = (code.span,)
    size_params: list[Param] = []
    told = told_by_payloads(code) if s.constants.is_entry else ()
    for name in code.size_params:
        if name in told:
            continue
        mine = s.name(name)
        s.sizes[name] = Poly.var(mine)
        size_params.append(Param(mine, I64))
    s.facts.oldest(param.name for param in size_params)
    params = _parameters(s, code, size_params, told)
    own = code.recursive and not s.constants.is_entry
    if own:
        s.own = code
        results = _declared_results(s, code)
        declared = Function(code.name, (*size_params, *params), results, ir.Body((), ()), False)
        s.constants.lowered[code.name] = Lowered(declared, (), tuple(s.extra))
        s.funs[code.name] = declared
    body = s.lower(code.body)
    s.prov = (code.span,)
    if own:
        heads, value = _as_declared(s, code, body)
    else:
        heads, results, value = _function_results(s, code, body)
    constants = (
        [] if s.constants.is_entry else [p for ps, _ in s.constants.needs.values() for p in ps]
    )
    if own and constants:
        held = tuple(as_operand(p) for p in constants)
        s.stms[:] = _with_constants(tuple(s.stms), code.name, held)
    implicit = len(size_params) if s.constants.is_entry else 0
    fun = Function(
        code.source_name if s.constants.is_entry else code.name,
        (*constants, *size_params, *params),
        results,
        ir.Body(
            (*s.constants.prologue, *s.stms),
            (*heads, *(operand(x) for x in value)),
            origin(code.body),
        ),
        s.constants.is_entry,
        implicit,
        (code.span,),
    )
    needs = () if s.constants.is_entry else tuple(s.constants.needs)
    return Lowered(fun, needs, tuple(s.extra), either=_one_of_arguments(s, fun, heads))


def _one_of_arguments(
    s: Lowering, fun: Function, heads: list[Operand]
) -> dict[Name, tuple[Poly, ...]]:
    """Return the results that are one of several argument sizes, with these."""
    params = {p.name for p in fun.params}
    found: dict[Name, tuple[Poly, ...]] = {}
    for result, head in zip(fun.results, heads, strict=False):
        size = None if isinstance(head, str) else poly_of(head)
        parts = s.one_of(size) if size is not None else frozenset()
        if parts and all(part.names() <= params for part in parts):
            found[result.name] = tuple(parts)
    return found


def _parameters(
    s: Lowering, code: ty.Def, size_params: list[Param], told: tuple[Name, ...]
) -> list[Param]:
    """Make the IR parameters, bound to the patterns of the definition.

    A size that no parameter to the left determines becomes a size parameter, checked in the body;
    sizes that payloads determine (`told`) are computed there.
    """
    params: list[Param] = []
    arguments: list[Component] = []
    in_scope = {p.name for p in size_params}
    for pat in code.params:
        pairs = component_names(s, pat)
        wanted = _declared_params(s, pat.type, len(params), size_params)
        in_scope.update(p.name for p in size_params)
        if not s.constants.is_entry:
            in_scope.update(p.name for held, _ in s.constants.needs.values() for p in held)
        numbered = enumerate(wanted, len(params))
        shapes = [_told(s, shape, k, in_scope, size_params) for k, shape in numbered]
        value = s.params([name for name, _ in pairs], pat.type, shapes)
        for component in value:
            if isinstance(component, Arr):
                learn = s.facts.given if s.constants.is_entry else s.facts.array
                learn(component.shape)
        new_params = as_params(value)
        s.facts.oldest(param.name for param in new_params)
        in_scope.update(p.name for p in new_params)
        params += [
            Param(p.name, p.type, unique and isinstance(p.type, ir.Array))
            for p, (_, unique) in zip(new_params, pairs, strict=True)
        ]
        fitting = value if shapes == wanted else fit_all(s, value, wanted, pat.type)
        arguments += fitting
        bind_pat(s, pat, fitting)
    if s.constants.is_entry:
        whole = tuple_type(tuple(pat.type for pat in code.params))
        s.bind_sizes(told, whole, tuple(arguments))
        check_payloads(s, tuple(arguments), whole)
    s.unique_params = frozenset(p.name for p in params if p.unique)
    s.param_names = {p.name for p in size_params} | {p.name for p in params}
    return params


def _declared_params(s: Lowering, t: Type, first: int, size_params: list[Param]) -> list[Shape]:
    """Return the declared shapes of a parameter; payload sizes come with it."""
    held: dict[Size, Poly] = {}
    for number, (_, dims, _) in enumerate(components(t), first):
        for at, dim in enumerate(dims):
            if dim in payload_sizes(t) and dim not in held:
                size_params.append(Param(s.ctx.fresh(name_of(dim)), I64))
                held[dim] = Poly.var(size_params[-1].name)
                s.payloads.append(held[dim])
                s.extra.append((number, at))
    return _shapes(s, t, held)


def _told(
    s: Lowering, shape: Shape, number: int, in_scope: set[Name], size_params: list[Param]
) -> Shape:
    """Return an argument's component's shape, in sizes determined by parameters to the left."""
    new = list(shape)
    for at, poly in enumerate(shape):
        if not poly.names() <= in_scope:
            size_params.append(Param(s.ctx.fresh("n"), I64))
            new[at] = Poly.var(size_params[-1].name)
            s.extra.append((number, at))
    return tuple(new)


def _declared_results(s: Lowering, code: ty.Def) -> tuple[Param, ...]:
    """Return the declared results of a recursive definition; all arrays are fresh."""
    own: tuple[Size, ...] = (*map(SizeVar, code.ext), *payload_sizes(code.ret))
    heads = [Param(s.ctx.fresh(name_of(size)), I64) for size in own]
    known = {size: Poly.var(p.name) for size, p in zip(own, heads, strict=True)}
    s.sizes.update({name: known[SizeVar(name)] for name in code.ext})
    shapes = _shapes(s, code.ret, known)
    results = as_params(s.params(s.names("res", code.ret), code.ret, shapes))
    for name in code.ext:
        del s.sizes[name]
    return (*heads, *(Param(p.name, p.type, isinstance(p.type, ir.Array)) for p in results))


def _shapes(s: Lowering, t: Type, known: dict[Size, Poly]) -> list[Shape]:
    """Return the declared shapes of a value, given some `known` sizes."""
    return [
        tuple(known[dim] if dim in known else s.size(dim) for dim in dims)
        for _, dims, _ in components(t)
    ]


def _as_declared(s: Lowering, code: ty.Def, body: Value) -> tuple[list[Operand], Value]:
    """Return the existential sizes, and the body's value in the declared shapes."""
    s.bind_sizes(code.ext, code.ret, body)
    held: dict[Size, Poly] = dict(largest(s, code.ret, [body]).items())
    value = fit_all(s, body, _shapes(s, code.ret, held), code.ret)
    aliased = _aliased(s, value)
    value = tuple(
        s.copied(x) if isinstance(x, Arr) and shared else x
        for x, shared in zip(value, aliased, strict=True)
    )
    return [se_of(p) for p in (*(s.sizes[name] for name in code.ext), *held.values())], value


def _with_constants(
    stms: tuple[ir.Stm, ...], name: Name, held: tuple[Operand, ...]
) -> tuple[ir.Stm, ...]:
    """Make the function's recursive calls pass on the constants that it is given."""
    return tuple(
        replace(stm, exp=replace(stm.exp, args=(*held, *stm.exp.args)))
        if isinstance(stm.exp, ir.Call) and stm.exp.fun == name
        else replace(stm, exp=map_stms(stm.exp, lambda inner: _with_constants(inner, name, held)))
        for stm in stms
    )


def _function_results(
    s: Lowering, code: ty.Def, body: Value
) -> tuple[list[Operand], tuple[Param, ...], Value]:
    """Return results with their declared sizes; existential sizes are results as well."""
    s.bind_sizes(code.ext, code.ret, body)
    declared = components(code.ret)
    locally: list[Shape] = []
    for (_, dims, _), component in zip(declared, body, strict=True):
        known = [s.known_size(d) for d in dims]
        actual = component.shape if isinstance(component, Arr) else ()
        locally.append(tuple(p or a for p, a in zip(known, actual, strict=True)))
    value = fit_all(s, body, locally, code.ret)
    heads, shapes = _result_sizes(s, code, locally)
    results = [Param(name, I64) for name in heads.values()]
    result_names = s.names("res", code.ret)
    params = as_params(s.params(result_names, code.ret, shapes))
    aliased = _aliased(s, value)
    if code.unique:
        value = tuple(
            s.copied(x) if isinstance(x, Arr) and shared else x
            for x, shared in zip(value, aliased, strict=True)
        )
        aliased = [False] * len(value)
    results += [
        Param(p.name, p.type, isinstance(p.type, ir.Array) and not shared)
        for p, shared in zip(params, aliased, strict=True)
    ]
    return [se_of(poly) for poly in heads], tuple(results), value


def _result_sizes(
    s: Lowering, code: ty.Def, locally: list[Shape]
) -> tuple[dict[Poly, Name], list[Shape]]:
    """Return the sizes that are results themselves, and the results' shapes in terms of them.

    These are existential sizes, and sizes that only local names can express.
    """
    heads: dict[Poly, Name] = {}
    for (_, dims, _), shape in zip(components(code.ret), locally, strict=True):
        for dim, poly in zip(dims, shape, strict=True):
            if isinstance(dim, SizeVar) and dim.name in code.ext:
                heads.setdefault(poly, s.ctx.fresh(dim.name))
                if not code.params:
                    s.constants.heads[dim.name] = (code.name, list(heads).index(poly))
    outside = s.param_names | set(heads.values())
    if not s.constants.is_entry:
        outside |= {p.name for held, _ in s.constants.needs.values() for p in held}
    rename = {p.as_name: Poly.var(h) for p, h in heads.items() if p.as_name is not None}
    rename = {name: h for name, h in rename.items() if name not in outside}
    shapes: list[Shape] = []
    for shape in locally:
        stated: list[Poly] = []
        for poly in shape:
            if poly not in heads and not poly.subst(rename).names() <= outside:
                heads[poly] = s.ctx.fresh("n")
                outside.add(heads[poly])
            stated.append(Poly.var(heads[poly]) if poly in heads else poly.subst(rename))
        shapes.append(tuple(stated))
    return heads, shapes


def _aliased(s: Lowering, value: Value) -> list[bool]:
    """Return for each result whether it may share memory with a parameter that is not consumed."""
    if not any(isinstance(x, Arr) for x in value):
        return [False] * len(value)
    taken, found = of_body(tuple(s.stms), tuple(operand(x) for x in value), s.funs)
    fresh = s.unique_params.union(taken)
    return [
        bool(names - fresh) or (isinstance(x, Arr) and x.borrowed)
        for x, names in zip(value, found, strict=True)
    ]


def soa(prog: ty.TypedProg, ctx: Ctx) -> Prog:
    """Lower a monomorphic program to stage `soa`."""
    definitions = Definitions()
    for code in prog.defs:
        s = Lowering(ctx, definitions, _RULES, code.is_entry)
        found = _definition(s, code)
        if s.shares:
            fun, doubled = copy_before_writes(found.fun, definitions, ctx)
            found = replace(found, fun=fun, doubled=doubled)
        definitions.lowered[code.name] = found
        definitions.funs[found.fun.name] = found.fun
    made = Prog(tuple(found.fun for found in definitions.lowered.values()))
    return with_steps(made, ctx.options.strides, ctx) if ctx.options.strides else made


SOA = Pass(
    "soa",
    "Turns arrays of tuples into tuples of arrays. Only its optimisations can be switched off.",
    soa,
    (arrays.BOUNDS, exps.SCRATCH, COPY),
)
