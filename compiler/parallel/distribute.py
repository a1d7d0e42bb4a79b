"""Taking nests apart: every parallel operator becomes kernels over the whole nest around it.

    map (fn x => let y = f x in reduce op ne (g y)) xs
      ==>  ys = segmap (i < n) { f xs[i] };  segred (i < n, j < m) { (g ys[i])[j] }

`nest_body` is the heart: it looks at what a nest of maps computes at each point and makes one
kernel of it (nothing parallel inside), goes on inside (a perfect nest), or makes versions: one
that uses only the nest, and one that is cut into kernels (`plan.py`). All functions return the
statements to run where kernels are launched, and for every result the array that holds it over
the nest's dimensions. (Thesis, section 7.2.2.)
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import Prov, merge_prov
from compiler.ir.aliases import consumed_params
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import (
    FALSE,
    SE,
    Body,
    Concat,
    Copy,
    ForLoop,
    Hist,
    If,
    Iota,
    Lambda,
    Lit,
    Loop,
    Map,
    Operand,
    Param,
    Reduce,
    Replicate,
    Scalar,
    Scan,
    Scatter,
    Stm,
    Type,
    Update,
    Var,
)
from compiler.ir.types import as_operand, with_dims
from compiler.ir.walk import rename
from compiler.parallel import operators, versions
from compiler.parallel.analyse import has_parallelism
from compiler.parallel.nest import (
    At,
    Nest,
    Scope,
    emit,
    indices,
    is_empty,
    out_params,
    seg_map,
    widths,
)
from compiler.parallel.plan import Group, Plan, offers_parallelism, plan, returns_views
from compiler.parallel.sequentialise import SOACS
from compiler.parallel.whole import concat, spread, update, whole

NEST = Rule(
    "flatten/nest", "Makes one kernel of nested maps, as there must be one.", optional=False
)
DISTRIBUTE = Rule(
    "flatten/distribute", "Cuts the body of a map into pieces, each a kernel of its own."
)

Wish = Sequence[Name | None]
Made = tuple[list[Stm], list[Name]]
"""Statements, and for each result the name that holds it."""


# --- where kernels are launched --------------------------------------------------------------


def host_stms(sc: Scope, stms: tuple[Stm, ...]) -> list[Stm]:
    """Statements outside any kernel: operators become kernels, loops and branches stay."""
    out: list[Stm] = []
    for stm in stms:
        sc.note(stm)
        exp = stm.exp
        if type(exp) in SOACS:
            out.extend(_host_soac(sc, stm))
        elif isinstance(exp, Loop):
            sc.bind(exp.params)
            sc.owned.update(p.name for p in exp.params if p.unique)
            if isinstance(exp.form, ForLoop):
                sc.host.add(exp.form.index)
            body = host_body(sc, exp.body)
            out.append(Stm(stm.pat, Loop(exp.params, exp.init, exp.form, body), stm.prov))
        elif isinstance(exp, If):
            then, orelse = host_body(sc, exp.then), host_body(sc, exp.orelse)
            out.append(Stm(stm.pat, If(exp.cond, then, orelse), stm.prov))
        elif sc.level == "block" and isinstance(exp, Copy | Iota | Replicate):
            out.extend(spread(sc, stm))
        else:
            out.append(stm)
        sc.bind(stm.pat)
    return out


def host_body(sc: Scope, body: Body) -> Body:
    """A body outside any kernel."""
    return Body(tuple(host_stms(sc, body.stms)), body.results)


def _host_soac(sc: Scope, stm: Stm) -> list[Stm]:
    wish = [p.name for p in stm.pat]
    stms, names = flatten_stm(sc, (), stm, wish)
    for param, name in zip(stm.pat, names, strict=True):
        if name != param.name:
            stms.append(emit(sc, (param,), Copy(name), stm.prov))
    return stms


# --- the inside of a nest --------------------------------------------------------------------


def nest_body(
    sc: Scope, nest: Nest, body: Body, returns: tuple[Type, ...], wish: Wish, prov: Prov
) -> Made:
    """What the maps of `nest` compute at each point, as kernels."""
    offers = offers_parallelism(sc, nest, body)
    if not offers and not returns_views(sc, body):
        if len(nest) > 1:
            because = f"The {len(nest)} nested maps are one kernel over all their points."
            sc.ctx.tell("applied", NEST, prov, because)
        return outer_only(sc, nest, body, returns, wish, prov)
    pieces = plan(sc, nest, body, returns)
    if not offers and (pieces is None or not pieces.is_perfect):
        return outer_only(sc, nest, body, returns, wish, prov)
    if pieces is None:
        because = (
            "A value between the inner parallel operators has another size at every element of "
            "the outer map, so it cannot be stored in one array; each thread runs all of it."
        )
        sc.ctx.tell("missed", DISTRIBUTE, prov, because)
        return outer_only(sc, nest, body, returns, wish, prov)
    if pieces.is_perfect and _continues(pieces):
        made = distribute(sc, nest, body, returns, wish, prov, pieces)
        return own_results(sc, nest, made, returns, wish, prov)
    if not sc.versions or not _may_cut(sc, pieces, prov):
        return outer_only(sc, nest, body, returns, wish, prov)
    spare = rename(body, sc.ctx.fresh)

    def full(inner: Scope, names: Wish) -> Made:
        made = distribute(inner, nest, body, returns, names, prov, pieces)
        return own_results(inner, nest, made, returns, names, prov)

    def outer(inner: Scope, names: Wish) -> Made:
        return outer_only(inner, nest, spare, returns, names, prov)

    def block(inner: Scope) -> list[Stm]:
        return host_stms(inner, spare.stms)

    return versions.choose(sc, nest, spare, returns, wish, prov, (outer, block, full))


def _continues(pieces: Plan) -> bool:
    """Whether the single parallel statement of a plan is a map, or makes an array."""
    inner = [step for steps in pieces.parallel for step in steps]
    return all(isinstance(step.stm.exp, Map | Concat | Update | Copy) for step in inner)


def outer_only(
    sc: Scope, nest: Nest, body: Body, returns: tuple[Type, ...], wish: Wish, prov: Prov
) -> Made:
    """One kernel with a thread per point of the nest; what is parallel inside becomes loops."""
    pat = out_params(sc, widths(nest), returns, wish)
    stms = seg_map(sc, nest, body.stms, body.results, pat, returns, prov)
    return stms, [p.name for p in pat]


def own_results(
    sc: Scope, nest: Nest, made: Made, returns: tuple[Type, ...], wish: Wish, prov: Prov
) -> Made:
    """The same with copies of results that are views of arrays from elsewhere."""
    stms, names = made
    taken = {param.name for stm in stms for param in stm.pat}
    result: list[Name] = []
    own = _are_own(sc, made)
    for at, (name, type_) in enumerate(zip(names, returns, strict=True)):
        if not own[at]:
            free_wish = None if wish[at] in taken else wish[at]
            (param,) = out_params(sc, widths(nest), (type_,), (free_wish,))
            stms.append(emit(sc, (param,), Copy(name), prov))
            name = param.name
        result.append(name)
    return stms, result


def _are_own(sc: Scope, made: Made) -> list[bool]:
    """Which results are arrays that the statements have made themselves, each only once."""
    stms, names = made
    bound_here = {param.name for stm in stms for param in stm.pat}
    return [
        name in sc.owned and name in bound_here and name not in names[:at]
        for at, name in enumerate(names)
    ]


def distribute(
    sc: Scope,
    nest: Nest,
    body: Body,
    returns: tuple[Type, ...],
    wish: Wish,
    prov: Prov,
    pieces: Plan,
) -> Made:
    """Run the pieces of a plan one after another, each over the whole nest."""
    here = indices(nest)
    out = list(pieces.hoisted)
    for stm in pieces.hoisted:
        sc.bind(stm.pat)
    for name, step in pieces.again.items():
        sc.sources.setdefault(name, step.stm)
    wished = {
        value.name if isinstance(value, Var) else value: name
        for value, name in zip(reversed(body.results), reversed(wish), strict=True)
        if isinstance(value, Var | str)
    }
    held: dict[int, Name] = {}
    for group, steps in zip(pieces.groups, pieces.parallel, strict=True):
        if group.results or any(step.kind == "group" for step in group.steps):
            out.extend(_group_kernel(sc, nest, group, wish, held, prov))
        for step in steps:
            names = [wished.get(p.name) or sc.ctx.fresh(p.name) for p in step.stm.pat]
            stms, made = flatten_stm(sc, nest, step.stm, names)
            out.extend(stms)
            for param, name in zip(step.stm.pat, made, strict=True):
                sc.sources[param.name] = At(name, here)
    found: list[Name] = []
    for position, (value, type_) in enumerate(zip(body.results, returns, strict=True)):
        if position in held:
            found.append(held[position])
            continue
        stms, name = whole(sc, nest, value, type_, False, wish[position], prov)
        out.extend(stms)
        found.append(name)
    return out, found


def _group_kernel(
    sc: Scope, nest: Nest, group: Group, wish: Wish, held: dict[int, Name], prov: Prov
) -> list[Stm]:
    """The kernel of a sequential group; `held` gets the results of the body that it makes."""
    values: list[Operand] = [value for _, value, _ in group.results]
    types: list[Type] = [type_ for _, _, type_ in group.results]
    names: list[Name | None] = [wish[position] for position, _, _ in group.results]
    for param in group.stored:
        values.append(as_operand(param))
        types.append(param.type)
        names.append(sc.ctx.fresh(param.name))
    pat = out_params(sc, widths(nest), types, names)
    stms = tuple(step.stm for step in group.steps)
    where = merge_prov(*(s.prov for s in stms)) or prov
    made = seg_map(sc, nest, stms, tuple(values), pat, tuple(types), where)
    for (position, _, _), param in zip(group.results, pat, strict=False):
        held[position] = param.name
    for param, array in zip(group.stored, pat[len(group.results) :], strict=True):
        sc.sources[param.name] = At(array.name, indices(nest))
    return made


def _may_cut(sc: Scope, pieces: Plan, prov: Prov) -> bool:
    """Whether a body may be cut into pieces, with a remark that says so."""
    parallel = sum(map(len, pieces.parallel))
    groups = sum(any(s.kind == "group" for s in g.steps) or bool(g.results) for g in pieces.groups)
    if parallel + groups < 2:
        return True
    stored = pieces.between
    what = f"{stored or 'no'} {'value is' if stored == 1 else 'values are'}"
    because = (
        f"The body is cut into {parallel + groups} pieces that run one after another over all "
        f"elements; {what} stored in arrays between them."
    )
    return sc.ctx.commit(DISTRIBUTE, prov, Applied(True, because)) is not None


# --- single statements -----------------------------------------------------------------------


def flatten_stm(sc: Scope, nest: Nest, stm: Stm, wish: Wish) -> Made:
    """A parallel statement inside a nest (or outside any, if it is empty)."""
    match stm.exp:
        case Map(width, fn, arrays):
            inner = enter_map(sc, nest, width, fn, arrays)
            return nest_body(sc, inner, fn.body, fn.returns, wish, stm.prov)
        case Reduce() | Scan() | Scatter() | Hist():
            return _fold(sc, nest, stm, wish)
        case Loop():
            return _interchange_loop(sc, nest, stm, stm.exp, wish)
        case If():
            return _interchange_if(sc, nest, stm, stm.exp, wish)
        case Update():
            return update(sc, nest, stm, stm.exp, wish)
        case Concat():
            return concat(sc, nest, stm, stm.exp, wish)
        case Copy(array):
            stms, name = whole(sc, nest, array, stm.pat[0].type, False, wish[0], stm.prov)
            return own_results(sc, nest, (stms, [name]), _types(stm.pat), wish, stm.prov)
    raise AssertionError(type(stm.exp))


def enter_map(sc: Scope, nest: Nest, width: Poly, fn: Lambda, arrays: tuple[Name, ...]) -> Nest:
    """The nest inside a map; the lambda's parameters are rows of the arrays."""
    level = sc.enter(nest, width)
    for param, array in zip(fn.params, arrays, strict=True):
        sc.sources[param.name] = At(array, (level.index,))
        sc.types[param.name] = param.type
    return (*nest, level)


