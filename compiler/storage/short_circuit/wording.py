"""Describe arrays in remarks: by source name, or by the computation and its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from compiler.algebra.disjoint import Unknown, Verdict
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import line_of
from compiler.ir.nodes import ForLoop, Loop, SegOp, Stm, WhileLoop
from compiler.ir.source_names import sentence
from compiler.storage.short_circuit.access import Access
from compiler.storage.short_circuit.clash import Clash, Stop
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.terms import Terms
from compiler.storage.short_circuit.tree import Item


def called(now: Edited, name: Name) -> str:
    """Describe an array within a sentence: by its source name if there is one."""
    return now.spell.array(name)


def in_line(item: Item | None) -> str:
    """Return the origin of a statement as ` in line N`; "" if unknown."""
    line = _line(item)
    return f" in {line}" if line else ""


def there_already(now: Edited, name: Name, block: Name, later: Sequence[Item]) -> str:
    """Explain that an array in another block exists already and has to be copied."""
    members = sorted(now.members.get(block, ()), key=now.comes)
    what, entire = called(now, name), called(now, members[0] if members else name)
    binder = now.binder(block)
    where = "comes from the caller" if binder is None else "is created outside this body"
    user = next((x for x in later[1:] if x.arrays.intersection(members) and _line(x)), None)
    also = f" and is used again{in_line(user)}" if user is not None else ""
    is_ = f"{what} {where}" if what.endswith(entire) else f"{what} lies in {entire}, which {where}"
    return f"{is_}{also}: its elements already exist and must be copied."


def unbounded(now: Edited, terms: Terms, names: Iterable[Name]) -> str:
    """Name a variable without bounds among those of an unproved claim, as a sentence."""
    inner = {x for n in names if n in terms.atoms for p in terms.atoms[n].args for x in p.names()}
    for name in sorted({*names, *inner}):
        item = now.binder(name)
        exp = item.stm.exp if item is not None else None
        if not isinstance(exp, Loop) or all(param.name != name for param in exp.params):
            continue
        what = f" Nothing bounds {now.spell.quoted(name)}, which the loop{in_line(item)} changes"
        if isinstance(exp.form, WhileLoop):
            return (
                f"{what} as long as a condition holds; the index of a `for` loop would have bounds."
            )
        return f"{what} in every iteration; a value computed from the loop index would have bounds."
    return ""


def describe(now: Edited, item: Item) -> str:
    """Describe a statement: by its last name, or its kind and line."""
    return now.spell.statement(item.stm)


def describe_pair(now: Edited, source: Name, destination: Name) -> tuple[str, str]:
    """Describe two arrays by different phrases."""
    one, other = called(now, source), called(now, destination)
    if one == other:
        first, second = (_line(now.binder(name)) for name in (source, destination))
        if first and second and first != second:
            return f"{one} of {first}", f"{other} of {second}"
        return one, f"the new {other.removeprefix('the ')}"
    return one, other


def not_apart(
    spell: Callable[[Poly], str], write: str, use: str, does: str, where: str, verdict: Verdict
) -> str:
    """Explain an unproved obligation. Only a run says what would go wrong."""
    missing = verdict.missing if isinstance(verdict, Unknown) else None
    needs = f": that needs {spell(missing)} >= 0" if missing is not None else ""
    return f"It is not proved that {write} does not overlap {use}, which is {does} {where}{needs}."


def anywhere(now: Edited, terms: Terms, use: Access, where: str) -> str:
    """Explain that the whole destination must be kept: all of it is used, or unknown parts."""
    does, array = "written" if use.writes else "read", called(now, use.array)
    if use.lost is None:
        return f"Any element of the destination may be {does} {where}, through {array}."
    what = f"It is not known which elements of {array} are {does} {where}"
    if not use.lost:
        return f"{what}."
    whole = terms.wrapping(use.lost)
    if whole is not None:
        return f"{what}: that needs {now.spell.poly(whole)} to fit in 64 bits, which is not proved."
    return f"{what}: they depend on {now.spell.poly(Poly.var(use.lost))}."


def clashing(now: Edited, clash: Clash) -> str:
    """Describe the result of a run, as a sentence."""
    write, use = describe_pair(now, clash.write.array, clash.use.array)
    does = "written" if clash.use.writes else "read"
    what = f"{write} would overwrite cell {clash.cell}, where {use} is {does}"
    return f"{sentence(what)} {_where(now, clash)}."


def stopping(now: Edited, because: str, stop: Stop) -> str:
    """Explain why a check stays, and that it fails in a run."""
    return f"{because.removesuffix('.')}; it fails{_values(now, stop.inputs)}."


def _where(now: Edited, clash: Clash) -> str:
    """Describe where the cell is needed, seen from the statement that writes it, and the run."""
    values = _values(now, clash.inputs)
    for mine, theirs in zip(clash.write.around, clash.use.around, strict=False):
        if mine is not theirs:
            return f"by {_doing(now, theirs)}{values}"
        over = [name for name in _over(mine) if name in clash.write.indices]
        if any(clash.write.indices[name] != clash.use.indices.get(name) for name in over):
            which = "in another iteration" if isinstance(mine.exp, Loop) else "at another point"
            return f"{which} of {_doing(now, mine)}{values}{_indices(now, clash, over)}"
    return f"within {_doing(now, clash.use.around[-1])}{values}"


def _over(stm: Stm) -> list[Name]:
    """Return the indices of a loop or kernel."""
    match stm.exp:
        case Loop(_, _, ForLoop() as form, _):
            return [form.index]
        case kernel if isinstance(kernel, SegOp):
            return [name for name, _ in kernel.space.dims]
    return []


def _doing(now: Edited, stm: Stm) -> str:
    item = now.binder(stm.pat[-1].name) if stm.pat else None
    return "a check" if item is None else describe(now, item)


def _values(now: Edited, inputs: Mapping[Name, int]) -> str:
    """Format the sizes and integers of a run as the end of a sentence."""
    named = [(name, value) for name, value in inputs.items() if now.said(name) is not None]
    shown = [f"{now.spell.number(name)} = {value}" for name, value in named]
    return f" with {', '.join(shown)}" if shown else ""


def _indices(now: Edited, clash: Clash, over: Sequence[Name]) -> str:
    """Format the indices of the write and the use as the end of a sentence."""
    ends = []
    for touch in (clash.write, clash.use):
        does = "written" if touch.writes else "read"
        met = [name for name in over if name in touch.indices]
        at = [f"{now.spell.number(name)} = {touch.indices[name]}" for name in met]
        ends.append(f"{does} at {', '.join(at)}")
    return f": {' and '.join(ends)}"


def _line(item: Item | None) -> str:
    """Return the source line of a statement; "" if unknown."""
    return line_of(item.stm.prov) if item is not None else ""
