"""Decide whether two accesses overlap: of one thread in sequence, or of two threads.

A write must not touch a cell of an array that is read later, unless it is read as the written
array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir.memory import decide
from compiler.ir.memory.accesses import Accesses, CellsTouched, Kernel
from compiler.ir.memory.known import Relevant, about

PAIRS = 64
"""Maximum number of access pairs examined per kernel."""


class Meetings(Accesses):
    """Overlap questions about the accesses of one function."""

    # --- what comes later ---

    def seen_later(self, write: CellsTouched, other: Name) -> None:
        """Ask whether a write overlaps an array that is read after it."""
        for read, again in self.reads_behind(write, other):
            answer = self.meet(write, read, again)
            if isinstance(answer, decide.Proved):
                continue
            if isinstance(answer, decide.Refuted) and not self.is_made_again(write, read):
                self.fail(
                    f"cell {answer.cell} of `{write.mem.block}` is written for `{write.name}` "
                    f"while `{read.name}` is needed",
                    answer,
                )
            self.tally.open.append(f"`{write.name}` apart from `{read.name}`")
            return
        self.tally.proved += 1

    def reads_behind(self, write: CellsTouched, other: Name) -> Iterator[tuple[CellsTouched, bool]]:
        """Yield reads of an array after a write, except as the written array.

        Each comes with whether it happens in a later iteration of a loop.
        """
        own = self.own(write)
        todo, seen = [other], {other}
        for name in todo:
            for read in self.reads.get(name, ()):
                if read.time >= write.time and not _on_other_sides(write, read):
                    yield read, False
                elif self.round(write, read, name):
                    yield read, True
            for time, into in self.into.get(name, ()):
                if time >= write.time and into not in own and into not in seen:
                    seen.add(into)
                    todo.append(into)

    def is_made_again(self, write: CellsTouched, read: CellsTouched) -> bool:
        """True if the cells may be written again between a write and a read."""
        todo, seen = [read.name], {read.name}
        for name in todo:
            for other in self.writes.get(name, ()):
                between = write.time <= other.time <= read.time
                if between or not set(other.loops).isdisjoint(write.loops):
                    return True
            for source in self.out_of.get(name, ()):
                if source not in seen:
                    seen.add(source)
                    todo.append(source)
        return False

    def round(self, write: CellsTouched, read: CellsTouched, name: Name) -> int:
        """Return the loop in a later iteration of which a read follows a write; 0 for none."""
        for loop in write.loops:
            if loop in read.loops and self.born[name] < loop:
                return loop
        return 0

    def own(self, write: CellsTouched) -> set[Name]:
        """Return the arrays that contain what is written, or are made from it."""
        todo, seen = [write.name], {write.name}
        for name in todo:
            for time, into in self.into.get(name, ()):
                if time >= self.born.get(name, 0) and into not in seen:
                    seen.add(into)
                    todo.append(into)
        return seen

    def meet(self, one: CellsTouched, other: CellsTouched, again: bool) -> decide.Answer:
        """Ask whether two accesses are disjoint, the second perhaps in a later iteration."""
        left, right = one.mem.lmad, other.mem.lmad
        shared = set(left.names() & right.names())
        loop = self.round(one, other, other.name) if again else 0
        if again:
            shared = {name for name in shared if self.born.get(name, 0) < loop}
        left = decide.spread(left, self.within(one, shared))
        right = decide.spread(right, self.within(other, shared))
        names = left.names() | right.names()
        known = about((one.place, other.place), names)
        if again:
            inside = {n for n in right.names() if self.born.get(n, loop) >= loop}
            renamed = {name: Poly.var(f"{name}'") for name in inside}
            facts = (*known.facts, *(fact.subst(renamed) for fact in known.facts))
            return decide.apart(left, right.subst(renamed), dict.fromkeys(facts))
        certain = one.mem.block == other.mem.block
        certain = certain and all(map(self.all_are_touched, (one, other), (left, right)))
        return decide.apart(left, right, known.facts, self.fits(known, names) if certain else None)

    # --- other threads ---

    def meeting(self, kernel: Kernel) -> None:
        """Ask whether a thread writes cells that another reads or writes."""
        asked: set[tuple[Lmad[Poly], Lmad[Poly]]] = set()
        written = {write.mem.block for write in kernel.writes}
        reads = [
            read
            for read in kernel.reads
            if any(self.blocks.may_be_one(read.mem.block, block) for block in written)
        ]
        for write in kernel.writes:
            for other in (*kernel.writes, *reads):
                both = write.meeting and other.meeting and write.name == other.name
                if both or not self.blocks.may_be_one(write.mem.block, other.mem.block):
                    continue
                key = write.mem.lmad, other.mem.lmad
                if key in asked:
                    continue
                asked.add(key)
                if len(asked) > PAIRS:
                    self.tally.open.append(f"more threads of `{write.name}`")
                    return
                self.of_threads(kernel, write, other)

    def of_threads(self, kernel: Kernel, one: CellsTouched, other: CellsTouched) -> None:
        """Ask whether two accesses of different threads are disjoint."""
        if self.fill_apart(kernel, one, other):
            self.tally.proved += 1
            return
        since = kernel.start
        left = decide.spread(one.mem.lmad, self.within(one, (), since))
        right = decide.spread(other.mem.lmad, self.within(other, (), since))
        inner = {name for name in right.names() if self.born.get(name, since) >= since}
        prime = {name: Poly.var(f"{name}'") for name in inner}
        known = self.of_both(one, left, other, right, prime)
        if isinstance(decide.apart(left, right.subst(prime), known.facts), decide.Proved):
            self.tally.proved += 1
            return
        found = list(self.of_two(kernel, one, other))
        for answer in found:
            if isinstance(answer, decide.Refuted):
                self.fail(
                    f"two threads meet in cell {answer.cell} of `{one.mem.block}`, one of which "
                    f"writes it for `{one.name}`, the other is at `{other.name}`",
                    answer,
                )
        if all(isinstance(answer, decide.Proved) for answer in found):
            self.tally.proved += 1
        else:
            self.tally.open.append(f"threads at `{one.name}` and `{other.name}`")

    def of_two(
        self, kernel: Kernel, one: CellsTouched, other: CellsTouched
    ) -> Iterator[decide.Answer]:
        """Yield the answers for two threads, by order of their first differing index."""
        indices = [index for index, _ in kernel.dims]
        left = decide.spread(one.mem.lmad, self.within(one, indices, kernel.start))
        right = decide.spread(other.mem.lmad, self.within(other, indices, kernel.start))
        inner = {n for n in right.names() if self.born.get(n, kernel.start) >= kernel.start}
        same = one.mem.block == other.mem.block and not _on_other_sides(one, other)
        same = same and self.all_are_touched(one, left) and self.all_are_touched(other, right)
        for at, index in enumerate(indices):
            equal = indices[:at]
            prime = {name: Poly.var(f"{name}'") for name in inner.difference(equal)}
            prime |= {name: Poly.var(f"{name}'") for name in indices[at:]}
            for step in (prime[index] - Poly.var(index) - 1, Poly.var(index) - prime[index] - 1):
                known = self.of_both(one, left, other, right, prime, indices)
                known.facts[step] = None
                there = right.subst(prime)
                names = left.names() | there.names() | step.names()
                answer = decide.apart(
                    left, there, known.facts, self.fits(known, names) if same else None
                )
                yield answer
                if not isinstance(answer, decide.Proved):
                    return

    def all_are_touched(self, access: CellsTouched, spread: Lmad[Poly]) -> bool:
        """True if the spread names are constrained by their ranges alone.

        With further constraints, such as a bounds check on a write, some of the cells may never be
        touched: an overlap of the sets then refutes nothing.
        """
        lost = access.mem.lmad.names() - spread.names()
        ranges = {
            fact
            for name in lost
            if name in self.ranges
            for fact in (Poly.var(name), self.ranges[name] - 1 - Poly.var(name))
        }
        known = about((access.place,), lost)
        more = [fact.names() for fact in known.facts if fact not in ranges]
        more += [condition.names for condition in known.conditions]
        return known.all and all(lost.isdisjoint(names) for names in more)

    def facts_of(self, access: CellsTouched, lmad: Lmad[Poly]) -> Iterable[Poly]:
        """Return the facts at an access."""
        return about((access.place,), lmad.names()).facts

    def of_both(
        self,
        one: CellsTouched,
        left: Lmad[Poly],
        other: CellsTouched,
        right: Lmad[Poly],
        prime: Mapping[Name, Poly],
        more: Iterable[Name] = (),
    ) -> Relevant:
        """Return the facts about two threads; `prime` renames the indices of the second."""
        mine = about((one.place,), left.names().union(more))
        theirs = about((other.place,), right.names().union(more))
        for fact in theirs.facts:
            mine.facts[fact.subst(prime)] = None
        for condition in theirs.conditions:
            mine.conditions[condition] = None
            mine.all = mine.all and condition.names.isdisjoint(prime)
        mine.all = mine.all and theirs.all
        return mine

    def fill_apart(self, kernel: Kernel, one: CellsTouched, other: CellsTouched) -> bool:
        """True if both lie in arrays of one layout in which each thread owns separate cells."""
        for left, right in (
            (one.mem.lmad, other.mem.lmad),
            (self.numbers.normal_lmad(one.whole.lmad), self.numbers.normal_lmad(other.whole.lmad)),
        ):
            if left != right:
                continue
            ranges = {
                name: self.ranges[name]
                for name in sorted(left.names(), key=lambda n: (-self.born.get(n, 0), n))
                if name in self.ranges and self.born[name] >= kernel.start
            }
            if not {index for index, _ in kernel.dims} <= ranges.keys():
                continue
            if decide.one_each(left, ranges, partial(self.facts_of, one, left)):
                return True
        return False


def _on_other_sides(one: CellsTouched, other: CellsTouched) -> bool:
    """True if the accesses are on different sides of a branch."""
    return any(other.sides.get(at, side) != side for at, side in one.sides.items())
