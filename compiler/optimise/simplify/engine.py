"""One forward pass of the simplifier: each kind of statement, with the rules that apply to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from compiler.base.names import Name, base_of
from compiler.base.remarks import Outcome
from compiler.ir.nodes import (
    SE,
    SE_NODES,
    Alloc,
    Array,
    ArrayLit,
    Assert,
    Body,
    Call,
    Concat,
    Copy,
    Exp,
    ForLoop,
    Function,
    Hist,
    HistOp,
    If,
    Index,
    Iota,
    KernelBody,
    Lambda,
    Lit,
    Loop,
    Map,
    Operator,
    Param,
    Rearrange,
    Reduce,
    Replicate,
    Reshape,
    Scan,
    Scatter,
    Scratch,
    SegHist,
    SegMap,
    SegOp,
    SegRed,
    SegScan,
    SegSpace,
    Slice,
    Stm,
    Threshold,
    Type,
    Update,
    Var,
)
from compiler.ir.poly import Poly
from compiler.ir.sizes import poly_of
from compiler.ir.walk import Rewrite, rewrite
from compiler.optimise.simplify import arith, branch, hoist, index, loop, soac
from compiler.optimise.simplify.index import New, Same
from compiler.optimise.simplify.state import ScopeKind, State

_MAX_STEPS = 8
_SCALARS = frozenset(SE_NODES)


def simplify_function(s: State, fun: Function) -> Function:
    """The function after one forward pass."""
    s.enter("function")
    for param in fun.params:
        s.bind(param)
    stms(s, fun.body.stms)
    s.mask = 0
    results = s.results(fun.body.results)
    body = _body(fun.body, s.scopes[-1].stms, results)
    s.leave()
    return fun if body is fun.body else replace(fun, body=body)


def stms(s: State, todo: tuple[Stm, ...]) -> None:
    """Simplify statements into the current scope."""
    for stm in todo:
        s.mask = 0
        _STM[type(stm.exp)](s, stm)


def _body(old: Body, new_stms: list[Stm], results: tuple[object, ...]) -> Body:
    """A body of the new parts; the old one if they are the same."""
    if results is old.results and _all_same(new_stms, old.stms):
        return old
    return Body(tuple(new_stms), results)  # type: ignore[arg-type]


def nested_body(
    s: State,
    body: Body,
    kind: ScopeKind,
    prepare: Callable[[], object] | None = None,
    trips: Poly | None = None,
) -> tuple[Body, bool]:
    """Simplify a nested body, whose names `prepare` binds; and whether it is clean."""
    scope = s.enter(kind)
    scope.trips = trips
    if prepare is not None:
        prepare()
    stms(s, body.stms)
    scope.mask |= s.mask
    s.mask = 0
    results = s.results(body.results)
    s.leave()
    return _body(body, scope.stms, results), scope.clean


def nested_lambda(
    s: State,
    fn: Lambda,
    prepare: Callable[[], object] | None = None,
    trips: Poly | None = None,
) -> tuple[Lambda, bool]:
    """Simplify a lambda; and whether it is clean."""
    params = fn.params

    def bind() -> None:
        nonlocal params
        params = tuple(map(s.bind, fn.params))
        if prepare is not None:
            prepare()

    body, clean = nested_body(s, fn.body, "lambda", bind, trips)
    returns = _types(s, fn.returns)
    if body is fn.body and returns is fn.returns and _all_same(params, fn.params):
        return fn, clean
    return Lambda(params, body, returns), clean


def _types(s: State, types: tuple[Type, ...]) -> tuple[Type, ...]:
    new = tuple(_type(s, t) for t in types)
    return types if _all_same(new, types) else new


def _type(s: State, kind: Type) -> Type:
    if type(kind) is not Array:
        return kind
    shape = s.shape(kind.shape)
    return kind if shape is kind.shape else Array(kind.prim, shape, kind.mem)


def _all_same(new: Sequence[object], old: Sequence[object]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


# --- scalars and array operations ------------------------------------------------------------


def _scalar(s: State, stm: Stm) -> None:
    s.let(stm.pat[0], s.se(stm.exp), stm.prov, stm)  # type: ignore[arg-type]


def _array_op(s: State, stm: Stm) -> None:
    """Indexing, views, and what makes arrays."""
    parts = Rewrite(se=s.se, name=s.name, poly=s.poly)
    exp = rewrite(stm.exp, parts)
    result = stm.pat[0]
    for _ in range(_MAX_STEPS):
        new = _apply_array_rules(s, stm, exp)
        if new is None:
            break
        s.mask = 0
        if isinstance(new, Same):
            s.alias(result, new.array)
            return
        if type(new) in _SCALARS:
            s.let(result, s.se(new), stm.prov)  # type: ignore[arg-type]
            return
        exp = rewrite(new, parts)
    param = s.param(result)
    pat = stm.pat if param is result else (param,)
    shared = param.name not in s.rigid and type(exp) not in _OWNERS
    if shared and "simplify/cse" not in s.off:
        found = s.table.find(exp)
        if found is not None and found not in s.rigid and s.spend():
            s.counts[found] = s.counts.get(found, 0) + 1
            s.alias(param, found if type(param.type) is Array else _var(found, param))
            return
    safe = _safety(s, exp) if shared else None
    depth = s.emit(pat, exp, stm.prov, safe, stm)
    s.defs[param.name] = exp
    if type(exp) in _FRESH:
        s.fresh[param.name] = depth
    if shared:
        s.table.add(exp, param.name, depth)


def _var(name: Name, param: Param) -> Var:
    return Var(name, param.type.prim)


_FRESH = frozenset((Update, Copy, Concat, Iota, Replicate, ArrayLit))
_OWNERS = frozenset((Update, Scratch, Alloc))
_RULES: dict[type, tuple[tuple[str, index.Rule], ...]] = {
    Index: (
        ("simplify/index-view", index.index_of_view),
        ("simplify/index-known", index.index_of_made),
    ),
    Slice: (
        ("simplify/view-view", index.view_of_view),
        ("simplify/view-known", index.view_of_made),
    ),
    Rearrange: (
        ("simplify/view-view", index.view_of_view),
        ("simplify/view-known", index.view_of_made),
    ),
    Reshape: (
        ("simplify/view-view", index.view_of_view),
        ("simplify/view-known", index.view_of_made),
    ),
}


def _apply_array_rules(s: State, stm: Stm, exp: Exp) -> New | None:
    kind = type(exp)
    if kind in (Slice, Rearrange, Reshape):
        new = _settle(s, "simplify/view-whole", stm, index.whole_view(s, exp))
        if new is not None:
            return new
    elif kind is Copy:
        return _settle(s, "simplify/copy", stm, index.copy_of(s, exp, stm.pat[0].name))  # type: ignore[arg-type]
    elif kind is Concat:
        return _settle(s, "simplify/concat", stm, index.join_concats(s, exp))  # type: ignore[arg-type]
    rules = _RULES.get(kind)
    if rules is None:
        return None
    if kind is Index and exp.array in s.formulas:  # type: ignore[union-attr]
        formula = soac.element(s.formulas[exp.array], exp.at[0])  # type: ignore[union-attr,arg-type]
        name = base_of(exp.array)  # type: ignore[union-attr]
        said = f"`{name}` is a short formula: computed here, not read."
        return formula if s.apply("simplify/index-known", stm.prov, said) else None
    array = s.defs.get(exp.array)  # type: ignore[union-attr]
    if array is None:
        return None
    for rule, apply in rules:
        new = _settle(s, rule, stm, apply(s, exp, array))
        if new is not None:
            return new
    return None


def _settle(s: State, rule: str, stm: Stm, outcome: Outcome[New]) -> New | None:
    if outcome is None:
        return None
    new = s.ctx.settle(rule, stm.prov, outcome)
    if new is not None:
        s.rewrites += 1
    return new


def _safety(s: State, exp: Exp) -> Callable[[int], bool] | None:
    """Whether an array operation may be computed where only the facts of some depth hold."""
    match exp:
        case Index() | Slice():
            return lambda limit: index.is_in_bounds(s, exp, limit)
        case Iota(count, start, step, _):
            total = arith.is_total(start) and arith.is_total(step)
            return lambda limit: total and s.facts.non_negative(count, limit)
        case Replicate(shape, value):
            total = isinstance(value, str) or arith.is_total(value)
            return lambda limit: total and all(s.facts.non_negative(n, limit) for n in shape)
        case Reshape(shape, array):
            fits = index.keeps_count(s, array, shape)
            return lambda limit: fits
        case ArrayLit(elems):
            total = all(isinstance(e, str) or arith.is_total(e) for e in elems)
            return lambda limit: total
    return lambda limit: True


def _assert(s: State, stm: Stm) -> None:
    exp = stm.exp
    assert isinstance(exp, Assert)
    cond = s.se(exp.cond)
    if cond == arith.TRUE and s.apply("simplify/assert", stm.prov, _holds(exp)):
        s.pulled.clear()
        return
    message = tuple(part if isinstance(part, str) else s.se(part) for part in exp.message)
    same = cond is exp.cond and _all_same(message, exp.message)
    check = exp if same else Assert(cond, message)
    if not hoist.hoist_check(s, check, stm.prov):
        s.emit((), check, stm.prov, None, stm)
    s.facts.learn(cond, True, s.depth)


def _holds(exp: Assert) -> str:
    said = "".join(part if isinstance(part, str) else ".." for part in exp.message)
    return f"The check always holds and is not made ({said.strip()})."


def _plain(s: State, stm: Stm) -> None:
    """A statement about which there is nothing to know: a call, a threshold, an allocation."""
    exp = rewrite(stm.exp, Rewrite(se=s.se, name=s.name, poly=s.poly))
    s.emit(_pattern(s, stm), exp, stm.prov, None, stm)


def _pattern(s: State, stm: Stm) -> tuple[Param, ...]:
    """The pattern with types rewritten; its own sizes do not count as dependencies."""
    for param in stm.pat:
        s.bits[param.name] = 0
    new = tuple(map(s.param, stm.pat))
    return stm.pat if _all_same(new, stm.pat) else new


# --- control ---------------------------------------------------------------------------------


def _if(s: State, stm: Stm) -> None:
    exp = stm.exp
    assert isinstance(exp, If)
    cond = s.se(exp.cond)
    known = s.known(cond) or cond
    if type(known) is Lit and s.apply("simplify/branch-known", stm.prov, branch.said(known)):
        s.pulled.clear()
        splice(s, stm, exp.then if known.value else exp.orelse)
        return
    then, then_clean = nested_body(
        s, exp.then, "branch", lambda: s.facts.learn(cond, True, s.depth)
    )
    orelse, else_clean = nested_body(
        s, exp.orelse, "branch", lambda: s.facts.learn(cond, False, s.depth)
    )
    same = cond is exp.cond and then is exp.then and orelse is exp.orelse
    new = exp if same else If(cond, then, orelse)
    selected = branch.as_selects(new)
    if selected is not None and s.spend():
        for param, value in zip(stm.pat, selected, strict=True):
            s.mask = 0
            s.let(param, s.se(value), stm.prov)
        return
    new, pat = branch.share_equal_results(s, new, stm)
    if not pat and not branch.has_effects(new):
        return
    final = stm if pat is stm.pat else Stm(pat, new, stm.prov)
    clean = then_clean and else_clean
    s.emit(
        _pattern(s, final),
        new,
        stm.prov,
        _when(s, clean, stm),
        stm,
    )


def splice(s: State, stm: Stm, body: Body) -> None:
    """Run a body's statements here, and name its results as the statement did."""
    stms(s, body.stms)
    for param, value in zip(stm.pat, body.results, strict=True):
        s.mask = 0
        s.let(param, s.operand(value), stm.prov)


