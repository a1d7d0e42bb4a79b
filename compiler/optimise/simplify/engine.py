"""The forward pass of the simplifier: handlers for each kind of statement, and their rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from compiler.algebra.poly import Poly
from compiler.analysis.effects import may_fail, must_stay
from compiler.base.by_class import handles
from compiler.base.remarks import Applied, Fate, Outcome
from compiler.base.rules import NodeRule, Rule
from compiler.base.spans import merge_prov
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of
from compiler.ir.walk import Rewrite, rewrite
from compiler.optimise.simplify import branch, elements, evaluate, hoist, index, loop, soac
from compiler.optimise.simplify.bodies import (
    Instead,
    all_same,
    nested_body,
    nested_lambda,
    pattern,
    rebuilt,
    splice,
    stms,
    unless_it_can_fail,
    variable,
)
from compiler.optimise.simplify.index import Same
from compiler.optimise.simplify.parallel import (
    computed_before,
    push,
    seg_operator,
    soac_operator,
)
from compiler.optimise.simplify.scalars import body_results, operands, scalar
from compiler.optimise.simplify.state import CSE, HOIST, OUT_OF_BRANCH, State

_MAX_STEPS = 8
_SCALARS = frozenset(ir.SE_NODES)
HANDLERS: dict[type, Callable[[State, ir.Stm], None]] = {
    **dict.fromkeys(ir.Soac.__args__, soac_operator),
    ir.Push: push,
    **dict.fromkeys(ir.SegOp.__args__, seg_operator),
}


def simplify_function(s: State, fun: ir.Function) -> ir.Function:
    """Run one forward pass over a function."""
    s.enter("function")
    s.facts.oldest(param.name for param in fun.params)
    for param in fun.params:
        s.bind(param)
        if fun.entry and type(param.type) is ir.Array:
            s.facts.given(param.type.shape)
    stms(s, fun.body.stms)
    s.depths = 0
    results = body_results(s, fun.body.results)
    body = rebuilt(s, fun.body, s.scopes[-1].stms, results)
    s.leave()
    return fun if body is fun.body else replace(fun, body=body)


# --- scalars and array operations ------------------------------------------------------------


@handles(HANDLERS, *ir.SE_NODES)
def _scalar(s: State, stm: ir.Stm) -> None:
    assert isinstance(stm.exp, ir.SE_NODES)
    s.let(stm.pat[0], scalar(s, stm.exp), stm.prov, stm)


@handles(HANDLERS, *ir.ArrayOp.__args__)
def _array_op(s: State, stm: ir.Stm) -> None:
    """Simplify indexing, views, and constructors of arrays."""
    parts = Rewrite(se=partial(scalar, s), name=s.name, poly=s.poly)
    exp = rewrite(stm.exp, parts)
    result = stm.pat[0]
    for _ in range(_MAX_STEPS):
        new = s.rewritten(stm, exp)
        if new is None:
            break
        s.depths = 0
        if isinstance(new, Same):
            s.alias(result, new.array)
            return
        if type(new) in _SCALARS:
            s.let(result, scalar(s, new), stm.prov)
            return
        exp = rewrite(new, parts)
    param = s.param(result)
    pat = stm.pat if param is result else (param,)
    shared = param.name not in s.unique and (type(exp) not in _OWNERS or _is_empty(exp))
    if shared and not s.is_off(CSE):
        found = s.table.find(exp)
        if found is not None and found not in s.unique and s.share():
            s.counts[found] = s.counts.get(found, 0) + 1
            s.alias(param, found if type(param.type) is ir.Array else variable(found, param))
            return
    safe = _safety(s, exp) if shared else None
    depth = s.emit(pat, exp, stm.prov, safe, stm)
    s.defs[param.name] = exp
    elements.learn_array(s, param, exp)
    if type(exp) in _FRESH:
        s.fresh[param.name] = depth
    if shared:
        s.table.add(exp, param.name, depth)


_FRESH = frozenset((ir.Update, ir.Copy, ir.Concat, ir.Iota, ir.Replicate, ir.ArrayLit))
_OWNERS = frozenset((ir.Update, ir.Scratch, ir.Alloc))


def _is_empty(exp: ir.Exp) -> bool:
    """True for an empty scratch array, which equals any other."""
    return isinstance(exp, ir.Scratch) and any(size.constant == 0 for size in exp.shape)


def _safety(s: State, exp: ir.Exp) -> Callable[[int], bool]:
    """Return a test whether an operation may be computed where only a depth's facts hold."""

    def safe(limit: int) -> bool:
        if s.is_undecided(exp, limit):
            return False
        if not may_fail(exp, _AtDepth(s, limit)):
            return True
        s.leave_undecided(exp, limit)
        return False

    return safe


