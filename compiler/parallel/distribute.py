"""Distribute nests: every parallel operator becomes kernels over the whole nest around it.

    map (fn x => let y = f x in reduce op ne (g y)) xs
      ==>  ys = segmap (i < n) { f xs[i] };  segred (i < n, j < m) { (g ys[i])[j] }

`flatten_task` is the heart: it looks at the body that each thread of a nest of maps runs and makes
one kernel of it (nothing parallel inside), continues inside (a perfect nest), or makes versions:
one that uses only the nest, and one that is cut into kernels (`schedule.py`). All functions return
`HostCode`, whose arrays have the nest's dimensions. (Thesis, section 7.2.2.)
"""

from __future__ import annotations

from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import Prov, merge_prov
from compiler.ir import nodes as ir
from compiler.ir.aliases import consumed_params
from compiler.ir.may_fail import cannot_fail
from compiler.ir.types import as_operand, with_dims
from compiler.ir.walk import rename
from compiler.parallel import operators, versions
from compiler.parallel.analyse import has_parallelism
from compiler.parallel.lift import concat, filled_by_threads, lifted, lifted_own, update
from compiler.parallel.nest import (
    At,
    FlatteningScope,
    HostCode,
    Nest,
    ResultNames,
    Task,
    emit,
    indices,
    is_empty,
    out_params,
    seg_map,
    thread_count,
    widths,
)
from compiler.parallel.schedule import (
    Schedule,
    Segment,
    offers_parallelism,
    returns_views,
    schedule,
)
from compiler.parallel.sequentialise import SOACS
from compiler.parallel.streams import stream

NEST = Rule("flatten/nest", "Turns nested maps into one kernel.", optional=False)
DISTRIBUTE = Rule("flatten/distribute", "Divides the body of a map into several kernels.")


# --- where kernels are launched --------------------------------------------------------------


def host_stms(sc: FlatteningScope, stms: tuple[ir.Stm, ...]) -> list[ir.Stm]:
    """Flatten statements outside kernels: operators become kernels, loops and branches stay."""
    out: list[ir.Stm] = []
    for stm in stms:
        sc.note(stm)
        exp = stm.exp
        if type(exp) in SOACS:
            out.extend(_host_soac(sc, stm))
        elif isinstance(exp, ir.Stream):
            out.extend(stream(sc, stm))
        elif isinstance(exp, ir.Loop):
            sc.bind(exp.params)
            sc.owned.update(p.name for p in exp.params if p.unique)
            if isinstance(exp.form, ir.ForLoop):
                sc.host.add(exp.form.index)
            body = host_body(sc, exp.body)
            out.append(ir.Stm(stm.pat, ir.Loop(exp.params, exp.init, exp.form, body), stm.prov))
        elif isinstance(exp, ir.If):
            then, orelse = host_body(sc, exp.then), host_body(sc, exp.orelse)
            out.append(ir.Stm(stm.pat, ir.If(exp.cond, then, orelse), stm.prov))
        elif sc.level == "block" and isinstance(exp, ir.Copy | ir.Iota | ir.Replicate):
            out.extend(filled_by_threads(sc, stm))
        else:
            out.append(stm)
        sc.bind(stm.pat)
    return out


def host_body(sc: FlatteningScope, body: ir.Body) -> ir.Body:
    """Flatten a body outside kernels."""
    return ir.Body(tuple(host_stms(sc, body.stms)), body.results, body.prov)


def _host_soac(sc: FlatteningScope, stm: ir.Stm) -> list[ir.Stm]:
    stms, names = flatten_stm(sc, (), stm, [p.name for p in stm.pat])
    for param, name in zip(stm.pat, names, strict=True):
        if name != param.name:
            stms.append(emit(sc, (param,), ir.Copy(name), stm.prov))
    return stms


# --- the inside of a nest --------------------------------------------------------------------


