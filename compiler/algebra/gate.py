"""Have the checker verify the lines of an argument before anything rests on them.

Lines are passed in the form that they have in a certificate: premises as the program states them
(of machine values), with the readings as integers, and steps with their data. `encode.py` writes
the same to a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from compiler.algebra import checker
from compiler.algebra.argument import UNSAID, Argument, Lemma, Source, all_lines
from compiler.algebra.certificate import Sum
from compiler.algebra.limits import LARGEST_INPUT, LARGEST_SIZE
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import int_range

_LARGEST: checker.Polynomial = {(): LARGEST_SIZE}
_ONE: checker.Polynomial = {(): 1}


def accepts(argument: Argument, claims: Sequence[Poly]) -> bool:
    """True if the checker accepts an argument for every claim `>= 0`."""
    shown = [line.claim for line in argument.lines]
    return all(_is_plain(claim) or claim in shown for claim in claims) and follow(argument.lines)


def follow(lines: Iterable[Lemma]) -> bool:
    """True if the checker accepts every line and all that they rest on."""
    work = checker.Inequalities()
    return all(line.key is not None or _follow(line, work) for line in lines)


def forget(arguments: Iterable[Argument]) -> None:
    """Drop the checker's form of the lines; a later use verifies them again."""
    for line in all_lines(line for argument in arguments for line in argument.lines):
        line.said, line.key = UNSAID, None


def _follow(root: Lemma, work: checker.Inequalities) -> bool:
    """Verify one line after its premises; a line that rests on itself is never accepted."""
    stack, waiting = [root], set[int]()
    while stack:
        line = stack[-1]
        if line.key is None:
            above = [premise for premise in line.premises if premise.key is None]
            if above and id(line) in waiting:
                return False
            if above:
                waiting.add(id(line))
                stack += above
                continue
            try:
                line.key = _accepted(line, work)
            except checker.Refused:
                return False
        stack.pop()
    return True


def _is_plain(claim: Poly) -> bool:
    value = claim.constant
    return value is not None and value >= 0


def _accepted(line: Lemma, work: checker.Inequalities) -> checker.Key:
    """Verify a line whose premises are accepted, and return its key. Raises Refused."""
    claim = line.said = plain(line.claim)
    because = line.because
    known = frozenset([premise.key for premise in line.premises if premise.key is not None])
    if type(because) is Sum:
        if because.claim is not line.claim and because.claim != line.claim:
            raise checker.Refused("The sum is of something else.")
        said = {id(premise.claim): premise.said for premise in line.premises}
        terms = [
            (
                _positive(coefficient),
                [said.get(id(factor)) or plain(factor) for factor in factors],
            )
            for coefficient, factors in because.terms
        ]
        work.add_up(claim, _positive(because.scale), terms, known, "")
    elif not is_stated(line):
        made = step(line, claim)
        lent = [end for name, prim in typed(made.given) for end in _ends(name, prim)]
        work.conclude(made, known.union(lent), "")
    return frozenset(claim.items())


def typed(given: checker.Given) -> Iterator[tuple[Name, str]]:
    """Yield the names that are sides of a premise, with their types.

    A name read at another type than its own is a number that must fit, and is left out.
    """
    for side in (given.left, given.right) if given.type and given.kind != "wrap" else ():
        if len(side) == 1 and all(side != poly for poly, _ in given.reads):
            ((monomial, coefficient),) = side.items()
            if coefficient == 1 and len(monomial) == 1:
                yield monomial[0], given.type


@lru_cache(4096)
def _ends(name: Name, prim: str) -> tuple[checker.Key, ...]:
    """Return the range of a name's type as facts."""
    return tuple(frozenset(poly.items()) for poly in checker.in_range(_named(name), prim))


def _positive(number: object) -> int:
    if type(number) is not int or number <= 0:
        raise checker.Refused("A positive number is needed.")
    return number


