"""Existential sizes: sizes that leave the scope of their names.

When a function, branch or loop body ends, the sizes in its type that mention names bound inside
become existential: names in an `ext`. Branches with different sizes are joined the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from sys import maxsize

from compiler.base.dataclass import dataclass
from compiler.base.errors import Related
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.long_sizes import MOST, SizeAtom, is_long
from compiler.frontend.check.types.metas import MetaS, MetaT, resolve, resolve_size
from compiler.frontend.check.types.size_exps import cheap_size, length_of, names_in_size
from compiler.frontend.check.types.sizes import same_size, simplified, size_key, unify_size
from compiler.frontend.check.types.substitute import (
    copied,
    map_sizes,
    subst,
    subst_size,
)
from compiler.frontend.check.types.unify import Mismatch, link, unify
from compiler.frontend.check.types.walks import metas_in, names_in_type
from compiler.frontend.check.types.wording import Maker, makers, mismatch, reason_of
from compiler.frontend.types import (
    Array,
    Opaque,
    Record,
    Size,
    SizeConst,
    SizeExp,
    SizeOp,
    SizeVar,
    Sum,
    Type,
    row_of,
)

Visible = Callable[[Name], bool]


@dataclass(slots=True)
class Hidden:
    """The sizes made existential so far, by text, so that equal sizes stay equal."""

    st: Checker
    visible: Visible
    computed: bool
    """True if a size may be a costly expression, as in the type of a function."""
    names: dict[str, Name] = field(default_factory=dict)

    def size(self, s: Size, followed: frozenset[Name] = frozenset()) -> Size:
        """Return `s`, or the existential name that replaces it.

        `followed`: names whose meanings led here. The meaning of `n` may lead back to it where a
        parameter would need the size `n = length xs` of itself, which is refused later.
        """
        s = resolve_size(s)
        if isinstance(s, MetaS):
            return s
        mentioned: set[Name] = set()
        names_in_size(s, mentioned)
        if all(self.visible(n) for n in mentioned):
            return s
        known = computed(self.st, s, self.visible)
        if self.computed and known is not None:
            return known
        if isinstance(s, SizeOp):
            shorter = simplified(s)
            if shorter != s:
                return self.size(shorter, followed)
        meaning = s if is_long(s, MOST) else known_as(self.st, s, mentioned - followed)
        if meaning is not s:
            return self.size(meaning, followed | mentioned)
        if not isinstance(s, SizeVar):
            named = {n: SizeVar(self.names[n]) for n in mentioned if n in self.names}
            if named and all(n in named or self.visible(n) for n in mentioned):
                return subst_size(s, named)
        key = s.name if isinstance(s, SizeVar) else size_key(s, self.st.alias)
        name = self.names.get(key)
        if name is None:
            base = s.name if isinstance(s, SizeVar) else "d"
            name = self.names[key] = self.st.fresh(base)
            if known is not None:
                self.st.means(name, known)
        return SizeVar(name)


def computed(st: Checker, s: Size, visible: Visible, by_said: bool = True) -> Size | None:
    """Express `s` over visible names by known equalities; None if that fails or is too long.

    `by_said`: also replace names that the author wrote.
    """
    while not is_long(s, MOST):
        mentioned: set[Name] = set()
        names_in_size(s, mentioned)
        hidden = {n for n in mentioned if not visible(n)}
        if not hidden:
            return copied(s, st.fresh)
        told = {n: st.alias[n] for n in hidden & st.alias.keys() if by_said or not st.said(n)}
        if len(told) < len(hidden) or any(isinstance(known, SizeAtom) for known in told.values()):
            return None
        s = subst_size(s, told)
    return None


def known_as(st: Checker, s: Size, mentioned: set[Name]) -> Size:
    """Replace names in `s` by the sizes that they are known to equal."""
    meanings = {n: st.alias[n] for n in mentioned if n in st.alias and _may_stand(st.alias[n])}
    if isinstance(s, SizeExp):
        assert isinstance(s.exp, t.Exp)
        return length_of(s.exp) or (subst_size(s, meanings) if meanings else s)
    return subst_size(s, meanings) if meanings else s


def _may_stand(meaning: Size) -> bool:
    """Test whether the meaning of a size name may replace the name."""
    return not isinstance(meaning, SizeAtom) and cheap_size(meaning)


def hide(
    st: Checker, type_: Type, visible: Visible, computed: bool = False
) -> tuple[Type, tuple[Name, ...]]:
    """Make the sizes of `type_` over invisible names existential; return the new names as well.

    `computed`: those that a call of functions tells stay that, `[i64.sum ks]`.
    """
    hidden = Hidden(st, visible, computed)

    def names_first(s: Size) -> Size:
        """Name `[k]` before `[n - k]` is visited."""
        return hidden.size(s) if isinstance(resolve_size(s), SizeVar) else s

    named = map_sizes(type_, names_first)
    visible_too = set(hidden.names.values())
    hidden.visible = lambda name: name in visible_too or visible(name)
    told = map_sizes(named, hidden.size)
    renamed: dict[Name, Size] = {Name(n): SizeVar(new) for n, new in hidden.names.items()}
    for name in names_in_type(told) if st.alias else ():
        meaning = known_as(st, SizeVar(name), {name})
        mentioned: set[Name] = set()
        names_in_size(meaning, mentioned)
        if not hidden.visible(name) and all(hidden.visible(n) for n in mentioned):
            renamed[name] = meaning
    return subst(told, {}, renamed) if renamed else told, tuple(hidden.names.values())


def close_constructors(result: Type, level: int, params: Iterable[Type]) -> None:
    """Set undetermined sizes of a result's constructors to 0: the value has another variant."""
    told: list[MetaS] = []
    for param in params:
        metas_in(param, [], told)
    match resolve(result):
        case Record(fields):
            for _, part in fields:
                close_constructors(part, level, params)
        case Sum() as sum_:
            sizes: list[MetaS] = []
            metas_in(sum_, [], sizes)
            for size in sizes:
                if size.ref is None and size.level > level and size not in told:
                    size.ref = SizeConst(0)


