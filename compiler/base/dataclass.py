"""Dataclasses that are cheap to make and to use; `dataclasses` has the rest: `field`, `replace`.

A process that checks one line makes 230 classes, and one that compiles it 620. `dataclasses` writes
and compiles a text for each of their methods, which takes as long as the check. Methods of classes
with equally many fields differ in names alone: here one is compiled, and the names are put in. What
`fields` finds is made when somebody asks.

Frozen values are guarded by the type checker alone: what `dataclasses` has a frozen class do at run
time makes each value take twice as long, and programs and proofs are made of hundreds of thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields, make_dataclass
from dataclasses import dataclass as dataclass
from functools import cache
from reprlib import recursive_repr
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast


class KeepsHash:
    """A frozen dataclass that caches its hash: for trees that are looked up often."""

    __slots__ = ("_hash",)
    _hash: int

    def __reduce__(self) -> Any:
        """Leave the hash out: it differs between processes."""
        return type(self), tuple(getattr(self, name) for name in self.__dataclass_fields__)  # type: ignore[attr-defined]


class KeepsNames:
    """A tree that caches the set of names `mentioned` in it."""

    __slots__ = ("mentioned",)
    mentioned: frozenset[str]


if not TYPE_CHECKING:

    def dataclass(
        *, frozen: bool = False, eq: bool = True, slots: bool = False, kw_only: bool = False
    ) -> Callable[[type], type]:
        """Like `dataclasses.dataclass`, but a frozen class (it has a hash) allows assignments."""
        assert slots, "a class without slots takes twice the memory"
        return lambda cls: _made(cls, _all_fields(cls, kw_only), frozen, eq)


class _Given(NamedTuple):
    """A field as declared: a default, or the arguments of a call of `field`."""

    name: str
    type: str
    default: Any
    kw_only: bool
    said: Field[Any] | None

    @property
    def factory(self) -> Any:
        """Return the default factory, or `MISSING`."""
        return self.said.default_factory if self.said else MISSING

    @property
    def is_parameter(self) -> bool:
        return self.said is None or self.said.init

    @property
    def is_optional(self) -> bool:
        return self.default is not MISSING or self.factory is not MISSING

    @property
    def is_compared(self) -> bool:
        return self.said is None or self.said.compare

    def made(self) -> Field[Any]:
        """Return the field as a `dataclasses.Field`."""
        return self.said or field(default=self.default, kw_only=self.kw_only)


class _Fields:
    """Compute `__dataclass_fields__` of a class on first access."""

    def __init__(self, given: list[_Given]) -> None:
        self.given = given

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner

    def __get__(self, value: object, asked: type) -> dict[str, Field[Any]]:
        listed = [(one.name, one.type, one.made()) for one in self.given]
        made = make_dataclass("_", listed, init=False, repr=False, eq=False)
        found: dict[str, Field[Any]] = made.__dataclass_fields__  # type: ignore[attr-defined]
        self.owner.__dataclass_fields__ = found  # type: ignore[attr-defined]
        return found


def _all_fields(cls: type, kw_only: bool) -> list[_Given]:
    """Return the fields of a class, after those of its bases."""
    found: dict[str, _Given] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= {one.name: one for one in base.__dict__.get("__given_fields__", ())}
    for name, kind in cls.__annotations__.items():
        assert isinstance(kind, str), "annotations are texts: from __future__ import annotations"
        if kind.startswith("ClassVar"):
            continue
        if kind == "KW_ONLY":
            kw_only = True
            continue
        found[name] = _given(cls, name, kind, kw_only)
    optional = [one.is_optional for one in found.values() if one.is_parameter and not one.kw_only]
    if optional != sorted(optional):
        raise TypeError(f"{cls.__qualname__}: a field without a default is behind one that has one")
    return list(found.values())


def _given(cls: type, name: str, kind: str, kw_only: bool) -> _Given:
    """Return one field, with its default in the class."""
    default = cls.__dict__.get(name, MISSING)
    said = default if isinstance(default, Field) else None
    if said:
        assert said.hash is None, "what is compared is hashed"
        default = said.default
        if said.kw_only is MISSING:
            said.kw_only = kw_only
        kw_only = said.kw_only
    if type(default).__hash__ is None:
        raise ValueError(f"{cls.__qualname__}.{name}: a default that can change; use a factory")
    return _Given(name, kind, default, kw_only, said)


def _made(cls: type, given: list[_Given], frozen: bool, eq: bool) -> type:
    """Rebuild the class with slots for its fields, and with methods for that number of fields."""
    names = [one.name for one in given]
    methods = {
        "__given_fields__": given,
        "__dataclass_fields__": _Fields(given),
        "__dataclass_params__": _refuses_nothing(),
        "__match_args__": tuple(one.name for one in given if one.is_parameter and not one.kw_only),
        "__init__": _init(cls, sorted(given, key=lambda one: one.kw_only)),
        "__repr__": _repr,
    }
    own = {name: value for name, value in cls.__dict__.items() if name not in (*_HELD, *names)}
    if eq:
        compared = [one.name for one in given if one.is_compared]
        methods["__eq__"] = _method(cls, _eq(len(compared)), compared)
        methods["__hash__"] = _method(cls, _hash(len(compared)), compared) if frozen else None
        if own.get("__hash__") is None:
            own.pop("__hash__", None)
    inherited = {slot for base in cls.__mro__[1:-1] for slot in _slots(base)}
    methods["__slots__"] = tuple(name for name in names if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, methods | own)
    made.__qualname__ = cls.__qualname__
    return _keeping(made) if frozen and eq and issubclass(made, KeepsHash) else made


_HELD = "__dict__", "__weakref__"


def _slots(base: type) -> tuple[str, ...]:
    found = base.__dict__.get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)


@cache
def _refuses_nothing() -> Any:
    """Return `dataclasses` parameters of a class that is not frozen, which it asks of a base."""
    return make_dataclass("_", []).__dataclass_params__  # type: ignore[attr-defined]


def _init(cls: type, given: list[_Given]) -> FunctionType:
    shape = tuple((one.is_parameter, one.factory is not MISSING) for one in given)
    code = _init_code(shape, hasattr(cls, "__post_init__"))
    by_place = [one for one in given if one.is_parameter and not one.kw_only]
    by_name = [one for one in given if one.is_parameter and one.kw_only]
    code = code.replace(co_argcount=1 + len(by_place), co_kwonlyargcount=len(by_name))
    makers = {
        f"make_{number}": one.factory
        for number, one in enumerate(given)
        if one.factory is not MISSING
    }
    made = _method(cls, code, [one.name for one in given], makers)
    made.__defaults__ = tuple(one.default for one in by_place if one.is_optional)
    made.__kwdefaults__ = {one.name: one.default for one in by_name if one.is_optional}
    return made


def _method(
    cls: type, code: CodeType, names: list[str], makers: dict[str, Any] | None = None
) -> FunctionType:
    """Make a method from code whose placeholders stand for these fields."""
    actual = {f"field_{number}": name for number, name in enumerate(names)}
    code = code.replace(
        co_qualname=f"{cls.__qualname__}.{code.co_name}",
        co_names=tuple(actual.get(one, one) for one in code.co_names),
        co_varnames=tuple(actual.get(one, one) for one in code.co_varnames),
    )
    return FunctionType(code, _GLOBALS | makers if makers else _GLOBALS)


_GLOBALS = {"__name__": __name__, "MISSING": MISSING}


@cache
def _init_code(shape: tuple[tuple[bool, bool], ...], has_more: bool) -> CodeType:
    """Compile `__init__` for fields that are parameters or not, with a default factory or not."""
    does = {
        (True, False): "self.field_{0} = field_{0}",
        (True, True): "self.field_{0} = make_{0}() if field_{0} is MISSING else field_{0}",
        (False, True): "self.field_{0} = make_{0}()",
        (False, False): "pass",
    }
    lines = [does[one].format(number) for number, one in enumerate(shape)]
    lines += ["self.__post_init__()"] if has_more else []
    parameters = [f"field_{number}" for number, one in enumerate(shape) if one[0]]
    return _compiled(
        f"def __init__({', '.join(('self', *parameters))}): {'; '.join(lines) or 'pass'}"
    )


@cache
def _eq(count: int) -> CodeType:
    ours = "".join(f"self.field_{number}," for number in range(count))
    theirs = "".join(f"other.field_{number}," for number in range(count))
    return _compiled(
        "def __eq__(self, other):\n"
        f" if other.__class__ is self.__class__: return ({ours}) == ({theirs})\n"
        " return NotImplemented"
    )


@cache
def _hash(count: int) -> CodeType:
    values = "".join(f"self.field_{number}," for number in range(count))
    return _compiled(f"def __hash__(self): return hash(({values}))")


def _compiled(text: str) -> CodeType:
    """Return the code object of the only function of a text."""
    of_module = compile(text, "<dataclass>", "exec")
    return next(one for one in of_module.co_consts if isinstance(one, CodeType))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _keeping(cls: type) -> type:
    """Make the class cache its hash."""
    of_fields = cast(Callable[[Any], int], cls.__hash__)

    def found(self: Any) -> int:
        kept: int | None = getattr(
            self, "_hash", None
        )  # raising an error would take longer than the rest
        if kept is None:
            kept = self._hash = of_fields(self)
        return kept

    cls.__hash__ = found  # type: ignore[method-assign,assignment]
    return cls
