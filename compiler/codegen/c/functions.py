"""Functions of floats in C: which of the C library's computes one, and how it is rounded.

f64: those of `elementary.py` are written out, and vector code can hold them; others are the
library's own where it is within one unit in the last place, else that of `long double`.
f32 and f16: that of `double`, rounded, in vector registers where there is a vector library: its
four units are then a billionth of one. With `c/fast-functions` f32 and f64 have the vector
library's of their own width.

What is rounded once by definition, such as `sqrt`, needs none of this.
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
    "In C, `exp`, `sin` and their like may be up to four units in the last place off, and run in"
    " vector registers.",
    asked=True,
)

LIBRARY = {
    "gamma": "tgamma",
    "round": "rint",
    "abs": "fabs",
    "%": "fmod",
    "**": "pow",
}
"""What the C library calls them, where that is another name."""

ROUNDED = frozenset("sqrt fabs floor ceil trunc rint fmod fma copysign nextafter ldexp".split())
"""Rounded once, or exact, at every type."""
EXACT = frozenset("fabs floor ceil trunc rint fmod copysign".split())
"""Those whose value is a number of the type: there is nothing to round."""
_NEAR = frozenset("sin cos tan asin acos atan pow atan2 hypot".split())
"""Those that usual C libraries have within one unit in the last place at f64."""
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
"""A small angle is below the quotient, which may be the middle between two f16."""


class Functions:
    """The functions that a program calls: what declares them, and helpers around them.

    `fast`: f32 and f64 by the vector library. `seen`: whether that would make a difference.
    """

    def __init__(self, helpers: dict[str, str], fast: bool = False) -> None:
        self.helpers = helpers
        self.fast = fast
        self.seen = False
        self.declared: dict[str, str] = {}

    def name(self, fun: str, at: Prim) -> str:
        """What to call for a function of the C library at a type."""
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
        """A function that is written out, and what it calls."""
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
        """A function of the library as it is."""
        name = f"{fun}{end}"
        word = "SS_VECTOR " if vector else ""
        self.declared[name] = f"{word}{_prototype(name, fun, _TYPES[end])};"
        return name

    def is_extended(self, at: Prim) -> bool:
        """Whether it takes `long double` to round to a type."""
        return at == "f64" and not self.fast

    def wide(self, fun: str, at: Prim) -> str:
        """The function of the wider type in which it is computed."""
        if self.is_extended(at):
            return self.of_library(fun, "l")
        if fun not in _VECTOR or (fun == "pow" and at == "f16"):
            return self.of_library(fun, "")
        name = f"vector_{fun}"
        called = f'__asm__(SS_SYMBOL(__USER_LABEL_PREFIX__, "{fun}"))'
        self.declared[name] = f"SS_VECTOR {_prototype(name, fun, 'double')} {called};"
        return name

    def helper(self, name: str, at: Prim, arity: int, body: str) -> str:
        """A function that computes `body` of `a` and `b`, and rounds it."""
        kind = C_TYPE[at]
        given = ", ".join(f"{kind} {one}" for one in "ab"[:arity])
        self.helpers[name] = f"{kind} {name}({given}) {{ return ({kind})({body}); }}"
        return name

    def around(self, fun: str, at: Prim) -> str:
        """A helper that computes in the wider type."""
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
        """The reciprocal of the square root."""
        name, is_narrow = f"rsqrt_{at}", self.fast and at == "f32"
        sqrt = self.of_library("sqrt", "f" if is_narrow else "")
        self.seen = self.seen or at != "f16"
        if at != "f64" or self.fast:
            return self.helper(name, at, 1, f"{'1.0f' if is_narrow else '1.0'} / {sqrt}(a)")
        self.helpers[name] = _filled(_ROOT, {"$sqrt": sqrt, "$fma": self.of_library("fma", "")})
        return name

    def root_of_squares(self) -> str:
        """`hypot` of narrow types: the squares cannot overflow, and small roots are exact."""
        root, size = self.of_library("sqrt", ""), self.of_library("fabs", "")
        over = " || ".join(f"{size}({one}) == 1.0 / 0.0" for one in "ab")
        return f"{over} ? 1.0 / 0.0 : {root}((double)a * a + (double)b * b)"

    def of_turns(self, fun: str, at: Prim) -> str:
        """`sinpi`, `cospi` or `tanpi`: the rest of a quarter turn is exact."""
        written = self.written(f"{fun}_f64")
        return written if at == "f64" else self.helper(f"{fun}_{at}", at, 1, f"{written}(a)")

    def in_turns(self, fun: str, at: Prim) -> str:
        """`asinpi` and its like: what the function without `pi` gives, in half turns."""
        name, arity = f"{fun}_{at}", _ARITY.get(fun[:-2], 1)
        if name in self.helpers:
            return name
        called = f"{self.wide(fun[:-2], at)}({', '.join('ab'[:arity])})"
        return self.helper(name, at, arity, f"{called} / {PI}{'L' * self.is_extended(at)}")

    def head(self) -> Iterator[str]:
        """Declarations."""
        if any("SS_VECTOR" in one for one in self.declared.values()):
            yield _OFF
        if any("SS_SYMBOL" in one for one in self.declared.values()):
            yield _NAMED
        if self.declared:
            yield "".join(f"{one}\n" for _, one in sorted(self.declared.items()))


def _prototype(name: str, fun: str, kind: str) -> str:
    """A function's type in C."""
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
"""A step of Newton's method, whose error is far below a unit; not at 0 and infinity."""
