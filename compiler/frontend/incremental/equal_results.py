"""Compare the results of two checks up to spans and fresh names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass, replace
from typing import Any

from compiler.base.names import Name, base_of
from compiler.base.spans import NOWHERE, Span
from compiler.frontend.check.checked_files import shows_others
from compiler.frontend.check.modules.module_types import ModuleType
from compiler.frontend.check.modules.modules import Functor
from compiler.frontend.check.scope.scope import KINDS, Abbreviation, Module, Scheme
from compiler.frontend.types import SizeExp


def names_in(module: Module) -> set[str]:
    """Return the names that a module binds, of all kinds."""
    return {name for kind in KINDS for name in getattr(module, kind)}


def equal_up_to_names(one: Any, other: Any, new: set[Name], same: dict[Name, Name]) -> bool:
    """Test whether two values are equal up to spans and to names that are `new` in the first.

    `same` receives the renaming of those names.
    """
    if isinstance(one, str):
        if one in same or one in new:
            fits = isinstance(other, str) and base_of(one) == base_of(other)
            taken = one not in same and other in same.values()
            return fits and not taken and same.setdefault(one, other) == other
        return bool(one == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, frozenset):
        return bool(frozenset(same.get(name, name) for name in one) == other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(
            equal_up_to_names(a, b, new, same) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            equal_up_to_names(value, other[name], new, same) for name, value in one.items()
        )
    if is_dataclass(one):
        return all(
            equal_up_to_names(getattr(one, f.name), getattr(other, f.name), new, same)
            for f in fields(one)
            if f.compare
        )
    return bool(one == other)


def in_same_places(one: object, other: object, shown: Collection[Span] | None = None) -> bool:
    """Test whether two equal meanings of names have the same spans.

    `shown`: the places of the first that count; None: all do.
    """
    if one is other or (shown is not None and not shown):
        return True
    if isinstance(one, Functor | ModuleType):
        return False
    if isinstance(one, tuple) and isinstance(other, tuple):
        return all(a is b or in_same_places(a, b, shown) for a, b in zip(one, other, strict=True))
    if isinstance(one, Module) and isinstance(other, Module):
        return all(
            in_same_places(value, getattr(other, kind)[name], shown)
            for kind in KINDS
            for name, value in getattr(one, kind).items()
        )
    span = getattr(one, "span", NOWHERE)
    is_here = bool(span == getattr(other, "span", NOWHERE))
    return is_here or (shown is not None and span not in shown)


def shown_by(module: Module, place: Span) -> frozenset[Span] | None:
    """Return the foreign spans that a module declared at `place` may contain; None: any.

    Functors and module types know all names around them.
    """
    if not shows_others(module, place):
        return frozenset()
    found: set[Span] = set()
    todo = [module]
    while todo:
        one = todo.pop()
        if isinstance(one, Functor) or one.module_types:
            return None
        todo += one.modules.values()
        placed = (*one.values.values(), *one.types.values())
        found |= {getattr(value, "span", NOWHERE) for value in placed}
    return frozenset(span for span in found if not place.holds(span))


def has_places(value: Any) -> bool:
    """Test whether a declaration, or a type in it, contains syntax, which has spans."""
    if isinstance(value, SizeExp | Functor | ModuleType):
        return True
    if isinstance(value, list | tuple):
        return any(map(has_places, value))
    if isinstance(value, dict):
        return any(map(has_places, value.values()))
    return is_dataclass(value) and any(has_places(getattr(value, f.name)) for f in fields(value))


def with_spans(
    module: Module, like: Module, place: Callable[[Scheme | Abbreviation], Span]
) -> Module:
    """Return a module with the spans `place` of one that is `like` it; itself if they are equal.

    `like` has as many names, with the same meanings up to spans and fresh names.
    """
    if isinstance(module, Functor):
        return like
    changed = Module(module_types=like.module_types, prim=module.prim, wrong=module.wrong)
    is_same = True
    for kind in ("values", "types"):
        table: dict[str, Any] = getattr(changed, kind)
        others = getattr(like, kind)
        for name, value in getattr(module, kind).items():
            other = others[name]
            span = place(other) if isinstance(other, Scheme | Abbreviation) else NOWHERE
            is_here = getattr(value, "span", NOWHERE) == span
            table[name] = value if is_here else replace(value, span=span)
            is_same = is_same and is_here
    for name, inner in module.modules.items():
        changed.modules[name] = with_spans(inner, like.modules[name], place)
        is_same = is_same and changed.modules[name] is inner
    pairs = ((one, like.module_types[name]) for name, one in module.module_types.items())
    return module if is_same and all(one is other for one, other in pairs) else changed


def share(before: Module, now: Module) -> None:
    """Make functors and module types equal to those of the module before.

    Both modules are of the same text, whose names had the same meanings.
    """
    for name, one in now.module_types.items():
        other = before.module_types.get(name)
        if isinstance(one, ModuleType) and isinstance(other, ModuleType):
            one.own = other.own
    for name, inner in now.modules.items():
        known = before.modules.get(name)
        if isinstance(inner, Functor) and isinstance(known, Functor):
            inner.own = known.own
        elif known is not None:
            share(known, inner)
