"""Insert and remove `Repack`, FlatPack's copy to row-major order.

Every term is traversed by an LMAD over some block. `Join (transpose a)` has none, and gets a copy,
which is reported. A `Repack` in the program pays off if its argument is read several times out of
order; read once, it is an additional copy.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from typing import Any

from compiler.algebra.lmad import Dim, Lmad, NoView
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.prim import BYTES
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule, Pass
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.evaluate import Meaning


@dataclass(slots=True)
class _Packing:
    """The layouts and use counts of one program."""

    meaning: Meaning
    ctx: Ctx
    layouts: dict[int, t.Layout] = field(default_factory=dict)
    became: dict[int, t.Term] = field(default_factory=dict)
    uses: Counter[int] = field(default_factory=Counter)
    repeated: set[int] = field(default_factory=set)
    """Terms read again for each row of something that they do not depend on."""
    needs: dict[int, frozenset[int]] = field(default_factory=dict)
    joined: set[int] = field(default_factory=set)
    """Repacked terms that no LMAD could traverse otherwise."""
    kept: list[t.Term] = field(default_factory=list)
    """Terms kept alive, as they are known by identity."""

    def count(self, results: tuple[t.Term, ...]) -> None:
        """Count the uses of each term, and find those that are read repeatedly."""
        pending: list[t.Term] = list(results)
        bodies: list[tuple[set[int], t.Term]] = []
        self.kept += results
        while pending:
            term = pending.pop()
            if isinstance(term, t.LetMap | t.Filter):
                body = term.body if isinstance(term, t.LetMap) else term.cond
                bodies.append(({id(var) for var, _ in term.rows}, body))
            for part in t.parts(term):
                self.uses[id(part)] += 1
                if self.uses[id(part)] == 1:
                    pending.append(part)
        for one in results:
            self.free(one)
        for rows, body in bodies:
            pending, seen = [body], set[int]()
            while pending:
                one = pending.pop()
                if id(one) not in seen:
                    seen.add(id(one))
                    if rows & self.needs[id(one)]:
                        pending += t.parts(one)
                    else:
                        self.repeated.add(id(one))

    def free(self, term: t.Term) -> frozenset[int]:
        """Return the row variables of surrounding maps that a term depends on."""
        if id(term) not in self.needs:
            own = {id(term)} if isinstance(term, t.Var) else set()
            found = own.union(*map(self.free, t.parts(term)))
            if isinstance(term, t.LetMap | t.Filter):
                found.difference_update(id(var) for var, _ in term.rows)
            self.needs[id(term)] = frozenset(found)
        return self.needs[id(term)]

    def of(self, term: t.Term) -> t.Term:
        """Rewrite a term."""
        if id(term) not in self.became:
            self.kept.append(term)
            if isinstance(term, t.LetMap | t.Filter):
                for var, arg in term.rows:
                    self.layouts[id(var)] = self.layout(self.of(arg)).fix(Poly.const(0))
            if isinstance(term, t.Split | t.Join) and isinstance(term.arg, t.Repack):
                viewed = self.viewed(term, self.of(term.arg.arg))
                self.joined |= {id(term.arg)} if isinstance(viewed, NoView) else set()
            new = t.with_parts(term, {id(part): self.of(part) for part in t.parts(term)})
            if isinstance(new, t.Repack):
                new = self.told(REMOVE, new, _removed(self, new, term))
            elif isinstance(new, t.Split | t.Join):
                new = self.told(INSERT, new, _inserted(self, new))
            self.kept.append(new)
            self.became[id(term)] = new
        return self.became[id(term)]

    def told(self, rule: NodeRule, term: t.Term, outcome: Outcome[t.Term] | None) -> t.Term:
        """Commit a rule's outcome; return the term, or the new one."""
        return self.ctx.commit(rule, (term.span,), outcome) or term

    def layout(self, term: t.Term) -> t.Layout:
        """Return the LMAD by which a term is traversed."""
        if id(term) not in self.layouts:
            self.kept.append(term)
            found = Lmad.row_major(term.shape) if term.shape else Lmad(Poly.const(0), ())
            match term:
                case t.Twist(how=how, arg=arg):
                    quotient = self.meaning.sizes.quotient
                    found = t.layout_after(how, self.layout(arg), quotient)
                case t.Claim(arg=arg):
                    sizes = zip(self.layout(arg).dims, term.shape, strict=True)
                    dims = tuple(Dim(size, dim.stride) for dim, size in sizes)
                    found = Lmad(self.layout(arg).offset, dims)
                case t.Split() | t.Join():
                    viewed = self.viewed(term, term.arg)
                    found = found if isinstance(viewed, NoView) else viewed
            self.layouts[id(term)] = found
        return self.layouts[id(term)]

    def viewed(self, term: t.Split | t.Join, arg: t.Term) -> t.Layout | NoView:
        """Return the LMAD over `arg` for a term's shape; `Split` checks that its pieces are all."""
        loops = self.layout(arg)
        if isinstance(term, t.Split):
            first = Dim(term.shape[0] * term.shape[1], loops.dims[0].stride)
            loops = Lmad(loops.offset, (first, *loops.dims[1:]))
        return loops.reshape(term.shape)

    def bytes(self, term: t.Term) -> tuple[tuple[str, str], ...]:
        """Return the size of the packed data."""
        size = Poly.product(term.shape) * BYTES[term.prim or self.meaning.element]
        return (("bytes", self.meaning.sizes.show(size)),)