def flatten_task(sc: FlatteningScope, task: Task) -> HostCode:
    """Flatten the body of a nest of maps into kernels."""
    offers = offers_parallelism(sc, task.body)
    if not offers and not returns_views(sc, task.body):
        if len(task.nest) > 1:
            because = (
                f"One kernel runs the {len(task.nest)} nested maps, over all of their elements."
            )
            sc.ctx.tell("applied", NEST, task.prov, because)
        return outer_only(sc, task)
    pieces = schedule(sc, task)
    if not offers and (pieces is None or not pieces.is_perfect):
        return outer_only(sc, task)
    if pieces is None:
        because = (
            "A value between the inner parallel operators has another size for every "
            "element of the outer map, so no single array can hold it. Each thread "
            "runs everything sequentially."
        )
        sc.ctx.tell("missed", DISTRIBUTE, task.prov, because)
        return outer_only(sc, task)
    if pieces.is_perfect and _continues(pieces):
        return own_results(sc, task, distribute(sc, task, pieces))
    if not sc.versions or not _may_cut(sc, pieces, task.prov):
        return outer_only(sc, task)
    duplicate = replace(task, body=rename(task.body, sc.ctx.fresh))

    def outer(names: ResultNames) -> HostCode:
        return outer_only(sc, replace(duplicate, names=names))

    def full(names: ResultNames) -> HostCode:
        named = replace(task, names=names)
        return own_results(sc, named, distribute(sc, named, pieces))

    def block(inner: FlatteningScope) -> list[ir.Stm]:
        return host_stms(inner, duplicate.body.stms)

    alone = _reads_whole_rows(sc, task, pieces)
    ways = versions.Versions(thread_count(task.nest), outer, full, block, alone)
    return versions.choose(sc, duplicate, ways)


def _reads_whole_rows(sc: FlatteningScope, task: Task, pieces: Schedule) -> bool:
    """Return True if all expensive parts are kernels that go along contiguous rows.

    Lockstep threads with a row each would need a transposition. At least one must fold: maps alone
    are a kernel of all elements in any case.
    """
    runs = [s for s in task.body.stms if isinstance(s.exp, ir.Soac | ir.Loop | ir.If)]
    kernels = {p.name for steps in pieces.parallel for step in steps for p in step.stm.pat}
    made: set[Name] = set()
    folds, again = False, False
    for stm in runs:
        goes = stm.exp
        if not isinstance(goes, ir.Fold | ir.Map) or stm.pat[0].name not in kernels:
            return False
        roots = [sc.resolve(array) for array in goes.arrays if array not in made]
        elements = all(isinstance(p.type, ir.Scalar) for p in goes.fn.params)
        own = all(r.index == indices(task.nest) and r.array not in sc.turned for r in roots)
        if not (goes.arrays and elements and own):
            return False
        made.update(param.name for param in stm.pat)
        folds = folds or isinstance(goes, ir.Fold)
        again = again or isinstance(goes, ir.Map)
    if not (folds and sc.ctx.target.in_step):
        return False
    return not again or sc.ctx.commit(versions.WHOLE_ROWS, task.prov, _ROWS) is not None


_ROWS = Applied(
    True,
    "Rows that lie together are folded and gone through again. A GPU's thread for each would need "
    "them in another order before, and what it makes behind: by default there is none.",
)


def _continues(pieces: Schedule) -> bool:
    """Return True if the single parallel statement of a schedule is a map, or makes an array."""
    inner = [step for steps in pieces.parallel for step in steps]
    return all(isinstance(step.stm.exp, ir.Map | ir.Concat | ir.Update | ir.Copy) for step in inner)


def outer_only(sc: FlatteningScope, task: Task) -> HostCode:
    """Make one kernel with a thread per index of the nest; inner parallelism becomes loops."""
    pat = out_params(sc, widths(task.nest), task.returns, task.names)
    body = ir.KernelBody(task.body.stms, task.body.results, task.returns, task.body.prov)
    return HostCode(seg_map(sc, task.nest, body, pat, task.prov), [p.name for p in pat])


def own_results(
    sc: FlatteningScope, task: Task, code: HostCode, given: frozenset[Name] = frozenset()
) -> HostCode:
    """Copy results that are views of arrays from elsewhere.

    Arrays in `given` need no copy: only this code has them.
    """
    stms = list(code.stms)
    bound = {param.name for stm in stms for param in stm.pat}
    names = list(code.names)
    for at, is_own in enumerate(_are_own(sc, code, given)):
        if not is_own:
            name = None if task.names[at] in bound else task.names[at]
            (param,) = out_params(sc, widths(task.nest), (task.returns[at],), (name,))
            stms.append(emit(sc, (param,), ir.Copy(names[at]), task.prov))
            names[at] = param.name
    return HostCode(stms, names)


