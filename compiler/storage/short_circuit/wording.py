"""What arrays are called in remarks: as in the program, or by what computes them and where."""

from __future__ import annotations

from compiler.base.names import Name, base_of, untagged
from compiler.base.spans import user_spans
from compiler.ir.nodes import Index, Slice, Update
from compiler.prove.disjoint import Overlap, Unknown, Verdict
from compiler.storage.short_circuit.tree import Item, Tree

_OPERATORS = {
    "map": "the map",
    "red": "the reduction",
    "scan": "the scan",
    "hist": "the histogram",
    "rep": "the replication",
    "cat": "the concatenation",
    "lit": "the array literal",
}
_THINGS = frozenset(("rep", "cat", "lit"))
"""Of these, the operator and its result have the same name."""
_MADE_UP = frozenset(("r", "res", "x", "a"))
"""Bases of names that the compiler gives to what has none."""


def called(tree: Tree, name: Name) -> str:
    """An array in a few words that go into a sentence."""
    base = base_of(name)
    item = tree.binder.get(name)
    if item is None:
        return f"`{base}`"
    exp = item.stm.exp
    if isinstance(exp, Index) and base.endswith("_el"):
        return f"an element of {called(tree, exp.array)}"
    if isinstance(exp, Slice) and base.endswith("_part"):
        return f"a part of {called(tree, exp.array)}"
    if isinstance(exp, Update) and base in _MADE_UP:
        return called(tree, exp.array)
    line = _line(item)
    if not line or (base not in _OPERATORS and base not in _MADE_UP):
        return f"`{base}`"
    if base in _OPERATORS:
        result = "" if base in _THINGS else "the result of "
        return f"{result}{_OPERATORS[base]} in line {line}"
    return f"the array of line {line}"


def doing(item: Item) -> str:
    """A statement in a few words: its last name, or what it is and where."""
    base = base_of(item.stm.pat[-1].name) if item.stm.pat else ""
    line = _line(item)
    if not base:
        return f"the check in line {line}" if line else "a check"
    if line and base in _OPERATORS:
        return f"{_OPERATORS[base]} in line {line}"
    if line and base in _MADE_UP:
        return f"what line {line} computes"
    return f"`{base}`"


def both(tree: Tree, source: Name, destination: Name) -> tuple[str, str]:
    """Two arrays in a few words each, which are not the same."""
    one, other = called(tree, source), called(tree, destination)
    if one == other:
        first, second = (_line(tree.binder.get(name)) for name in (source, destination))
        if first and second and first != second:
            return f"{one} of line {first}", f"{other} of line {second}"
        return one, f"the new {other.removeprefix('the ')}"
    return one, other


def not_apart(write: str, use: str, does: str, where: str, verdict: Verdict, certain: bool) -> str:
    """Why something may not be written early: what it would overwrite, or what is not proved.

    `certain`: the cells of the verdict are touched for certain, and not only as far as is known.
    """
    if isinstance(verdict, Overlap):
        known = sorted(verdict.point.items())
        values = untagged(", ".join(f"{name} = {v}" for name, v in known if "(" not in name))
        would, is_ = ("would", "is") if certain else ("might", "may be")
        place = f"{write} {would} overwrite cell {verdict.cell}, where {use} {is_} {does} {where}"
        return f"{place}, for {values}." if values else f"{place}."
    missing = verdict.missing if isinstance(verdict, Unknown) else None
    needs = f": that needs {untagged(str(missing))} >= 0" if missing is not None else ""
    return f"It is not proved that {write} keeps away from {use}, which is {does} {where}{needs}."


def sentence(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]


def _line(item: Item | None) -> int:
    """The line of the program that a statement is from; 0 if that is not known."""
    spans = user_spans(item.stm.prov) if item is not None else []
    return spans[0][0] if spans else 0
