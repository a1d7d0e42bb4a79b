"""Arguments: line-by-line proofs of inequalities about the integers of a program.

A line claims that a polynomial is not negative, and says because of what: something that is known
at a place of the program (`Source`), a `Sum` over earlier lines, or one step of reasoning about
integers (`Deduction`). What lines rest on are lines again, so that an argument is a graph without
cycles, whose parts are shared. `gate.py` asks the checker whether a line follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from compiler.algebra.certificate import Sum
from compiler.algebra.checker import Key, Polynomial
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim

Kind = Literal[
    "type", "size", "input", "block", "index", "runs", "condition", "product", "between", "choice",
    "atom", "fact"
]  # fmt: skip
"""Kinds of premises, with the data of each:

- `type`: a name and its primitive type;
- `size`: the size of an array that exists;
- `input`: a size, or the product of the sizes, of an array that was handed in;
- `block`: how many elements a block of memory has;
- `index`: a name, the extent that it runs through from 0 on, and the type of both;
- `runs`: how often something runs, in which this holds, and the type of that;
- `condition`: the operator and both sides of a comparison that holds, and their type;
- `product`: two numbers whose product has an upper half of 0;
- `between`: a name and what it is not below, and not above, or None;
- `choice`: a name, one of `min max either / // % %%`, and two operands, of type i64;
- `atom`: the same of two integers, and behind them what the name is after equalities have been put
  into it;
- `fact`: a polynomial that is not negative, as it was stated and with equalities put into it."""
Step = Literal[
    "cases", "range", "quotient", "floor", "divisor", "remainder", "nearby", "unlike", "round",
    "divides", "chosen", "unwrap", "cut"
]  # fmt: skip
"""Deduction steps, with the data of each (`checker.py` states their side conditions):

- `cases`: a `choice`; what is claimed holds for either value of it;
- `range`: a `choice` and the ends of both operands; the name lies where those say;
- `quotient`, `remainder`: a `choice`; what division says;
- `floor`: a `choice` and 1 or -1; a quotient is not below (above) what it is compared with;
- `divisor`: a `choice`; nothing is divided by 0;
- `nearby`: a `choice` and a number above the divisor's size;
- `unlike`: two sides that differ, so that one that is not smaller is larger;
- `round`: a number; a multiple is not negative, or nearly so;
- `divides`, `chosen`: a `choice` that is positive;
- `unwrap`: a name, and a polynomial that equals it modulo the size of a type, and is near it;
- `cut`: a name that is a polynomial, which is not negative, cut to a type."""


class Source:
    """A premise: something known at a place of the program.

    `fits`: polynomials read as values, each with the type whose range it must lie in ("": a natural
    number) and the depth of the facts that show it. `text`: the condition in the program, if there
    is one; `since`: time stamp of the fact.
    """

    __slots__ = ("about", "fits", "kind", "reach", "since", "text")

    def __init__(
        self,
        kind: Kind | Literal["derived"],
        about: tuple[Any, ...],
        fits: tuple[tuple[Poly, Prim | Literal[""], int], ...] = (),
        text: Any = "",
    ) -> None:
        self.kind = kind
        self.about = about
        self.fits = fits
        self.text = text
        self.since = 0
        self.reach = 0


@dataclass(frozen=True, slots=True)
class Deduction:
    """One reasoning step about integers that is not a sum."""

    step: Step
    about: tuple[Any, ...]


UNSAID: Polynomial = {}


class Lemma:
    """`claim >= 0` with its justification and premises; holds at `depth` and deeper.

    `said` and `key` are the claim in the checker's representation. Only the gate sets `key`, once
    the checker has accepted the line; both drop when the pass that asked has ended.
    """

    __slots__ = ("because", "claim", "depth", "key", "premises", "said")

    def __init__(
        self,
        claim: Poly,
        because: Source | Sum | Deduction,
        premises: tuple[Lemma, ...],
        depth: int,
    ) -> None:
        self.claim = claim
        self.because = because
        self.premises = premises
        self.depth = depth
        self.said = UNSAID
        self.key: Key | None = None


@dataclass(frozen=True, slots=True)
class Saying:
    """A statement about the program, such as `within` of `i` and `n` for `0 <= i < n`."""

    kind: Literal["compare", "value", "remains", "within", "rising", "slice", "size"]
    about: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """Lines that together prove a statement about the program."""

    says: Saying
    lines: tuple[Lemma, ...]
    equal: tuple[tuple[Name, Poly], ...] = ()
    """Equalities substituted into the lines, as they were stated."""
    atoms: Mapping[Any, Name] = field(default_factory=dict, compare=False)
    """Atoms by what they stand for: an expression, or a type and the polynomial that wraps in
    it."""


def all_lines(roots: Iterable[Lemma]) -> list[Lemma]:
    """Return the lines and all premises that they rest on; premises come first."""
    found: dict[int, Lemma] = {}
    stack = [(line, False) for line in reversed(list(roots))]
    while stack:
        line, ready = stack.pop()
        if ready:
            found.setdefault(id(line), line)
        elif id(line) not in found:
            stack.append((line, True))
            stack.extend((premise, False) for premise in line.premises)
    return list(found.values())


def sources(roots: Sequence[Lemma]) -> list[Source]:
    """Return the premises of the program that the lines use, without repetition, oldest first."""
    found = [line.because for line in all_lines(roots) if isinstance(line.because, Source)]
    return sorted(dict.fromkeys(found), key=lambda source: source.since)


def names_of(roots: Sequence[Lemma]) -> set[Name]:
    """Return all names in the lines."""
    return set[Name]().union(*(line.claim.names() for line in all_lines(roots)))
