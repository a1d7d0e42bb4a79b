"""Apply the laws of array computation (seed 002, section 6) in the cheaper direction.

Arithmetic on a part of an array is cheaper than a part of much arithmetic. No law is applied where
it would duplicate a shared computation, or drop one that could fail: a failing program must still
fail.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from typing import Any

from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule, Pass
from compiler.frontend.flatpack import terms as t
from compiler.frontend.flatpack.build import TermBuilder
from compiler.frontend.flatpack.evaluate import Meaning

Found = Outcome[t.Term] | None
_PARTS = (t.Slice, t.SubRange, t.DownSample)
_INVERSE = {t.Transpose: t.Transpose, t.RotateL: t.RotateR, t.RotateR: t.RotateL}


@dataclass(slots=True)
class _Laws:
    """The rewriting of one program: use counts, and rewritten terms."""

    meaning: Meaning
    ctx: Ctx
    builder: TermBuilder
    uses: Counter[int] = field(default_factory=Counter)
    became: dict[int, t.Term] = field(default_factory=dict)
    kept: list[t.Term] = field(default_factory=list)
    """Terms kept alive, as they are known by identity."""

    def count(self, results: tuple[t.Term, ...]) -> None:
        """Count the uses of all terms; a result counts as one."""
        pending = list({id(one): one for one in results}.values())
        self.kept += results
        self.uses.update(map(id, results))
        while pending:
            for part in t.parts(pending.pop()):
                self.uses[id(part)] += 1
                if self.uses[id(part)] == 1:
                    pending.append(part)

    def of(self, term: t.Term) -> t.Term:
        """Rewrite a term."""
        if id(term) not in self.became:
            self.kept.append(term)
            made = t.with_parts(term, {id(part): self.of(part) for part in t.parts(term)})
            if made is not term:
                self.uses[id(made)] = self.uses[id(term)]
            self.became[id(term)] = self.rewritten(made)
        return self.became[id(term)]

    def rewritten(self, term: t.Term) -> t.Term:
        """Apply the first law that holds to a term whose parts are rewritten."""
        self.kept.append(term)
        for law in _BY_KIND.get(type(term), ()):
            new = self.ctx.commit(law, (term.span,), law.apply(self, term))
            if new is not None:
                return self.of(new) if new is not term else term
        return term

    def twist(self, how: t.Structural, arg: t.Term, like: t.Term) -> t.Term:
        """Build a transformation of `arg`; a scalar is unchanged."""
        if not arg.shape:
            return arg
        shape = self.builder.twisted(how, arg.shape, like.span)
        made = t.Twist(like.span, shape, how, arg, prim=arg.prim)
        self.uses[id(made)] = 1
        self.kept.append(made)
        return made

    def may_fail(self, term: t.Term) -> str:
        """Describe a possible failure in a term, or ""."""
        pending, seen = [term], {id(term)}
        while pending:
            one = pending.pop()
            why = self.fails(one)
            if why:
                return why
            for part in t.parts(one):
                if id(part) not in seen:
                    seen.add(id(part))
                    pending.append(part)
        return ""

    def fails(self, term: t.Term) -> str:
        """Describe a possible failure of a term itself, without its parts."""
        match term:
            case t.Arith(op="/") | t.Fold(op="/") if (term.prim or self.meaning.element)[0] in "iu":
                return "a division by zero in it"
            case t.Claim():
                return "the claim about its shape"
            case t.Split(arg=arg) if arg.shape[0].constant is None:
                return "`Split` of a size that is known when it runs"
            case t.Twist(how=how, arg=arg) if not _cannot_fail(how, arg.shape):
                return "an index that is checked when it runs"
        return ""


def _cannot_fail(how: t.Structural, shape: t.Shape) -> bool:
    """Test whether a transformation cannot fail: its indices were checked already."""
    if isinstance(how, t.Smap):
        return _cannot_fail(how.inner, shape[1:])
    named = t.indices(how)
    known = all(size.constant is not None for size in (*named, shape[0]))
    return not isinstance(how, t.Compose) and (known or not named)


def _substituted(term: t.Term, by: dict[int, t.Term]) -> t.Term:
    """Substitute terms for variables, by identity."""
    made = dict(by)

    def go(one: t.Term) -> t.Term:
        if id(one) not in made:
            made[id(one)] = t.with_parts(one, {id(part): go(part) for part in t.parts(one)})
        return made[id(one)]

    return go(term)


# --- laws --------------------------------------------------------------------------------------


def _inverse(laws: _Laws, term: t.Twist) -> Found:
    """`Twist Transpose (Twist Transpose a) ==> a`, and of `RotateL` and `RotateR`."""
    inner = term.arg
    if not isinstance(inner, t.Twist) or _INVERSE.get(type(term.how)) is not type(inner.how):
        return None
    return Applied(inner.arg, "One reordering undoes the other.")


def _split_join(laws: _Laws, term: t.Join) -> Found:
    """`Join (Split i a) ==> a`."""
    inner = term.arg
    if not isinstance(inner, t.Split):
        return None
    if why := laws.fails(inner):
        return Missed(f"The pieces are joined again, but removing both would hide {why}.")
    return Applied(inner.arg, "The pieces are joined in the order in which they were split.")


def _of_zip(laws: _Laws, term: t.Twist) -> Found:
    """`Twist (Slice 1) (Zip [a, b]) ==> b`."""
    inner, how = term.arg, term.how
    if not isinstance(inner, t.Zip) or not isinstance(how, t.Slice):
        return None
    at = how.at.constant
    if at is None:
        return Missed("The index that selects the array is not constant.")
    others = [one for k, one in enumerate(inner.args) if k != at]
    if why := next(filter(None, map(laws.may_fail, others)), ""):
        return Missed(f"The other arrays are not used, but removing them would hide {why}.")
    return Applied(inner.args[at], "The other arrays are not used.")


def _of_arith(laws: _Laws, term: t.Twist) -> Found:
    """`Twist s (a + b) ==> Twist s a + Twist s b`, where `s` takes a part."""
    inner = term.arg
    if not isinstance(inner, t.Arith | t.If | t.As) or not isinstance(term.how, _PARTS):
        return None
    if laws.uses[id(inner)] > 1:
        return Missed("All of it is used elsewhere, so a part would be computed twice.")
    if why := laws.fails(inner):
        return Missed(f"Only a part is used, but computing only that part would hide {why}.")
    parts = {id(part): laws.twist(term.how, part, term) for part in t.parts(inner)}
    made = replace(t.with_parts(inner, parts), shape=term.shape)
    return Applied(
        made, "The program computes only the part that is used.", _saved(laws, inner, term)
    )


def _of_map(laws: _Laws, term: t.Twist) -> Found:
    """`Twist (Slice i) (LetMap v a e) ==> Let v (Twist (Slice i) a) e`, and of parts."""
    inner, how = term.arg, term.how
    if not isinstance(inner, t.LetMap) or not isinstance(how, _PARTS):
        return None
    if laws.uses[id(inner)] > 1:
        return Missed("All rows are used elsewhere, so some would be computed twice.")
    if why := laws.may_fail(inner.body):
        return Missed(f"Only some rows are used, but computing only those would hide {why}.")
    if not _cannot_fail(how, inner.shape) and isinstance(how, t.Slice) and not _needs(inner):
        return Missed("The row may not exist, and skipping it would hide that failure.")
    rows = {id(var): laws.twist(how, arg, term) for var, arg in inner.rows}
    if isinstance(how, t.Slice):
        made = _substituted(inner.body, rows)
    else:
        first, *more = rows.values()
        made = replace(inner, shape=term.shape, arg=first, args=tuple(more))
    return Applied(
        made, "The program computes only the rows that are used.", _saved(laws, inner, term)
    )


def _needs(term: t.LetMap) -> bool:
    """Test whether a body needs its row for all sizes: not only inside a map that may be empty."""
    pending, seen = [term.body], set[int]()
    while pending:
        one = pending.pop()
        if one is term.var or one in term.vars:
            return True
        if id(one) not in seen:
            seen.add(id(one))
            if isinstance(one, t.LetMap | t.Filter):
                pending += [arg for _, arg in one.rows]
            else:
                pending += t.parts(one)
    return False


def _saved(laws: _Laws, whole: t.Term, part: t.Term) -> tuple[tuple[str, str], ...]:
    """Return the numbers of elements that are computed, before and after."""
    shown = [laws.builder.shape(one.shape).replace(" Of ", "*") for one in (whole, part)]
    return (("elements before", shown[0]), ("elements", shown[1].replace("Scalar", "1")))


LAWS = (
    NodeRule("laws/inverse", "Removes two reorderings that undo each other.", (t.Twist,), _inverse),
    NodeRule(
        "laws/split-join", "Removes a split whose pieces are joined again.", (t.Join,), _split_join
    ),
    NodeRule(
        "laws/slice-zip",
        "Selects one of several stacked arrays instead of stacking them.",
        (t.Twist,),
        _of_zip,
    ),
    NodeRule(
        "laws/part-arith", "Computes only the part of an array that is used.", (t.Twist,), _of_arith
    ),
    NodeRule("laws/part-map", "Maps only over the rows that are used.", (t.Twist,), _of_map),
)
_BY_KIND: dict[type[t.Term], tuple[NodeRule, ...]] = {
    kind: tuple(law for law in LAWS if kind in law.on) for kind in (t.Twist, t.Join)
}


def apply_laws(program: Any, ctx: Ctx) -> Any:
    """Apply the laws to a FlatPack program; return a Futhark program unchanged."""
    if not isinstance(program, Meaning):
        return program
    laws = _Laws(program, ctx, TermBuilder(program.element, program.sizes))
    laws.count(program.results)
    first, *more = map(laws.of, program.results)
    return replace(program, result=first, more=tuple(more))


PASS = Pass(
    "laws",
    "Rewrites FlatPack programs by algebraic laws to compute less.",
    apply_laws,
    LAWS,
    optional=True,
)
