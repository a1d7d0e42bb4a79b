"""Types of the source language, after names are resolved, with symbolic sizes.

Tuples are records with the fields "0", "1", ..; unit is the record without fields. Arrays of
arrays are one `Array` with several sizes, outermost first; `elem` is never an `Array`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim

# --- sizes: i64 expressions over names in scope ----------------------------------------------


class Size:
    """The number of elements along one dimension."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SizeConst(Size):
    """A literal size."""

    value: int


@dataclass(frozen=True, slots=True)
class SizeVar(Size):
    """A size parameter, an i64 variable in scope, or the unknown size that an `ext` introduces."""

    name: Name


@dataclass(frozen=True, slots=True)
class SizeOp(Size):
    """Arithmetic on sizes: `op` is one of + - * / %.

    Equality is modulo ring laws (`check/types/sizes.py`).
    """

    op: str
    lhs: Size
    rhs: Size


class AnySize(Size):
    """A size known only from the value, which may differ from value to value.

    In an abbreviation it is a written `[]`, replaced at each use of the abbreviation; in a typed
    program it occurs in instances of `'~t` and `'^t`, and in values of such types.
    """

    __slots__ = ()


ANY_SIZE = AnySize()


@dataclass(frozen=True, slots=True)
class SizeExp(Size):
    """Any other i64 expression, such as `length xs`: equal when its `key` is.

    `exp` is a `typed.Exp`; `key` its text with unique names. It is evaluated where it is needed.
    """

    key: str
    exp: object


# --- types -----------------------------------------------------------------------------------


class Type:
    """A type; `parts` and `map_parts` traverse it where its form does not matter."""

    __slots__ = ("_is_plain",)
    _is_plain: bool

    @property
    def parts(self) -> tuple[Type, ...]:
        """The direct component types, functions' included, from left to right."""
        return ()

    @property
    def head(self) -> object:
        """Its difference to types of its class with the same parts, but for sizes."""
        return None

    @property
    def held(self) -> tuple[Type, ...]:
        """The component types of a value: none for a function."""
        return self.parts

    def map_parts(self, change: Callable[[Type], Type]) -> Type:
        """Transform the components; return the type itself if none changes."""
        return self

    @property
    def is_open(self) -> bool:
        """True if it has variables, unknowns or sizes outside its parts."""
        return True


@dataclass(frozen=True, slots=True)
class PrimT(Type):
    """`i32`, `bool`, .."""

    prim: Prim

    @property
    def is_open(self) -> bool:  # noqa: D102
        return False


@dataclass(frozen=True, slots=True)
class TypeVar(Type):
    """A type parameter of the enclosing definition (rigid)."""

    name: Name


@dataclass(frozen=True, slots=True)
class Array(Type):
    """`[d0][d1]elem`."""

    dims: tuple[Size, ...]
    elem: Type

    @property
    def head(self) -> object:  # noqa: D102
        return len(self.dims)

    @property
    def parts(self) -> tuple[Type, ...]:  # noqa: D102
        return (self.elem,)

    def map_parts(self, change: Callable[[Type], Type]) -> Type:  # noqa: D102
        new = change(self.elem)
        if type(new) is Array:
            return Array(self.dims + new.dims, new.elem)
        return self if new is self.elem else Array(self.dims, new)


@dataclass(frozen=True, slots=True)
class Record(Type):
    """A record or tuple; fields are sorted (numbers by value, then names)."""

    fields: tuple[tuple[str, Type], ...]

    @property
    def head(self) -> object:  # noqa: D102
        return tuple([name for name, _ in self.fields])

    @property
    def parts(self) -> tuple[Type, ...]:  # noqa: D102
        return tuple([t for _, t in self.fields])

    def map_parts(self, change: Callable[[Type], Type]) -> Type:  # noqa: D102
        old = self.parts
        new = tuple(map(change, old))
        if all(map(is_, old, new)):
            return self
        return Record(tuple([(f, u) for (f, _), u in zip(self.fields, new, strict=True)]))

    @property
    def is_open(self) -> bool:  # noqa: D102
        return False


