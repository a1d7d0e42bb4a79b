"""The fast interpreter: value semantics of all stages (thesis 4.3.2 and figure 4.7).

`value.py` is the reference that it is tested against.

Each parallel operator is evaluated for all its indices, the lanes, at once. At level L a statement
stands inside L parallel dimensions; a value of rank r is then a NumPy array whose last r dimensions
are its own, after either none (the same for all lanes) or one dimension per level at which it was
bound, of the level's width, or 1 where it does not vary. A mask says which lanes are active in a
branch. Where lanes would need arrays of different shapes, `Irregular` sends a map back to one at a
time.

Memory is erased: blocks have no value, and every array is a value of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from compiler.base.by_class import handles
from compiler.base.dtypes import DTYPE
from compiler.ir import entry as entry_points
from compiler.ir import nodes as ir
from compiler.ir.syntax import literal_text
from compiler.ir.values import Value
from compiler.ir.walk import free
from compiler.semantics import arrays, parallel
from compiler.semantics import value as letter
from compiler.semantics.evaluator import BLOCK, Data, Evaluator, Irregular, Mask, Rule, TooDeep
from compiler.semantics.limits import USUAL_BYTES, running

DEEPEST_TOGETHER = 500
"""Nesting of calls of a function up to which many lanes run together."""
RULES: dict[type, Rule] = {**arrays.EXPS, **parallel.EXPS}


def run(
    prog: ir.Prog,
    entry: str,
    args: Sequence[Value],
    most_bytes: int = USUAL_BYTES,
    thresholds: Mapping[str, int] | None = None,
) -> list[Value]:
    """Run an entry point on external values; return results in order, without existential sizes.

    Raises UsageError if the arguments do not fit, and RuntimeError_ if the run fails.
    """
    fun = entry_points.find(prog, entry)
    machine = Evaluator(prog, RULES, most_bytes, thresholds or {})
    for param in fun.params:
        machine.bind(param, BLOCK)
    for name, value in entry_points.bind(fun, args).items():
        machine.env[name] = value
    with running(machine):
        results = machine.shown(fun, machine.body(fun.body))
    return [np.array(value, order="C")[()] for value in results]


# --- control ---------------------------------------------------------------------------------


@handles(RULES, *ir.SE_NODES)
def _scalar(m: Evaluator, exp: ir.SE, pat: Sequence[ir.Param]) -> list[Data]:
    return [m.se(exp)]


@handles(RULES, ir.Assert)
def _assert(m: Evaluator, exp: ir.Assert, pat: Sequence[ir.Param]) -> list[Data]:
    good = m.se(exp.cond)
    if good.ndim == 0 and good:
        return []
    bad = m.active(np.logical_not(good))
    if not np.any(bad):
        return []
    shown = [part if isinstance(part, str) else m.se(part) for part in exp.message]
    shape = _joint(bad, *(part for part in shown if not isinstance(part, str)))
    lane = np.unravel_index(int(np.argmax(np.broadcast_to(bad, shape))), shape)
    parts: list[str] = []
    for part in shown:
        if isinstance(part, str):
            parts.append(part)
            continue
        value = np.broadcast_to(part, shape)[lane]
        text = literal_text(value.item(), arrays.prim_of_dtype(value.dtype), suffix=False)
        parts.append(text)
    raise m.error("".join(parts))


def _joint(*values: Data) -> tuple[int, ...]:
    return np.broadcast_shapes(*(np.shape(v) for v in values))


@handles(RULES, ir.If)
def _if(m: Evaluator, exp: ir.If, pat: Sequence[ir.Param]) -> list[Data]:
    cond = m.se(exp.cond)
    if cond.ndim == 0:
        return m.body(exp.then if cond else exp.orelse)
    yes, no = m.active(cond), m.active(np.logical_not(cond))
    if not yes.any():
        return m.body(exp.orelse)
    if not no.any():
        return m.body(exp.then)
    then = _under(m, yes, exp.then)
    orelse = _under(m, no, exp.orelse)
    return [merge(m, cond, a, b, p.type) for a, b, p in zip(then, orelse, pat, strict=True)]


def _under(m: Evaluator, mask: npt.NDArray[np.bool_], body: ir.Body) -> list[Data]:
    """Run a body for the lanes of `mask`; arrays that it consumes stay intact for the others."""
    outer, m.mask = m.mask, mask
    before = dict(m.env)
    try:
        results = m.body(body)
    finally:
        m.mask = outer
    m.env = before
    return results


def merge(m: Evaluator, cond: Data, a: Data, b: Data, kind: ir.Type) -> Data:
    """Select `a` in the lanes where `cond` holds, else `b`."""
    if isinstance(kind, ir.Mem):
        return BLOCK
    rank = kind.rank if isinstance(kind, ir.Array) else 0
    if rank and a.shape[a.ndim - rank :] != b.shape[b.ndim - rank :]:
        raise Irregular
    return np.where(cond.reshape(cond.shape + (1,) * rank), a, b)


@handles(RULES, ir.Loop)
def _loop(m: Evaluator, exp: ir.Loop, pat: Sequence[ir.Param]) -> list[Data]:
    values = [m.operand(value) for value in exp.init]
    for param, value in zip(exp.params, exp.init, strict=True):
        if param.unique and isinstance(value, str) and not m.widths:
            m.env.pop(value, None)
    if isinstance(exp.form, ir.ForLoop):
        return _for(m, exp, exp.form, values)
    return _while(m, exp, exp.form, values)


def _start(m: Evaluator, exp: ir.Loop, values: list[Data]) -> None:
    for param in exp.params:
        m.bind(param, values.pop(0))


def _end(m: Evaluator, exp: ir.Loop) -> list[Data]:
    return [
        BLOCK if isinstance(p.type, ir.Mem) else m.aligned(m.env.pop(p.name), m.ranks[p.name])
        for p in exp.params
    ]


def _for(m: Evaluator, exp: ir.Loop, form: ir.ForLoop, values: list[Data]) -> list[Data]:
    bound_data = m.se(form.bound)
    dtype = DTYPE[form.prim].type
    _start(m, exp, values)
    if bound_data.ndim == 0:
        for k in range(int(bound_data)):
            m.env[form.index] = dtype(k)
            _start(m, exp, m.body(exp.body))
        return _end(m, exp)
    outer = m.mask
    live = np.broadcast_to(bound_data, _joint(bound_data, True if outer is None else outer))
    live = live if outer is None else live[np.broadcast_to(outer, live.shape)]
    for k in range(int(live.max(initial=0))):
        m.env[form.index] = dtype(k)
        _step(m, exp, bound_data > k, outer)
    return _end(m, exp)


def _step(m: Evaluator, exp: ir.Loop, going: Data, outer: Mask) -> None:
    """Run one iteration for the lanes that are `going`; the others keep their values."""
    active = going if outer is None else np.logical_and(going, outer)
    old = [m.env[p.name] for p in exp.params]
    m.mask = active
    try:
        new = m.body(exp.body)
    finally:
        m.mask = outer
    for param, before, after in zip(exp.params, old, new, strict=True):
        if before is not None:
            before = m.aligned(before, m.ranks[param.name])
        m.bind(param, merge(m, active, after, before, param.type))


def _while(m: Evaluator, exp: ir.Loop, form: ir.WhileLoop, values: list[Data]) -> list[Data]:
    _start(m, exp, values)
    outer = m.mask
    while True:
        cond = m.env[form.cond]
        if cond.ndim == 0:
            if not cond:
                return _end(m, exp)
            _start(m, exp, m.body(exp.body))
            continue
        cond = m.aligned(cond, 0)
        active = m.active(cond)
        if not active.any():
            return _end(m, exp)
        _step(m, exp, cond, outer)


@handles(RULES, ir.Call, ir.Apply)
def _call(m: Evaluator, exp: ir.Call | ir.Apply, pat: Sequence[ir.Param]) -> list[Data]:
    if m.widths and m.calls.get(exp.fun, 0) >= DEEPEST_TOGETHER:
        raise TooDeep
    return m.called(m.funs[exp.fun], [m.operand(arg) for arg in exp.args])


@handles(RULES, ir.Threshold)
def _threshold(m: Evaluator, exp: ir.Threshold, pat: Sequence[ir.Param]) -> list[Data]:
    least = m.thresholds.get(exp.name, exp.default)
    return [np.greater_equal(m.se(exp.amount), np.int64(least))]


@handles(RULES, ir.Alloc)
def _alloc(m: Evaluator, exp: ir.Alloc, pat: Sequence[ir.Param]) -> list[Data]:
    return [BLOCK]


@handles(RULES, ir.Jvp, ir.Vjp)
def _derivative(m: Evaluator, exp: ir.Derivative, pat: Sequence[ir.Param]) -> list[Data]:
    """Evaluate a derivative by the reference interpreter, one lane at a time."""
    if m.widths:
        raise Irregular
    known = {name: m.env[name] for name in free(exp)}
    return letter.derived(m, exp, known)


@handles(RULES, ir.WithVjp)
def _with_vjp(m: Evaluator, exp: ir.WithVjp, pat: Sequence[ir.Param]) -> list[Data]:
    """Apply the function; its custom derivative is not needed here."""
    return m.apply(exp.fn, [m.operand(arg) for arg in exp.args])