def _when(s: State, clean: bool, stm: Stm) -> Callable[[int], bool] | None:
    """Statements with bodies may move if nothing in them can fail and nothing must be fresh."""
    if not clean or any(p.name in s.rigid for p in stm.pat):
        return None
    return lambda limit: True


def _loop(s: State, stm: Stm) -> None:
    exp = stm.exp
    assert isinstance(exp, Loop)
    init = s.operands(exp.init)
    form = exp.form
    bound: SE | None = None
    if isinstance(form, ForLoop):
        bound = s.se(form.bound)
        if bound is not form.bound:
            form = ForLoop(form.index, form.prim, bound)
        done = loop.few_trips(s, stm, bound, exp, init)
        if done is not None:
            splice(s, stm, done)
            return
    exp, pat, init = loop.drop_invariant(s, stm, exp, init)
    params = exp.params

    def prepare() -> None:
        nonlocal params
        for param in exp.params:
            s.bits[param.name] = 1 << s.depth
        params = tuple(map(s.bind, exp.params))
        if isinstance(form, ForLoop):
            s.bits[form.index] = 1 << s.depth
            loop.index_facts(s, form)

    trips = poly_of(bound) if bound is not None else None
    body, clean = nested_body(s, exp.body, "loop", prepare, trips)
    same = init is exp.init and form is exp.form and body is exp.body
    same = same and _all_same(params, exp.params)
    new = exp if same else Loop(params, init, form, body)
    if not pat and not branch.has_effects(new):
        return
    final = stm if pat is stm.pat else Stm(pat, new, stm.prov)
    clean = clean and isinstance(form, ForLoop)
    s.emit(_pattern(s, final), new, stm.prov, _when(s, clean, stm), stm)


