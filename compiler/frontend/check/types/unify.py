"""Unify types by Futhark's rules of equality.

`unify(state, want, got)` makes both types equal or raises `Mismatch` with the reason that is shown
under "expected .. found ..". Sizes that cannot be decided yet are put off in `state.deferred`.
Uniqueness is directed: a function that consumes is no function that only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from string import ascii_lowercase
from typing import Protocol

from compiler import codes
from compiler.base.code import Code
from compiler.base.names import Name, base_of
from compiler.base.spans import Span
from compiler.frontend.check.types.metas import MetaS, MetaT, resolve
from compiler.frontend.check.types.own_sizes import open_own, own_in
from compiler.frontend.check.types.size_exps import names_in_size
from compiler.frontend.check.types.sizes import size_key, unify_size
from compiler.frontend.check.types.substitute import map_sizes, subst, subst_size
from compiler.frontend.check.types.walks import dimensions, is_scalar, metas_in, names_in_type
from compiler.frontend.show_type import is_tuple, show_size
from compiler.frontend.types import (
    ACC,
    ANY_SIZE,
    Array,
    Arrow,
    Opaque,
    PrimT,
    Record,
    Size,
    SizeVar,
    Sum,
    Type,
    TypeVar,
)


class Mismatch(Exception):
    """Two types differ; the argument explains how, or is empty when that is plain."""

    def __init__(
        self,
        reason: str = "",
        sizes: tuple[Size, Size] | None = None,
        code: Code = codes.types.MISMATCH,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code if sizes is None else codes.sizes.DIFFER
        self.sizes = sizes
        """The two sizes that differ, if that is the reason."""


class UnifyState(Protocol):
    """The part of the checker's state that unification needs."""

    alias: dict[Name, Size]
    deferred: list[tuple[Size, Size, Span]]
    type_levels: dict[Name, int]
    functional: set[Name]
    sized: set[Name]
    own_sizes: set[Name]
    transparent: set[Name]
    span: Span
    level: int

    def fresh(self, base: str) -> Name: ...  # noqa: D102


def unify(st: UnifyState, want: Type, got: Type) -> None:
    """Unify `want` and `got`, or raise `Mismatch`."""
    if want is got:
        return
    want, got = resolve(want), resolve(got)
    if want is got:
        return
    if type(want) is MetaT:
        bind(st, want, got)
        return
    if type(got) is MetaT:
        bind(st, got, want)
        return
    match want, got:
        case PrimT(p), PrimT(q):
            if p != q:
                raise Mismatch
        case Array(), Array():
            if st.transparent:
                want, got = _seen_through(st, want), _seen_through(st, got)
            _unify_arrays(st, want, got)
        case Record(), Record():
            _unify_records(st, want, got)
        case TypeVar(p), TypeVar(q):
            if p != q:
                raise Mismatch
        case Arrow(), Arrow():
            _unify_arrows(st, want, got)
        case Sum(), Sum():
            _unify_sums(st, want, got)
        case (Opaque(), _) | (_, Opaque()):
            _unify_opaque(st, want, got)
        case _:
            raise Mismatch


def unify_sizes(st: UnifyState, want: Size, got: Size) -> None:
    """Unify two sizes, defer the equation, or raise `Mismatch`.

    An argument of an abstract type may be an array of any size; the type's meaning has the sizes.
    """
    if want is ANY_SIZE or got is ANY_SIZE:
        return
    done = unify_size(want, got, st.alias)
    if done:
        return
    if done is None:
        st.deferred.append((want, got, st.span))
        return
    both = final_size(want), final_size(got)
    left, right = (show_size(size) for size in both)
    if left == right:
        raise Mismatch(f"Two different sizes are called `{left}`.", sizes=both)
    raise Mismatch(f"The sizes `{left}` and `{right}` are not the same.", sizes=both)


def final_size(s: Size) -> Size:
    """Substitute all known metavariables in `s`."""
    return subst_size(s, {})


def final_type(t: Type) -> Type:
    """Substitute all known metavariables in `t`."""
    return subst(t, {}, {})


