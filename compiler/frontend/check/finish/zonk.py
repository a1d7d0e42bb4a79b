"""Zonking, the last step of inference: replace every metavariable by its solution.

Overloaded operators get their type, literals their value at it, and equality on arrays, records and
sums is expanded. The result has no metavariables and no `Overloaded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compiler import codes
from compiler.base.by_class import handles
from compiler.base.context import Ctx
from compiler.base.errors import TypeError_
from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.literals import check_range, constant
from compiler.frontend.check.finish.equality import equal
from compiler.frontend.check.finish.exhaustive import check_exhaustive
from compiler.frontend.check.types.metas import MetaS, MetaT, resolve, resolve_size
from compiler.frontend.check.types.size_exps import Overloaded, SizeHole, length_of, size_to_exp
from compiler.frontend.check.types.substitute import refresh
from compiler.frontend.check.types.walks import sizes_of
from compiler.frontend.check.types.wording import show
from compiler.frontend.parts import free_variables, rebuilt
from compiler.frontend.types import (
    ANY_SIZE,
    UNIT,
    Array,
    Arrow,
    Opaque,
    PrimT,
    Size,
    SizeConst,
    SizeExp,
    SizeOp,
    SizeVar,
    Type,
    TypeVar,
)

_EXPS: dict[type, Callable[..., t.Exp]] = {}


class Zonk:
    """Rebuilds one definition; memoises types and sizes by identity."""

    __slots__ = ("_own", "_sizes", "_types", "abstract", "ctx", "itself")

    def __init__(self, ctx: Ctx, own: Iterable[Name] = ()) -> None:
        """`own`: sizes that differ from value to value."""
        self.ctx = ctx
        self._own = {SizeVar(name) for name in own}
        self.itself: t.Def | None = None
        """The definition, if it calls itself."""
        self._types: dict[int, tuple[Type, Type]] = {}
        self._sizes: dict[int, tuple[Size, Size]] = {}
        self.abstract = False
        """True once an abstract type has been replaced by its meaning."""

    # --- types and sizes -----------------------------------------------------------------------

    def type(self, ty: Type) -> Type:
        """Return the final type; an undetermined unknown is unit."""
        if type(ty) is PrimT:
            return ty
        known = self._types.get(id(ty))
        if known is not None:
            return known[1]
        final = self._type(ty)
        self._types[id(ty)] = (ty, final)
        return final

    def _type(self, ty: Type) -> Type:
        ty = resolve(ty)
        match ty:
            case MetaT():
                ty.ref = UNIT
                return UNIT
            case Array(dims, elem):
                inner = self.type(elem)
                sizes = tuple([self.size(d) for d in dims])
                if type(inner) is Array:
                    return Array(sizes + inner.dims, inner.elem)
                return Array(sizes, inner)
            case Opaque(meaning=meaning):
                self.abstract = True
                return self.type(meaning)
        return ty.map_parts(self.type)

    def size(self, size: Size) -> Size:
        """Return the final size; an undetermined unknown is 0."""
        size = resolve_size(size)
        kind = type(size)
        if kind is SizeVar or kind is SizeConst:
            return ANY_SIZE if size in self._own else size
        if isinstance(size, SizeOp):
            known = self._sizes.get(id(size))
            if known is None:
                lhs, rhs = self.size(size.lhs), self.size(size.rhs)
                same = lhs is size.lhs and rhs is size.rhs
                final: Size = size if same else SizeOp(size.op, lhs, rhs)
                known = (size, ANY_SIZE if ANY_SIZE in (lhs, rhs) else final)
                self._sizes[id(size)] = known
            return known[1]
        if isinstance(size, SizeExp):
            filled = refresh(size)
            if not isinstance(filled, SizeExp):
                return self.size(filled)
            assert isinstance(filled.exp, t.Exp)
            length = length_of(filled.exp)
            if length is not None:
                return self.size(length)
            if self._own and any(SizeVar(n) in self._own for n in free_variables(filled.exp)):
                return ANY_SIZE
            return SizeExp(filled.key, self.exp(filled.exp))
        return SizeConst(0)

    def known_size(self, size: Size, e: t.Var) -> Size:
        """Return the final size of an instance.

        Errors: nothing determines it.
        """
        if isinstance(resolve_size(size), MetaS):
            raise TypeError_(
                codes.sizes.UNDETERMINED,
                f"Nothing determines a size that this use of `{base_of(e.name)}` depends on.",
                e.span,
                "Write the type of the array whose size it is.",
            )
        return self.size(size)

    # --- patterns ------------------------------------------------------------------------------

    def pat(self, pat: t.Pat) -> t.Pat:
        """Zonk a pattern."""
        if isinstance(pat, t.PLit):
            type_ = self.type(pat.type)
            assert isinstance(type_, PrimT)
            return t.PLit(type_, pat.span, constant(pat.value, type_))
        return rebuilt(self, pat)

    # --- expressions ---------------------------------------------------------------------------

    def exp(self, exp: t.Exp) -> t.Exp:
        """Zonk an expression."""
        rule = _EXPS.get(type(exp))
        return rebuilt(self, exp) if rule is None else rule(self, exp)

    def exps(self, exps: tuple[t.Exp, ...]) -> tuple[t.Exp, ...]:
        """Zonk several expressions."""
        return tuple([self.exp(e) for e in exps])

    def definition(self, d: t.Def) -> t.Def:
        """Zonk a definition."""
        if d.recursive:
            self.itself = d
        return t.Def(
            d.name, d.source_name, d.type_params, d.size_params,
            tuple([self.pat(p) for p in d.params]), self.type(d.ret), d.unique, d.ext,
            self.exp(d.body), d.is_entry, d.span, d.attrs, d.fresh_fields, d.recursive,
        )  # fmt: skip


@handles(_EXPS, SizeHole)
def _hole(z: Zonk, e: SizeHole) -> t.Exp:
    return size_to_exp(z.size(e.size), e.span)


@handles(_EXPS, t.Const)
def _const(z: Zonk, e: t.Const) -> t.Exp:
    type_ = z.type(e.type)
    assert isinstance(type_, PrimT)
    if type(e.type) is not PrimT:
        check_range(e.value, type_, e.span)
    return t.Const(type_, e.span, constant(e.value, type_))


@handles(_EXPS, t.StringConst)
def _string(z: Zonk, e: t.StringConst) -> t.Exp:
    return e


@handles(_EXPS, t.Var)
def _var(z: Zonk, e: t.Var) -> t.Exp:
    if z.itself is not None and e.name == z.itself.name:
        return _itself(z, z.itself, z.type(e.type), e)
    types = tuple([z.type(u) for u in e.type_args]) if e.type_args else ()
    sizes = tuple([z.known_size(s, e) for s in e.size_args]) if e.size_args else ()
    return t.Var(z.type(e.type), e.span, e.name, types, sizes)


def _itself(z: Zonk, own: t.Def, type_: Type, e: t.Var) -> t.Exp:
    """Rebuild a recursive use; its sizes follow from its type's parameters."""
    told: dict[Name, Size] = {}
    rest = type_
    for param in own.params:
        assert isinstance(rest, Arrow)
        for size, given in zip(sizes_of(z.type(param.type)), sizes_of(rest.param), strict=True):
            if isinstance(size, SizeVar):
                told.setdefault(size.name, given)
        rest = rest.result
    sizes = tuple([z.known_size(told.get(name, MetaS(0)), e) for name in own.size_params])
    return t.Var(type_, e.span, e.name, tuple(map(TypeVar, own.type_params)), sizes)


