"""The layout of sum types: a tag, and slots shared by constructors (`lower/components.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.base.prim import BYTES
from compiler.base.spans import Span, user_spans
from compiler.frontend import typed as t
from compiler.frontend.parts import parts
from compiler.frontend.show_type import show_size, show_type
from compiler.frontend.shown import shown
from compiler.frontend.types import Sum, Type
from compiler.lower.components import ComponentType, PayloadSize, components, sum_slots
from compiler.protocol import storage

_MOST_PLACES = 20


def sums(prog: t.TypedProg) -> list[storage.SumInfo]:
    """Return the monomorphic program's sum types, in order of occurrence."""
    found: dict[str, Sum] = {}
    places: dict[tuple[str, str], list[Span]] = {}
    for d in shown(prog):
        for one in (*(p.type for p in d.params), d.ret):
            found.update((show_type(inner), inner) for inner in _sums_in(one))
        for exp in _expressions(d.body):
            found.update((show_type(inner), inner) for inner in _sums_in(exp.type))
            for name, of, span in _uses(exp):
                places.setdefault((show_type(of), name), []).append(span)
    return [_info(told, of, places) for told, of in found.items()]


def _expressions(exp: t.Exp) -> Iterator[t.Exp]:
    waiting = [exp]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(parts(one))


def _uses(exp: t.Exp) -> Iterator[tuple[str, Type, Span]]:
    """Yield the constructors that an expression applies or matches."""
    if isinstance(exp, t.Constr):
        yield exp.name, exp.type, exp.span
    if isinstance(exp, t.Match):
        waiting = [case.pat for case in exp.cases]
        while waiting:
            match waiting.pop():
                case t.PConstr(name=name, args=args, type=of, span=span):
                    yield name, of, span
                    waiting += args
                case t.PRecord(fields=fields):
                    waiting += [pat for _, pat in fields]


def _sums_in(of: Type) -> Iterator[Sum]:
    if isinstance(of, Sum):
        yield of
    for part in of.held:
        yield from _sums_in(part)


def _info(told: str, of: Sum, places: dict[tuple[str, str], list[Span]]) -> storage.SumInfo:
    slots, uses = sum_slots(of)
    made: list[storage.Constructor] = []
    for tag, ((name, payload), taken) in enumerate(zip(of.variants, uses, strict=True)):
        fields = [
            f"{at}: {show_type(one)}{_part(suffix)}"
            for at, one in enumerate(payload, 1)
            for _, _, suffix in components(one)
        ]
        held = [""] * len(slots)
        for slot, told_field in zip(taken, fields, strict=True):
            held[slot] = told_field
        src = user_spans(tuple(places.get((told, name), ())[:_MOST_PLACES]))
        made.append({"name": f"#{name}", "tag": tag, "holds": held, "src": src})
    info: storage.SumInfo = {
        "type": told,
        "slots": [_type(slot) for slot in slots],
        "constructors": made,
    }
    apart = [c for _, payload in of.variants for one in payload for c in components(one)]
    if not any(sizes for _, sizes, _ in (*slots, *apart)):
        info["bytes"], info["apart"] = (
            BYTES["i8"] + sum(BYTES[prim] for prim, _, _ in some) for some in (slots, apart)
        )
    return info


def _part(suffix: str) -> str:
    return f", .{suffix.removeprefix('_')}" if suffix else ""


def _type(component: ComponentType) -> str:
    prim, sizes, _ = component
    declared = (size.size if isinstance(size, PayloadSize) else size for size in sizes)
    return "".join(f"[{show_size(size)}]" for size in declared) + prim
