"""Report the fate of each bounds check, and why.

An access is an index, a slice or an update of the source. Passes record a `Fate` wherever they
decide about a check; the remaining checks are those of the last program before IMP. Nothing is
recomputed for display, and no text is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from compiler import codes
from compiler.algebra.argument import Argument, Deduction, Source, all_lines
from compiler.algebra.encode import inequality
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.remarks import Fate
from compiler.base.spans import Prov, Span, by_file, plain
from compiler.frontend import typed as ty
from compiler.frontend.check.finish.attributes import attributes
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.shown import shown
from compiler.frontend.types import Type
from compiler.ir.nodes import SE, Assert, Bin, Body, Loop, Prog, Stm
from compiler.ir.source_names import Spelling
from compiler.ir.walk import all_stms, children, stms_of
from compiler.lower.arrays import OUT_OF_BOUNDS
from compiler.protocol.kinds import Json
from compiler.protocol.proofs import Access, AccessKind, AccessState, Claim

_CHECKED = "Safety check required: the program checks this access when it runs."
_LEARN = "`stridescope bounds` and the details in the page say what is not proved."


@dataclass(frozen=True, slots=True)
class _Left:
    """A remaining check, and the number of loops and parallel operations around it."""

    prov: Prov
    cond: SE
    around: int


def report(typed: ty.TypedProg, last: Prog, fates: Sequence[Fate], words: Words) -> list[Access]:
    """Return one record for each access, in order of the text."""
    left: dict[Span, list[_Left]] = {}
    for check in _left(last):
        left.setdefault(check.prov[0], []).append(check)
    said: dict[Span, list[Fate]] = {}
    for fate in fates:
        if fate.at:
            said.setdefault(fate.at[0], []).append(fate)
    return [
        _record(access, said.get(access.span, ()), left.get(access.span, ()), words)
        for access in _accesses(typed)
    ]


def warned(typed: ty.TypedProg, last: Prog) -> list[Warning_]:
    """Warn of checked accesses within `#[warn(safety_checks)]` or functions called there."""
    words = attributes(typed.defs).items()
    asked = [span for span, said in words if {"warn", "safety_checks"} <= said]
    found = {
        check.prov[0]: Warning_(codes.warnings.CHECKED, _CHECKED, check.prov[0], _LEARN)
        for check in _left(last)
        if any(around.holds(span) for around in asked for span in check.prov)
    }
    return [found[span] for span in sorted(found, key=by_file)]


def theorems(
    fates: Iterable[Fate], proved: Iterable[tuple[str, Iterable[Argument]]], words: Words
) -> list[Json]:
    """Return the proofs of dropped checks as claims of a certificate, each once.

    Other facts `proved` in a stage follow, if no check used them.
    """
    found: dict[str, Json] = {}
    checks: set[str] = set()
    for fate in fates:
        at = fate.at[0].position if fate.at else "-"
        for argument in fate.why:
            text = _line(words.claim(argument))
            checks.add(text)
            about = f"{at} check: {text}"
            found.setdefault(about, inequality(argument, about))
    for stage, arguments in proved:
        for argument in arguments:
            text = _line(words.claim(argument))
            if text not in checks:
                about = f"{stage}: {text}"
                found.setdefault(about, inequality(argument, about))
    return list(found.values())


def _line(claim: Claim) -> str:
    return "; ".join((claim["says"], *claim["facts"]))


def _accesses(typed: ty.TypedProg) -> list[ty.Index | ty.Update]:
    """Return the accesses of the user's program, in order, each once.

    Then those of imported files.
    """
    found: dict[Span, ty.Index | ty.Update] = {}
    stack: list[Any] = [*shown(typed)]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple | list):
            stack.extend(node)
        elif is_dataclass(node) and not isinstance(node, type | Type):
            if isinstance(node, ty.Index | ty.Update) and node.span.is_own:
                found.setdefault(node.span, node)
            stack.extend(getattr(node, field.name) for field in fields(node))
    return [found[span] for span in sorted(found, key=by_file)]


def _left(prog: Prog) -> Iterator[_Left]:
    for fun in prog.funs:
        yield from _left_in(fun.body.stms, 0)


def _left_in(stms: Iterable[Stm], around: int) -> Iterator[_Left]:
    for stm in stms:
        exp = stm.exp
        if isinstance(exp, Assert) and stm.prov and exp.message[:1]:
            first = exp.message[0]
            if isinstance(first, str) and first.startswith(OUT_OF_BOUNDS):
                yield _Left(stm.prov, exp.cond, around)
        for child in children(exp):
            inner = isinstance(exp, Loop) or not isinstance(child, Body)
            yield from _left_in(stms_of(child), around + inner)


def _record(
    access: ty.Index | ty.Update, fates: Sequence[Fate], left: Sequence[_Left], words: Words
) -> Access:
    state, because = _state(fates, left)
    arguments = dict.fromkeys(argument for fate in fates for argument in fate.why)
    return {
        "src": plain(access.span),
        "at": plain(_brackets(access)),
        "kind": _kind(access),
        "state": state,
        "because": because,
        "claims": [words.claim(argument) for argument in arguments],
        "missing": list(dict.fromkeys(part for check in left for part in _open(check.cond, words))),
    }


def _kind(access: ty.Index | ty.Update) -> AccessKind:
    if isinstance(access, ty.Update):
        return "update"
    full = all(isinstance(dim, ty.IndexFix) for dim in access.dims)
    return "index" if full else "slice"


def _brackets(access: ty.Index | ty.Update) -> Span:
    """Return the span from the first to the last index, or else of the whole access."""
    parts = [
        part.span
        for dim in access.dims
        for part in ((dim.at,) if isinstance(dim, ty.IndexFix) else (dim.start, dim.stop, dim.step))
        if part is not None and part.span.is_own
    ]
    return min(parts).to(max(parts)) if parts else access.span


def _state(fates: Sequence[Fate], left: Sequence[_Left]) -> tuple[AccessState, str]:
    hows = {fate.how for fate in fates}
    if left:
        outside = "outside" in hows
        if outside and not any(check.around for check in left):
            return "hoisted", "Checked once, before the enclosing loop or parallel operation."
        if outside:
            return "kept", "Checked outside an inner loop, but inside an outer one."
        if any(fate.why for fate in fates):
            return "kept", "Partly proved; the rest is checked when the program runs."
        return "kept", "Checked when the program runs."
    if not fates:
        return "unused", "Not compiled: nothing uses it."
    if "unsafe" in hows:
        return "dropped", "Neither proved nor checked: #[unsafe]."
    if any(fate.why for fate in fates):
        return "dropped", "Check removed: proved in bounds."
    if "joined" in hows:
        return "dropped", "Covered by the enclosing access, which is checked or proved."
    if "repeated" in hows:
        return "dropped", "Check removed: an earlier check covers it."
    if hows == {"dropped"}:
        return "dropped", "Check removed: in bounds for all sizes."
    return "dropped", "The code around it never runs, or its result is not needed."


# --- what was proved, in words ---------------------------------------------------------------


class Words:
    """Spells the numbers in proofs by the author's names."""

    def __init__(self, said: Callable[[Name], str | None], progs: Iterable[Prog]) -> None:
        """`progs`: the programs that define unnamed numbers, the earliest stage first."""
        self._said = said
        self._progs = progs

    @cached_property
    def _made(self) -> dict[Name, Stm]:
        found: dict[Name, Stm] = {}
        for fun in (fun for prog in self._progs for fun in prog.funs):
            for stm in all_stms(fun.body.stms):
                for param in stm.pat:
                    found.setdefault(param.name, stm)
        return found

    def spelling(self) -> Spelling:
        """Return the spelling for one text: of two `i`, the later one is `i₂`."""
        return Spelling(self._said, (), lambda name: self._made.get(name))

    def claim(self, argument: Argument) -> Claim:
        """Render a proved claim, and the facts that it rests on."""
        known = _known(argument)
        spell = self.spelling()
        if any(name[0] == "?" for name in _names(argument, known)):
            for what, name in argument.atoms.items():
                spell.stands_for(name, what)
        says = _told(argument, spell)
        facts = filter(None, (_fact(source, spell) for source in known))
        return {"says": says, "facts": list(dict.fromkeys(facts))}


