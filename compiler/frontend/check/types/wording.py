"""Describe types in error messages: mismatches and how to fix them.

Unknown types are named by letters that stand for the same type throughout a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from types import MappingProxyType
from typing import Protocol

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.code import Code
from compiler.base.dataclass import dataclass
from compiler.base.errors import Related, TypeError_
from compiler.base.names import Name, base_of
from compiler.base.prim import FLOATS, INTS, SIGNED, UNSIGNED
from compiler.base.spans import Span
from compiler.frontend.check.types.metas import MetaS, MetaT, resolve, resolve_size
from compiler.frontend.check.types.size_exps import names_in_size
from compiler.frontend.check.types.sizes import Atoms, from_poly, poly
from compiler.frontend.check.types.unify import Mismatch, any_of, final_size, final_type
from compiler.frontend.check.types.walks import metas_in, names_in_type, shows_arrays
from compiler.frontend.show_type import is_tuple, show_size, show_type
from compiler.frontend.types import (
    ANY_SIZE,
    Array,
    Arrow,
    Opaque,
    PrimT,
    Record,
    Size,
    SizeConst,
    SizeVar,
    Sum,
    Type,
    TypeVar,
)

NO_TEXT = "Futhark has no function that turns a number into a string. Return the number itself."
_FLOATS = frozenset(FLOATS)
_INTS = frozenset(INTS)
_SIGNED = frozenset(SIGNED)


def show(type_: Type) -> str:
    """Print a type as known so far."""
    return shown([type_])[0]


def describe(type_: Type) -> str:
    """Describe a type in a sentence: quoted, or in words where little is known."""
    return _described([type_])[0]


def mismatch(
    what: str,
    want: Type,
    got: Type,
    span: Span,
    reason: str,
    code: Code = codes.types.MISMATCH,
    own: Mapping[Type, str] = MappingProxyType({}),
) -> TypeError_:
    """Return the error for two types that differ; `reason`: in which respect, or how to go on.

    `own`: the program's names of its records and sums.
    """
    used: dict[str, Type] = {}
    expected, found = _described([_called(final_type(t), own, used) for t in (want, got)])
    want, got = resolve(want), resolve(got)
    meanings = [f" `{name}` is `{show_type(meaning)}`." for name, meaning in used.items()]
    message = f"{what}: expected {expected}, found {found}.{''.join(meanings)}"
    if code is codes.types.ENDLESS and not reason:
        code = codes.types.MISMATCH
    if isinstance(want, Arrow) and isinstance(got, Arrow) and _other_count(want, got):
        code = codes.types.ARGUMENTS
    return TypeError_(code, message, span, reason or way_out(want, got))


@dataclass(frozen=True, slots=True)
class Maker:
    """The origin of a size known only at run time: a function's result, a loop, branches."""

    what: str
    """`` `filter` ``, `the loop`."""
    span: Span
    of_size: str
    """Predicate about the size: `is the size that this loop ends with`."""


class SizeMakers(Protocol):
    """The part of the checker's state about sizes: the author's names, the origins of others."""

    places: dict[Name, Span]
    makers: dict[Name, Maker]
    alias: dict[Name, Size]

    def said(self, name: Name) -> str | None: ...  # noqa: D102

    def is_here(self, name: Name) -> bool: ...  # noqa: D102


def reason_of(
    difference: Mismatch, want: Type, got: Type, by: SizeMakers, is_result: bool = False
) -> str:
    """Explain a difference, for a message that names both types, and suggest a fix.

    `is_result`: the expected type is a function's annotated result type.
    """
    if difference.sizes is not None:
        reason, equal = _of_sizes(difference.reason, difference.sizes, (want, got), by, is_result)
        if not is_result or isinstance(resolve(got), MetaT):
            return reason
        otherwise = "Otherwise the" if equal else "The"
        return f"{reason} {otherwise} type of the result is `{show(_as_written(got, by))}`."
    kinds = [isinstance(t, MetaT) and t.prims is not None for t in (resolve(want), resolve(got))]
    if kinds[0] != kinds[1]:
        return ""  # the message already names the number type
    match resolve(want), resolve(got):
        case Arrow() as wanted, Arrow() as found:
            return _other_count(wanted, found) or difference.reason
    return difference.reason