def _fold(sc: Scope, nest: Nest, stm: Stm, wish: Wish) -> Made:
    """A reduction, scan, scatter or histogram."""
    swapped = operators.interchange(sc, stm)
    if swapped is not None:
        return _run(sc, nest, swapped, stm, wish)
    exp = stm.exp
    assert isinstance(exp, Reduce | Scan | Scatter | Hist)
    level = sc.enter(nest, exp.width)
    if not has_parallelism(sc, (*nest, level), exp.fn.body.stms) or consumed_params(exp.fn):
        return operators.kernel(sc, nest, stm, wish)
    split = operators.split_map(sc, stm)
    if not sc.versions:
        if sc.level == "grid":
            return _run(sc, nest, split, stm, wish)
        return operators.kernel(sc, nest, stm, wish)
    spare = Stm(stm.pat, rename(stm.exp, sc.ctx.fresh), stm.prov)
    returns = tuple(p.type for p in stm.pat)

    def outer(inner: Scope, names: Wish) -> Made:
        return operators.kernel(inner, nest, spare, names)

    def full(inner: Scope, names: Wish) -> Made:
        return _run(inner, nest, split, stm, names)

    inside = (*nest, level)
    return versions.choose(
        sc, inside, Body((), ()), returns, wish, stm.prov, (outer, None, full), widths(nest)
    )


