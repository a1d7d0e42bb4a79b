"""Values of the specialiser: residual variables, sizes, types, and functions.

Functions do not exist at run time. A closure is code with the environment that it was made in; its
free variables are found there when the code is inlined. Where code moves to a definition of its
own, a `Barrier` separates the environments: a name looked up through it becomes a parameter of that
definition (defunctionalisation by specialisation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import NOWHERE
from compiler.frontend.typed import Const, Def, Exp, Lambda, Var
from compiler.frontend.types import (
    Array,
    Arrow,
    Opaque,
    PrimT,
    Size,
    SizeExp,
    SizeOp,
    SizeVar,
    Type,
)

I64 = PrimT("i64")


@dataclass(slots=True, eq=False)
class Closure:
    """A functional value: code, environment, instance, and the arguments it already has.

    `code` is a definition, a lambda, or the name of an intrinsic. `types` is None for a local
    definition whose instance is not chosen yet.
    """

    code: Def | Lambda | str
    env: Env | None
    types: tuple[Type, ...] | None = ()
    sizes: tuple[Size, ...] = ()
    args: tuple[Value, ...] = ()

    def enter(self) -> Env:
        """Return an environment for its code, with the type and size parameters bound."""
        env = Env(self.env)
        if isinstance(self.code, Def):
            env.names.update(zip(self.code.type_params, self.types or (), strict=False))
            env.names.update(zip(self.code.size_params, self.sizes, strict=False))
        return env


@dataclass(slots=True, eq=False)
class Rec:
    """A record some of whose fields are functions."""

    fields: tuple[tuple[str, Value], ...]


@dataclass(slots=True, eq=False)
class Tagged:
    """A variant of a sum type that holds functions."""

    name: str
    args: tuple[Value, ...]


@dataclass(slots=True, eq=False)
class Accumulator:
    """An accumulator: `token` stands for its arrays, `op` combines values, if it is not None.

    Like functions, accumulators do not exist at run time: which one it is must be known statically.
    """

    token: Var
    op: Value | None


Value = Exp | Size | Type | Closure | Rec | Tagged | Accumulator
"""In an `Env` an `Exp` is a `Var` or `Const`; as an argument it is any residual expression."""


@dataclass(slots=True, eq=False)
class Env:
    """Names of one activation of some code; its parents hold the surrounding ones."""

    parent: Env | None = None
    barrier: Barrier | None = None
    """The barrier between this environment and its parent."""
    names: dict[Name, Value] = field(default_factory=dict)
    sizes: dict[int, tuple[Size, Size]] = field(default_factory=dict)
    """By identity: sums and products whose names all have values, with their values."""

    def lookup(self, name: Name) -> Value | None:
        """Look up `name` from here; None for a global name."""
        env: Env | None = self
        barriers: list[Barrier] | None = None
        while env is not None:
            value = env.names.get(name)
            if value is not None:
                if barriers:
                    for barrier in reversed(barriers):
                        value = barrier.bring(value)
                return value
            if env.barrier is not None:
                barriers = [*barriers, env.barrier] if barriers else [env.barrier]
            env = env.parent
        return None


@dataclass(slots=True, eq=False)
class Barrier:
    """The barrier around a new definition: names from outside become its parameters."""

    fresh: Callable[[str], Name]
    brought: dict[str, tuple[Exp, Var]] = field(default_factory=dict)
    """By outer name: the outer value and the parameter inside, in order of dependence."""
    wrapped: dict[int, tuple[object, Value]] = field(default_factory=dict)

    def bring(self, value: Value) -> Value:
        """Return `value` as code behind the barrier sees it."""
        if isinstance(value, Exp):
            return self.variable(value) if isinstance(value, Var) else value
        if isinstance(value, Size):
            return self.size(value)
        if isinstance(value, Type):
            return map_sizes(value, self.size)
        known = self.wrapped.get(id(value))
        if known is not None:
            return known[1]
        inside = self._wrap(value)
        self.wrapped[id(value)] = (value, inside)
        return inside

    def _wrap(self, value: Closure | Rec | Tagged | Accumulator) -> Value:
        if isinstance(value, Accumulator):
            return Accumulator(self.variable(value.token), value.op and self.bring(value.op))
        if isinstance(value, Tagged):
            return Tagged(value.name, tuple(self.bring(a) for a in value.args))
        if isinstance(value, Rec):
            return Rec(tuple((name, self.bring(v)) for name, v in value.fields))
        env = None if value.env is None else Env(value.env, self)
        types = value.types
        if types is not None:
            types = tuple(map_sizes(t, self.size) for t in types)
        sizes = tuple(self.size(s) for s in value.sizes)
        return Closure(value.code, env, types, sizes, tuple(self.bring(a) for a in value.args))

    def variable(self, var: Var) -> Var:
        """Return the parameter that stands for an outer variable."""
        known = self.brought.get(var.name)
        if known is not None:
            return known[1]
        inside = Var(map_sizes(var.type, self.size), var.span, self.fresh(var.name))
        self.brought[var.name] = (var, inside)
        return inside

    def size(self, size: Size) -> Size:
        """Return a size whose names become parameters."""
        if isinstance(size, SizeVar):
            return SizeVar(self.variable(Var(I64, NOWHERE, size.name)).name)
        if isinstance(size, SizeOp):
            return SizeOp(size.op, self.size(size.lhs), self.size(size.rhs))
        if isinstance(size, SizeExp):
            known = self.brought.get(size.key)
            if known is None and isinstance(size.exp, Exp):
                known = (size.exp, Var(I64, size.exp.span, self.fresh("size")))
                self.brought[size.key] = known
            return size if known is None else SizeVar(known[1].name)
        return size


def map_sizes(t: Type, f: Callable[[Size], Size]) -> Type:
    """Apply `f` to every size of `t`, including sizes that mention an arrow's own parameter."""
    if isinstance(t, Array):
        return Array(tuple(f(d) for d in t.dims), map_sizes(t.elem, f))
    return t if isinstance(t, Arrow) else t.map_parts(lambda part: map_sizes(part, f))