def bound_before(st: Checker, mark: int) -> Visible:
    """Return a test for names bound before `mark`, or nowhere, such as definitions."""
    serials = st.serials

    def visible(name: Name) -> bool:
        return serials.get(name, -1) < mark

    return visible


# --- branches ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Join:
    st: Checker
    visible: Visible
    maker: Maker
    names: dict[tuple[str, str], Name] = field(default_factory=dict)
    linked: bool = False
    """Inside variants with different sizes; sums in them have sizes of their own, too."""
    opened: list[MetaS] = field(default_factory=list)
    """Sizes of types that were unknown until the branches were compared."""


def join(
    st: Checker,
    first: Type,
    second: Type,
    mark: int,
    span: Span,
    what: str,
    related: Related,
    maker: Maker,
) -> tuple[Type, tuple[Name, ...]]:
    """Return the type of an `if` whose branches have these types, and its new existential sizes.

    `mark` is the moment before the branches, `maker` the `if`. Errors: the types differ in more
    than sizes.
    """
    st.span = span
    joined = _Join(st, bound_before(st, mark), maker)
    try:
        result = _join(joined, first, second)
    except Mismatch as difference:
        reason = reason_of(difference, first, second, st)
        error = mismatch(what, first, second, span, reason, difference.code, st.own_names())
        error.related = (related, *makers(difference, st))
        raise error from None
    return result, tuple(joined.names.values())


def _join(j: _Join, a: Type, b: Type) -> Type:
    a, b = resolve(a), resolve(b)
    open_ = j.linked and isinstance(a, MetaT) and a.variants is not None
    if a is b and not a.held and not open_:
        return a
    match a, b:
        case Array(), Array():
            return _join_arrays(j, a, b)
        case Opaque(), Opaque() if a.name == b.name:
            args = tuple([_join(j, t, u) for t, u in zip(a.args, b.args, strict=True)])
            sizes = zip(a.sizes, b.sizes, strict=True)
            dims = tuple([_join_size(j, p, q) for p, q in sizes])
            return a.of(args, dims, _join(j, a.meaning, b.meaning))
        case MetaT(variants=dict()), MetaT(variants=dict()) if j.linked or _differ(j, a, b):
            return _join_variants(j, a, b)
        case MetaT(), _ if b.held:
            return _join_unknown(j, a, b)
        case _, MetaT() if a.held:
            return _join_unknown(j, b, a)
    if isinstance(a, Record | Sum) and type(a) is type(b) and a.head == b.head:
        others = iter(b.parts)
        return a.map_parts(lambda part: _join(j, part, next(others)))
    unify(j.st, a, b)
    return a


def _join_arrays(j: _Join, a: Array, b: Array) -> Type:
    """Join two arrays; the element type of the one with fewer dimensions is unknown yet."""
    common = min(len(a.dims), len(b.dims))
    shorter = a if len(a.dims) == common else b
    if len(a.dims) != len(b.dims) and not isinstance(shorter.elem, MetaT):
        unify(j.st, a, b)
    rows = [row_of(array, common) for array in (a, b)]
    elem = _join(j, *rows)
    sizes = zip(a.dims[:common], b.dims[:common], strict=True)
    dims = tuple([_join_size(j, p, q) for p, q in sizes])
    if isinstance(elem, Array):
        return Array(dims + elem.dims, elem.elem)
    return Array(dims, elem)