def _inserted(packing: _Packing, term: t.Split | t.Join) -> Outcome[t.Term] | None:
    """`Join (Twist Transpose a) ==> Join (Repack (Twist Transpose a))`."""
    if isinstance(term.arg, t.Repack):
        return None
    viewed = packing.viewed(term, term.arg)
    if not isinstance(viewed, NoView):
        return None
    why = viewed.because(lambda size: packing.meaning.sizes.show(Poly.of(size)))
    packed = t.Repack(term.span, term.arg.shape, term.arg, prim=term.prim)
    because = f"No loop can read the values in place: {why}."
    return Applied(replace(term, arg=packed), because, packing.bytes(term))


def _removed(packing: _Packing, term: t.Repack, old: t.Term) -> Outcome[t.Term] | None:
    """`Repack a ==> a`, where `a` is packed already, or read once."""
    saved = packing.bytes(term)
    if packing.layout(term.arg) == Lmad.row_major(term.shape):
        return Applied(term.arg, "The values are already contiguous.", saved)
    if id(old) in packing.joined:
        return Missed(
            "It stays: no loop could read the values of its argument in place.", "", saved
        )
    if id(old) in packing.repeated:
        return Missed("It stays: a map reads the packed values again for each row.", "", saved)
    uses = packing.uses[id(old)]
    if uses > 1:
        return Missed(f"It stays: the packed values are read {uses} times.", "", saved)
    return Applied(
        term.arg, "The values are read once, so packing would only add a pass over them.", saved
    )


REMOVE = NodeRule(
    "repack/remove", "Removes a `Repack` that costs more than it saves.", (t.Repack,), _removed
)
INSERT = NodeRule(
    "repack/insert", "Packs values that no loop can read in place.", (t.Split, t.Join), _inserted
)


def repack(program: Any, ctx: Ctx) -> Any:
    """Make the copies of a FlatPack program explicit."""
    if not isinstance(program, Meaning):
        return program
    packing = _Packing(program, ctx)
    packing.count(program.results)
    first, *more = map(packing.of, program.results)
    return replace(program, result=first, more=tuple(more))


PASS = Pass(
    "repack",
    "Decides where FlatPack copies values into contiguous memory.",
    repack,
    (REMOVE, INSERT),
    optional=True,
)