class _AtDepth:
    """Facts that hold at a depth."""

    __slots__ = ("_limit", "_state")

    def __init__(self, s: State, limit: int) -> None:
        self._state = s
        self._limit = limit

    def is_size(self, size: Poly) -> bool:
        """True if an array can have that size."""
        return self._state.facts.is_size(size, self._limit)

    def is_inside(self, exp: ir.Index | ir.Slice | ir.Update) -> bool:
        """True if all accessed positions are in bounds."""
        return index.is_in_bounds(self._state, exp, self._limit)

    def keeps_count(self, exp: ir.Reshape) -> bool:
        """True if the new shape has as many elements as the array."""
        return index.keeps_count(self._state, exp.array, exp.shape)


@handles(HANDLERS, ir.Assert)
def _assert(s: State, stm: ir.Stm) -> None:
    exp = stm.exp
    assert isinstance(exp, ir.Assert)
    shown = len(s.facts.shown)
    cond = scalar(s, exp.cond)
    why = tuple(s.facts.shown[shown:])
    if cond == ir.TRUE and (arrays := elements.used(why)):
        is_gone = elements.removed(s, stm, arrays)
    else:
        is_gone = s.rewritten(stm, ir.Assert(cond, exp.message)) is not None
    if is_gone:
        why = tuple(s.facts.shown[shown:])
        s.ctx.fates.append(Fate(stm.prov, "dropped" if why else "repeated", why))
        s.pulled.clear()
        return
    message = tuple(part if isinstance(part, str) else scalar(s, part) for part in exp.message)
    same = cond is exp.cond and all_same(message, exp.message)
    check = exp if same else ir.Assert(cond, message)
    if not hoist.hoist_check(s, check, stm.prov):
        s.emit((), check, stm.prov, None, stm)
    s.facts.learn(cond, True, s.depth)


def always_true(s: State, stm: ir.Stm, exp: ir.Assert) -> Outcome[Instead]:
    """`assert true ==> nothing`."""
    if exp.cond != ir.TRUE:
        return None
    said = "".join(part if isinstance(part, str) else ".." for part in exp.message)
    said = f"Check removed: always true ({said.strip()})."
    return Applied(Instead(ir.Body((), ())), said)


@handles(HANDLERS, ir.Call, ir.Threshold, ir.Alloc)
def _plain(s: State, stm: ir.Stm) -> None:
    """Rewrite the operands of an opaque statement: a call, a threshold, an allocation."""
    exp = rewrite(stm.exp, Rewrite(se=partial(scalar, s), name=s.name, poly=s.poly))
    s.emit(pattern(s, stm), exp, stm.prov, None, stm)


@handles(HANDLERS, ir.Apply)
def _apply(s: State, stm: ir.Stm) -> None:
    """Simplify a call of a scalar function, with CSE."""
    exp = rewrite(stm.exp, Rewrite(se=partial(scalar, s)))
    if computed_before(s, stm, exp):
        return
    depth = s.emit(stm.pat, exp, stm.prov, _safety(s, exp), stm)
    s.table.add_many(exp, tuple(param.name for param in stm.pat), depth)


@handles(HANDLERS, ir.WithVjp)
def _with_vjp(s: State, stm: ir.Stm) -> None:
    """Rewrite the operands of a function with a custom derivative; both functions stay."""
    exp = stm.exp
    assert isinstance(exp, ir.WithVjp)
    args = operands(s, exp.args)
    (fn, _), (back, _) = (nested_lambda(s, part) for part in (exp.fn, exp.back))
    same = args is exp.args and fn is exp.fn and back is exp.back
    new = exp if same else ir.WithVjp(args, fn, back)
    s.emit(pattern(s, stm), new, stm.prov, None, stm)


# --- control ---------------------------------------------------------------------------------


