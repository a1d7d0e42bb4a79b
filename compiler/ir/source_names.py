"""Spell numbers and arrays as the author of the program would, for all messages.

Compiler-generated names are never shown: a number is spelt by its definition, if short, else by its
line; an array by the operation that makes it, and its line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from compiler.algebra.as_data import FactorOf, applied, plain
from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.prim import BYTES, Prim
from compiler.base.spans import Prov, line_of
from compiler.ir import nodes as ir
from compiler.ir.show_scalar import show_se
from compiler.ir.sizes import poly_of
from compiler.ir.walk import all_stms, se_parts, se_uses
from compiler.protocol.polynomials import Applied, Factor, Polynomial

Meaning = ir.SE | Poly | tuple[str, Poly, Poly]
"""Definition of a number: an expression, a polynomial, or an operator and its operands."""
Definition = Meaning | tuple[Prim, Poly] | tuple[ir.SE, Poly, Poly]
"""Also a polynomial that wraps in a type, or a condition and its two alternatives."""
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_DEEP, _DEEPER = 4, 12
"""Maximum depth of unfolding, and that for names that no statement binds."""
_SHORT = 40
"""Maximum length in characters of a definition shown in place of a name."""
_FIRST = 3
"""Number of names that describe a number with a long definition."""
_OPERATORS = {
    "map": "the map",
    "red": "the reduction",
    "scan": "the scan",
    "hist": "the histogram",
    "rep": "the replication",
    "cat": "the concatenation",
    "lit": "the array literal",
}
"""Descriptions of compiler-named results by operator."""
_CALLED = ir.CORE.trait("called")
"""Descriptions of statements by their class."""
_THINGS = frozenset((ir.Replicate, ir.Concat, ir.ArrayLit, ir.Iota))
"""Statements described like their result."""


def _mentioned(what: Definition) -> list[Name]:
    """Return the names in a definition, in order."""
    found: list[Name] = []
    for part in what if isinstance(what, tuple) else (what,):
        if isinstance(part, Poly):
            found += sorted(part.names())
        elif not isinstance(part, str):
            se_uses(part, found.append)
    return found


def as_factor(what: Meaning, factor: FactorOf) -> Factor:
    """Encode a definition as the data of answers; `factor` encodes the names in it."""
    match what:
        case Poly():
            return applied("", what, factor=factor)
        case (str(op), Poly() as a, Poly() as b):
            return applied(op, a, b, factor=factor)
        case _:
            return _operation(what)


def _operation(se: ir.SE) -> Factor:
    """Encode a scalar expression as the data of answers."""
    if isinstance(se, ir.Var):
        return se.name
    if isinstance(se, ir.Lit):
        return {"op": show_se(se), "of": []}
    op = "-" if se.operator == "neg" else se.operator
    return {"op": op, "of": [as_polynomial(part) for part in se_parts(se)]}


def as_polynomial(se: ir.SE) -> Polynomial:
    """Encode an integer expression as the data of answers."""
    poly = poly_of(se)
    match se:
        case ir.Bin("+" | "-" as op, "i64", a, b) if poly is None:
            return _sum(as_polynomial(a), as_polynomial(b), 1 if op == "+" else -1)
    return [[1, _operation(se)]] if poly is None else plain(poly)


def _sum(left: Polynomial, right: Polynomial, sign: int) -> Polynomial:
    terms: dict[str, list[int | str | Applied]] = {}
    for times, (coefficient, *factors) in [(1, term) for term in left] + [
        (sign, term) for term in right
    ]:
        assert isinstance(coefficient, int)
        before, *_ = terms.get(repr(factors), [0])
        assert isinstance(before, int)
        terms[repr(factors)] = [before + times * coefficient, *factors]
    return [term for term in terms.values() if term[0]]


class Spelling:
    """Assigns displayed names: of several `n`, the first is `n`, the next `n₂`.

    Sizes and parameters of the function come first, so that an inner `n` is never mistaken for one.
    """

    def __init__(
        self,
        said: Callable[[Name], str | None],
        first: Iterable[Name] = (),
        made: Callable[[Name], ir.Stm | None] = lambda name: None,
    ) -> None:
        """`said`: the author's name, or None; `made`: the statement that binds a name, if any."""
        self.said = said
        self._made = made
        self._stands: dict[Name, Definition] = {}
        self._shown: dict[Name, str] = {}
        self._taken: Counter[str] = Counter()
        self._states: dict[Name, str] = {}
        """Names of later states of arrays: there may be hundreds of successive updates."""
        for name in first:
            if said(name) is not None:
                self.number(name)

    @staticmethod
    def of(fun: ir.Function, said: Callable[[Name], str | None]) -> Spelling:
        """Return the spelling for a function."""
        table: dict[Name, ir.Stm] = {}

        def made(name: Name) -> ir.Stm | None:
            if not table:
                for stm in all_stms(fun.body.stms):
                    table.update((param.name, stm) for param in stm.pat)
                    if isinstance(stm.exp, ir.Loop):
                        table.update((param.name, stm) for param in stm.exp.params)
            return table.get(name)

        return Spelling(said, (param.name for param in fun.params), made)

    def stands_for(self, name: Name, what: Definition) -> None:
        """Define a name that no statement binds."""
        self._stands[name] = what

    # --- numbers ---

    def number(self, name: Name) -> str:
        """Spell a number as a factor: a name, or its definition in parentheses."""
        return self._number(name, 0)

    def poly(self, poly: Poly) -> str:
        """Spell a polynomial, such as `4*n + (xs[i] / 2)`."""
        text = self._poly(poly, 0)
        alone = poly.as_name is not None and text not in self._taken
        return text.removeprefix("(").removesuffix(")") if alone and text[0] == "(" else text

    def size(self, prim: Prim, count: Poly) -> str:
        """Spell a number of elements in bytes, such as `4*n*m B`."""
        return f"{self.poly(count * BYTES[prim])} B"

    def scalar(self, se: ir.SE) -> str:
        """Spell a scalar expression, without the suffixes of i64 literals."""
        return self._scalar(se, 0)

    def quoted(self, name: Name) -> str:
        """Spell a number in a sentence: a name in backquotes, else its definition or origin."""
        shown = self.number(name)
        inside = shown.removeprefix("(").removesuffix(")")
        return f"`{shown}`" if self.said(name) is not None or inside == shown else inside

    def _poly(self, poly: Poly, depth: int) -> str:
        return poly.show(lambda name: self._number(name, depth))

    def _scalar(self, se: ir.SE, depth: int) -> str:
        return show_se(se, suffix=False, spell=lambda name: self._number(name, depth))

    def _number(self, name: Name, depth: int) -> str:
        shown = self._shown.get(name)
        if shown is not None:
            return shown
        said = self.said(name) if name not in self._stands else None
        if said is None:
            told = self._definition(name, depth)
            if told is not None:
                return told
            said = self._without_name(name)
        self._taken[said] += 1
        count = self._taken[said]
        shown = said + (str(count).translate(_LOWERED) if count > 1 else "")
        self._shown[name] = shown
        return shown

    def _without_name(self, name: Name) -> str:
        """Spell a number by the line of its statement; a map's index by a letter."""
        if name in self._stands:
            return self._made_of(name)
        stm = self._made(name)
        if stm is None:
            return base_of(name)
        line = _line(stm)
        return f"(number of {line})" if line else "(a number)"

    def _made_of(self, name: Name) -> str:
        """Spell a long definition by the first source names that it depends on."""
        found: dict[Name, None] = {}
        seen, waiting = {name}, [name]
        while waiting:
            one = waiting.pop()
            if one not in self._stands:
                found[one] = None
                continue
            inside = [name for name in _mentioned(self._stands[one]) if name not in seen]
            seen.update(inside)
            waiting += inside[::-1]
        told = [self._number(one, _DEEPER + 1).strip("()") for one in list(found)[:_FIRST]]
        if len(found) > _FIRST:
            told.append("more")
        *first, last = told or ["constants"]
        return f"(a number made of {', '.join(first)}{' and ' if first else ''}{last})"

    def _definition(self, name: Name, depth: int) -> str | None:
        """Spell the definition of an unnamed number; None if long or unknown."""
        if depth > (_DEEPER if name in self._stands else _DEEP):
            return None
        what: object = self._stands.get(name)
        if what is None:
            stm = self._made(name)
            what = stm.exp if stm is not None else None
        if isinstance(what, tuple) and len(what) == 4:
            *parts, _ = what  # the type in which it is computed
            what = tuple(parts)
        match what:
            case Poly():
                text = self._poly(what, depth + 1)
            case ("min" | "max" as op, Poly() as a, Poly() as b):
                return f"{op}({self._poly(a, depth + 1)}, {self._poly(b, depth + 1)})"
            case ("i64", Poly() as value):
                text = self._poly(value, depth + 1)
            case (str(prim), Poly() as value):
                return f"i64.{prim}({self._poly(value, depth + 1)})"
            case (str(op), Poly() as a, Poly() as b):
                left, right = (self._operand(side, depth + 1) for side in (a, b))
                return f"({left} {op} {right})"
            case (cond, Poly() as a, Poly() as b) if isinstance(cond, ir.SE_NODES):
                sides = f"{self._poly(a, depth + 1)} else {self._poly(b, depth + 1)}"
                return f"(if {self._scalar(cond, depth + 1)} then {sides})"
            case ir.Index(array, at) if self.said(array) is not None:
                indices = ", ".join(self._scalar(index, depth + 1) for index in at)
                text = f"{self.said(array)}[{indices}]"
                return text if len(text) <= _SHORT else None
            case _ if isinstance(what, ir.SE_NODES):
                text = self._scalar(what, depth + 1)
                if isinstance(what, ir.Var | ir.Lit):
                    return text
            case _:
                return None
        if len(text) > _SHORT and name not in self._stands:
            return None
        return text if text.replace("'", "").isidentifier() or _enclosed(text) else f"({text})"

    def _operand(self, poly: Poly, depth: int) -> str:
        text = self._poly(poly, depth)
        plain = poly.constant is not None or poly.as_name is not None
        return text if plain else f"({text})"

    # --- arrays ---

    def array(self, name: Name) -> str:
        """Spell an array within a sentence: by the author's name if there is one."""
        said = self.said(name)
        stm = self._made(name)
        if stm is None or said is not None:
            return f"`{said}`" if said is not None else "an array without a name"
        match stm.exp:
            case ir.Index(array, _):
                return f"an element of {self.array(array)}"
            case ir.Slice(array, _):
                return f"a part of {self.array(array)}"
            case ir.Copy(array):
                return f"a copy of {self.array(array)}"
            case ir.Update(array, _, _) | ir.Rearrange(_, array) | ir.Reshape(_, array):
                if name not in self._states:
                    self._states[name] = self.array(array)
                return self._states[name]
        line = _line(stm)
        if not line:
            return "an array without a name"
        what = _what(stm)
        if not what:
            return f"what {line} computes"
        return f"{'' if type(stm.exp) in _THINGS else 'the result of '}{what} in {line}"

    def statement(self, stm: ir.Stm) -> str:
        """Spell a statement: by its last name, or its kind and line."""
        line = _line(stm)
        if not stm.pat:
            return f"the check in {line}" if line else "a check"
        said = self.said(stm.pat[-1].name)
        if said is not None:
            return f"`{said}`"
        what = _what(stm)
        where = f" in {line}" if line else ""
        return f"{what}{where}" if what else f"what {line} computes" if line else "a statement"