def _run(sc: Scope, nest: Nest, stms: tuple[Stm, ...], old: Stm, wish: Wish) -> Made:
    """Statements that take the place of `old`, in the same nest; they bind the same names."""
    returns = tuple(p.type for p in old.pat)
    results = tuple(map(as_operand, old.pat))
    if nest:
        body = Body(stms, results)
        pieces = plan(sc, nest, body, returns)
        assert pieces is not None
        return distribute(sc, nest, body, returns, wish, old.prov, pieces)
    fresh = {p.name: name or sc.ctx.fresh(p.name) for p, name in zip(old.pat, wish, strict=True)}
    renamed = rename(stms, sc.ctx.fresh, fresh)
    return host_stms(sc, renamed), [fresh[p.name] for p in old.pat]


def _interchange_loop(sc: Scope, nest: Nest, stm: Stm, loop: Loop, wish: Wish) -> Made:
    """`map (fn x => loop p = init for i < k do body)` becomes `loop ps = inits for i < k do map`.

    The loop's parameters become arrays over the nest.
    """
    out: list[Stm] = []
    params: list[Param] = []
    inits: list[Operand] = []
    made_here: list[bool] = []
    for param, init in zip(loop.params, loop.init, strict=True):
        stms, start = whole(sc, nest, init, param.type, param.unique, None, stm.prov)
        out.extend(stms)
        made_here.append(bool(stms))
        type_ = with_dims(widths(nest), param.type)
        params.append(Param(sc.ctx.fresh(param.name), type_, param.unique))
        inits.append(start)
        sc.sources[param.name] = At(params[-1].name, indices(nest))
        sc.types[param.name] = param.type
    sc.bind(params)
    sc.owned.update(p.name for p in params if p.unique)
    assert isinstance(loop.form, ForLoop)
    sc.host.add(loop.form.index)
    returns = tuple(p.type for p in loop.params)
    pieces = plan(sc, nest, loop.body, returns)
    if pieces is None or not _may_cut(sc, pieces, stm.prov):
        alone = Body((stm,), tuple(map(as_operand, stm.pat)))
        return outer_only(sc, nest, alone, _types(stm.pat), wish, stm.prov)
    names = [sc.ctx.fresh(p.name) for p in params]
    made = distribute(sc, nest, loop.body, returns, names, stm.prov, pieces)
    if any(p.unique for p in params):
        made = own_results(sc, nest, made, returns, names, stm.prov)
    body = Body(tuple(made[0]), tuple(made[1]))
    # What a loop returns may be what it began with, unless that was made for the loop alone.
    own = [new and mine for new, mine in zip(made_here, _are_own(sc, made), strict=True)]
    params = [Param(p.name, p.type, p.unique or o) for p, o in zip(params, own, strict=True)]
    # A view does not get the name that is wished for: its copy will.
    kept = [name if p.unique else None for name, p in zip(wish, params, strict=True)]
    pat = out_params(sc, widths(nest), _types(stm.pat), kept)
    views = [bind.name for bind, p in zip(pat, params, strict=True) if not p.unique]
    bound = _guarded(sc, nest, loop.form.bound, Lit(0, loop.form.prim), out, stm.prov)
    form = ForLoop(loop.form.index, loop.form.prim, bound)
    exp = Loop(tuple(params), tuple(inits), form, body)
    out.append(emit(sc, pat, exp, stm.prov))
    sc.owned.difference_update(views)
    return out, [p.name for p in pat]