def _unify_opaque(st: UnifyState, want: Type, got: Type) -> None:
    """Unify two types, at least one of them abstract."""
    match want, got:
        case Opaque(), Opaque() if want.name == got.name:
            for t, u in zip((*want.args, want.meaning), (*got.args, got.meaning), strict=True):
                unify(st, t, u)
        case Opaque(name, meaning=meaning), _ if name in st.transparent:
            unify(st, meaning, got)
        case _, Opaque(name, meaning=meaning) if name in st.transparent:
            unify(st, want, meaning)
        case Opaque(), Opaque() if want.shown == got.shown:
            raise Mismatch(f"Two different abstract types are called `{want.shown}`.")
        case _:
            raise Mismatch


def _unify_arrays(st: UnifyState, want: Array, got: Array) -> None:
    d1, d2 = want.dims, got.dims
    common = min(len(d1), len(d2))
    if len(d1) == len(d2):
        unify(st, want.elem, got.elem)
    elif len(d1) > common:
        if not isinstance(got.elem, MetaT):
            raise Mismatch(_rank(len(d1), len(d2)))
        unify(st, Array(d1[common:], want.elem), got.elem)
    else:
        if not isinstance(want.elem, MetaT):
            raise Mismatch(_rank(len(d1), len(d2)))
        unify(st, want.elem, Array(d2[common:], got.elem))
    for i in range(common):
        unify_sizes(st, d1[i], d2[i])


def _seen_through(st: UnifyState, array: Array) -> Array:
    """Expand an array of transparent elements."""
    elem = resolve(array.elem)
    if isinstance(elem, Opaque) and elem.name in st.transparent:
        inner = resolve(elem.meaning)
        if isinstance(inner, Array):
            return _seen_through(st, Array(array.dims + inner.dims, inner.elem))
        return _seen_through(st, Array(array.dims, inner))
    return array


def _rank(want: int, got: int) -> str:
    return f"One has {want} dimension{'s' if want > 1 else ''}, the other {got}."


def _unify_records(st: UnifyState, want: Record, got: Record) -> None:
    if len(want.fields) != len(got.fields):
        raise Mismatch(_record_difference(want, got))
    for (f, t), (g, u) in zip(want.fields, got.fields, strict=True):
        if f != g:
            raise Mismatch(_record_difference(want, got))
        unify(st, t, u)


def _record_difference(want: Record, got: Record) -> str:
    wanted, found = [f for f, _ in want.fields], [f for f, _ in got.fields]
    if all(f.isdigit() for f in wanted + found):
        return f"One tuple has {len(wanted)} elements, the other {len(found)}."
    missing = [f for f in wanted if f not in found]
    extra = [f for f in found if f not in wanted]
    parts = [f"field `{f}` is missing" for f in missing] + [f"field `{f}` is extra" for f in extra]
    return (", ".join(parts)).capitalize() + "."


def _unify_sums(st: UnifyState, want: Sum, got: Sum) -> None:
    if [c for c, _ in want.variants] != [c for c, _ in got.variants]:
        raise Mismatch("They do not have the same constructors.")
    for (c, ts), (_, us) in zip(want.variants, got.variants, strict=True):
        if len(ts) != len(us):
            raise Mismatch(
                f"Constructor `#{c}` has {len(ts)} arguments in one, {len(us)} in the other."
            )
        for t, u in zip(ts, us, strict=True):
            unify(st, t, u)


def _unify_arrows(st: UnifyState, want: Arrow, got: Arrow) -> None:
    if got.consumes and not want.consumes:
        raise Mismatch(
            "A function that consumes its argument cannot stand for one that does not.",
            code=codes.uniqueness.FUNCTION,
        )
    if want.unique and not got.unique and _may_alias(got.result):
        raise Mismatch(
            "The result must be fresh (`*`), but it may alias an argument.",
            code=codes.uniqueness.FUNCTION,
        )
    unify(st, got.param, want.param)
    result = got.result
    hole = resolve(want.result)
    while isinstance(hole, Arrow):
        hole = resolve(hole.result)
    if got.name:
        if want.name:
            result = subst(result, {}, {got.name: SizeVar(want.name)})
        elif got.name in names_in_type(result) and not _has_ext(want):
            by = base_of(got.name)
            reason = f"The size of the function's result depends on its argument `{by}`."
            result = _own(st, hole, result, (got.name,), reason)
    expected, wanted_ext = _opened(st, want.result, want.ext)
    result, ext = _opened(st, result, got.ext)
    unknown = resolve(result)
    if wanted_ext and isinstance(unknown, MetaT) and unknown.lifted and not unknown.regular:
        unify(st, _own(st, unknown, expected, wanted_ext, ""), unknown)
        return
    if wanted_ext:
        holes: dict[Name, Size] = {name: MetaS(st.level) for name in wanted_ext}
        expected = subst(expected, {}, holes)
    if ext:
        used = names_in_type(result)
        if not wanted_ext and any(name in used for name in ext):
            reason = "The function returns an array whose size may differ at each call."
            result = _own(st, hole, result, ext, reason)
        result = subst(result, {}, {name: SizeVar(st.fresh(name)) for name in ext})
    unify(st, expected, result)