def _names(argument: Argument, known: Iterable[Source]) -> Iterator[Name]:
    """Yield the names in a claim and in its facts."""
    for part in chain(argument.says.about, *(source.about for source in known)):
        if isinstance(part, Poly):
            yield from part.names()


def _polys(about: Iterable[Any], spell: Spelling) -> tuple[Any, ...]:
    """Replace polynomials by text."""
    return tuple(spell.poly(x) if isinstance(x, Poly) else x for x in about)


def _told(argument: Argument, spell: Spelling) -> str:
    about = _polys(argument.says.about, spell)
    match argument.says.kind:
        case "within":
            at, size = about
            return f"0 <= {at} < {size}"
        case "compare":
            op, left, right = about
            return f"{left} {op} {right}"
        case "rising":
            first, last, size = about
            return f"0 <= {first} <= {last} <= {size}"
        case "slice":
            first, last, size = about
            return f"0 <= {first}, {last} < {size}"
        case "size":
            return f"{about[0]} is the size of an array"
        case "value":
            return f"{about[0]} does not wrap"
        case "remains":
            number, by, quotient, rest = about
            return f"{number} = ({quotient}) * ({by}) + {rest}, 0 <= {rest} < {by}"


def _known(argument: Argument) -> list[Source]:
    """Return the facts about the program that a proof uses, in order of time."""
    known: dict[Source, None] = {}
    for line in all_lines(argument.lines):
        match line.because:
            case Source() as source:
                known[source] = None
            case Deduction(_, about) if about and isinstance(about[0], Source):
                known[about[0]] = None
    return sorted(known, key=lambda source: source.since)


