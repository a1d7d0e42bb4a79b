"""Scopes: bindings of values, types and modules; near misses of names.

A `Scope` is one dictionary per kind of name with an undo log, so that entering and leaving a block
costs as much as the block binds. Values and modules share a namespace: one hides the other.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Span
from compiler.frontend import ast
from compiler.frontend.types import Size, Type, TypeVar, acc_of


@dataclass(frozen=True, slots=True)
class Local:
    """A variable with one type: bound by a pattern."""

    name: Name
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Scheme:
    """A definition, local function or intrinsic, with the parameters that each use instantiates.

    `lifted`: the type parameters that may stand for functions; `open`: for types with sizes that
    differ from value to value.
    """

    name: Name
    type_params: tuple[Name, ...]
    size_params: tuple[Name, ...]
    type: Type
    lifted: frozenset[Name]
    span: Span = field(compare=False)
    open: frozenset[Name] = frozenset()
    args: tuple[tuple[Type, ...], tuple[Size, ...]] | None = None
    """The type and size arguments that the definition gets, over the parameters here; None: these
    themselves. A module type may make a definition's type narrower."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """Member `member` of the built-in module of primitive type `prim`; see `builtins.py`."""

    prim: str
    member: str


@dataclass(frozen=True, slots=True)
class Poison:
    """A definition that is wrong itself; its uses are not reported again."""


@dataclass(slots=True)
class Recursive:
    """The function that is being defined, as its own body sees it.

    `type` is None for a local one, which cannot call itself. `size_params` are the explicit ones:
    every use has sizes of its own, but shares the type parameters and unknown types.
    """

    source_name: str
    type: Type | None = None
    size_params: tuple[Name, ...] = ()
    name: Name = ""
    """Its name, set at its first recursive use."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A built-in member at a type that a module type gives it."""

    builtin: Builtin
    type: Type


Value = Local | Scheme | Builtin | Sealed | Poison | Recursive


DATA, SIZE_LIFTED, LIFTED = 0, 1, 2
"""Kinds of types: values of one size, values of any size (`type~`), functions (`type^`)."""
LIFT = {"type": DATA, "type~": SIZE_LIFTED, "type^": LIFTED}
LIFT_WORDS = ("`type`", "`type~`", "`type^`")


@dataclass(frozen=True, slots=True)
class TypeParamInfo:
    """A parameter of an abbreviation: a size, or a type."""

    name: Name
    is_size: bool


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """`type name params = type`; anonymous sizes in `type` are `ANY_SIZE`."""

    params: tuple[TypeParamInfo, ...]
    type: Type
    unique: bool = False
    ext: tuple[Name, ...] = ()
    """Sizes that each use makes anew, as in `type~ t = ?[n].[n]i32`."""
    lift: int = DATA
    """The declared kind: `DATA`, `SIZE_LIFTED` or `LIFTED`."""
    span: Span = field(default=NOWHERE, compare=False)
    """Span of the declaration."""


_ELEM = "t_00"
ACCUMULATOR = Abbreviation(
    (TypeParamInfo(_ELEM, is_size=False),), acc_of(TypeVar(_ELEM)), lift=SIZE_LIFTED
)
"""The type `acc`."""


KINDS = ("values", "types", "modules", "module_types")
"""The tables of a scope and of a module, in the order in which names are bound."""
_RIVALS = {"values": "modules", "modules": "values"}
"""The tables that share a namespace: a name is in one of them."""


@dataclass(slots=True)
class Module:
    """Names reached by `m.x`."""

    values: dict[str, Value] = field(default_factory=dict)
    types: dict[str, Abbreviation] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    module_types: dict[str, object] = field(default_factory=dict)
    prim: str = ""
    """The primitive type, if this is its built-in module."""
    wrong: bool = False
    """True if its definition has an error, which is reported there."""

    @property
    def parameters(self) -> int:
        """Number of modules that it must be applied to."""
        return 0

    def add(self, other: Module) -> None:
        """Take over all names of another module."""
        for kind, rival in _RIVALS.items():
            for name in getattr(other, kind):
                getattr(self, rival).pop(name, None)
        for kind in KINDS:
            getattr(self, kind).update(getattr(other, kind))