def makers(difference: Mismatch, by: SizeMakers) -> list[Related]:
    """Return the related places of two sizes that differ: their origins, or bindings of one name.

    For a generated name, such as the `x` of `x.0`, also its argument.
    """
    found: list[Related] = []
    sizes = difference.sizes or ()
    variables = _variables(sizes)
    same = len({show_size(s) for s in variables}) < len(variables)
    for size in variables:
        text = f"`{show_size(size)}`"
        if size.name in by.makers:
            maker = by.makers[size.name]
            found.append(Related(maker.span, f"{text} {maker.of_size}."))
        elif same and size.name in by.places:
            found.append(Related(by.places[size.name], f"This is one {text}."))
    names: set[Name] = set()
    for one in map(final_size, sizes):
        names_in_size(one, names)
    for name in sorted(names & by.places.keys() - by.makers.keys()):
        if by.said(name) is None:
            found.append(Related(by.places[name], f"`{base_of(name)}` is this argument."))
    return found


def shown(types: Sequence[Type]) -> list[str]:
    """Print types, an unknown one under the same letter in all of them."""
    known = [final_type(t) for t in types]
    metas: list[MetaT] = []
    names: set[Name] = set()
    sizes: list[MetaS] = []
    for t in known:
        metas_in(t, metas, sizes, names)
    taken = {base_of(name) for name in names}
    free = (c for c in (*ascii_lowercase, *(c * 2 for c in ascii_lowercase)) if c not in taken)
    letters: dict[MetaT, str] = {}
    for meta in metas:
        if meta not in letters:
            letters[meta] = "number" if meta.prims is not None else next(free, "a")
    return [show_type(_named(t, letters)) for t in known]


def way_out(want: Type, got: Type) -> str:
    """Suggest a conversion from the found type to the expected one; "" if none is known."""
    want, got = resolve(want), resolve(got)
    match want, got:
        case Arrow(), Arrow():
            return _other_count(want, got) or _other_argument(want, got)
        case _, Arrow() if not isinstance(want, MetaT):
            count = len(_parameters(got))
            return f"It is a function that still takes {arguments(count)}."
        case PrimT("u8"), Array((_,), PrimT("u8")):
            return "Write one character between single quotes, as in `'a'`."
        case PrimT("bool"), PrimT():
            return "Write a comparison as the condition, as in `x != 0`."
        case PrimT("bool"), MetaT(prims=prims) if prims:
            return "A number is not a condition: compare it, as in `x == 2`."
        case PrimT(to), PrimT(source):
            return f"Convert it with `{to}.{source}`."
        case MetaT(prims=prims), PrimT(source) if source in INTS and prims and prims <= _FLOATS:
            return f"Convert it, as in `f64.{source} x`."
        case MetaT(prims=prims), PrimT(source) if prims == _SIGNED and source in UNSIGNED:
            return f"Convert it, as in `i64.{source} x`."
        case MetaT(prims=prims), PrimT(source) if source in FLOATS and prims and prims <= _INTS:
            return f"Convert it, as in `i64.{source} x`, which drops the digits after the point."
        case PrimT(to), MetaT(prims=prims) if to[0] in "iu" and prims and prims <= _FLOATS:
            return f"Convert the other number, as in `f64.{to} x`."
        case Array(wanted, PrimT(to)), Array(dims, PrimT(source)) if len(wanted) == len(dims):
            return f"Convert each element: `{_mapped(f'{to}.{source}', len(dims))} xs`."
        case PrimT(to), Array(dims, PrimT(source)) if to == source:
            index = ", ".join(["i", "j", "k"][: len(dims)]) if len(dims) < 4 else ".."
            return f"Read one element by its index, `xs[{index}]`."
        case Array((_,), PrimT(to)), PrimT(source) if to == source:
            return "Write an array of one element as `[x]`."
        case Array((_,), PrimT("u8")), PrimT():
            return NO_TEXT
        case Array((_,), PrimT("u8")), MetaT(prims=prims) if prims:
            return NO_TEXT
        case PrimT(), Record():
            return tuple_taken_apart(got)
    return ""


