"""Lower branches and cases."""

from __future__ import annotations

from collections.abc import Callable

from compiler.algebra.poly import Poly
from compiler.analysis.cost import CHEAP, cost
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.frontend import typed as ty
from compiler.frontend.types import PrimT, Size, SizeVar, Sum, Type
from compiler.ir import nodes as ir
from compiler.ir.build import both, either
from compiler.ir.sizes import se_of
from compiler.lower.build import Lower, Lowering, origin
from compiler.lower.components import components, sum_slots
from compiler.lower.exps import bind_pat, literal, se
from compiler.lower.payloads import fit_all, name_of
from compiler.lower.values import Arr, Shape, Value, as_params, operand


def select(cond: ir.SE, then: ir.SE, orelse: ir.SE) -> ir.SE:
    """Return `then` if `cond` else `orelse`, as a logical operator if one branch is a literal."""
    if then == orelse:
        return then
    if then == ir.TRUE:
        return either(cond, orelse)
    if orelse == ir.FALSE:
        return both(cond, then)
    return ir.Select(cond, then, orelse)


@dataclass(frozen=True, slots=True)
class Branch:
    """A lowered branch."""

    stms: list[ir.Stm]
    value: Value
    prov: Prov

    def names(self) -> set[Name]:
        """Return the names that the branch binds."""
        return {p.name for stm in self.stms for p in stm.pat}


@dataclass(frozen=True, slots=True)
class Joined:
    """Two branches being joined: common sizes so far, and sizes that are results."""

    ext: tuple[Name, ...]
    branches: tuple[Branch, Branch]
    inside: set[Name]
    sizes: dict[Size, Poly]
    new: dict[Name, tuple[Poly, Poly]]


def _if_exp(s: Lowering, e: ty.If, hint: Name) -> Value:
    """Lower an `if`."""
    cond = se(s, e.cond)
    if isinstance(cond, ir.Lit):
        value = s.lower(e.then if cond.value else e.orelse, hint)
    else:
        value = _branch(
            s,
            e,
            cond,
            lambda: s.lower(e.then, hint),
            lambda: s.lower(e.orelse, hint),
            hint,
            (origin(e.then), origin(e.orelse)),
        )
    s.bind_sizes(e.ext, e.type, value)
    return value


def _branch(
    s: Lowering,
    e: ty.If | ty.Match,
    cond: ir.SE,
    then: Callable[[], Value],
    orelse: Callable[[], Value],
    hint: Name,
    provs: tuple[Prov, Prov],
) -> Value:
    """Lower a choice: a `Select` if both values are cheap and cannot fail, else an `If`."""
    outer = s.open()
    s.facts.learn(cond, True)
    first = then()
    first_stms = s.close(outer)
    outer = s.open()
    s.facts.learn(cond, False)
    second = orelse()
    second_stms = s.close(outer)
    s.prov = (e.span,)
    if not first_stms and not second_stms:
        chosen = _choose(s, cond, first, second)
        if chosen is not None:
            return chosen
    one, other = Branch(first_stms, first, provs[0]), Branch(second_stms, second, provs[1])
    return _join(s, e, cond, one, other, hint)


def _choose(s: Lowering, cond: ir.SE, first: Value, second: Value) -> Value | None:
    """Return the values as selects, if they are cheap scalars."""
    total = 0
    for a, b in zip(first, second, strict=True):
        if isinstance(a, Arr) or isinstance(b, Arr):
            if a == b:
                continue
            return None
        total += cost(a) + cost(b)
    if total > CHEAP:
        return None
    if len(first) > 1:
        cond = s.atom(cond, "c")
    return tuple(
        a if isinstance(a, Arr) or isinstance(b, Arr) else select(cond, a, b)
        for a, b in zip(first, second, strict=True)
    )


def _join(
    s: Lowering, e: ty.If | ty.Match, cond: ir.SE, then: Branch, orelse: Branch, hint: Name
) -> Value:
    """Emit the `If` statement of two lowered branches."""
    declared = components(e.type)
    joined = Joined(e.ext, (then, orelse), then.names() | orelse.names(), {}, {})
    shapes = [
        tuple(_join_size(s, joined, dim, k, at) for at, dim in enumerate(dims))
        for k, (_, dims, _) in enumerate(declared)
    ]
    s.sizes.update({d.name: p for d, p in joined.sizes.items() if isinstance(d, SizeVar)})
    bodies = [_branch_body(s, e.type, joined, which, shapes) for which in (0, 1)]
    names = s.names(hint or "r", e.type)
    value = s.params(names, e.type, shapes)
    heads = tuple(ir.Param(name, ir.I64) for name in joined.new)
    s.emit((*heads, *as_params(value)), ir.If(cond, bodies[0], bodies[1]))
    return value