class Inhabitants:
    """Spells each block of a function by the array in it."""

    def __init__(self, fun: ir.Function, said: Callable[[Name], str | None]) -> None:
        self.fun = fun
        self.spell = Spelling.of(fun, said)
        self._arrays: dict[Name, list[Name]] = {}

    def __call__(self, block: Name, prov: Prov) -> str:
        """Spell the array in a block, made at `prov`."""
        if not self._arrays:
            self._look()
        found = self._arrays.get(block, [])
        named = next((name for name in found if self.spell.said(name) is not None), None)
        if named is not None or found:
            return self.spell.array(named or found[0])
        line = line_of(prov)
        return f"the array of {line}" if line else "an array without a name"

    def _look(self) -> None:
        for stm in all_stms(self.fun.body.stms):
            params = (*stm.pat, *(stm.exp.params if isinstance(stm.exp, ir.Loop) else ()))
            for param in params:
                kind = param.type
                if isinstance(kind, ir.Array) and kind.mem is not None:
                    self._arrays.setdefault(kind.mem.block, []).append(param.name)


def sentence(text: str) -> str:
    """Capitalise the first letter."""
    return text[:1].upper() + text[1:]


def _what(stm: ir.Stm) -> str:
    """Describe a statement whose result has no source name; or ""."""
    return _OPERATORS.get(base_of(stm.pat[-1].name)) or _CALLED.get(type(stm.exp), "")


def _line(stm: ir.Stm | None) -> str:
    """Return the source line of a statement; "" if unknown."""
    return line_of(stm.prov) if stm is not None else ""


def _enclosed(text: str) -> bool:
    """True for a single call, access or number, or a fully parenthesised text."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == " " and not depth:
            return False
        if letter in "-*" and not depth and at:
            return False
    return text[:1] != "-"
