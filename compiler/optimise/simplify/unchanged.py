"""What a round left as it was: no later round goes through it in vain.

Most of a large function is settled long before its last statement is, and what comes out of fusion
and distribution is for the most part what went in. A body that a round has left as it was is left
alone from then on, as long as it is the same object and nothing new comes in from outside: no name
that it uses stands for something else, no array is made in another way, no more is known of the
elements that it is given, no size that it mentions became known, and no scalar in it is now put in
the place of its only use. What is known of integers around it may have become more meanwhile; that
alone is no reason to look again. Neither is it for a condition, minimum or quotient that a round
has not decided and that is the same object still: most checks that are left in a program stay in
it, and each proof that is not found takes longer than all else that is done with the statement. But
the first round over a program is not the last to ask: behind it much more is known.
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
    """A body that was left as it was; what its names are is found out when somebody asks."""

    body: Some
    speculatable: bool
    """Nothing in it can fail, whatever surrounds it."""
    nested: bool
    """Whether single uses were put in place where it was left, and all that can be are."""
    defs: Mapping[Name, ir.Exp]
    """What arrays around it were."""
    told: tuple[object, ...] = ()
    """What was known of the elements that it is given."""
    _free: set[Name] | None = None
    _sizes: set[Name] | None = None

    @property
    def free(self) -> set[Name]:
        """The names that it uses and does not bind."""
        if self._free is None:
            self._free = free(self.body)
        return self._free

    def makes(self, defs: Mapping[Name, ir.Exp]) -> bool:
        """Whether all arrays from outside are made as they were."""
        before = self.defs
        for name in self.free:
            made = defs.get(name)
            if made is not before.get(name) and type(made) not in _SCALARS:
                return False
        return True

    def mentions(self, names: Set[Name], sizes: Set[Name]) -> bool:
        """Whether it uses one of `names` from outside, or one of `sizes` in a size."""
        if not names.isdisjoint(self.free):
            return True
        if sizes.isdisjoint(self.free):
            return False
        if self._sizes is None:
            self._sizes = _sizes(self.body)
        return not sizes.isdisjoint(self._sizes)


class Unchanged:
    """What was left as it was in one program, on its way through the stages."""

    __slots__ = ("_left", "is_first", "known", "undecided")

    def __init__(self, before: Unchanged | None) -> None:
        """`before`: what was, for a program that comes again."""
        self.is_first = before is None
        self._left: dict[int, Left] = {} if before is None else dict(before._left)
        """By the identity of the bodies."""
        self.undecided: dict[tuple[int, int], ir.Exp] = {}
        """What was not decided by what was known of integers, by its identity and a depth."""
        self.known = KnownElements()
        """What is known of the arrays of function bodies."""
        if before is not None:
            self.undecided.update(before.undecided)
            self.known = before.known.copy()

    def note(self, left: Left) -> None:
        """A body was left as it was."""
        self._left[id(left.body)] = left

    def find(self, body: Some) -> Left | None:
        """What was noted of a body."""
        return self._left.get(id(body))

    def of(self, prog: ir.Prog) -> Unchanged:
        """What was left of a program; bodies of earlier rounds need not be kept."""
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