def _are_own(
    sc: FlatteningScope, code: HostCode, given: frozenset[Name] = frozenset()
) -> list[bool]:
    """Return True for each result that is a fresh or `given` array and no earlier result."""
    bound = given.union(param.name for stm in code.stms for param in stm.pat)
    return [
        name in sc.owned and name in bound and name not in code.names[:at]
        for at, name in enumerate(code.names)
    ]


def distribute(sc: FlatteningScope, task: Task, pieces: Schedule) -> HostCode:
    """Run the pieces of a schedule one after another, each over the whole nest."""
    here = indices(task.nest)
    out = list(pieces.hoisted)
    for stm in pieces.hoisted:
        sc.bind(stm.pat)
    for name, step in pieces.recomputed.items():
        sc.sources.setdefault(name, step.stm)
    name_of = {
        value.name if isinstance(value, ir.Var) else value: name
        for value, name in zip(reversed(task.body.results), reversed(task.names), strict=True)
        if isinstance(value, ir.Var | str)
    }
    held: dict[int, Name] = {}
    for segment, steps in zip(pieces.segments, pieces.parallel, strict=True):
        if not segment.is_empty:
            stms, names = _segment_kernel(sc, task, segment)
            out.extend(stms)
            held.update(names)
        for step in steps:
            names_of_step = [name_of.get(p.name) or sc.ctx.fresh(p.name) for p in step.stm.pat]
            code = flatten_stm(sc, task.nest, step.stm, names_of_step)
            out.extend(code.stms)
            for param, name in zip(step.stm.pat, code.names, strict=True):
                sc.sources[param.name] = At(name, here)
    found: list[Name] = []
    for at, (value, type_) in enumerate(zip(task.body.results, task.returns, strict=True)):
        if at in held:
            found.append(held[at])
            continue
        code = lifted(sc, task.nest, value, type_, task.names[at], task.prov)
        out.extend(code.stms)
        found.extend(code.names)
    return HostCode(out, found)


def _segment_kernel(
    sc: FlatteningScope, task: Task, segment: Segment
) -> tuple[list[ir.Stm], dict[int, Name]]:
    """Make the kernel of a sequential segment.

    Return it with the task's results that it computes.
    """
    values: list[ir.Operand] = [value for _, value, _ in segment.results]
    types: list[ir.Type] = [type_ for _, _, type_ in segment.results]
    names: list[Name | None] = [task.names[position] for position, _, _ in segment.results]
    for param in segment.stored:
        values.append(as_operand(param))
        types.append(param.type)
        names.append(sc.ctx.fresh(param.name))
    pat = out_params(sc, widths(task.nest), types, names)
    stms = tuple(step.stm for step in segment.steps)
    prov = merge_prov(*(s.prov for s in stms)) or task.prov
    out = seg_map(sc, task.nest, ir.KernelBody(stms, tuple(values), tuple(types)), pat, prov)
    for param, array in zip(segment.stored, pat[len(segment.results) :], strict=True):
        sc.sources[param.name] = At(array.name, indices(task.nest))
    made = zip(segment.results, pat, strict=False)
    return out, {position: array.name for (position, _, _), array in made}


def _may_cut(sc: FlatteningScope, pieces: Schedule, prov: Prov) -> bool:
    """Return True if a body may be cut into pieces, leaving a remark."""
    if pieces.pieces < 2:
        return True
    count = pieces.stored
    because = (
        f"The body is divided into {pieces.pieces} parts, which run one after another "
        f"over all elements; arrays store {count or 'no'} "
        f"{'value' if count == 1 else 'values'} between them."
    )
    return sc.ctx.commit(DISTRIBUTE, prov, Applied(True, because)) is not None


# --- single statements -----------------------------------------------------------------------