def has_names(type_: Type) -> bool:
    """Test whether a type has fields or constructors, so that two such types rarely coincide."""
    type_ = resolve(type_)
    return isinstance(type_, Sum) or (isinstance(type_, Record) and not is_tuple(type_.fields))


def tuple_taken_apart(type_: Type) -> str:
    """Suggest a pattern for a tuple where one of its parts is expected; "" if it is none."""
    type_ = resolve(type_)
    if isinstance(type_, Record) and is_tuple(type_.fields) and type_.fields:
        names = ", ".join(ascii_lowercase[: len(type_.fields)])
        return f"It is a tuple; name its components with a pattern: `\\({names}) -> ..`."
    return ""


def _described(types: Sequence[Type]) -> list[str]:
    return [_one(resolve(t), text) for t, text in zip(types, shown(types), strict=True)]


def _one(type_: Type, text: str) -> str:
    if isinstance(type_, MetaT):
        if type_.prims is not None:
            return any_of(type_.prims)
        if type_.fields:
            return f"a record with field `{next(iter(type_.fields))}`"
        if type_.variants:
            return f"a value `{_variant(type_)}`"
    return f"`{text}`"


def _variant(meta: MetaT) -> str:
    """Describe a known variant of a value, or those with arrays, whose sizes are shown."""
    known = meta.variants or {}
    sized = [(name, held) for name, held in known.items() if any(map(shows_arrays, held))]
    return show_type(final_type(Sum(tuple(sorted(sized))))) if sized else f"#{next(iter(known))}"


def _called(t: Type, own: Mapping[Type, str], used: dict[str, Type]) -> Type:
    """Replace the program's own types by variables of their names, which go to `used`."""
    if t in own:
        used[own[t]] = t
        return TypeVar(Name(own[t]))
    match t:
        case Array() | Record() | Arrow():
            return t.map_parts(lambda u: _called(u, own, used))
    return t


def _named(t: Type, letters: dict[MetaT, str]) -> Type:
    """Replace unknown types by type variables of those names."""
    t = resolve(t)
    match t:
        case MetaT():
            return TypeVar(Name(letters[t]))
        case Opaque(args=args):
            return t.of(tuple([_named(u, letters) for u in args]), t.sizes, t.meaning)
    return t.map_parts(lambda u: _named(u, letters))


def _of_sizes(
    reason: str,
    sizes: tuple[Size, Size],
    types: tuple[Type, Type],
    by: SizeMakers,
    is_result: bool,
) -> tuple[str, bool]:
    """Suggest how to claim that two differing sizes are equal; and tell if they may be.

    In a function of another place a size may be of its parameter, which has no name where it is
    called: not so in the type of a result, which is written where it is.
    """
    if all(isinstance(s, SizeConst) for s in sizes):
        return reason, False
    if when := _when_equal(sizes, by):
        return f"{reason} {when}", False
    arrays = [t for t in map(resolve, types) if isinstance(t, Array)]
    made = [s for s in _variables(sizes) if s.name in by.makers]
    if len(made) == 2:
        if not arrays:
            return reason, False
        way = "Name one size, `let [k] (ys: [k]i32) = ..`, and claim that the other equals it."
        return f"{reason} {way}", True
    whose = f" of what {by.makers[made[0].name].what} gives" if made else ""
    for type_ in arrays:
        if _is_written(type_, by):
            theirs = [] if is_result else [n for n in names_in_type(type_) if not by.is_here(n)]
            if any(n not in by.places for n in theirs):
                return reason, False  # a definition of a module, which has a longer name
            if theirs:
                own = by.said(min(theirs))
                way = f"What is given for `{own}` has no name here. With `let {own} = .. in` before"
                return f"{reason} {way}, `.. :> {show(type_)}` claims that they are.", True
            claim = f"say so{whose}: `.. :> {show(type_)}`."
            return f"{reason} If you know that they are always equal, {claim}", True
    return reason, False