@handles(_EXPS, Overloaded)
def _overloaded(z: Zonk, e: Overloaded) -> t.Exp:
    operand, args = z.type(e.operand), z.exps(e.args)
    if isinstance(operand, PrimT):
        return t.PrimOp(z.type(e.type), e.span, e.op, operand.prim, args)
    result = equal(z.ctx, operand, args[0], args[1], e.span)
    return t.PrimOp(result.type, e.span, "not", "bool", (result,)) if e.op == "!=" else result


@handles(_EXPS, t.Let)
def _let(z: Zonk, e: t.Let) -> t.Exp:
    """Zonk a chain of `let`s without recursion along it."""
    chain: list[t.Let] = []
    exp: t.Exp = e
    while type(exp) is t.Let:
        chain.append(exp)
        exp = exp.body
    parts = [(z.pat(c.pat), z.exp(c.rhs)) for c in chain]
    body = z.exp(exp)
    for c, (pat, rhs) in zip(reversed(chain), reversed(parts), strict=True):
        body = t.Let(z.type(c.type), c.span, c.sizes, pat, rhs, body)
    return body


@handles(_EXPS, t.Match)
def _match(z: Zonk, e: t.Match) -> t.Exp:
    scrutinee = z.exp(e.exp)
    cases = tuple([t.Case(z.pat(c.pat), z.exp(c.body)) for c in e.cases])
    check_exhaustive(scrutinee.type, tuple([c.pat for c in cases]), scrutinee.span)
    return t.Match(z.type(e.type), e.span, scrutinee, cases, e.ext)