def _opened(st: UnifyState, result: Type, ext: tuple[Name, ...]) -> tuple[Type, tuple[Name, ...]]:
    """Return a function's result and the sizes bound by it, those of unknowns included."""
    if not st.own_sizes or not own_in(result):
        return result, ext
    names = list(ext)
    return open_own(st, result, names, st.span), tuple(names)


def _own(st: UnifyState, unknown: Type, result: Type, names: tuple[Name, ...], reason: str) -> Type:
    """Return the result of a functional argument, with names for the sizes that calls differ in.

    Errors, with that `reason`: what is wanted is no type that may have such sizes.
    """
    if not isinstance(unknown, MetaT) or not unknown.lifted or unknown.regular:
        raise Mismatch(reason, code=codes.sizes.HIDDEN)
    told = dimensions(result)
    wholes: dict[str, Name] = {}

    def read_off(size: Size) -> Size:
        """Read a size that mentions a name which no array determines off the value itself."""
        inside: set[Name] = set()
        names_in_size(size, inside)
        if told.issuperset(inside & own.keys()):
            return size
        key = size_key(size, st.alias)
        wholes[key] = wholes.get(key) or st.fresh("d")
        return SizeVar(wholes[key])

    own = {name: st.fresh(name) for name in names}
    result = map_sizes(result, read_off)
    new = (*own.values(), *wholes.values())
    unknown.own += new
    st.own_sizes.update(new)
    return subst(result, {}, {name: SizeVar(one) for name, one in own.items()})


def _may_alias(result: Type) -> bool:
    """Test whether a function's result, as far as known, can alias an argument."""
    return not isinstance(resolve(result), (Arrow, MetaT)) and not is_scalar(result)


def _has_ext(arrow: Arrow) -> bool:
    """Test whether a function's result has existential sizes, after one argument or more."""
    type_: Type = arrow
    while isinstance(type_, Arrow):
        if type_.ext:
            return True
        type_ = resolve(type_.result)
    return False


# --- binding a type metavariable ---------------------------------------------------------------


def bind(st: UnifyState, meta: MetaT, t: Type) -> None:
    """Bind `meta` to `t`, which must satisfy all constraints on `meta`."""
    if type(t) is MetaT:
        _merge(st, meta, t)
        return
    if type(t) is not PrimT:
        _occurs(st, meta, t)
    meta.ref = t
    try:
        _check_constraints(st, meta, t)
    except Mismatch:
        meta.ref = None
        raise
    if meta.alike:
        _tell_alike(st, meta, t)


def _tell_alike(st: UnifyState, meta: MetaT, t: Type) -> None:
    """Unify the types that equal `meta` up to sizes with `t`, with sizes of their own."""
    for other in meta.alike:
        open_ = resolve(other)
        if isinstance(open_, MetaT) and open_ is not meta:
            unify(st, open_, in_own_sizes(open_, t))


def in_own_sizes(meta: MetaT, t: Type) -> Type:
    """Return `t` with fresh sizes; those of variants that `meta` does not have do not matter."""

    def other(variant: str) -> Callable[[Size], Size]:
        def size(_: Size) -> Size:
            found = MetaS(meta.level)
            found.unused = variant not in (meta.variants or {})
            return found

        return size

    assert isinstance(t, Sum)
    return Sum(tuple([(c, tuple([map_sizes(u, other(c)) for u in us])) for c, us in t.variants]))