def plain(poly: Poly) -> checker.Polynomial:
    """Convert a polynomial to the checker's form. Raises Refused for anything but plain numbers."""
    found: checker.Polynomial = {}
    for monomial, coefficient in poly.terms.items():
        if type(coefficient) is not int:
            raise checker.Refused("A coefficient is no plain number.")
        if len(monomial) == 1 and monomial[0][1] == 1:
            found[(monomial[0][0],)] = coefficient
        else:
            found[tuple([name for name, power in monomial for _ in range(power)])] = coefficient
            if sum([power for _, power in monomial]) > checker.DEGREE:
                raise checker.Refused("A monomial has too many factors.")
    return found


def is_stated(line: Lemma) -> bool:
    """True for a premise about integers that needs no reading and no other line."""
    source = line.because
    if not isinstance(source, Source) or source.fits or line.premises:
        return False
    match source.kind:
        case "type":
            name, prim = source.about
            low, high = int_range(prim)
            return line.claim in (Poly.var(name) - low, high - Poly.var(name))
        case "input" | "block":
            (size,) = source.about
            most = LARGEST_INPUT if source.kind == "input" else LARGEST_SIZE
            return bool(line.claim in (size, most - size))
        case "fact":
            return line.claim is source.about[1]
    return False


def step(line: Lemma, claim: checker.Polynomial) -> checker.Inference:
    """Convert a line that is no sum, with its claim, to the checker's form.

    Errors: `Refused` for an unknown step, or a wrapped name that stands for nothing.
    """
    because = line.because
    if isinstance(because, Source):
        return checker.Inference("given", claim, _premise(because, line.claim), ())
    assert not isinstance(because, Sum)
    match because.step, because.about:
        case "round", about:
            return checker.Inference("round", claim, checker.NOTHING, _whole(about))
        case ("unwrap" | "cut") as rule, (name, whole, prim, *ends):
            if name[:1] != "?":
                raise checker.Refused("Only what stands for a value that wraps is one.")
            given = checker.Given(
                "wrap", "cut", prim, name, _named(name), plain(whole), checker.ZERO, ()
            )
            return checker.Inference(rule, claim, given, _whole(ends))
        case rule, (source, *numbers):
            return checker.Inference(rule, claim, _premise(source, line.claim), _whole(numbers))
    raise checker.Refused("There is no such step.")


def _named(name: Name) -> checker.Polynomial:
    return {(name,): 1}


def _whole(numbers: Iterable[Any]) -> tuple[int, ...]:
    found = tuple(numbers)
    if any(type(number) is not int for number in found):
        raise checker.Refused("A whole number is needed.")
    return found


def _premise(source: Source, claim: Poly) -> checker.Given:
    """Convert a premise to the checker's form; of two halves, the one that the claim is about."""
    reads = tuple([(plain(poly), prim or checker.NATURAL) for poly, prim, _ in source.fits])
    about, prim = source.about, "i64"
    match source.kind:
        case "choice":
            name, op, one, other, prim = about
            sides = plain(one), plain(other)
            return checker.Given("choice", op, prim, name, _named(name), *sides, reads)
        case "atom":
            name, op, one, other, is_now = about
            return checker.Given(
                "atom", op, "", name, plain(is_now), plain(one), plain(other), reads
            )
        case "product":
            sides = plain(about[0]), plain(about[1])
            return checker.Given("product", "*", prim, "", checker.ZERO, *sides, reads)
        case "condition":
            op, one, other, prim = about
            left, right = plain(one), plain(other)
        case "runs":
            trips, prim = about
            op, left, right = ">=", plain(trips), _ONE
        case "size":
            lower = claim == about[0]
            op, left, right = "<=", checker.ZERO if lower else plain(about[0]), _LARGEST
            right = plain(about[0]) if lower else _LARGEST
        case "index":
            name, extent, prim = about
            itself = _named(name)
            op, left, right = "<", itself, plain(extent)
            if claim.as_name == name:
                op, left, right = "<=", checker.ZERO, itself
        case "between":
            name, first, last, prim = about
            itself = _named(name)
            if first is not None and claim == Poly.var(name) - first:
                op, left, right = "<=", plain(first), itself
            else:
                op, left, right = "<=", itself, plain(last)
        case _:
            raise checker.Refused("What is known says nothing of this kind.")
    return checker.Given("compare", op, prim, "", checker.ZERO, left, right, reads)