def flatten_stm(sc: FlatteningScope, nest: Nest, stm: ir.Stm, names: ResultNames) -> HostCode:
    """Flatten a parallel statement inside a nest (or outside any, if it is empty)."""
    match stm.exp:
        case ir.Map(width, fn, arrays):
            inner = enter_map(sc, nest, width, fn, arrays)
            return flatten_task(sc, Task(inner, fn.body, fn.returns, names, stm.prov))
        case ir.Reduce() | ir.Scan() | ir.Scatter() | ir.Hist():
            return _fold(sc, nest, stm, names)
        case ir.Loop():
            return _interchange_loop(sc, nest, stm, stm.exp, names)
        case ir.If():
            return _interchange_if(sc, nest, stm, stm.exp, names)
        case ir.Update():
            return update(sc, nest, stm, stm.exp, names)
        case ir.Concat():
            return concat(sc, nest, stm, stm.exp, names)
        case ir.Copy(array):
            task = _task(nest, stm, names)
            code = lifted(sc, nest, array, task.returns[0], names[0], stm.prov)
            return own_results(sc, task, code)
    raise AssertionError(type(stm.exp))


def _task(nest: Nest, stm: ir.Stm, names: ResultNames, stms: tuple[ir.Stm, ...] = ()) -> Task:
    """Make a task of statements that bind the results of `stm`, by default of itself."""
    body = ir.Body(stms or (stm,), tuple(map(as_operand, stm.pat)))
    return Task(nest, body, tuple(p.type for p in stm.pat), names, stm.prov)


def enter_map(
    sc: FlatteningScope, nest: Nest, width: Poly, fn: ir.Lambda, arrays: tuple[Name, ...]
) -> Nest:
    """Return the nest inside a map; the lambda's parameters are rows of the arrays."""
    level = sc.enter(nest, width)
    for param, array in zip(fn.params, arrays, strict=True):
        sc.sources[param.name] = At(array, (level.index,))
        sc.types[param.name] = param.type
    return (*nest, level)


def _fold(sc: FlatteningScope, nest: Nest, stm: ir.Stm, names: ResultNames) -> HostCode:
    """Flatten a reduction, scan, scatter or histogram."""
    interchanged = operators.interchanged(sc, stm)
    exp = stm.exp
    assert isinstance(exp, operators.Folding)
    if interchanged is not None:
        task = _task(nest, stm, names, interchanged)
        if not sc.versions or not operators.makes_rows(sc, exp):
            return _run(sc, task)
    elif not has_parallelism(sc, exp.fn.body.stms) or consumed_params(exp.fn):
        return operators.kernel(sc, nest, stm, names)
    else:
        task = _task(nest, stm, names, operators.split_map(sc, stm))
        if not sc.versions:
            return _run(sc, task) if sc.level == "grid" else operators.kernel(sc, nest, stm, names)
    duplicate = ir.Stm(stm.pat, rename(stm.exp, sc.ctx.fresh), stm.prov)

    def outer(names: ResultNames) -> HostCode:
        return operators.kernel(sc, nest, duplicate, names)

    def full(names: ResultNames) -> HostCode:
        return _run(sc, replace(task, names=names))

    elements = Poly.product((*widths(nest), exp.width))
    ways = versions.Versions(elements, outer, full)
    return versions.choose(sc, task, ways)


def _run(sc: FlatteningScope, task: Task) -> HostCode:
    """Flatten statements that replace another one in the same nest, and bind its names."""
    if task.nest:
        pieces = schedule(sc, task)
        assert pieces is not None
        return distribute(sc, task, pieces)
    old = [value.name if isinstance(value, ir.Var) else str(value) for value in task.body.results]
    fresh = {p: name or sc.ctx.fresh(p) for p, name in zip(old, task.names, strict=True)}
    renamed = rename(task.body.stms, sc.ctx.fresh, fresh)
    return HostCode(host_stms(sc, renamed), [fresh[name] for name in old])


