"""Print scalar expressions in CUDA: as in C, with device functions for bits and halves."""

from __future__ import annotations

from compiler.base.prim import BYTES, COMPARE_OPS, Prim
from compiler.codegen.c.functions import Functions
from compiler.codegen.c.scalar import Scalars
from compiler.codegen.cuda.functions import DeviceFunctions
from compiler.codegen.kernels.narrow import Narrowing
from compiler.codegen.kernels.nodes import BLOCK, PLACE, THREAD, THREADS
from compiler.ir.nodes import SE, Conv, Lit, Var

_CAST, _ATOM = 11, 12
SUM = 9
"""Precedence of a sum."""

_BITS = {
    ("to_bits", "f32"): "__float_as_uint",
    ("from_bits", "f32"): "__uint_as_float",
    ("to_bits", "f64"): "__double_as_longlong",
    ("from_bits", "f64"): "__longlong_as_double",
}


_INDEX: dict[str, tuple[str, str]] = {
    "min": ("min", "return a < b ? a : b;"),
    "max": ("max", "return a > b ? a : b;"),
    "//": ("quot", "return b == -1 ? -a : a / b;"),
    "%%": ("rem", "return b == -1 ? 0 : a % b;"),
    "/": (
        "div",
        "if (b == -1) return -a; index_t q = a / b; "
        "return q - ((a % b != 0) & ((a < 0) != (b < 0)));",
    ),
    "%": (
        "mod",
        "if (b == -1) return 0; index_t r = a % b; "
        "return r + ((r != 0 && (r < 0) != (b < 0)) ? b : 0);",
    ),
}
"""Index functions."""

_UNSIGNED = frozenset((THREAD, BLOCK, THREADS))
ENUM = "THREADS"
"""Constant of the text for the usual threads per block."""
NOBODY = Narrowing(frozenset(), {})


class CudaScalars(Scalars):
    """f16 variables are floats holding half values; only memory has 16 bits.

    `narrowing`: names with narrow indices. In an `index` they are used as they are, elsewhere
    widened to 64 bits.
    """

    narrowing = NOBODY
    index = False
    branches = True

    def variable(self, var: Var) -> tuple[str, int]:
        """Print a variable; thread and block numbers are unsigned in CUDA."""
        if var.name == PLACE:
            return self.names[PLACE], SUM
        if var.name not in _UNSIGNED or var.prim != "i64":
            return super().variable(var)
        text = self.names[var.name]
        is_plain = text == ENUM or self.narrowing is NOBODY
        return super().variable(var) if is_plain else (f"(index_t){text}", _CAST)

    def wide(self, se: SE) -> SE:
        """Return the value widened to 64 bits."""
        return Conv("i64", "i64", se) if self.narrowing.is_narrow(se, self.index) else se

    def binary(self, op: str, at: Prim, lhs: SE, rhs: SE) -> tuple[str, int]:
        """Print a binary operator, narrow if its bound permits."""
        made = self.narrowing
        if made is NOBODY or at != "i64":
            return super().binary(op, at, lhs, rhs)
        if op in COMPARE_OPS:
            if isinstance(lhs, Var) and isinstance(rhs, Lit) and op == "==":
                return f"{super().variable(lhs)[0]} == {self.atom(rhs)}", 6
            return super().binary(op, at, lhs, rhs)
        if self.index and made.stays(op, lhs, rhs):
            is_plain = op in ("//", "%%") and type(rhs) is Lit and rhs.value != -1
            if op in _INDEX and not is_plain:
                fun, body = _INDEX[op]
                name = f"{fun}_index"
                self.helpers[name] = f"index_t {name}(index_t a, index_t b) {{ {body} }}"
                return f"{name}({self.show(lhs)}, {self.show(rhs)})", _ATOM
        elif made.is_narrow(lhs, self.index) and made.is_narrow(rhs, self.index):
            lhs, rhs = (lhs, self.wide(rhs)) if isinstance(lhs, Lit) else (self.wide(lhs), rhs)
        return super().binary(op, at, lhs, rhs)

    def function(self, fun: str, at: Prim, args: tuple[SE, ...]) -> tuple[str, int]:
        """Print a function, with widened i64 arguments."""
        return super().function(fun, at, tuple(map(self.wide, args)) if at == "i64" else args)

    half_type = "float"

    def library(self, fast: bool) -> Functions:
        """Return the device's functions."""
        return DeviceFunctions(self.helpers)

    def half(self, text: str) -> str:
        """Round to half precision."""
        return f"half_of({text})"

    def same_half(self, text: str) -> str:
        """Print a value that a half can hold."""
        return f"({text})"

    def half_bits(self, fun: str, text: str) -> str:
        """Convert between f16 and its bits."""
        return f"{'float_to_half' if fun == 'to_bits' else 'half_to_float'}({text})"

    def call(self, name: str, prim: Prim, *args: str) -> str:
        """Print a helper, or the device's own function."""
        known = _BITS.get((name, prim))
        if known:
            return f"{known}({', '.join(args)})"
        if name in ("mul_hi", "umul_hi"):
            return self.high(prim, *args)
        kind = "f32" if prim == "f16" else prim
        return super().call(name, kind, *args)

    def high(self, prim: Prim, a: str, b: str) -> str:
        """Print the upper half of a product."""
        if BYTES[prim] == 8:
            return f"{'__mul64hi' if prim == 'i64' else '__umul64hi'}({a}, {b})"
        wide = "int64_t" if prim[0] == "i" else "uint64_t"
        return f"(({wide})({a}) * ({wide})({b}) >> {BYTES[prim] * 8})"

    def bits(self, fun: str, at: Prim, arg: SE) -> str:
        """Print a bit count; the count of zeros in 0 is the width."""
        width = BYTES[at] * 8
        unsigned = at if at[0] == "u" else f"u{at[1:]}"
        x = self.show(Conv(at, unsigned, arg)) if at != unsigned else self.atom(arg)  # type: ignore[arg-type]
        match fun:
            case "popc":
                return f"__popcll({x}) + 0"
            case "clz":
                return f"__clzll({x}) - {64 - width} + 0"
        return f"{x} == 0 ? {width} : __ffsll({x}) - 1"

    def convert(self, src: Prim, dst: Prim, arg: SE) -> tuple[str, int]:
        """Print a conversion; halves in registers are floats already."""
        if src == dst == "i64":
            return f"(int64_t){self.within(arg, _CAST)}", _CAST
        if self.narrowing.is_narrow(Conv(src, dst, arg), self.index):
            return f"(index_t){self.within(arg, _CAST)}", _CAST
        if dst == "f16" and src[0] != "f":
            return self.half(f"(float){self.within(arg, _CAST)}"), _CAST
        if src == "f16" and dst != "f16":
            return self.level(arg) if dst == "f32" else super().convert("f32", dst, arg)
        return super().convert(src, dst, arg)
