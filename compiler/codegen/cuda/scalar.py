"""Scalar expressions in CUDA: as in C, with the device's own functions for bits and halves."""

from __future__ import annotations

from compiler.base.prim import BYTES, Prim
from compiler.codegen.c.scalar import Scalars
from compiler.ir.nodes import SE, Conv

_BITS = {
    ("to_bits", "f32"): "__float_as_uint",
    ("from_bits", "f32"): "__uint_as_float",
    ("to_bits", "f64"): "__double_as_longlong",
    ("from_bits", "f64"): "__longlong_as_double",
}


class CudaScalars(Scalars):
    """f16 variables are floats that a half can hold; only memory has 16 bits."""

    def half(self, text: str) -> str:
        """Rounded to half precision."""
        return f"half_of({text})"

    def half_bits(self, fun: str, text: str) -> str:
        """Between f16 and its bits."""
        return f"{'float_to_half' if fun == 'to_bits' else 'half_to_float'}({text})"

    def call(self, name: str, prim: Prim, *args: str) -> str:
        """A helper, or what the device has for it."""
        known = _BITS.get((name, prim))
        if known:
            return f"{known}({', '.join(args)})"
        if name in ("mul_hi", "umul_hi"):
            return self.high(prim, *args)
        kind = "f32" if prim == "f16" else prim
        return super().call(name, kind, *args)

    def high(self, prim: Prim, a: str, b: str) -> str:
        """The upper half of a product."""
        if BYTES[prim] == 8:
            return f"{'__mul64hi' if prim == 'i64' else '__umul64hi'}({a}, {b})"
        wide = "int64_t" if prim[0] == "i" else "uint64_t"
        return f"(({wide})({a}) * ({wide})({b}) >> {BYTES[prim] * 8})"

    def bits(self, fun: str, at: Prim, arg: SE) -> str:
        """Counting bits; the count of zeros in 0 is the width."""
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
        """Halves in registers are floats already."""
        if src == "f16" and dst != "f16":
            return self.level(arg) if dst == "f32" else super().convert("f32", dst, arg)
        return super().convert(src, dst, arg)