def _interchange_loop(
    sc: FlatteningScope, nest: Nest, stm: ir.Stm, loop: ir.Loop, names: ResultNames
) -> HostCode:
    """`map (fn x => loop p = init for i < k do body)` becomes `loop ps = inits for i < k do map`.

    The loop's parameters become arrays over the nest.
    """
    assert isinstance(loop.form, ir.ForLoop)
    out, params, inits, private = _lifted_params(sc, nest, loop, stm.prov)
    sc.host.add(loop.form.index)
    returns = tuple(p.type for p in loop.params)
    inside = [sc.ctx.fresh(p.name) for p in params]
    task = Task(nest, loop.body, returns, inside, stm.prov)
    pieces = schedule(sc, task)
    if pieces is None or not _may_cut(sc, pieces, stm.prov):
        return outer_only(sc, _task(nest, stm, names))
    code = distribute(sc, task, pieces)
    # Buffers may change places.
    given = frozenset(p.name for p in params if p.unique)
    if given:
        code = own_results(sc, task, code, given)
    # What a loop returns may be what it began with, unless that was made for the loop alone.
    own = [new and mine for new, mine in zip(private, _are_own(sc, code, given), strict=True)]
    params = [ir.Param(p.name, p.type, p.unique or o) for p, o in zip(params, own, strict=True)]
    # A view does not get the name that somebody waits for: its copy will.
    kept = [name if p.unique else None for name, p in zip(names, params, strict=True)]
    pat = out_params(sc, widths(nest), [p.type for p in stm.pat], kept)
    bound = _guarded(sc, nest, loop.form.bound, ir.Lit(0, loop.form.prim), out, stm.prov)
    form = replace(loop.form, bound=bound)
    exp = ir.Loop(tuple(params), tuple(inits), form, ir.Body(tuple(code.stms), tuple(code.names)))
    out.append(emit(sc, pat, exp, stm.prov))
    sc.owned.difference_update(p.name for p, o in zip(pat, params, strict=True) if not o.unique)
    return HostCode(out, [p.name for p in pat])


def _lifted_params(
    sc: FlatteningScope, nest: Nest, loop: ir.Loop, prov: Prov
) -> tuple[list[ir.Stm], list[ir.Param], list[Name], list[bool]]:
    """Lift a loop's parameters over the nest; return statements, parameters, initial values.

    Last, for each initial value: True if it is an array that the statements bind.
    """
    out: list[ir.Stm] = []
    params: list[ir.Param] = []
    inits: list[Name] = []
    private: list[bool] = []
    for param, init in zip(loop.params, loop.init, strict=True):
        if param.unique:
            code = lifted_own(sc, nest, init, param.type, prov)
        else:
            code = lifted(sc, nest, init, param.type, None, prov)
        out.extend(code.stms)
        inits.extend(code.names)
        private.append(bool(code.stms))
        type_ = with_dims(widths(nest), param.type)
        params.append(ir.Param(sc.ctx.fresh(param.name), type_, param.unique))
        sc.sources[param.name] = At(params[-1].name, indices(nest))
        sc.types[param.name] = param.type
    sc.bind(params)
    sc.owned.update(p.name for p in params if p.unique)
    return out, params, inits, private


def _interchange_if(
    sc: FlatteningScope, nest: Nest, stm: ir.Stm, exp: ir.If, names: ResultNames
) -> HostCode:
    """`map (fn x => if c then a else b)` becomes `if c then map a else map b`; c is invariant."""
    returns = tuple(p.type for p in stm.pat)
    bodies: list[ir.Body] = []
    views: set[int] = set()
    for body in (exp.then, exp.orelse):
        inside = [sc.ctx.fresh(p.name) for p in stm.pat]
        task = Task(nest, body, returns, inside, stm.prov)
        pieces = schedule(sc, task)
        if pieces is None or not _may_cut(sc, pieces, stm.prov):
            code = outer_only(sc, task)
        else:
            code = distribute(sc, task, pieces)
        views.update(at for at, own in enumerate(_are_own(sc, code)) if not own)
        bodies.append(ir.Body(tuple(code.stms), tuple(code.names)))
    kept = [None if at in views else name for at, name in enumerate(names)]
    pat = out_params(sc, widths(nest), returns, kept)
    out: list[ir.Stm] = []
    cond = _guarded(sc, nest, exp.cond, ir.FALSE, out, stm.prov)
    out.append(emit(sc, pat, ir.If(cond, bodies[0], bodies[1]), stm.prov))
    sc.owned.difference_update(pat[at].name for at in views)
    return HostCode(out, [p.name for p in pat])


def _guarded(
    sc: FlatteningScope, nest: Nest, value: ir.SE, fallback: ir.Lit, out: list[ir.Stm], prov: Prov
) -> ir.SE:
    """Return `value`, or `fallback` where the nest has no threads and `value` may fail."""
    empty = None if cannot_fail(value) else is_empty(nest)
    if empty is None:
        return value
    name = ir.Param(sc.ctx.fresh("outside"), ir.Scalar(fallback.prim))
    exp = ir.If(empty, ir.Body((), (fallback,)), ir.Body((), (value,)))
    out.append(emit(sc, (name,), exp, prov))
    return ir.Var(name.name, fallback.prim)
