"""Parse problems from JSON: polynomials as text, assumptions by kind (notation: `docs/proving.md`).

Floor division `a // b` becomes a name of its own, spelt as the division in parentheses, so that
answers can be read back; `quotients.py` derives its facts. `a % b` is `a - b*(a // b)`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence

from compiler.algebra.as_data import applied
from compiler.algebra.facts import Facts, solve
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Monomial, Poly
from compiler.algebra.quotients import Operation, Quotient, Stated, UnknownSign, spelt
from compiler.base.errors import UsageError
from compiler.base.names import Name
from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import Factor

_KEYS = (
    "nonnegative",
    "equalities",
    "upper_bounds_exclusive",
    "lower_bounds_exclusive",
    "other",
)
_BOUNDS = ("upper_bounds_exclusive", "lower_bounds_exclusive")
_KNOWN = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.FloorDiv, ast.Div, ast.Mod)
_FORM = "An LMAD is written offset + {(size : stride), (size : stride)}."
_TERMS = "A polynomial is text, a whole number, or a list of terms: a number, then its factors."
LONGEST = 4000
"""Maximum length of a polynomial, in characters."""
MOST_TERMS = 200
MOST_DEGREE = 16
MOST_BITS = 256
"""Maximum bits of a coefficient."""
MOST_DIMS = 16
MOST_ASSUMPTIONS = 500


COMPUTED: Mapping[str, Callable[..., int]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "sgn": lambda x: (x > 0) - (x < 0),
}
"""Operations that are no polynomials but can be evaluated at a point."""
_COUNTS = {"min": 2, "max": 2, "abs": 1, "sgn": 1}


class Reader:
    """Parses polynomials; `bounds` collects facts about the operations in them.

    With `opaque`, unknown operations become names, as in the compiler's own output.
    """

    def __init__(self, opaque: bool = False) -> None:
        self.opaque = opaque
        self.bounds: list[Poly] = []
        self.names: set[Name] = set()
        self.sizes: list[Poly] = []
        """Each size minus one: natural for LMADs that have cells."""
        self.quotients: dict[tuple[Poly, Poly], Name] = {}
        self.operations: Mapping[Name, Operation] = {}
        """Operations of names for which no polynomial was read."""
        self._divided: dict[Name, tuple[Poly, Poly]] = {}
        self.computed: dict[Name, tuple[str, tuple[Poly, ...]]] = {}
        """Names that stand for an operation of COMPUTED, with its operands."""

    def factor(self, name: Name) -> Factor:
        """Return the form of a name in answers: itself, or the operation that it stands for."""
        for (dividend, divisor), quotient in self.quotients.items():
            if quotient == name:
                return applied("//", dividend, divisor, factor=self.factor)
        if name in self.operations:
            op, dividend, divisor = self.operations[name]
            return applied(op, dividend, divisor, factor=self.factor)
        if name in self.computed:
            op, sides = self.computed[name]
            return applied(op, *sides, factor=self.factor)
        return name

    def poly(self, text: object) -> Poly:
        """Parse a polynomial from text, a number or data of an answer. Raises UsageError."""
        if isinstance(text, list):
            return self._plain(text, 0)
        if isinstance(text, int) and not isinstance(text, bool):
            return _within(Poly.const(text))
        if not isinstance(text, str):
            raise UsageError("A polynomial is text or a whole number.")
        if len(text) > LONGEST:
            raise UsageError(f"A polynomial has at most {LONGEST} characters.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # syntax warnings concern no polynomials
                tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise UsageError(f"`{text}` is not a polynomial.") from None
        return self._of(tree.body, text)

    def _of(self, node: ast.expr, text: str) -> Poly:
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return _within(Poly.const(value))
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._of(inner, text)
            case ast.BinOp(left=left, op=operator, right=right):
                if self.opaque and not isinstance(operator, _KNOWN):
                    return self._opaque(node)
                return self._binary(self._of(left, text), operator, self._of(right, text), text)
        if self.opaque and not isinstance(node, ast.Constant):
            return self._opaque(node)
        raise UsageError(
            f"`{text}` is not a polynomial.",
            hint="Polynomials are made of whole numbers, names, + - * // % and parentheses.",
        )

    def _opaque(self, node: ast.expr) -> Poly:
        match node:
            case ast.Call(func=ast.Name(id=op), args=args) if _COUNTS.get(op) == len(args):
                text = ast.unparse(node)
                return self._computed(op, tuple([self._of(arg, text) for arg in args]))
        return self._name(ast.unparse(node))

    def _computed(self, op: str, sides: tuple[Poly, ...]) -> Poly:
        name = f"{op}({', '.join(map(str, sides))})"
        if name not in self.computed:
            self.computed[name] = op, sides
            self.bounds += _known(op, Poly.var(name), sides)
        return self._name(name)

    def _name(self, name: Name) -> Poly:
        self.names.add(name)
        return Poly.var(name)

    def _plain(self, terms: Sequence[object], depth: int) -> Poly:
        """Parse a list of terms: each a number, then factors."""
        total = Poly.const(0)
        for term in terms[: MOST_TERMS + 1]:
            if not isinstance(term, list) or not term or type(term[0]) is not int:
                raise UsageError(_TERMS)
            product = Poly.const(term[0])
            for factor in term[1:]:
                product = _product(product, self._factor(factor, depth))
            total = _within(total + product)
        return total

    def _factor(self, factor: object, depth: int) -> Poly:
        match factor:
            case str() if factor and len(factor) <= LONGEST:
                return self._name(factor)
            case {"op": str(op), "of": list(parts)} if depth < MOST_DEGREE:
                if len(parts) > MOST_DIMS or not all(isinstance(part, list) for part in parts):
                    raise UsageError(_TERMS)
                sides = [self._plain(part, depth + 1) for part in parts]
                if op in ("/", "//", "%") and len(sides) == 2:
                    return self._remainder(*sides) if op == "%" else self._quotient(*sides)
                if _COUNTS.get(op) == len(sides):
                    return self._computed(op, tuple(sides))
                if self.opaque:
                    return self._name(f"{op}({', '.join(map(str, sides))})"[:LONGEST])
        raise UsageError(_TERMS)

    def _binary(self, left: Poly, operator: ast.operator, right: Poly, text: str) -> Poly:
        match operator:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return _product(left, right)
            case ast.Pow() if right.constant is not None and 0 <= right.constant <= MOST_DEGREE:
                power = Poly.const(1)
                for _ in range(right.constant):
                    power = _product(power, left)
                return power
            case ast.FloorDiv():
                return self._quotient(left, right)
            case ast.Mod():
                return self._remainder(left, right)
            case ast.Div() if self.opaque:
                return self._quotient(left, right)
        raise UsageError(f"`{text}` has an operator that polynomials do not have.")

    def _quotient(self, dividend: Poly, divisor: Poly) -> Poly:
        above, below = dividend.constant, divisor.constant
        if below == 0:
            raise UsageError("Division by zero.")
        if above is not None and below is not None:
            return Poly.const(above // below)
        inner = self._divided.get(dividend.as_name or "")
        if inner is not None and below is not None and below > 0:
            return self._quotient(inner[0], _product(inner[1], divisor))
        key = dividend, divisor
        if key not in self.quotients:
            name = f"({spelt(dividend)}//{spelt(divisor)})"
            self.quotients[key] = name
            self._divided[name] = key
            self.names.add(name)
            _product(divisor, Poly.var(name))
        return Poly.var(self.quotients[key])

    def _remainder(self, dividend: Poly, divisor: Poly) -> Poly:
        return dividend - _product(divisor, self._quotient(dividend, divisor))

    def lmad(self, data: object) -> Lmad[Poly]:
        """Parse `{"offset": .., "dims": [[size, stride], ..]}`, or text as the compiler prints it.

        Errors: `UsageError` for another shape, or more than `MOST_DIMS` dimensions.
        """
        if isinstance(data, str):
            data = _parts(data)
        if not isinstance(data, Mapping) or not isinstance(data.get("dims"), list):
            raise UsageError('An LMAD is {"offset": .., "dims": [[size, stride], ..]}.')
        if len(data["dims"]) > MOST_DIMS:
            raise UsageError(f"An LMAD has at most {MOST_DIMS} dimensions.")
        dims = []
        for pair in data["dims"]:
            if not isinstance(pair, list) or len(pair) != 2:
                raise UsageError("A dimension of an LMAD is [size, stride].")
            dims.append(Dim(self.poly(pair[0]), self.poly(pair[1])))
            self.sizes.append(dims[-1].size - 1)
        return Lmad(self.poly(data.get("offset", 0)), tuple(dims))


def _known(op: str, result: Poly, sides: Sequence[Poly]) -> list[Poly]:
    """Return facts `>= 0` about the result of an operation, valid for all operands."""
    if op in ("min", "max"):
        return [side - result if op == "min" else result - side for side in sides]
    (side,) = sides
    if op == "abs":
        return [result, result - side, result + side]
    return [1 - result, 1 + result, side * result - result * result]


def _within(poly: Poly) -> Poly:
    """Return the polynomial if it is within the size limits. Raises UsageError."""
    degree = max((_degree(mono) for mono in poly.terms), default=0)
    bits = max((abs(c).bit_length() for c in poly.terms.values()), default=0)
    if len(poly.terms) > MOST_TERMS or degree > MOST_DEGREE or bits > MOST_BITS:
        raise UsageError(
            "A polynomial is too large.",
            hint=f"It has at most {MOST_TERMS} terms of degree {MOST_DEGREE}, and numbers of at "
            f"most {MOST_BITS} bits.",
        )
    return poly


def _product(left: Poly, right: Poly) -> Poly:
    return _within(left * right)


def _degree(mono: Monomial) -> int:
    return sum(power for _, power in mono)


def _parts(text: str) -> Json:
    """Parse `offset + {(size : stride), ..}` into an object; without braces it is a single cell."""
    if len(text) > LONGEST * MOST_DIMS:
        raise UsageError("This text is too long for an LMAD.", hint=_FORM)
    offset, opened, inside = text.partition("{")
    if not opened:
        return {"offset": text, "dims": []}
    inside = inside.strip()
    if not inside.endswith("}"):
        raise UsageError(f"`{text}` ends without `}}`.", hint=_FORM)
    offset = offset.strip().removesuffix("+").strip() or "0"
    dims: list[list[str]] = []
    rest = inside.removesuffix("}").strip()
    while rest:
        end = _closing(rest)
        size, found, stride = rest[1:end].partition(":")
        if end < 0 or not found:
            raise UsageError(f"`{rest}` is not a list of (size : stride).", hint=_FORM)
        dims.append([size.strip(), stride.strip()])
        rest = rest[end + 1 :].strip().removeprefix(",").strip()
    return {"offset": offset, "dims": dims}


def _closing(text: str) -> int:
    """Return the position that closes the parenthesis at the start of `text`, or -1."""
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth <= 0:
            return at if at else -1
    return -1


def facts_of(reader: Reader, assumptions: object) -> Facts:
    """Parse assumptions as facts about non-empty LMADs, with those the reader has collected.

    Raises UsageError, also where the sign of a divisor is unknown.
    """
    return next(facts_in_ways(reader, assumptions))


def facts_in_ways(reader: Reader, assumptions: object) -> Iterator[Facts]:
    """Yield the facts in one form or two: over quotients and remainders, then over the names.

    Raises UsageError.
    """
    try:
        for facts, operations in collect_statements(reader, assumptions).with_quotients():
            reader.operations = operations
            yield facts
    except UnknownSign as unknown:
        what, by = unknown.quotient.name, spelt(unknown.quotient.divisor)
        raise UsageError(
            f"It is not known whether `{by}` in `{what}` is positive or negative.",
            hint=f"Assume `{by} >= 1`, or `{by} <= -1`.",
        ) from None


def collect_statements(reader: Reader, assumptions: object) -> Stated:
    """Collect the statements of assumptions and of the reader. Raises UsageError."""
    given = checked(assumptions)
    bounds: list[Poly] = [reader.poly(name) for name in given["nonnegative"]]
    equalities: dict[Name, Poly] = {}
    for text in given["equalities"]:
        left, _, right = text.partition("=")
        name = reader.poly(left).as_name
        if name is None or not right:
            raise UsageError(f"`{text}` is not of the form `name = polynomial`.")
        equalities[name] = reader.poly(right)
    for name, limit in given["upper_bounds_exclusive"].items():
        bounds.append(reader.poly(limit) - reader.poly(name) - 1)
    for name, limit in given["lower_bounds_exclusive"].items():
        bounds.append(reader.poly(name) - reader.poly(limit) - 1)
    for text in given["other"]:
        bounds += _relation(reader, text, equalities)
    solved = solve(equalities.items(), _subst)
    for bound in (*bounds, *reader.bounds):
        _subst(bound, solved)
    quotients = [Quotient(name, *key) for key, name in reader.quotients.items()]
    return Stated(
        (*bounds, *reader.bounds),
        tuple(equalities.items()),
        tuple(quotients),
        tuple(sorted(reader.names)),
        tuple(reader.sizes),
    )


def checked(assumptions: object) -> Json:
    """Validate assumptions and fill in missing kinds. Raises UsageError."""
    if assumptions is None:
        assumptions = {}
    if not isinstance(assumptions, Mapping):
        raise UsageError("`assumptions` is an object.")
    for key in assumptions:
        if key not in _KEYS:
            known = ", ".join(_KEYS)
            raise UsageError(f"There is no kind of assumption `{key}`.", hint=f"There are {known}.")
    given: Json = {}
    for key in _KEYS:
        found = assumptions.get(key)
        if key in _BOUNDS:
            if not isinstance(found, Mapping | None):
                raise UsageError(f"`{key}` is an object of names with their bounds.")
            given[key] = found or {}
            continue
        if not isinstance(found, list | tuple | None):
            raise UsageError(f"`{key}` is a list.")
        if key != "nonnegative" and not all(isinstance(text, str) for text in found or ()):
            raise UsageError(f"`{key}` is a list of text.")
        given[key] = found or ()
    if sum(map(len, given.values())) > MOST_ASSUMPTIONS:
        raise UsageError(f"At most {MOST_ASSUMPTIONS} assumptions are taken.")
    return given


def _subst(poly: Poly, mapping: Mapping[Name, Poly]) -> Poly:
    """Substitute names in `poly`. Raises UsageError if the estimated result is too large."""
    if mapping.keys().isdisjoint(poly.names()):
        return poly
    terms = 0
    for mono in poly.terms:
        product = 1
        for name, power in mono:
            product *= max(1, len(mapping[name].terms)) ** power if name in mapping else 1
        terms += product
    if terms > MOST_TERMS * MOST_DEGREE:
        raise UsageError("The equalities make a polynomial too large.")
    return _within(poly.subst(mapping))


def _relation(reader: Reader, text: str, equalities: dict[Name, Poly]) -> list[Poly]:
    for operator in ("<=", ">=", "==", "<", ">"):
        left, found, right = text.partition(operator)
        if not found:
            continue
        difference = reader.poly(right) - reader.poly(left)
        match operator:
            case "<=":
                return [difference]
            case ">=":
                return [-difference]
            case "<":
                return [difference - 1]
            case ">":
                return [-difference - 1]
            case _:
                name = reader.poly(left).as_name
                if name is not None and name not in equalities:
                    equalities[name] = reader.poly(right)
                    return []
                return [difference, -difference]
    raise UsageError(f"`{text}` is no relation.", hint="Use <, <=, ==, >= or >.")