def _branch_body(s: Lowering, t: Type, joined: Joined, which: int, shapes: list[Shape]) -> ir.Body:
    """Return one branch's body: sizes that differ, then its results in the joined shapes."""
    branch = joined.branches[which]
    own = {name: polys[which] for name, polys in joined.new.items()}
    outer = s.open()
    s.stms = branch.stms
    wanted = [tuple(p.subst(own) for p in shape) for shape in shapes]
    result = fit_all(s, branch.value, wanted, t)
    heads: list[ir.Operand] = [se_of(poly) for poly in own.values()]
    return ir.Body(tuple(s.close(outer)), (*heads, *(operand(x) for x in result)), branch.prov)


def _join_size(s: Lowering, joined: Joined, dim: Size, k: int, at: int) -> Poly:
    """Join dimension `at` of result `k`: a size known outside, or one more result."""
    known = joined.sizes.get(dim)
    if known is not None:
        return known
    pair = [branch.value[k] for branch in joined.branches]
    first, second = (component.shape[at] for component in pair if isinstance(component, Arr))
    inside = joined.inside
    size: Poly | None = None
    if first == second and not first.names() & inside:
        size = first
    elif not (isinstance(dim, SizeVar) and dim.name in joined.ext):
        size = s.known_size(dim)
    if size is None or size.names() & inside:
        name = s.name(name_of(dim))
        if at == 0:
            s.facts.array([Poly.var(name)])
        s.either[name] = joined.new[name] = (first, second)
        size = Poly.var(name)
    joined.sizes[dim] = size
    return size


def _match(s: Lowering, e: ty.Match, hint: Name) -> Value:
    """Lower cases to a chain of branches; the last one needs no test."""
    value = s.lower(e.exp)
    s.prov = (e.span,)
    value = tuple(x if isinstance(x, Arr) else s.atom(x) for x in value)
    result = _cases(s, e, value, 0, hint)
    s.bind_sizes(e.ext, e.type, result)
    return result


def _cases(s: Lowering, e: ty.Match, value: Value, at: int, hint: Name) -> Value:
    """Lower the cases from number `at` on."""
    case = e.cases[at]

    def body() -> Value:
        bind_pat(s, case.pat, value)
        return s.lower(case.body, hint)

    cond = ir.TRUE if at == len(e.cases) - 1 else _matches(s, case.pat, value)
    if cond == ir.TRUE:
        return body()
    rest, provs = lambda: _cases(s, e, value, at + 1, hint), (origin(case.body), ())
    return _branch(s, e, cond, body, rest, hint, provs)


def _matches(s: Lowering, pat: ty.Pat, value: Value) -> ir.SE:
    """Return the condition that a pattern matches."""
    if isinstance(pat, ty.PLit):
        component = value[0]
        assert not isinstance(component, Arr)
        assert isinstance(pat.type, PrimT)
        return ir.Bin("==", pat.type.prim, component, literal(pat.value, pat.type.prim))
    inner: tuple[ty.Pat, ...] = ()
    cond: ir.SE = ir.TRUE
    if isinstance(pat, ty.PRecord):
        inner = tuple(p for _, p in pat.fields)
    elif isinstance(pat, ty.PConstr):
        assert isinstance(pat.type, Sum)
        _, uses = sum_slots(pat.type)
        tag = [name for name, _ in pat.type.variants].index(pat.name)
        assert not isinstance(value[0], Arr)
        cond = ir.Bin("==", "i8", value[0], ir.Lit(tag, "i8"))
        value = tuple(value[1 + k] for k in uses[tag])
        inner = pat.args
    start = 0
    for p in inner:
        end = start + len(components(p.type))
        cond = both(cond, _matches(s, p, value[start:end]))
        start = end
    return cond


RULES: dict[type, Lower] = {
    ty.If: _if_exp,
    ty.Match: _match,
}