def link(first: MetaT, second: MetaT) -> None:
    """Declare two unknowns the same type up to sizes."""
    first.alike.append(second)
    second.alike.append(first)


def _occurs(st: UnifyState, meta: MetaT, t: Type) -> None:
    """Occurs check: reject infinite types, and lower unknowns in `t` to the level of `meta`."""
    types: list[MetaT] = []
    sizes: list[MetaS] = []
    variables: set[Name] = set()
    metas_in(t, types, sizes, variables)
    for name in variables:
        if st.type_levels.get(name, 0) > meta.level:
            raise Mismatch(f"The type parameter `{base_of(name)}` is not in scope there.")
    for other in types:
        if other is meta:
            raise Mismatch("The type would contain itself.", code=codes.types.ENDLESS)
        other.level = min(other.level, meta.level)
        other.until = min(other.until, meta.until)
    for size in sizes:
        size.level = min(size.level, meta.level)
        size.until = min(size.until, meta.until)


_OPEN_SUM = (
    "The variants of the type are unknown here. Put the operand with the known type "
    "first, as in `x == #none`, or write the type."
)


def _merge(st: UnifyState, meta: MetaT, other: MetaT) -> None:
    for one, sum_ in ((meta, other), (other, meta)):
        if one.equality and not one.variants and sum_.variants and not sum_.named:
            raise Mismatch(_OPEN_SUM, code=codes.types.OPERANDS)
    if meta.prims is not None:
        both = meta.prims if other.prims is None else meta.prims & other.prims
        if not both:
            raise Mismatch(
                f"It would have to be both {any_of(meta.prims)} and {any_of(other.prims)}."
            )
        if other.fields or other.variants:
            raise Mismatch("A number is not a record.")
        other.prims = both
    elif other.prims is not None and (meta.fields or meta.variants):
        raise Mismatch("A number is not a record.")
    if meta.fields or other.fields or meta.variants or other.variants:
        _not_inside_itself(meta, other)
    meta.ref = other
    other.level = min(other.level, meta.level)
    other.until = min(other.until, meta.until)
    other.equality = other.equality or meta.equality
    other.named = other.named or meta.named
    other.data = other.data or meta.data
    other.regular = other.regular or meta.regular
    other.alike += [one for one in meta.alike if one is not other]
    before = other.fields, other.variants
    try:
        _merge_parts(st, meta, other)
    except Mismatch:
        meta.ref = None
        other.fields, other.variants = before
        raise


def _merge_parts(st: UnifyState, meta: MetaT, other: MetaT) -> None:
    """Merge the fields and variants of `meta` into `other`."""
    if meta.fields:
        known = other.fields = dict(other.fields or {})
        for field, t in meta.fields.items():
            if field in known:
                unify(st, known[field], t)
            else:
                known[field] = t
    if meta.variants:
        variants = other.variants = dict(other.variants or {})
        for name, ts in meta.variants.items():
            if name in variants:
                _unify_all(st, name, variants[name], ts)
            else:
                variants[name] = ts


def _not_inside_itself(meta: MetaT, other: MetaT) -> None:
    """Reject a record or sum type that contains itself."""
    types: list[MetaT] = []
    sizes: list[MetaS] = []
    for part in (meta, other):
        inside: list[MetaT] = []
        metas_in(part, inside, sizes)
        types.extend(inside[1:])
    if any(t is meta or t is other for t in types):
        raise Mismatch("The type would contain itself.", code=codes.types.ENDLESS)


def _check_constraints(st: UnifyState, meta: MetaT, t: Type) -> None:
    if meta.prims is not None and not (isinstance(t, PrimT) and t.prim in meta.prims):
        if isinstance(t, TypeVar):
            raise Mismatch(f"`{base_of(t.name)}` stands for any type, not only for numbers.")
        raise Mismatch(f"It must be {any_of(meta.prims)}.")
    if meta.fields is not None:
        if not isinstance(t, Record):
            raise Mismatch(f"It must be a record with a field `{next(iter(meta.fields))}`.")
        present = dict(t.fields)
        for field, u in meta.fields.items():
            if field not in present:
                raise Mismatch(f"It has no field `{field}`.")
            unify(st, u, present[field])
    if meta.variants is not None:
        if not isinstance(t, Sum):
            raise Mismatch(f"It must be a sum type with `#{next(iter(meta.variants))}`.")
        options = dict(t.variants)
        for name, us in meta.variants.items():
            if name not in options:
                raise Mismatch(f"It has no constructor `#{name}`.")
            _unify_all(st, name, us, options[name])
    if meta.data or meta.equality:
        require_data(t, meta.equality, st.functional)
    if meta.regular:
        require_regular(t, st.sized)