def collect_sizes(t: Type, into: list[Size]) -> None:
    """Collect all sizes of a type outside arrows, from left to right."""
    if isinstance(t, Array):
        into.extend(t.dims)
    for part in t.held:
        collect_sizes(part, into)


def match_sizes(names: set[Name], pattern: Type, t: Type, into: dict[Name, Size]) -> None:
    """Match `t` against `pattern`, a type of the same form, to find the sizes for `names`."""
    if type(pattern) is not type(t):
        return
    if isinstance(pattern, Array) and isinstance(t, Array):
        for wanted, found in zip(pattern.dims, t.dims, strict=False):
            if isinstance(wanted, SizeVar) and wanted.name in names:
                into.setdefault(wanted.name, found)
    for p, q in zip(pattern.parts, t.parts, strict=False):
        match_sizes(names, p, q, into)


def type_key(t: Type) -> object:
    """Return a key equal for types that differ only in sizes."""
    if not t.parts or isinstance(t, Opaque):
        return t
    return (type(t), t.head, *map(type_key, t.parts))


def has_function(t: Type) -> bool:
    """Return True if values of `t` are or hold functions."""
    return isinstance(t, Arrow) or any(map(has_function, t.parts))


def value_key(value: Value) -> object:
    """Return a key equal only for values that make equal code.

    It holds identities: keep values alive.
    """
    if isinstance(value, Closure):
        code = value.code if isinstance(value.code, str) else id(value.code)
        env = 0 if value.env is None else id(value.env)
        return (code, env, value.types, value.sizes, tuple(value_key(a) for a in value.args))
    if isinstance(value, Rec):
        return tuple((name, value_key(v)) for name, v in value.fields)
    if isinstance(value, Tagged):
        return (value.name, tuple(value_key(a) for a in value.args))
    if isinstance(value, Accumulator):
        return value.token.name
    if isinstance(value, Var):
        return value.name
    return (value.type, value.value) if isinstance(value, Const) else value