# --- parallel operators ----------------------------------------------------------------------


def _soac(s: State, stm: Stm) -> None:
    exp = stm.exp
    assert isinstance(exp, (Map, Reduce, Scan, Scatter, Hist))
    width = s.poly(exp.width)
    exp, prepare = soac.inputs(s, stm, exp, width)
    arrays = tuple(map(s.name, exp.arrays))
    if _all_same(arrays, exp.arrays):
        arrays = exp.arrays
    fn, clean = nested_lambda(s, exp.fn, prepare, width)
    new: Exp
    if isinstance(exp, Map):
        same = width is exp.width and fn is exp.fn and arrays is exp.arrays
        new = exp if same else Map(width, fn, arrays)
    elif isinstance(exp, Scatter):
        dests = tuple(replace(d, array=s.name(d.array)) for d in exp.dests)
        dests = exp.dests if dests == exp.dests else dests
        same = width is exp.width and fn is exp.fn and arrays is exp.arrays and dests is exp.dests
        new = exp if same else Scatter(width, dests, fn, arrays)
    elif isinstance(exp, Hist):
        hists, ops_clean = _hist_ops(s, exp.ops)
        same = width is exp.width and fn is exp.fn and arrays is exp.arrays and hists is exp.ops
        new, clean = exp if same else Hist(width, hists, fn, arrays), clean and ops_clean
    else:
        ops, ops_clean = _operators(s, exp.ops)
        same = width is exp.width and fn is exp.fn and arrays is exp.arrays and ops is exp.ops
        new = exp if same else type(exp)(width, ops, fn, arrays)
        clean = clean and ops_clean
    new, pat, extra = soac.outputs(s, new, stm)
    if not pat and extra:
        stms(s, tuple(extra))
    if not pat and pat is not stm.pat:
        return
    final = stm if pat is stm.pat else Stm(pat, new, stm.prov)
    typed = _pattern(s, final)
    shared = not any(p.name in s.rigid for p in pat)
    if shared and "simplify/cse" not in s.off:
        found = s.table.find_soac(new)
        if (
            found is not None
            and s.rigid.isdisjoint(found)
            and s.apply("simplify/cse", stm.prov, soac.computed_before(stm, found))
        ):
            for param, name in zip(pat, found, strict=True):
                s.counts[name] = s.counts.get(name, 0) + 1
                s.alias(param, name if type(param.type) is Array else _var(name, param))
            return
    safe = _when(s, clean, stm) if not isinstance(exp, (Scatter, Hist)) else None
    depth = s.emit(typed, new, stm.prov, safe, stm)
    for param in pat:
        s.fresh[param.name] = depth
    soac.learn_formulas(s, new, pat, depth)
    if shared:
        s.table.add_soac(new, tuple(p.name for p in pat), depth)
    if extra:
        stms(s, tuple(extra))