def _when_equal(sizes: tuple[Size, Size], by: SizeMakers) -> str:
    """Tell when two sizes are equal that rarely are; "" where they may well be."""
    atoms: Atoms = {}
    difference = poly(sizes[0], atoms, by.alias) - poly(sizes[1], atoms, by.alias)
    if difference.constant is not None:
        return "They never are."
    if len(difference.terms) == 1:
        (mono,) = difference.terms
        return f"They are equal only where `{show_size(from_poly(Poly({mono: 1}), atoms))}` is 0."
    return ""


def _is_written(type_: Array, by: SizeMakers) -> bool:
    """Test whether a program can name all sizes of the type."""
    return all(_has_name(d, by) for d in type_.dims) and all(
        _has_name(SizeVar(n), by) for n in names_in_type(type_)
    )


def _has_name(size: Size, by: SizeMakers) -> bool:
    """Test whether a program can name a size."""
    names: set[Name] = set()
    names_in_size(size, names)
    named = not any(n in by.makers or by.said(n) is None for n in names)
    return named and bool(show_size(resolve_size(size)))


def _as_written(type_: Type, by: SizeMakers) -> Type:
    """Leave the sizes of a type open that a program cannot name."""
    type_ = resolve(type_)
    match type_:
        case Array(dims, elem):
            return Array(tuple([d if _has_name(d, by) else ANY_SIZE for d in dims]), elem)
        case Record(fields):
            return Record(tuple([(f, _as_written(u, by)) for f, u in fields]))
    return type_


def _variables(sizes: tuple[Size, ...]) -> list[SizeVar]:
    return [s for s in sizes if isinstance(s, SizeVar)]


def _mapped(function: str, rank: int) -> str:
    return f"map {function}" if rank == 1 else f"map ({_mapped(function, rank - 1)})"


def _parameters(t: Type) -> list[Type]:
    found: list[Type] = []
    while isinstance(t := resolve(t), Arrow):
        found.append(t.param)
        t = t.result
    return found


def arguments(count: int) -> str:
    """Count arguments in words."""
    return "an argument" if count == 1 else f"{count} arguments"


def _other_count(want: Arrow, got: Arrow) -> str:
    """Explain a function with more or fewer parameters than expected."""
    wanted, found = _parameters(want), _parameters(got)
    if len(wanted) == len(found):
        return ""
    if len(wanted) == 1 and (apart := tuple_taken_apart(wanted[0])):
        return apart
    return f"The function takes {arguments(len(found))}, but here it gets {len(wanted)}."


def _other_argument(want: Arrow, got: Arrow) -> str:
    """Explain a function one of whose parameters is a number of another type."""
    pairs = list(zip(_parameters(want), _parameters(got), strict=True))
    for number, pair in enumerate(pairs, 1):
        match resolve(pair[0]), resolve(pair[1]):
            case PrimT(given), PrimT(taken) if given != taken and "bool" not in (given, taken):
                which = "argument" if len(pairs) == 1 else f"argument {number}"
                how = f"that before, with `{taken}.{given}`"
                if number > 1 and len({resolve(found) for _, found in pairs}) == 1:
                    how = f"one of them before, with `{given}.{taken}` or `{taken}.{given}`"
                return (
                    f"The function takes `{taken}` as {which}, but here it gets "
                    f"`{given}`: convert {how}."
                )
    return ""