def _fact(source: Source, spell: Spelling) -> str:
    about = _polys(source.about, spell)
    match source.kind:
        case "fact":
            return f"{about[0]} >= 0"
        case "size":
            return f"{about[0]} is the size of an array"
        case "input":
            return f"an input array has {about[0]} elements or rows"
        case "block":
            return f"{about[0]} elements are in memory"
        case "index":
            return f"{spell.number(about[0])} runs from 0 to {spell.poly(source.about[1] - 1)}"
        case "runs":
            return f"this code runs only if {about[0]} >= 1"
        case "condition":
            if source.text:
                cond, truth = source.text
                return f"{_condition(cond, spell)} {'holds' if truth else 'does not hold'} here"
            op, left, right, _ = about
            return f"{left} {op} {right} holds here"
        case "product":
            first, second = source.about
            return f"{spell.poly(first * second)} does not wrap"
        case "between":
            name, low, high = spell.number(about[0]), *about[1:3]
            if source.text:
                array = f"`{base_of(source.text)}`"
                end = f"above {high}" if low is None else f"below {low}"
                return f"no element of {array} is {end}"
            return f"{name} = {low}" if low == high else f"{name} lies between {low} and {high}"
        case "choice" | "atom":
            name, kind, one, other, *_ = about
            if name[0] == "?":
                return ""
            name = spell.number(name)
            if kind in ("min", "max"):
                return f"{name} is the {kind} of {one} and {other}"
            if kind == "either":
                return f"{name} is {one} or {other}"
            left, right = (f"({side})" if " " in side else side for side in (one, other))
            return f"{name} is {left} {kind} {right}"
    return ""


def _open(cond: SE, words: Words) -> Iterator[str]:
    """Yield the conjuncts of a condition."""
    if isinstance(cond, Bin) and cond.op == "&&":
        yield from _open(cond.lhs, words)
        yield from _open(cond.rhs, words)
    else:
        yield _condition(cond, words.spelling())


def _condition(cond: SE, spell: Spelling) -> str:
    """Render a condition; a comparison of i64 without suffixes."""
    if isinstance(cond, Bin) and cond.at == "i64":
        return f" {cond.op} ".join(map(spell.scalar, (cond.lhs, cond.rhs)))
    return spell.scalar(cond)
