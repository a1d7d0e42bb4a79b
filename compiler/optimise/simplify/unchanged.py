"""Remember bodies that a round left unchanged, so that later rounds skip them.

Most of a large function settles early, and fusion and distribution leave most code as it was. An
unchanged body is skipped as long as it is the same object and its context has not changed: no free
name is substituted, no array is redefined, no more is known of its inputs' elements, no size in it
became known, and no scalar in it is now to be substituted at its only use. More integer facts about
the context alone are no reason to revisit it. The same holds for a condition, minimum or quotient
that a round did not decide and that is still the same object: most remaining checks stay for good,
and each failed proof takes longer than everything else done with the statement. The first round
over a program is exempt: much more is known after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.walk import Rewrite, all_stms, children, free, rewrite
from compiler.optimise.simplify.ends import KnownElements

Some = ir.Body | ir.KernelBody
_SCALARS = frozenset((*ir.SE_NODES, ir.Index))


@dataclass(slots=True)
class Left:
    """An unchanged body; its names are computed on demand."""

    body: Some
    speculatable: bool
    """True if nothing in it can fail, in any context."""
    nested: bool
    """True if single uses were being substituted, and all that can be are."""
    defs: Mapping[Name, ir.Exp]
    """Definitions of outer arrays at that time."""
    told: tuple[object, ...] = ()
    """Element bounds of its inputs at that time."""
    _free: set[Name] | None = None
    _sizes: set[Name] | None = None

    @property
    def free(self) -> set[Name]:
        """Free names of the body."""
        if self._free is None:
            self._free = free(self.body)
        return self._free

    def makes(self, defs: Mapping[Name, ir.Exp]) -> bool:
        """True if all outer arrays still have the same definitions."""
        before = self.defs
        for name in self.free:
            made = defs.get(name)
            if made is not before.get(name) and type(made) not in _SCALARS:
                return False
        return True

    def mentions(self, names: Set[Name], sizes: Set[Name]) -> bool:
        """True if it uses one of `names` freely, or one of `sizes` in a size."""
        if not names.isdisjoint(self.free):
            return True
        if sizes.isdisjoint(self.free):
            return False
        if self._sizes is None:
            self._sizes = _sizes(self.body)
        return not sizes.isdisjoint(self._sizes)


class Unchanged:
    """Unchanged bodies of one program, passed on through the stages."""

    __slots__ = ("_left", "is_first", "known", "undecided")

    def __init__(self, before: Unchanged | None) -> None:
        """`before`: the result of an earlier run over the program."""
        self.is_first = before is None
        self._left: dict[int, Left] = {} if before is None else dict(before._left)
        """Entries by identity of the bodies."""
        self.undecided: dict[tuple[int, int], ir.Exp] = {}
        """Expressions that integer facts did not decide, by identity and depth."""
        self.known = KnownElements()
        """Element bounds of arrays of function bodies."""
        if before is not None:
            self.undecided.update(before.undecided)
            self.known = before.known.copy()

    def note(self, left: Left) -> None:
        """Record an unchanged body."""
        self._left[id(left.body)] = left

    def find(self, body: Some) -> Left | None:
        """Return the entry of a body, or None."""
        return self._left.get(id(body))

    def of(self, prog: ir.Prog) -> Unchanged:
        """Return the entries of a program's bodies; those of earlier rounds are dropped."""
        kept = Unchanged(None)
        kept.undecided = self.undecided
        kept.known = self.known
        for fun in prog.funs:
            for stm in all_stms(fun.body.stms):
                for child in children(stm.exp):
                    body = child.body if isinstance(child, ir.Lambda) else child
                    found = self._left.get(id(body))
                    if found is not None:
                        kept.note(found)
        return kept


def _sizes(body: Some) -> set[Name]:
    found: set[Name] = set()

    def look(poly: Poly) -> Poly:
        found.update(poly.names())
        return poly

    rewrite(body, Rewrite(poly=look))
    return found
