"""Print scalar expressions in C and CUDA: few parentheses, exact integer semantics.

Compiled with wrapping arithmetic (`-fwrapv`; CUDA wraps anyway). Operations that C lacks call
helpers (`helpers.py`), and narrow integers are truncated after each operation.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.prim import BYTES, COMPARE_OPS, FUNS, Prim
from compiler.codegen.c.functions import EXACT, LIBRARY, ROUNDED, Functions
from compiler.codegen.c.helpers import helper, to_int
from compiler.codegen.c.types import C_TYPE, c_literal, c_name
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Select, Un, Var
from compiler.ir.sizes import prim_of
from compiler.ir.walk import se_parts

_LEVEL: dict[str, int] = {
    op: level
    for level, ops in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %"), start=1
    )
    for op in ops.split()
}
_CAST, _ATOM, _TERNARY = 11, 12, 0
_MIXED = frozenset(("|", "^", "&", "<<", ">>", "||"))
"""Operators with unfamiliar precedence: operands with other operators get parentheses."""
_NARROW = frozenset(("i8", "i16", "u8", "u16"))
_COMPARE = frozenset(COMPARE_OPS)

_LIBRARY = frozenset(
    "sqrt cbrt exp exp2 exp10 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh"
    " acosh atanh gamma lgamma erf erfc floor ceil trunc round atan2 hypot copysign nextafter fma"
    " ldexp".split()
)
"""Functions of the C library."""


_NEXT = """\
$T nextafter_f16($T a, $T b) {
  if (a == b || a != a || b != b) return a == b ? b : a + b;
  uint16_t r = $bits;
  r = a == 0 ? (b > 0 ? 1 : 0x8001) : (a < b) == (a > 0) ? r + 1 : r - 1;
  return $value;
}"""
"""Numbers of one sign are ordered like their bit patterns."""


class Scalars:
    """Prints expressions; collects the helpers that they call.

    `names` maps variables to other C text, such as lanes of a tile.
    """

    branches = False
    """True if a branch for the common case is cheaper than branch-free code."""
    half_type = C_TYPE["f16"]
    """Type of f16 variables."""

    def __init__(self, fast: bool = False) -> None:
        self.helpers: dict[str, str] = {}
        self.functions = self.library(fast)
        self.names: Mapping[Name, str] = {}

    # overridden by CUDA
    def library(self, fast: bool) -> Functions:
        """Return the provider of functions."""
        return Functions(self.helpers, fast)

    def half(self, text: str) -> str:
        """Round `text`, computed in a wider type, to f16."""
        return f"(_Float16)({text})"

    def same_half(self, text: str) -> str:
        """Convert `text`, computed in a wider type, to f16 without rounding."""
        return self.half(text)

    def half_bits(self, fun: str, text: str) -> str:
        """Convert between f16 and its bits."""
        return self.call(fun, "f16", text)

    def show(self, se: SE) -> str:
        """Print an expression as an operand of nothing."""
        return self.level(se)[0]

    def atom(self, se: SE) -> str:
        """Print an expression, in parentheses unless atomic."""
        return self.within(se, _ATOM)

    def within(self, se: SE, level: int) -> str:
        """Print an expression as an operand of an operator of that level."""
        text, own = self.level(se)
        return text if own >= level else f"({text})"

    def level(self, se: SE) -> tuple[str, int]:
        """Return the text and its precedence level."""
        if type(se) is Var:
            return self.variable(se)
        if type(se) is Bin:
            return self.binary(se.op, se.at, se.lhs, se.rhs)
        if type(se) is Lit:
            text = c_literal(se.value, se.prim)
            return (self.half(text) if se.prim == "f16" else text), _ATOM
        return self.other(se)

    def variable(self, var: Var) -> tuple[str, int]:
        """Print a variable."""
        return self.names.get(var.name) or c_name(var.name), _ATOM

    def other(self, se: SE) -> tuple[str, int]:
        """Print an expression other than a variable, literal or binary operator."""
        match se:
            case Un(op, at, arg):
                return self.unary(op, at, arg)
            case Conv(src, dst, arg):
                return self.convert(src, dst, arg)
            case Fun(fun, at, args):
                return self.function(fun, at, args)
            case Select(cond, then, orelse):
                parts = (self.within(e, 1) for e in (cond, then, orelse))
                return "{} ? {} : {}".format(*parts), _TERNARY
        raise CompilerBug(f"there is no text for {se}")

    def call(self, name: str, prim: Prim, *args: str) -> str:
        """Print a call of a helper function."""
        text = helper(name, prim)
        called = text[: text.index("(")].rpartition(" ")[2]
        self.helpers[called] = text
        return f"{called}({', '.join(args)})"

    def rounded_call(self, name: str, at: Prim, *args: SE) -> tuple[str, int]:
        """Print a call of a helper function that computes a float, rounded to its type."""
        text = self.call(name, at, *map(self.show, args))
        return (self.half(text), _CAST) if at == "f16" else (text, _ATOM)

    # --- operators ---------------------------------------------------------------------------

    def binary(self, op: str, at: Prim, lhs: SE, rhs: SE) -> tuple[str, int]:
        """Print an infix operator or a call."""
        if op in ("min", "max"):
            name = f"f{op}" if at[0] == "f" else op
            if at == "bool":
                return self.binary("&&" if op == "min" else "||", at, lhs, rhs)
            return self.call(name, at, self.show(lhs), self.show(rhs)), _ATOM
        if op in _COMPARE or op in ("&&", "||"):
            return self.infix(op, lhs, rhs)
        if op in ("/", "%", "//", "%%", "**"):
            return self.division(op, at, lhs, rhs)
        if op in ("<<", ">>"):
            return self.shift(op, at, lhs, rhs)
        if at == "bool":
            return self.infix(op, lhs, rhs)
        if op == "-" and at[0] == "f" and type(rhs) is not Var and _may_fold_to_zero(lhs):
            return self.rounded_call("minus", at, lhs, rhs)
        return self.cut(at, *self.infix(op, lhs, rhs))

    def infix(self, op: str, lhs: SE, rhs: SE) -> tuple[str, int]:
        """Print `lhs op rhs` with necessary and helpful parentheses."""
        level = _LEVEL[op]
        left, left_level = self.level(lhs)
        right, right_level = self.level(rhs)
        mixed = op in _MIXED
        if left_level < level or (mixed and left_level < _CAST and not _same(op, lhs)):
            left = f"({left})"
        if right_level <= level or (mixed and right_level < _CAST):
            right = f"({right})"
        if type(lhs) is Lit and type(rhs) is Lit and lhs.prim == "i64":
            left = f"(int64_t){left}"
        return f"{left} {op} {right}", level

    def cut(self, at: Prim, text: str, level: int) -> tuple[str, int]:
        """Truncate to the operation's own type, where C computes in a wider one."""
        if at == "f16":
            return self.half(text), _CAST
        if at in _NARROW:
            return f"({C_TYPE[at]})({text})", _CAST
        return text, level

    def exact(self, at: Prim, text: str, level: int = _CAST) -> tuple[str, int]:
        """Truncate, given that a float result is representable."""
        return (self.same_half(text), _CAST) if at == "f16" else self.cut(at, text, level)

    def division(self, op: str, at: Prim, lhs: SE, rhs: SE) -> tuple[str, int]:
        """Print division, remainder and power."""
        if at[0] == "f":
            if op == "/":
                return self.cut(at, *self.infix("/", lhs, rhs))
            if op == "**" and type(rhs) is Lit and rhs.value == 2:
                return self.rounded_call("square", at, lhs)
            return self.math_call(op, at, (lhs, rhs))
        safe = type(rhs) is Lit and rhs.value not in (0, -1)
        if op != "**" and (at[0] == "u" or (safe and op in ("//", "%%"))):
            plain = {"//": "/", "%%": "%"}.get(op, op)
            return self.cut(at, *self.infix(plain, lhs, rhs))
        name = {"/": "div", "%": "mod", "//": "quot", "%%": "rem", "**": "pow"}[op]
        return self.call(name, at, self.show(lhs), self.show(rhs)), _ATOM

    def shift(self, op: str, at: Prim, lhs: SE, rhs: SE) -> tuple[str, int]:
        """Print a shift, as C's own for a literal below the width."""
        if type(rhs) is Lit and 0 <= rhs.value < BYTES[at] * 8 and type(lhs) is not Lit:
            return self.cut(at, *self.infix(op, lhs, rhs))
        return self.call("shl" if op == "<<" else "shr", at, self.show(lhs), self.show(rhs)), _ATOM

    def unary(self, op: str, at: Prim, arg: SE) -> tuple[str, int]:
        """Print sign, complement or absolute value."""
        match op:
            case "neg":
                inner = self.within(arg, _CAST)
                inner = f"({inner})" if inner[0] in "-(" and type(arg) is not Bin else inner
                return self.exact(at, f"-{inner}")
            case "not" if at == "bool":
                return f"!{self.within(arg, _ATOM)}", _CAST
            case "not":
                return self.cut(at, f"~{self.within(arg, _ATOM)}", _CAST)
            case "abs" if at[0] == "f":
                return self.math_call("abs", at, (arg,))
            case "abs" if at[0] == "u":
                return self.level(arg)
            case "abs":
                return self.call("abs", at, self.show(arg)), _ATOM
        if at[0] == "u":
            return f"{self.within(arg, 7)} != 0", 6
        return self.call("fsgn" if at[0] == "f" else "sgn", at, self.show(arg)), _ATOM

    def convert(self, src: Prim, dst: Prim, arg: SE) -> tuple[str, int]:
        """Print a conversion."""
        if src == dst:
            return self.level(arg)
        if dst == "bool":
            return f"{self.within(arg, 7)} != 0", 6
        if src[0] == "f" and dst[0] != "f":
            name = f"to_{dst}_from_{src}"
            self.helpers[name] = to_int(src, dst, self.branches)
            return f"{name}({self.show(arg)})", _ATOM
        if dst == "f16":
            return self.half(self.show(arg)), _CAST
        return f"({C_TYPE[dst]}){self.within(arg, _CAST)}", _CAST

    # --- functions ---------------------------------------------------------------------------

    def function(self, fun: str, at: Prim, args: tuple[SE, ...]) -> tuple[str, int]:
        """Print a function of the numeric modules."""
        if fun == "nextafter" and at == "f16":
            return self.next_half(*args), _ATOM
        if fun in _LIBRARY:
            return self.math_call(fun, at, args)
        texts = [self.atom(a) for a in args]
        match fun:
            case "isnan":
                return f"{texts[0]} != {texts[0]}", 6
            case "isinf":
                size, _ = self.math_call("abs", at, args)
                return f"{size} == {'1.0 / 0.0' if at == 'f64' else '1.0f / 0.0f'}", 6
            case "rsqrt":
                return f"{self.functions.root(at)}({self.show(args[0])})", _ATOM
            case "recip":
                return self.cut(at, f"{'1.0' if at == 'f64' else '1.0f'} / {texts[0]}", 10)
            case "to_bits" | "from_bits" if at == "f16":
                return self.half_bits(fun, self.show(args[0])), _ATOM
            case "to_bits" | "from_bits":
                return self.call(fun, at, self.show(args[0])), _ATOM
            case "lerp":
                a, b, t = args
                return self.level(Bin("+", at, a, Bin("*", at, Bin("-", at, b, a), t)))
            case "mad":
                a, b, c = args
                return self.level(Bin("+", at, Bin("*", at, a, b), c))
            case "popc" | "clz" | "ctz":
                return self.bits(fun, at, args[0]), _TERNARY
            case "mul_hi":
                return self.mul_hi(at, args[0], args[1]), _ATOM
            case "mad_hi":
                high = self.mul_hi(at, args[0], args[1])
                return self.cut(at, f"{high} + {texts[2]}", 9)
        if FUNS[fun][1] == "lmad":
            return self.call(fun, at, *map(self.show, args)), _ATOM
        turns = fun in ("sinpi", "cospi", "tanpi")
        name = self.functions.of_turns(fun, at) if turns else self.functions.in_turns(fun, at)
        return f"{name}({', '.join(map(self.show, args))})", _ATOM

    def math_call(self, fun: str, at: Prim, args: tuple[SE, ...]) -> tuple[str, int]:
        """Print a C library function at the right width."""
        name = LIBRARY.get(fun, fun)
        text = f"{self.functions.name(name, at)}({', '.join(map(self.show, args))})"
        if name in EXACT:
            return self.exact(at, text, _ATOM)
        is_wider = at == "f16" and name in ROUNDED
        return (self.half(text), _CAST) if is_wider else (text, _ATOM)

    def next_half(self, a: SE, b: SE) -> str:
        """Print the f16 next to `a` in the direction of `b`."""
        bits, value = self.half_bits("to_bits", "a"), self.half_bits("from_bits", "r")
        text = _NEXT.replace("$T", self.half_type).replace("$bits", bits)
        self.helpers["nextafter_f16"] = text.replace("$value", value)
        return f"nextafter_f16({self.show(a)}, {self.show(b)})"

    def bits(self, fun: str, at: Prim, arg: SE) -> str:
        """Print a bit count; the count of zeros in 0 is the width."""
        width = BYTES[at] * 8
        unsigned = at if at[0] == "u" else f"u{at[1:]}"
        x = self.show(Conv(at, unsigned, arg)) if at != unsigned else self.atom(arg)  # type: ignore[arg-type]
        match fun:
            case "popc":
                return f"__builtin_popcountll({x}) + 0"
            case "clz":
                return f"{x} == 0 ? {width} : __builtin_clzll({x}) - {64 - width}"
        return f"{x} == 0 ? {width} : __builtin_ctzll({x})"

    def mul_hi(self, at: Prim, lhs: SE, rhs: SE) -> str:
        """Print the upper half of a product."""
        name = "mul_hi" if at[0] == "i" else "umul_hi"
        return self.call(name, at, self.show(lhs), self.show(rhs))


def _same(op: str, se: SE) -> bool:
    return type(se) is Bin and se.op == op and prim_of(se) == se.at


def _may_fold_to_zero(se: SE) -> bool:
    """Return True for a float that a C compiler may know to be 0.0 when it reads the text.

    GCC writes `0.0 - y` as `-y` then, if it knows that `y` is not -0.0 (an integer's value, an
    absolute value): of 0 that makes -0.0. Through a function it does not.
    """
    match se:
        case Var():
            return False
        case Lit(value):
            return bool(value == 0)
        case Conv(src, _, arg):
            return type(arg) is not Var and (src[0] != "f" or _may_fold_to_zero(arg))
        case Bin(_, _, lhs, rhs):
            return _may_fold_to_zero(lhs) and _may_fold_to_zero(rhs)
        case Select(_, then, orelse):
            return _may_fold_to_zero(then) or _may_fold_to_zero(orelse)
    return any(_may_fold_to_zero(one) for one in se_parts(se))
