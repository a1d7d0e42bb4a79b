"""Edit a program's text: expressions that may replace the one at a place.

Each edit is a function of a place and a source of chance; it gives where to write what, or None if
it fits nothing there. `SAME` are those after which the place means the same, unless they come to a
check that fails: they may stand in operators of reductions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from compiler.base.names import base_of
from compiler.base.prim import Prim, int_range
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend.types import Array, PrimT
from testing.generators.edit_places import Offsets, Place, written

Written = tuple[int, int, str]
"""From where to where a text is replaced, and by what."""
OPERATORS = (
    ("+", "-", "*"),
    ("/", "%", "//", "%%", "+"),
    ("&", "|", "^"),
    ("<<", ">>", ">>>"),
    ("<", "<=", ">", ">=", "==", "!="),
    ("&&", "||"),
)
FLOATS = ("0.0", "-0.0", "1.0", "-1.0", "0.5", "2.0", "1e30", "-3.75")


@dataclass(frozen=True, slots=True)
class Chance:
    """A text that is edited, with a source of chance."""

    source: str
    offsets: Offsets
    rng: random.Random

    def text(self, span: Span) -> str:
        """Return the text at a span."""
        start, end = self.offsets.of(span)
        return self.source[start:end]

    def of(self, place: Place) -> str:
        """Return the text at a place, in parentheses, as one operand."""
        return f"({self.source[place.start : place.end]})"

    def instead(self, span: Span, text: str) -> Written:
        """Another text at a span."""
        return (*self.offsets.of(span), text)


Edit = Callable[[Place, Chance], Written | None]


def _whole(place: Place, text: str | None) -> Written | None:
    return None if text is None else (place.start, place.end, text)


# --- other values ------------------------------------------------------------------------------


def operator(place: Place, by: Chance) -> Written | None:
    """Another operator of the same kind."""
    node = place.node
    if not isinstance(node, ast.BinOp) or len(node.op) != 1:
        return None
    group = next((group for group in OPERATORS if node.op[0] in group), None)
    if group is None or by.text(node.op_span) != node.op[0]:
        return None
    return by.instead(node.op_span, by.rng.choice([op for op in group if op != node.op[0]]))


def constant(place: Place, by: Chance) -> Written | None:
    """A number at a border of its type, or one beside it; the other truth value."""
    match place:
        case Place(node=ast.BoolLit(value=value)):
            return _whole(place, "false" if value else "true")
        case Place(node=ast.IntLit(value=value), type=PrimT(prim)) if prim[0] in "iu":
            return _whole(place, f"({_integer(value, prim, by.rng)}{prim})")
        case Place(node=ast.FloatLit() | ast.IntLit(), type=PrimT(prim)) if prim[0] == "f":
            return _whole(place, f"({by.rng.choice(FLOATS)}{prim})")
    return None


def _integer(value: int, prim: Prim, rng: random.Random) -> int:
    low, high = int_range(prim)
    near = [value + 1, value - 1, value + 1, value - 1, 0, 1, 2]
    return rng.choice([one for one in [*near, -value, low, high, low + 1] if low <= one <= high])


def variable(place: Place, by: Chance) -> Written | None:
    """Another variable of the same type."""
    if not isinstance(place.node, ast.Var) or not isinstance(place.type, PrimT | Array):
        return None
    here = by.text(place.node.span)
    others = [base_of(name) for name, kind in place.scope if kind == place.type]
    others = [name for name in others if name != here and name[:1].isalpha()]
    return _whole(place, by.rng.choice(others)) if others else None


def number(place: Place, by: Chance) -> Written | None:
    """A number that is one more or less, negated, doubled, or bounded."""
    match place.type:
        case PrimT(prim) if prim != "bool":
            one = f"1.0{prim}" if prim[0] == "f" else f"1{prim}"
            exp = by.of(place)
            forms = (
                *(f"({exp} + {one})", f"({exp} - {one})", f"({one} - {exp})", f"({exp} + {exp})"),
                *(f"(-{exp})", f"({prim}.abs {exp})", f"({prim}.min {one} {exp})"),
                *(f"({prim}.max {exp} {one})", f"({exp} * {exp})", f"({exp} / ({one} + {one}))"),
            )
            return _whole(place, by.rng.choice(forms))
    return None


def condition(place: Place, by: Chance) -> Written | None:
    """A condition that is turned round, or another."""
    match place:
        case Place(node=ast.If(cond=cond)):
            return by.instead(cond.span, f"!({by.text(cond.span)})")
        case Place(type=PrimT("bool")):
            other = _condition(place, by)
            forms = (f"(!{by.of(place)})", f"({by.of(place)} && {other})")
            return _whole(place, by.rng.choice((*forms, f"({by.of(place)} || {other})")))
    return None


def index(place: Place, by: Chance) -> Written | None:
    """A position or a border of a slice that is one more or less, or counts from the end."""
    node = place.node
    dims = node.dims if isinstance(node, ast.Index | ast.Update) else ()
    spans: list[Span] = []
    for dim in dims:
        parts = (dim.at,) if isinstance(dim, ast.IndexFix) else (dim.start, dim.stop, dim.step)
        spans += [part.span for part in parts if part is not None]
    if not spans:
        return None
    span = by.rng.choice(spans)
    change = by.rng.choice(("({}) + 1", "({}) - 1", "({}) / 2", "({}) % 2", "({}) * ({})"))
    return by.instead(span, change.replace("{}", by.text(span)))


def elements(place: Place, by: Chance) -> Written | None:
    """An array with other elements, of the same sizes."""
    match place.type:
        case Array(dims=(_,), elem=PrimT(prim)) if prim != "bool":
            zero = f"0.0{prim}" if prim[0] == "f" else f"0{prim}"
            one = f"1.0{prim}" if prim[0] == "f" else f"1{prim}"
            calls = (
                *(f"scan (+) {zero}", f"map (+ {one})", f"map (\\x_ -> x_ * x_ - {one})"),
                *("reverse", "rotate 1", "rotate (-1)", f"scan {prim}.max {prim}.lowest"),
                f"map ({prim}.min {one})",
            )
            return _whole(place, f"({by.rng.choice(calls)} {by.of(place)})")
        case Array():
            rows = ("reverse", "rotate 1", "rotate 2", "map (\\x_ -> x_)")
            return _whole(place, f"({by.rng.choice(rows)} {by.of(place)})")
    return None


# --- the same in more words --------------------------------------------------------------------


def _condition(place: Place, by: Chance) -> str:
    """A condition over what is in scope."""
    tests: list[str] = []
    for name, kind in place.scope:
        said = base_of(name)
        match kind:
            case PrimT("bool"):
                tests.append(said)
            case PrimT(prim) if prim[0] == "f":
                tests.append(f"{said} > 0.5{prim}")
            case PrimT(prim):
                tests += [f"{said} > 1{prim}", f"{said} % 2{prim} == 0{prim}"]
            case Array():
                tests.append(f"length {said} > 2")
    tests = [test for test in tests if test[:1].isalpha()]
    return by.rng.choice(tests[-12:] or ["true"])


def branch(place: Place, by: Chance) -> Written | None:
    """The expression in both branches of a condition."""
    exp, test = by.of(place), _condition(place, by)
    other = f"copy {exp}" if by.rng.random() < 0.3 else exp
    forms = (
        f"(if {test} then {exp} else {other})",
        f"(match {test} case true -> {other} case false -> {exp})",
        f"(let q_ = {exp} in if {test} then q_ else {other})",
    )
    return _whole(place, by.rng.choice(forms))


def loop(place: Place, by: Chance) -> Written | None:
    """The expression through a loop that hands it on."""
    exp = by.of(place)
    rounds = by.rng.choice(("0i64", "1i64", "2i64", "3i32", *_counts(place)))
    forms = [
        f"(loop q_ = {exp} for i_ < {rounds} do q_)",
        f"(loop q_ = {exp} for i_ < {rounds} do if {_condition(place, by)} then q_ else q_)",
        f"(let (q_, _) = loop (q_, r_) = ({exp}, {exp}) for i_ < {rounds} do (r_, q_) in q_)",
        f"(let (q_, _) = loop (q_, k_) = ({exp}, 2i32) while k_ > 0 do (q_, k_ - 1) in q_)",
    ]
    if isinstance(place.type, Array):
        forms.append(
            f"(let q_ = copy {exp} in loop q_ for i_ < length q_ do q_ with [i_] = copy q_[i_])"
        )
    return _whole(place, by.rng.choice(forms))


def _counts(place: Place) -> list[str]:
    """Whole numbers in scope that are likely to be small."""
    found = [base_of(name) for name, kind in place.scope if kind == PrimT("i64")]
    return [name for name in found if name[:1].isalpha()][-4:]


def mapped(place: Place, by: Chance) -> Written | None:
    """The expression as an element of a map."""
    exp = by.of(place)
    count = by.rng.choice(("2", "3"))
    forms = (
        f"(map (\\i_ -> {exp}) (iota {count}))[1]",
        f"((map (\\i_ -> ({exp}, i_)) (iota {count}))[1]).0",
        f"(head (map (\\i_ -> if i_ > 0 then {exp} else {exp}) (iota {count})))",
        f"(last (replicate {count} {exp}))",
        f"(map (\\i_ -> (map (\\j_ -> {exp}) (iota {count}))[1]) (iota 2))"
        f"[i64.bool ({_condition(place, by)})]",
    )
    return _whole(place, by.rng.choice(forms))


# --- updates and slices ------------------------------------------------------------------------


def update(place: Place, by: Chance) -> Written | None:
    """An array with a row, an element or a slice of it overwritten."""
    if not isinstance(place.type, Array):
        return None
    start = f"(let q_ = copy {by.of(place)} let n_ = length q_ in "
    forms = _updates(place.type)
    return _whole(place, start + by.rng.choice(forms))


def _updates(kind: Array) -> list[str]:
    """Return expressions that update an array `q_` of `n_` rows."""
    is_number = isinstance(kind.elem, PrimT) and len(kind.dims) == 1
    row = "q_[(n_ - 1) / 2]" if is_number else "copy q_[(n_ - 1) / 2]"
    forms = [
        f"if n_ > 0 then q_ with [0] = {row} else q_)",
        f"if n_ > 1 then q_ with [n_ - 1] = {row} else q_)",
        f"let r_ = if n_ > 0 then q_ with [n_ / 2] = {row} else q_ in "
        "if n_ > 1 then r_ with [1] = copy r_[0] else r_)",
        "loop q_ for i_ < n_ - 1 do q_ with [i_ + 1] = copy q_[i_])",
        "scatter (copy q_) (map (\\i_ -> n_ - 1 - i_) (indices q_)) q_)",
    ]
    match kind:
        case Array(dims=(_,), elem=PrimT(prim)):
            forms += [
                f"let h_ = n_ / 2 let v_ = q_[n_ - h_:] :> [h_]{prim} in q_ with [:h_] = copy v_)",
                "let h_ = n_ / 2 let v_ = q_[:h_] in "
                f"q_ with [h_:h_ + h_] = (copy v_ :> [h_ + h_ - h_]{prim}))",
                "let h_ = n_ / 2 let v_ = map (\\x_ -> x_) q_[:h_] in q_ with [:h_] = v_)",
            ]
        case Array(dims=(_, _), elem=PrimT()):
            forms += [
                "let m_ = length (transpose q_) in "
                "if n_ > 0 && m_ > 1 then q_ with [0, 1] = q_[n_ - 1, 0] else q_)",
                "if n_ > 1 then q_ with [1, :] = copy q_[0, :] else q_)",
                "let m_ = length (transpose q_) in "
                "if m_ > 1 then q_ with [:, 0] = copy q_[:, m_ - 1] else q_)",
            ]
    return forms


def sliced(place: Place, by: Chance) -> Written | None:
    """An array that is cut, turned or put together, and has its sizes again."""
    if not isinstance(place.type, Array):
        return None
    kind = written(place.type, place.scope, base_of)
    exp = by.of(place)
    if kind is None or not isinstance(place.type.elem, PrimT):
        forms = [f"{exp}[:]", f"{exp}[0:]", f"(let q_ = {exp} in q_[:length q_])"]
        return _whole(place, by.rng.choice(forms))
    forms = [
        f"({exp}[::-1] :> {kind})",
        f"(let q_ = {exp} in q_[0:length q_] :> {kind})",
        f"(let q_ = {exp} let h_ = length q_ / 2 in (q_[h_:] ++ q_[:h_]) :> {kind})",
        f"(let q_ = {exp} let h_ = length q_ / 3 in (q_[:h_] ++ q_[h_:]) :> {kind})",
        f"(let q_ = {exp} in (map (\\i_ -> q_[i_]) (iota (length q_))) :> {kind})",
        f"(({exp} ++ {exp})[::2] :> {kind})",
        f"(({exp} ++ {exp})[length {exp}:] :> {kind})",
    ]
    if len(place.type.dims) == 2:
        forms += [f"(transpose (transpose {exp}))", f"({exp}[:, ::-1] :> {kind})"]
    return _whole(place, by.rng.choice(forms))


SAME: dict[str, Edit] = {"branch": branch, "loop": loop, "map": mapped}
OTHER: dict[str, Edit] = {
    "operator": operator,
    "constant": constant,
    "variable": variable,
    "number": number,
    "condition": condition,
    "index": index,
    "elements": elements,
    "update": update,
    "slice": sliced,
}