@handles(HANDLERS, ir.If)
def _if(s: State, stm: ir.Stm) -> None:
    exp = stm.exp
    assert isinstance(exp, ir.If)
    cond = scalar(s, exp.cond)
    exp = exp if cond is exp.cond else ir.If(cond, exp.then, exp.orelse)
    side = s.rewritten(stm, exp)
    if side is not None:
        s.pulled.clear()
        splice(s, stm, side)
        return
    then, then_speculatable = nested_body(
        s, exp.then, "branch", lambda: s.facts.learn(cond, True, s.depth)
    )
    orelse, else_speculatable = nested_body(
        s, exp.orelse, "branch", lambda: s.facts.learn(cond, False, s.depth)
    )
    same = cond is exp.cond and then is exp.then and orelse is exp.orelse
    new = exp if same else ir.If(cond, then, orelse)
    selected = branch.as_selects(new)
    if selected is not None and s.share():
        prov = merge_prov(stm.prov, then.prov, orelse.prov)
        for param, value in zip(stm.pat, selected, strict=True):
            s.depths = 0
            s.let(param, scalar(s, value), prov)
        return
    new, pat = branch.share_equal_results(s, new, stm)
    if not pat and not must_stay(new):
        return
    _shared_or_placed(s, stm, pat, new, then_speculatable and else_speculatable)
    elements.learn_total(s, pat, new)
    branch.follow_shared(s, stm, pat)


@handles(HANDLERS, ir.Loop)
def _loop(s: State, stm: ir.Stm) -> None:
    exp = stm.exp
    assert isinstance(exp, ir.Loop)
    init = operands(s, exp.init)
    form = exp.form
    bound: ir.SE | None = None
    if isinstance(form, ir.ForLoop):
        bound = scalar(s, form.bound)
        if bound is not form.bound:
            form = replace(form, bound=bound)
    same = init is exp.init and form is exp.form
    exp = exp if same else ir.Loop(exp.params, init, form, exp.body)
    done = s.rewritten(stm, exp)
    if done is not None:
        splice(s, stm, done)
        return
    exp, pat, init = loop.drop_invariant(s, stm, exp, init)
    params = exp.params

    def prepare() -> None:
        nonlocal params
        for param in exp.params:
            s.depths_of[param.name] = 1 << s.depth
        params = tuple(map(s.bind, exp.params))
        if isinstance(form, ir.ForLoop):
            s.depths_of[form.index] = 1 << s.depth
            loop.index_facts(s, form)

    trips = poly_of(bound) if bound is not None else None
    body, speculatable = nested_body(s, exp.body, "loop", prepare, trips)
    same = init is exp.init and form is exp.form and body is exp.body
    same = same and all_same(params, exp.params)
    new = exp if same else ir.Loop(params, init, form, body)
    if not pat and not must_stay(new):
        return
    _shared_or_placed(s, stm, pat, new, speculatable and isinstance(form, ir.ForLoop))


def _shared_or_placed(
    s: State, stm: ir.Stm, pat: tuple[ir.Param, ...], new: ir.If | ir.Loop, speculatable: bool
) -> None:
    """Bind the remaining pattern `pat` of `stm` to the results of a branch or loop.

    Reuses the results of an equal one computed before.
    """
    final = stm if pat is stm.pat else ir.Stm(pat, new, stm.prov)
    typed = pattern(s, final)
    shared = bool(pat) and all(_is_value(s, param) for param in pat)
    if shared and computed_before(s, final, new):
        return
    safe = unless_it_can_fail(s, speculatable, stm.pat, new)
    depth = s.emit(typed, new, stm.prov, safe, stm)
    if shared:
        s.table.add_many(new, tuple(param.name for param in pat), depth)


def _is_value(s: State, param: ir.Param) -> bool:
    """True if a result may be replaced by an equal one: its memory is not fixed."""
    return param.name not in s.unique and (
        type(param.type) is ir.Scalar or (type(param.type) is ir.Array and param.type.mem is None)
    )


RULES: tuple[Rule, ...] = (
    NodeRule("simplify/assert", "Removes checks that always hold.", (ir.Assert,), always_true),
    *branch.RULES,
    *index.RULES,
    *loop.RULES,
    *soac.RULES,
    CSE,
    HOIST,
    OUT_OF_BRANCH,
    elements.ELEMENTS,
    evaluate.RULE,
)

_WHOLE = [rule for rule in RULES if isinstance(rule, NodeRule) and not rule.by_part]
BY_CLASS = {
    kind: tuple(rule for rule in _WHOLE if kind in rule.on)
    for kind in {kind for rule in _WHOLE for kind in rule.on}
}