@dataclass(frozen=True, slots=True)
class Sum(Type):
    """Variants sorted by name, each with its payload."""

    variants: tuple[tuple[str, tuple[Type, ...]], ...]

    @property
    def head(self) -> object:  # noqa: D102
        return tuple([(name, len(payload)) for name, payload in self.variants])

    @property
    def parts(self) -> tuple[Type, ...]:  # noqa: D102
        return tuple([t for _, payload in self.variants for t in payload])

    def map_parts(self, change: Callable[[Type], Type]) -> Type:  # noqa: D102
        new = tuple([(name, tuple(map(change, payload))) for name, payload in self.variants])
        same = all(all(map(is_, p, q)) for (_, p), (_, q) in zip(self.variants, new, strict=True))
        return self if same else Sum(new)

    @property
    def is_open(self) -> bool:  # noqa: D102
        return False


@dataclass(frozen=True, slots=True)
class Arrow(Type):
    """`(name: param) -> ?[ext].result`.

    `consumes`: the parameter's type has `*`. `unique`: the result's type has `*`, so that it is
    fresh. `name` may occur in the sizes of the result.
    """

    param: Type
    result: Type
    name: Name = ""
    consumes: bool = False
    unique: bool = False
    ext: tuple[Name, ...] = ()
    fresh_fields: tuple[str, ...] = ()
    """The fields of a record result that have `*`, if not all do."""

    @property
    def parts(self) -> tuple[Type, ...]:  # noqa: D102
        return (self.param, self.result)

    @property
    def held(self) -> tuple[Type, ...]:  # noqa: D102
        return ()

    def map_parts(self, change: Callable[[Type], Type]) -> Type:  # noqa: D102
        param, result = change(self.param), change(self.result)
        if param is self.param and result is self.result:
            return self
        names = self.name, self.consumes, self.unique, self.ext, self.fresh_fields
        return Arrow(param, result, *names)

    @property
    def is_open(self) -> bool:  # noqa: D102
        return bool(self.ext)


@dataclass(frozen=True, slots=True)
class Opaque(Type):
    """A type that a module type keeps abstract, such as `m.t [n]`; exists only during inference.

    It equals no other type, though the program that is built has `meaning` in its place. `sizes`
    occur in `meaning`, which is its only part: `args` may not matter to a value.
    """

    name: Name
    shown: str
    args: tuple[Type, ...]
    sizes: tuple[Size, ...]
    meaning: Type

    @property
    def parts(self) -> tuple[Type, ...]:  # noqa: D102
        return (self.meaning,)

    def map_parts(self, change: Callable[[Type], Type]) -> Type:  # noqa: D102
        return self.of(self.args, self.sizes, change(self.meaning))

    def of(self, args: tuple[Type, ...], sizes: tuple[Size, ...], meaning: Type) -> Opaque:
        """Return the same abstract type of other arguments."""
        same = meaning is self.meaning and all(map(is_, args, self.args))
        if same and all(map(is_, sizes, self.sizes)):
            return self
        return Opaque(self.name, self.shown, args, sizes, meaning)

    @property
    def is_open(self) -> bool:  # noqa: D102
        return bool(self.sizes)


UNIT = Record(())


def is_plain(t: Type) -> bool:
    """Test for a type without variables, unknowns, arrays and sizes, which walks may skip.

    Memoised per object: abstract types occur in each other's meanings, and grow.
    """
    try:
        return t._is_plain
    except AttributeError:
        pass
    args = t.args if isinstance(t, Opaque) else ()
    found = not t.is_open and all(map(is_plain, (*t.parts, *args)))
    t._is_plain = found
    return found


ACC = "acc_00"
"""Name of the abstract type of accumulators."""


def acc_of(array: Type) -> Opaque:
    """Build `acc array`, which holds an array and, formally, a function."""
    meaning = Sum((("acc", (array, Arrow(array, UNIT))),))
    return Opaque(ACC, "acc", (array,), (), meaning)


def tuple_type(elems: tuple[Type, ...]) -> Type:
    """Build the record type of a tuple (a single element is itself)."""
    return elems[0] if len(elems) == 1 else Record(tuple((str(i), t) for i, t in enumerate(elems)))


def array_of(size: Size, elem: Type) -> Type:
    """Build `[size]elem`, in the flattened form."""
    return Array((size, *elem.dims), elem.elem) if isinstance(elem, Array) else Array((size,), elem)


def row_of(array: Array, drop: int = 1) -> Type:
    """Return the type of `array` indexed by `drop` positions."""
    return Array(array.dims[drop:], array.elem) if len(array.dims) > drop else array.elem
