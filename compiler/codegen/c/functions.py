"""Floating-point functions in C: the implementation of each, and its rounding.

f64: those of `elementary.py` are inlined and vectorise; others use the library where it is within
one ulp, else `long double`. f32 and f16: computed in `double` and rounded, with the vector library
if there is one, whose four ulp are then a billionth of one. With `c/fast-functions`, f32 and f64
use the vector library of their own width. Functions that are correctly rounded by definition, such
as `sqrt`, are called directly.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.base.prim import Prim
from compiler.base.rules import Rule
from compiler.codegen.c.elementary import WRITTEN
from compiler.codegen.c.helpers import helper
from compiler.codegen.c.types import C_TYPE

FAST = Rule(
    "c/fast-functions",
    "In C, `exp`, `sin` and similar functions may be off by up to four units in the "
    "last place and run in vector registers.",
    asked=True,
)

LIBRARY = {
    "gamma": "tgamma",
    "round": "rint",
    "abs": "fabs",
    "%": "fmod",
    "**": "pow",
}
"""C library names that differ."""

ROUNDED = frozenset("sqrt fabs floor ceil trunc rint fmod fma copysign nextafter ldexp".split())
"""Correctly rounded, or exact, at every type."""
EXACT = frozenset("fabs floor ceil trunc rint fmod copysign".split())
"""Functions whose value is representable: no rounding needed."""
_NEAR = frozenset("sin cos tan asin acos atan pow atan2 hypot".split())
"""Functions that common C libraries compute within one ulp at f64."""
_VECTOR = frozenset(
    "sin cos exp log pow acos acosh asin asinh atan atan2 atanh cbrt cosh erf erfc exp10 exp2"
    " hypot log10 log1p log2 sinh tan tanh".split()
)
_ARITY = {**dict.fromkeys("pow atan2 hypot fmod copysign nextafter ldexp".split(), 2), "fma": 3}
_TYPES = {"f": "float", "": "double", "l": "long double"}
_OFF = """\
#ifndef SS_VECTOR
#define SS_VECTOR
#endif
"""
_NAMED = """\
#define SS_TEXT(name) #name
#define SS_SYMBOL(prefix, name) SS_TEXT(prefix) name
"""
PI = "3.14159265358979323846264338327950288"


ANGLE = "b > 0 && fabs((double)a / b) < 1e-6 ? (double)a / b * (1 - 1e-13) : "
"""A small angle is below the quotient, which may be the midpoint between two f16."""


class Functions:
    """Functions that a program calls: declarations, and helpers around them.

    `fast`: f32 and f64 by the vector library. `seen`: whether that would make a difference.
    """

    def __init__(self, helpers: dict[str, str], fast: bool = False) -> None:
        self.helpers = helpers
        self.fast = fast
        self.seen = False
        self.declared: dict[str, str] = {}

    def name(self, fun: str, at: Prim) -> str:
        """Return the function to call at a type."""
        end = "" if at == "f64" else "f"
        if fun in ROUNDED:
            return self.of_library(fun, "" if (fun, at) == ("fma", "f16") else end)
        self.seen = self.seen or at != "f16"
        if self.fast and at != "f16":
            return self.of_library(fun, end, fun in _VECTOR)
        if at == "f64" and f"{fun}_f64" in WRITTEN:
            return self.written(f"{fun}_f64")
        if at == "f64" and fun in _NEAR:
            return self.of_library(fun, end)
        return self.around(fun, at)

    def written(self, name: str) -> str:
        """Add an inlined function and those it calls."""
        if name not in self.helpers:
            for one in WRITTEN[name].library:
                self.of_library(one, "")
            for one in WRITTEN[name].calls:
                if one in WRITTEN:
                    self.written(one)
                else:
                    self.helpers[one] = helper(one.removesuffix("_f64"), "f64")
            self.helpers[name] = WRITTEN[name].code
        return name

    def of_library(self, fun: str, end: str, vector: bool = False) -> str:
        """Declare a library function."""
        name = f"{fun}{end}"
        word = "SS_VECTOR " if vector else ""
        self.declared[name] = f"{word}{_prototype(name, fun, _TYPES[end])};"
        return name

    def is_extended(self, at: Prim) -> bool:
        """True if rounding to a type takes `long double`."""
        return at == "f64" and not self.fast

    def wide(self, fun: str, at: Prim) -> str:
        """Return the function of the wider type in which it is computed."""
        if self.is_extended(at):
            return self.of_library(fun, "l")
        if fun not in _VECTOR or (fun == "pow" and at == "f16"):
            return self.of_library(fun, "")
        name = f"vector_{fun}"
        called = f'__asm__(SS_SYMBOL(__USER_LABEL_PREFIX__, "{fun}"))'
        self.declared[name] = f"SS_VECTOR {_prototype(name, fun, 'double')} {called};"
        return name

    def helper(self, name: str, at: Prim, arity: int, body: str) -> str:
        """Add a helper that computes `body` of `a` and `b`, and rounds it."""
        kind = C_TYPE[at]
        given = ", ".join(f"{kind} {one}" for one in "ab"[:arity])
        self.helpers[name] = f"{kind} {name}({given}) {{ return ({kind})({body}); }}"
        return name

    def around(self, fun: str, at: Prim) -> str:
        """Add a helper that computes in the wider type."""
        name, arity = f"{fun}_{at}", _ARITY.get(fun, 1)
        if name in self.helpers:
            return name
        if fun == "hypot":
            return self.helper(name, at, 2, self.root_of_squares())
        if fun == "atan2" and at == "f16":
            self.of_library("fabs", "")
            return self.helper(name, at, 2, f"{ANGLE}{self.wide(fun, at)}(a, b)")
        return self.helper(name, at, arity, f"{self.wide(fun, at)}({', '.join('ab'[:arity])})")

    def root(self, at: Prim) -> str:
        """Return the reciprocal square root."""
        name, is_narrow = f"rsqrt_{at}", self.fast and at == "f32"
        sqrt = self.of_library("sqrt", "f" if is_narrow else "")
        self.seen = self.seen or at != "f16"
        if at != "f64" or self.fast:
            return self.helper(name, at, 1, f"{'1.0f' if is_narrow else '1.0'} / {sqrt}(a)")
        self.helpers[name] = _filled(_ROOT, {"$sqrt": sqrt, "$fma": self.of_library("fma", "")})
        return name

    def root_of_squares(self) -> str:
        """Return `hypot` of narrow types: squares cannot overflow, and small roots are exact."""
        root, size = self.of_library("sqrt", ""), self.of_library("fabs", "")
        over = " || ".join(f"{size}({one}) == 1.0 / 0.0" for one in "ab")
        return f"{over} ? 1.0 / 0.0 : {root}((double)a * a + (double)b * b)"

    def of_turns(self, fun: str, at: Prim) -> str:
        """Return `sinpi`, `cospi` or `tanpi`, with exact argument reduction."""
        written = self.written(f"{fun}_f64")
        return written if at == "f64" else self.helper(f"{fun}_{at}", at, 1, f"{written}(a)")

    def in_turns(self, fun: str, at: Prim) -> str:
        """Return `asinpi` and the like: the function without `pi`, in half turns."""
        name, arity = f"{fun}_{at}", _ARITY.get(fun[:-2], 1)
        if name in self.helpers:
            return name
        called = f"{self.wide(fun[:-2], at)}({', '.join('ab'[:arity])})"
        return self.helper(name, at, arity, f"{called} / {PI}{'L' * self.is_extended(at)}")

    def head(self) -> Iterator[str]:
        """Yield declarations."""
        if any("SS_VECTOR" in one for one in self.declared.values()):
            yield _OFF
        if any("SS_SYMBOL" in one for one in self.declared.values()):
            yield _NAMED
        if self.declared:
            yield "".join(f"{one}\n" for _, one in sorted(self.declared.items()))


def _prototype(name: str, fun: str, kind: str) -> str:
    """Return a function's C prototype."""
    args = [kind] * _ARITY.get(fun, 1)
    if fun == "ldexp":
        args[1] = "int"
    return f"{kind} {name}({', '.join(args)})"


def _filled(text: str, fill: dict[str, str]) -> str:
    for key, value in fill.items():
        text = text.replace(key, value)
    return text


_ROOT = """\
double rsqrt_f64(double a) {
  double near = 1.0 / $sqrt(a), half = a * near;
  double rest = $fma(-half, near, 1.0) - $fma(a, near, -half) * near;
  return rest == rest ? near + 0.5 * near * rest : near;
}"""
"""One step of Newton's method, whose error is far below an ulp; not at 0 and infinity."""