def _operators(s: State, ops: tuple[Operator, ...]) -> tuple[tuple[Operator, ...], bool]:
    pairs = [_operator(s, op) for op in ops]
    new = tuple(op for op, _ in pairs)
    return (ops if _all_same(new, ops) else new), all(clean for _, clean in pairs)


def _operator(s: State, op: Operator) -> tuple[Operator, bool]:
    neutral = s.operands(op.neutral)
    fn, clean = nested_lambda(s, op.fn)
    same = neutral is op.neutral and fn is op.fn
    return (op if same else Operator(fn, neutral, op.commutative)), clean


def _hist_ops(s: State, ops: tuple[HistOp, ...]) -> tuple[tuple[HistOp, ...], bool]:
    new: list[HistOp] = []
    clean = True
    for hist in ops:
        dests = tuple(map(s.name, hist.dests))
        op, op_clean = _operator(s, hist.op)
        clean = clean and op_clean
        same = op is hist.op and dests == hist.dests
        new.append(hist if same else HistOp(dests, hist.rank, op))
    result = tuple(new)
    return (ops if _all_same(result, ops) else result), clean


def _segop(s: State, stm: Stm) -> None:
    exp = stm.exp
    assert isinstance(exp, (SegMap, SegRed, SegScan, SegHist))
    dims = tuple((name, s.poly(bound)) for name, bound in exp.space.dims)
    space = exp.space if dims == exp.space.dims else SegSpace(dims)
    body = _kernel(s, exp.body, space)
    changes: dict[str, object] = {}
    if isinstance(exp, SegHist):
        changes["ops"] = _hist_ops(s, exp.ops)[0]
    elif not isinstance(exp, SegMap):
        changes["ops"] = _operators(s, exp.ops)[0]
    same = space is exp.space and body is exp.body
    same = same and all(new is getattr(exp, field) for field, new in changes.items())
    new = exp if same else replace(exp, space=space, body=body, **changes)  # type: ignore[arg-type]
    s.emit(_pattern(s, stm), new, stm.prov, None, stm)