def _interchange_if(sc: Scope, nest: Nest, stm: Stm, exp: If, wish: Wish) -> Made:
    """`map (fn x => if c then a else b)` becomes `if c then map a else map b`; c is invariant."""
    returns = _types(stm.pat)
    bodies: list[Body] = []
    views: set[int] = set()
    for body in (exp.then, exp.orelse):
        pieces = plan(sc, nest, body, returns)
        names = [sc.ctx.fresh(p.name) for p in stm.pat]
        if pieces is None or not _may_cut(sc, pieces, stm.prov):
            made = outer_only(sc, nest, body, returns, names, stm.prov)
        else:
            made = distribute(sc, nest, body, returns, names, stm.prov, pieces)
        views.update(at for at, own in enumerate(_are_own(sc, made)) if not own)
        bodies.append(Body(tuple(made[0]), tuple(made[1])))
    kept = [None if at in views else name for at, name in enumerate(wish)]
    pat = out_params(sc, widths(nest), returns, kept)
    out: list[Stm] = []
    cond = _guarded(sc, nest, exp.cond, FALSE, out, stm.prov)
    out.append(emit(sc, pat, If(cond, bodies[0], bodies[1]), stm.prov))
    sc.owned.difference_update(pat[at].name for at in views)
    return out, [p.name for p in pat]


def _guarded(sc: Scope, nest: Nest, value: SE, spare: Lit, out: list[Stm], prov: Prov) -> SE:
    """`value`, or `spare` where the nest has no points and nothing has checked `value`."""
    empty = None if cannot_fail(value) else is_empty(nest)
    if empty is None:
        return value
    name = Param(sc.ctx.fresh("outside"), Scalar(spare.prim))
    exp = If(empty, Body((), (spare,)), Body((), (value,)))
    out.append(emit(sc, (name,), exp, prov))
    return Var(name.name, spare.prim)


def _types(pat: tuple[Param, ...]) -> tuple[Type, ...]:
    return tuple(p.type for p in pat)