def _join_variants(j: _Join, a: MetaT, b: MetaT) -> Type:
    """Join two partially known sum types with different sizes in their variants.

    The joined type has names for these; what it turns out to be later, the two are as well.
    """
    assert a.variants is not None
    assert b.variants is not None
    both = MetaT(min(a.level, b.level), a.span)
    both.variants = {}
    around, j.linked = j.linked, True
    for name in (*a.variants, *b.variants):
        if name not in both.variants:
            pair = (a.variants.get(name), b.variants.get(name))
            ts, us = pair[0] or pair[1] or (), pair[1] or pair[0] or ()
            if len(ts) != len(us):
                unify(j.st, a, b)
            both.variants[name] = tuple([_join(j, t, u) for t, u in zip(ts, us, strict=True)])
    j.linked = around
    link(both, a)
    link(both, b)
    return both


def _differ(j: _Join, a: Type, b: Type) -> bool:
    """Test whether types that may unify have sizes that differ, or are not known outside."""
    a, b = resolve(a), resolve(b)
    match a, b:
        case Array(dims, elem), Array(others, other):
            pairs = zip(map(resolve_size, dims), map(resolve_size, others), strict=False)
            return _differ(j, elem, other) or not all(_agree(j, p, q) for p, q in pairs)
        case Record(fields), Record(parts):
            known = dict(parts)
            return any(f in known and _differ(j, t, known[f]) for f, t in fields)
    first, second = _variants(a), _variants(b)
    return any(
        _differ(j, t, u)
        for name in first | second
        for t, u in zip(
            first.get(name, second.get(name, ())),
            second.get(name, first.get(name, ())),
            strict=False,
        )
    )


def _agree(j: _Join, a: Size, b: Size) -> bool:
    """Test whether two sizes are equal and known outside, or one may be unified with the other."""
    if isinstance(a, MetaS):
        return a is b or _may_be(j, a, b)
    if isinstance(b, MetaS):
        return _may_be(j, b, a)
    mentioned: set[Name] = set()
    names_in_size(a, mentioned)
    return same_size(a, b, j.st.alias) and all(map(j.visible, mentioned))


def _variants(t: Type) -> dict[str, tuple[Type, ...]]:
    """Return the known variants of a type."""
    if isinstance(t, Sum):
        return dict(t.variants)
    return (t.variants or {}) if isinstance(t, MetaT) else {}


def _join_unknown(j: _Join, meta: MetaT, known: Type) -> Type:
    """Give an unknown type the other branch's shape; inner sizes become existential."""
    known = subst(known, {}, {})

    def open_size(s: Size) -> Size:
        mentioned: set[Name] = set()
        names_in_size(s, mentioned)
        seen = all(j.visible(n) and j.st.serials.get(n, -1) < meta.until for n in mentioned)
        partly_known = meta.fields is not None or meta.variants is not None
        if seen and not partly_known:
            return s
        j.opened.append(j.st.size_meta())
        return j.opened[-1]

    before: list[MetaS] = []
    metas_in(meta, [], before)
    unify(j.st, meta, map_sizes(known, open_size))
    told = [resolve_size(size) for size in before]
    j.opened = [size for size in j.opened if size not in told]
    return _join(j, meta, known)


def _join_size(j: _Join, a: Size, b: Size) -> Size:
    a, b = _settled(j.st, a), _settled(j.st, b)
    seen: set[Name] = set()
    names_in_size(a, seen)
    a_seen = all(j.visible(n) for n in seen)
    names_in_size(b, seen)
    both_seen = all(j.visible(n) for n in seen)
    if same_size(a, b, j.st.alias) and both_seen:
        return a
    if isinstance(a, MetaS) and both_seen and _may_be(j, a, b) and unify_size(a, b, j.st.alias):
        return b
    if isinstance(b, MetaS) and a_seen and _may_be(j, b, a) and unify_size(b, a, j.st.alias):
        return a
    key = (size_key(a, j.st.alias), size_key(b, j.st.alias))
    name = j.names.get(key)
    if name is None:
        base = a.name if isinstance(a, SizeVar) else "d"
        name = j.names[key] = j.st.made_by(j.maker, base)
        known = computed(j.st, a, j.visible) if same_size(a, b, j.st.alias) else None
        if known is not None:
            j.st.means(name, known)
    return SizeVar(name)


def _settled(st: Checker, s: Size) -> Size:
    """Resolve a size that a coercion leaves open: the other branch must not determine it."""
    s = resolve_size(s)
    if isinstance(s, MetaS):
        given = next((given for size, given in st.open_sizes if resolve_size(size) is s), None)
        if given is not None:
            unify_size(s, given, st.alias)
    return resolve_size(s)


def _may_be(j: _Join, meta: MetaS, other: Size) -> bool:
    """Test whether branches may take `meta` to be `other`.

    They take a size of a loop's parameter only to be what it was before the loop, and one of a
    function's parameter, also where its type is not written, only to be itself. Of what the other
    branch has told the type, the size is one that is known where the parameter is bound.
    """
    if meta.start is not None:
        return same_size(meta.start, other, j.st.alias)
    if meta.until == maxsize or meta not in j.opened:
        return meta.until == maxsize
    mentioned: set[Name] = set()
    names_in_size(other, mentioned)
    return all(j.st.serials.get(name, -1) < meta.until for name in mentioned)