def _kernel(s: State, body: KernelBody, space: SegSpace) -> KernelBody:
    scope = s.enter("kernel")
    for name, bound in space.dims:
        s.bind_index(name, Poly.const(0), bound)
    stms(s, body.stms)
    scope.mask |= s.mask
    s.mask = 0
    parts = Rewrite(se=s.se, name=s.name, poly=s.poly)
    results = tuple(rewrite_result(r, parts, s) for r in body.results)
    s.leave()
    returns = _types(s, body.returns)
    same = _all_same(results, body.results) and returns is body.returns
    if same and _all_same(scope.stms, body.stms):
        return body
    return KernelBody(tuple(scope.stms), results, returns)  # type: ignore[arg-type]


def rewrite_result(result: object, parts: Rewrite, s: State) -> object:
    """A kernel's result with substitutions made."""
    if type(result) is str or type(result) in _SCALARS:
        return s.operand(result)  # type: ignore[arg-type]
    return rewrite(result, parts)


_STM: dict[type, Callable[[State, Stm], None]] = {
    **dict.fromkeys(SE_NODES, _scalar),
    **dict.fromkeys(
        (
            Index,
            Slice,
            Update,
            Rearrange,
            Reshape,
            Copy,
            Concat,
            Iota,
            Replicate,
            Scratch,
            ArrayLit,
        ),
        _array_op,
    ),
    Assert: _assert,
    If: _if,
    Loop: _loop,
    Call: _plain,
    Threshold: _plain,
    Alloc: _plain,
    **dict.fromkeys((Map, Reduce, Scan, Scatter, Hist), _soac),
    **dict.fromkeys(SegOp.__args__, _segop),
}
