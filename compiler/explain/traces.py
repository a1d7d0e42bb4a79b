"""Record the values given to `trace` and `break`, by place in the source.

The program runs unoptimised, at stage `soa`, by the reference interpreter:
sequentially, and nothing is fused, shared or removed. So every value is recorded that the
program's semantics has, whatever back end gives the results, whose last bits of floats may
differ. A program that is compiled for this (`Options.traced`) calls the functions of the prelude,
also where it has their attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.base.deadline import within
from compiler.base.errors import CompileError, TimeoutError_
from compiler.base.names import Name
from compiler.base.spans import Prov, user_spans
from compiler.frontend.typed import Def, TypedProg
from compiler.ir import nodes as ir
from compiler.ir.values import Value
from compiler.lower.components import components
from compiler.lower.external_values import show
from compiler.lower.traced import is_traced
from compiler.protocol.programs import Traced, Traces
from compiler.semantics import value

MOST, MOST_OF_ONE = 1000, 100
"""Values that are recorded, in all and of one place."""
LONGEST = 200
"""The longest value, in characters."""
SECONDS = 5.0
"""Seconds of the run."""
Tell = Callable[[Traced, str], None]


class _Enough(Exception):
    """The limit of values is reached."""


class _Seen:
    """The values by place, in the order in which each place was first reached."""

    def __init__(self, defs: Sequence[Def], tell: Tell | None) -> None:
        self.types = {one.name: (one.source_name, one.params[0].type) for one in defs}
        self.tell = tell
        self.places: dict[tuple[str, str], Traced] = {}
        self.left = MOST

    def see(self, fun: Name, args: Sequence[Value], prov: Prov) -> None:
        """Record a call of `trace` or `break`."""
        if fun not in self.types:
            return
        if not self.left:
            raise _Enough
        self.left -= 1
        name, kind = self.types[fun]
        spans = user_spans(prov)
        new: Traced = {"function": name, "src": spans, "values": [], "count": 0}
        place = self.places.setdefault((name, str(spans)), new)
        place["count"] += 1
        if place["count"] <= MOST_OF_ONE:
            count = len(components(kind))
            (text,) = show([kind], args[len(args) - count :], LONGEST)
            place["values"].append(text)
            if self.tell:
                self.tell(place, text)


def traces(
    mono: TypedProg,
    soa: ir.Prog,
    entry: str,
    args: Sequence[Value],
    seconds: float,
    tell: Tell | None = None,
) -> Traces:
    """Return the values of a run; `tell` gets each at once. An error ends the run."""
    seen = _Seen([one for one in mono.defs if is_traced(one)], tell)
    note, seconds = "", min(seconds, SECONDS)
    try:
        within(seconds, lambda: value.run(soa, entry, args, watch=seen.see))
    except _Enough:
        note = f"The run traced more than {MOST} values: these are the first."
    except TimeoutError_:
        note = f"These are the values of the first {seconds:g} s, by the reference interpreter."
    except CompileError:
        pass  # the run itself says so
    return {"places": list(seen.places.values()), "note": note}
