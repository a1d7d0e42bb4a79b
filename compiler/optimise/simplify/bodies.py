"""Simplify nested bodies; helpers shared by all statements with bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_

from compiler.algebra.poly import Poly
from compiler.analysis.effects import operands_cannot_fail, results_cannot_fail
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov, merge_prov
from compiler.ir.nodes import (
    Array,
    Body,
    Exp,
    KernelBody,
    Lambda,
    Operand,
    Param,
    Stm,
    Type,
    Var,
)
from compiler.optimise.simplify.scalars import body_results, operand
from compiler.optimise.simplify.state import ScopeKind, State


@dataclass(frozen=True, slots=True)
class Instead:
    """The replacement of an operation: the results of `body`, where `given` holds.

    A result that the body binds under the statement's own name needs no renaming.
    """

    body: Body
    given: tuple[tuple[Param, Operand], ...] = ()


def splice(s: State, stm: Stm, instead: Instead) -> None:
    """Emit the replacement here, and bind its results to the statement's names."""
    for param, value in instead.given:
        s.depths = s.depends(value)
        s.let(param, value, stm.prov)
    stms(s, instead.body.stms)
    for param, value in zip(stm.pat, instead.body.results, strict=True):
        if value == param.name or (type(value) is Var and value.name == param.name):
            continue
        s.depths = 0
        s.let(param, operand(s, value), instead.body.prov or stm.prov)


def stms(s: State, todo: tuple[Stm, ...]) -> None:
    """Simplify statements into the current scope."""
    for stm in todo:
        s.depths = 0
        s.handlers[type(stm.exp)](s, stm)


def rebuilt(s: State, old: Body, new_stms: list[Stm], results: tuple[Operand, ...]) -> Body:
    """Return a body of the new parts; the old one if they are the same."""
    if results is old.results and all_same(new_stms, old.stms):
        return old
    return Body(tuple(new_stms), results, results_prov(s, old))


def results_prov(s: State, old: Body | KernelBody) -> Prov:
    """Return the provenance of results, with that of expressions moved into them.

    The latter come first if nothing else is computed there.
    """
    pulled = merge_prov(*s.pulled)
    s.pulled.clear()
    names = all(isinstance(result, str | Var) for result in old.results)
    return merge_prov(pulled, old.prov) if names else merge_prov(old.prov, pulled)


def nested_body(
    s: State,
    body: Body,
    kind: ScopeKind,
    prepare: Callable[[], object] | None = None,
    trips: Poly | None = None,
    ask: Callable[[Sequence[Operand]], object] | None = None,
    told: tuple[object, ...] = (),
) -> tuple[Body, bool]:
    """Simplify a nested body, whose names `prepare` binds; returns whether it is speculatable.

    `ask` is called with its results while their facts hold, unless the body was left unchanged;
    `told` is what is known of its inputs' elements.
    """
    scope = s.enter(kind)
    scope.trips = trips
    if prepare is not None:
        prepare()
    known = s.stays(body, told)
    if known is not None:
        s.leave()
        return body, known
    before = s.rewrites
    stms(s, body.stms)
    scope.depths |= s.depths
    s.depths = 0
    results = body_results(s, body.results)
    new = rebuilt(s, body, scope.stms, results)
    if ask is not None:
        ask(results)
    s.leave()
    speculatable = scope.speculatable and results_cannot_fail(results)
    s.left(body, new, speculatable, before, told)
    return new, speculatable


def nested_lambda(
    s: State,
    fn: Lambda,
    prepare: Callable[[], object] | None = None,
    trips: Poly | None = None,
    ask: Callable[[Sequence[Operand]], object] | None = None,
    told: tuple[object, ...] = (),
) -> tuple[Lambda, bool]:
    """Simplify a lambda; returns whether it is speculatable."""
    params = fn.params

    def bind() -> None:
        nonlocal params
        params = tuple(map(s.bind, fn.params))
        if prepare is not None:
            prepare()

    body, speculatable = nested_body(s, fn.body, "lambda", bind, trips, ask, told)
    returns = types_of(s, fn.returns)
    if body is fn.body and returns is fn.returns and all_same(params, fn.params):
        return fn, speculatable
    return Lambda(params, body, returns), speculatable


def types_of(s: State, types: tuple[Type, ...]) -> tuple[Type, ...]:
    """Substitute known sizes in types; the same tuple if nothing changes."""
    new = tuple(type_of(s, t) for t in types)
    return types if all_same(new, types) else new


def type_of(s: State, kind: Type) -> Type:
    """Substitute known sizes in a type."""
    if type(kind) is not Array:
        return kind
    shape = s.shape(kind.shape)
    return kind if shape is kind.shape else Array(kind.prim, shape, kind.mem)


def all_same(new: Sequence[object], old: Sequence[object]) -> bool:
    """True if two sequences hold the same objects."""
    return len(new) == len(old) and all(map(is_, new, old))


def pattern(s: State, stm: Stm) -> tuple[Param, ...]:
    """Return the pattern with rewritten types; its own sizes are no dependencies."""
    for param in stm.pat:
        s.depths_of[param.name] = 0
    new = tuple(map(s.param, stm.pat))
    return stm.pat if all_same(new, stm.pat) else new


def unless_it_can_fail(
    s: State, speculatable: bool, pat: tuple[Param, ...], exp: Exp
) -> Callable[[int], bool] | None:
    """Return a test that permits hoisting if nothing can fail and nothing must be fresh."""
    if not speculatable or any(p.name in s.unique for p in pat) or not operands_cannot_fail(exp):
        return None
    return lambda limit: True


def variable(name: Name, param: Param) -> Var:
    """Return the scalar variable `name`, of the type of `param`."""
    return Var(name, param.type.prim)
