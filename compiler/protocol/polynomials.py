"""Polynomials and LMADs in answers: data, printed by the caller.

A name is a key of the table `names` beside it, which maps it to the author's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, TypedDict

from compiler.protocol.kinds import Length, Named


class Applied(TypedDict):
    """An operation outside polynomials, such as `/`, `min` or `sgn`, and its operands."""

    op: str
    of: list[Polynomial]


Factor = str | Applied
Polynomial = Annotated[
    list[list[int | str | Applied]],
    Named("Polynomial", "Its terms: each a coefficient, then its factors, with repetition."),
]
Sentence = list[str | Polynomial]
"""Words with polynomials among them."""


class Cells(TypedDict):
    """An LMAD: a set of cells, or an index function."""

    offset: Polynomial
    dims: list[Annotated[list[Polynomial], Length(2)]]
    """size and stride"""


Spell = Callable[[str], str]
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def shown(poly: Polynomial, spell: Spell = str) -> str:
    """Print a polynomial such as `2*n**2 - ((n)/(b)) + 1`; `spell` writes names."""
    text = ""
    for coefficient, *factors in poly:
        assert isinstance(coefficient, int)
        parts = [str(abs(coefficient))] if abs(coefficient) != 1 or not factors else []
        for factor, same in groupby(factors):
            power = len(list(same))
            name = _factor(factor, spell)
            parts.append(name if power == 1 else f"{name}**{power}")
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} " if text else sign.removeprefix("+")
        text += "*".join(parts)
    return text or "0"


def _factor(factor: Any, spell: Spell) -> str:
    if isinstance(factor, str):
        return spell(factor)
    op, parts = factor["op"], [shown(part, spell) for part in factor["of"]]
    if op[:1].isalpha() or not parts:
        return f"{op}({', '.join(parts)})" if parts else str(op)
    bare = [op != "/" and _is_bare(part) for part in factor["of"]]
    sides = [part if alone else f"({part})" for part, alone in zip(parts, bare, strict=True)]
    sign = op if op in ("/", "//") else f" {op} "
    return f"({op}{sides[0]})" if len(parts) == 1 else f"({sign.join(sides)})"


def _is_bare(poly: Polynomial) -> bool:
    """Return True for a single positive term, which needs no parentheses."""
    return len(poly) < 2 and all(isinstance(term[0], int) and term[0] > 0 for term in poly)


def shown_cells(cells: Cells, spell: Spell = str) -> str:
    """Print an LMAD as `offset + {(size : stride), ..}`."""
    dims = (f"({shown(size, spell)} : {shown(stride, spell)})" for size, stride in cells["dims"])
    return f"{shown(cells['offset'], spell)} + {{{', '.join(dims)}}}"


def shown_sentence(sentence: Sequence[str | Polynomial], spell: Spell = str) -> str:
    """Print a sentence."""
    return "".join(part if isinstance(part, str) else shown(part, spell) for part in sentence)


def identity(need: Mapping[str, Any], spell: Spell = str) -> str:
    """Print the identity of a `Need`, such as `2*n - 1 = 2*(n - 1) + 1`."""
    terms: list[str] = []
    for product in need["sum"]:
        factors = [
            text if _is_factor(factor) else f"({text})"
            for factor in product["factors"]
            for text in (shown(factor, spell),)
        ]
        coefficient = product["coefficient"]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = ("- " if coefficient < 0 else "+ ") if terms else "-" * (coefficient < 0)
        terms.append(sign + "*".join(factors))
    claim = shown(need["claim"], spell)
    left = claim if need["scale"] == 1 else f"{need['scale']}*({claim})"
    return f"{left} = {' '.join(terms) or '0'}"


def _is_factor(poly: Polynomial) -> bool:
    return len(poly) == 1 and len(poly[0]) == 2 and poly[0][0] == 1


def step_lines(
    steps: Sequence[Mapping[str, Any]], spell: Spell = str, indent: str = ""
) -> Iterator[str]:
    """Print the steps of a proof as lines."""
    for step in steps:
        yield f"{indent}{shown_sentence(step['says'], spell)}"
        for need in step["needs"]:
            yield f"{indent}  since {identity(need, spell)}"
        yield from step_lines(step["parts"], spell, indent + "  ")


def procedure_lines(
    steps: Sequence[Mapping[str, Any]], spell: Spell = str, indent: str = ""
) -> Iterator[str]:
    """Print the steps of NOOVERLAP as lines, with both sets after each."""
    for step in steps:
        sign = "? " if step["failed"] else ""
        yield f"{indent}{sign}{step['rule']}: {shown_sentence(step['says'], spell)}"
        for side in ("a", "b"):
            yield f"{indent}  {side} = {shown_sum(step[side], spell)}"
        for claim in step["shown"]:
            yield f"{indent}  since {shown(claim, spell)} >= 0"
        for claim in step["missing"]:
            yield f"{indent}  not shown: {shown(claim, spell)} >= 0"
        for number, part in enumerate(step["parts"], 1):
            yield f"{indent}  case {number}"
            yield from procedure_lines(part, spell, indent + "    ")


def shown_sum(one: Mapping[str, Any], spell: Spell = str) -> str:
    """Print a sum of intervals as `offset + [low, high]*stride + ..`."""
    parts = [
        f"[{shown(low, spell)}, {shown(high, spell)}]*{_as_factor(stride, spell)}"
        for stride, low, high in one["intervals"]
    ]
    return " + ".join([*([shown(one["offset"], spell)] if one["offset"] else []), *parts]) or "0"


def _as_factor(poly: Polynomial, spell: Spell) -> str:
    text = shown(poly, spell)
    return text if len(poly) < 2 else f"({text})"


def reason(proved: Mapping[str, Any], spell: Spell = str) -> str:
    """Explain why two LMADs are not proved disjoint, or return ""."""
    if proved["witness"]:
        values = proved["witness"]["values"].items()
        told = ", ".join(f"{spell(name)} = {value}" for name, value in values)
        return f"Both hold cell {proved['witness']['cell']}" + (f" for {told}." if told else ".")
    if proved["missing"]:
        return f"Could not prove {shown(proved['missing'], spell)} >= 0."
    return str(proved["reason"])


def names_in(data: object) -> list[str]:
    """Return the names in all polynomials of an answer or a part of one, in order.

    Fields `src` and `made` are skipped: they hold places, which may be many, and no polynomials.
    """
    found: list[str] = []
    _gather_names(data, found)
    return found


def _gather_names(data: object, found: list[str]) -> None:
    if isinstance(data, dict):
        for key, part in data.items():
            if key not in ("src", "made"):
                _gather_names(part, found)
    elif isinstance(data, list):
        is_term = isinstance(data[0], int) if data else False
        for part in data:
            if isinstance(part, dict | list):
                _gather_names(part, found)
            elif is_term and isinstance(part, str):
                found.append(part)


def in_turn(called: Mapping[str, str]) -> Spell:
    """Return a speller that uses the author's names; of two `i`, the later one is `i₂`."""
    taken: dict[str, list[str]] = {}

    def spell(name: str) -> str:
        base = called.get(name, name)
        same = taken.setdefault(base, [])
        if name not in same:
            same.append(name)
        at = same.index(name)
        return base + (str(at + 1).translate(_LOWERED) if at else "")

    return spell


def as_called(names: Iterable[str], called: Mapping[str, str]) -> Spell:
    """Return a speller that uses the author's names unless two would look the same."""
    count = Counter(called.get(name, name) for name in set(names))
    return lambda name: called[name] if name in called and count[called[name]] == 1 else name