@handles(_EXPS, t.Loop)
def _loop(z: Zonk, e: t.Loop) -> t.Exp:
    pat, init = z.pat(e.pat), z.exp(e.init)
    form: t.For | t.ForIn | t.While
    match e.form:
        case t.For(name=name, bound=bound):
            final = z.exp(bound)
            form = t.For(name, _prim(final.type), final)
        case t.ForIn(pat=inner, array=array):
            form = t.ForIn(z.pat(inner), z.exp(array))
        case t.While(cond=cond):
            form = t.While(z.exp(cond))
    return t.Loop(z.type(e.type), e.span, e.sizes, pat, init, form, z.exp(e.body), e.ext)


def _prim(type_: Type) -> Prim:
    assert isinstance(type_, PrimT)
    return type_.prim


@handles(_EXPS, t.Coerce)
def _coerce(z: Zonk, e: t.Coerce) -> t.Exp:
    """Errors: nothing determines the sizes that are compared when the program runs."""
    if any(isinstance(size, MetaS) for size in sizes_of(e.exp.type)):
        raise TypeError_(
            codes.sizes.UNDETERMINED,
            "Nothing determines the sizes of the coerced expression.",
            e.span,
            "Write its type before it is coerced, as in `([]: [0][n]i32) :> [0][m]i32`.",
        )
    return rebuilt(z, e)


@handles(_EXPS, t.Hole)
def _fails(z: Zonk, e: t.Hole) -> t.Exp:
    """Errors: nothing determines a size of its type, as where another branch brings it forth."""
    if any(isinstance(size, MetaS) for size in sizes_of(e.type)):
        raise TypeError_(
            codes.sizes.UNDETERMINED,
            f"Nothing determines a size in the type of this hole: `{show(e.type)}`.",
            e.span,
            "Write the type with its sizes, as in `(??? : [0]i32)`, or first bind the "
            "array that has the size with `let`.",
        )
    return t.Hole(z.type(e.type), e.span, show(e.type))


@handles(_EXPS, t.Constr)
def _constr(z: Zonk, e: t.Constr) -> t.Exp:
    """Errors: nothing determines a size in another variant."""
    if any(isinstance(size, MetaS) and not size.unused for size in sizes_of(e.type)):
        raise TypeError_(
            codes.sizes.UNDETERMINED,
            f"Nothing determines a size in the type of `#{e.name}`: `{show(e.type)}`.",
            e.span,
            "Write the type with its sizes, as in `(#a xs : #a ([n]i32) | #b ([0]i32))`.",
        )
    return rebuilt(z, e)