def _unify_all(st: UnifyState, name: str, want: tuple[Type, ...], got: tuple[Type, ...]) -> None:
    if len(want) != len(got):
        for one, others in ((want, got), (got, want)):
            if len(others) == 1 and _is_tuple_of(len(one), others[0]):
                parts = ascii_lowercase[: len(one)]
                raise Mismatch(
                    f"`#{name} ({', '.join(parts)})` holds one tuple, `#{name} {' '.join(parts)}`"
                    f" holds {len(one)} values."
                )
        raise Mismatch(
            f"Constructor `#{name}` has {len(want)} arguments in one, {len(got)} in the other."
        )
    for t, u in zip(want, got, strict=True):
        unify(st, t, u)


def _is_tuple_of(count: int, type_: Type) -> bool:
    type_ = resolve(type_)
    return isinstance(type_, Record) and len(type_.fields) == count and is_tuple(type_.fields)


NO_NAMES: frozenset[Name] = frozenset()


def require_data(t: Type, equality: bool = False, functional: Collection[Name] = NO_NAMES) -> None:
    """Demand that `t` holds no function, and constrain its unknowns so.

    `functional` are the type parameters that may stand for functions.
    Errors: `Mismatch` where it does, or may.
    """
    t = resolve(t)
    match t:
        case MetaT():
            if equality and t.variants and not t.named:
                raise Mismatch(_OPEN_SUM)
            t.data = True
            t.equality = t.equality or equality
            for u in (t.fields or {}).values():
                require_data(u, equality, functional)
        case Arrow():
            reason = (
                "Functions cannot be compared." if equality else "A function is not allowed here."
            )
            raise Mismatch(reason, code=codes.types.FUNCTION)
        case TypeVar(name) | Opaque(name) if equality:
            raise Mismatch(f"Values of the abstract type `{base_of(name)}` cannot be compared.")
        case Opaque(name) if name == ACC and name in functional:
            raise Mismatch("An accumulator cannot be stored.")
        case TypeVar(name) if name in functional:
            raise Mismatch(
                f"The type parameter `{base_of(name)}` may stand for a function.",
                code=codes.types.FUNCTION,
            )
        case Opaque(name, shown) if name in functional:
            raise Mismatch(
                f"The abstract type `{shown}` may stand for a function.", code=codes.types.FUNCTION
            )
        case _ if not isinstance(t, Opaque):
            for u in t.parts:
                require_data(u, equality, functional)


def require_regular(t: Type, sized: Collection[Name]) -> None:
    """Demand that all values of `t` have the same sizes, and constrain its unknowns so.

    `sized` are the type parameters that may stand for types with sizes of their own.
    Errors: `Mismatch` where they may differ.
    """
    t = resolve(t)
    match t:
        case MetaT():
            t.regular = True
            for u in (t.fields or {}).values():
                require_regular(u, sized)
        case TypeVar(name) if name in sized:
            raise Mismatch(
                f"The type parameter `{base_of(name)}` may stand for arrays of different sizes."
            )
        case Opaque(name, shown) if name in sized:
            raise Mismatch(f"Values of the abstract type `{shown}` may differ in size.")
        case Record() | Sum():
            for u in t.parts:
                require_regular(u, sized)


def any_of(prims: frozenset[str] | None) -> str:
    """Describe a set of primitive types: `a number`, `an integer`, .."""
    if prims is None:
        return "anything"
    floats, ints = any(p[0] == "f" for p in prims), any(p[0] in "iu" for p in prims)
    if "bool" in prims:
        if floats:
            return "a number or a boolean"
        return "an integer or a boolean" if ints else "a boolean"
    if floats and ints:
        return "a number"
    if floats:
        return "a floating-point number"
    return "an integer" if any(p[0] == "u" for p in prims) else "a signed integer"