class Scope:
    """The names in scope. `mark`/`leave` bracket a block."""

    __slots__ = ("_trail", "module_types", "modules", "types", "values")

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.types: dict[str, Abbreviation] = {}
        self.modules: dict[str, Module] = {}
        self.module_types: dict[str, object] = {}
        self._trail: list[tuple[str, str, object]] = []

    def copy(self) -> Scope:
        """Return an independent scope with the same names."""
        new = Scope()
        for kind in KINDS:
            setattr(new, kind, dict(getattr(self, kind)))
        return new

    def since(self, mark: int) -> Module:
        """Return the names bound since `mark`, as a module."""
        module = Module()
        for kind, name, _ in self._trail[mark:]:
            table: dict[str, object] = getattr(self, kind)
            if name in table:
                names: dict[str, object] = getattr(module, kind)
                names[name] = table[name]
        return module

    def mark(self) -> int:
        """Return the current length of the undo log, for `leave`."""
        return len(self._trail)

    def leave(self, mark: int) -> None:
        """Undo all bindings since `mark`."""
        trail = self._trail
        while len(trail) > mark:
            kind, name, old = trail.pop()
            table: dict[str, object] = getattr(self, kind)
            if old is None:
                table.pop(name, None)
            else:
                table[name] = old

    def bind(self, name: str, value: Value) -> None:
        """Bind a value."""
        self._trail.append(("values", name, self.values.get(name)))
        self.values[name] = value
        if name in self.modules:
            self._trail.append(("modules", name, self.modules.pop(name)))

    def enter(self, kind: str, name: str, value: object) -> None:
        """Bind a name in the table `kind`."""
        table: dict[str, object] = getattr(self, kind)
        self._trail.append((kind, name, table.get(name)))
        table[name] = value
        rival = _RIVALS.get(kind)
        if rival is not None and name in (others := getattr(self, rival)):
            self._trail.append((rival, name, others.pop(name)))

    def bind_type(self, name: str, abbreviation: Abbreviation) -> None:
        """Bind a type name."""
        self.enter("types", name, abbreviation)

    def bind_module(self, name: str, module: Module) -> None:
        """Bind a module."""
        self.enter("modules", name, module)

    def bind_module_type(self, name: str, module_type: object) -> None:
        """Bind a module type."""
        self.enter("module_types", name, module_type)

    def open(self, module: Module) -> None:
        """Bind all names of a module."""
        for kind in KINDS:
            for name, value in getattr(module, kind).items():
                self.enter(kind, name, value)

    def module(self, path: ast.QualName) -> Module | None:
        """Resolve the module path `a.b.c`."""
        module = self.modules.get(path[0])
        for part in path[1:]:
            if module is None:
                return None
            module = module.modules.get(part)
        return module


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest up to three near misses, or ""."""
    others = [k for k in known if k != name]
    limit = max(1, len(name) // 3) if len(name) > 2 else 0
    slips = [(d, k) for k in others if (d := _edit_distance(name, k, limit)) <= limit]
    close = [k for _, k in sorted(slips)] or difflib.get_close_matches(name, others, cutoff=0.7)
    if not close:
        return ""
    return f"Did you mean {' or '.join(f'`{c}`' for c in close[:3])}?"


def _edit_distance(typed: str, meant: str, limit: int) -> int:
    """Return the Damerau-Levenshtein distance of two names, or `limit + 1` if it is larger."""
    if abs(len(typed) - len(meant)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(meant) + 1))
    for i, a in enumerate(typed):
        after = [i + 1]
        for j, b in enumerate(meant):
            cost = min(row[j] + (a != b), row[j + 1] + 1, after[j] + 1)
            if before and j and a == meant[j - 1] and b == typed[i - 1]:
                cost = min(cost, before[j - 1] + 1)
            after.append(cost)
        if min(after) > limit and min(row) > limit:
            return limit + 1
        before, row = row, after
    return row[-1]
