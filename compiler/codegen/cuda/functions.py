"""Floating-point functions in CUDA: the device's at f32 and f64, correctly rounded at f16.

f16 is computed in f32. Where that is too close to a midpoint between two f16 to decide the
rounding, about once in a hundred, it is recomputed in f64.
"""

from __future__ import annotations

from compiler.base.prim import Prim
from compiler.codegen.c.functions import ANGLE, PI, ROUNDED, Functions

_TURNS = frozenset(("sinpi", "cospi"))
"""Functions of half turns that the device provides."""
_WIDE = frozenset(("lgamma",))
"""f32 functions that may be inaccurate near their zeros."""

_DECIDED = """\
float $N($P) {
  float near = $F;
  float low = half_of(near * 0.99999905f), high = half_of(near * 1.00000095f);
  return low == high ? low : half_of(to_47_bits($D));
}"""
"""Margin of 16 f32 ulp on both sides; NaN is decided by f64 as well."""

_SHORT = """\
double to_47_bits(double x) {
  double part = x * 65;
  return fabs(x) < 1e5 ? part - (part - x) : x;
}"""
"""Truncation makes an exact midpoint between two f16 recognisable: no other value comes as near."""


class DeviceFunctions(Functions):
    """Functions of the device, which need no declaration."""

    def name(self, fun: str, at: Prim) -> str:
        """Return the function to call at a type."""
        if fun in ROUNDED:
            return f"{fun}{'' if at == 'f64' or (fun, at) == ('fma', 'f16') else 'f'}"
        return f"{fun}{'' if at == 'f64' else 'f'}" if at != "f16" else self.around(fun, at)

    def around(self, fun: str, at: Prim) -> str:
        """Add an f16 helper."""
        first = ANGLE if fun == "atan2" else ""
        return self.decided(fun, "{0}f({1})", f"{first}{{0}}({{1}})")

    def decided(self, fun: str, narrow: str, wide: str) -> str:
        """Add the f16 helper of a function that is `narrow` in f32 and `wide` in f64.

        In both texts {0} is the function and {1} its arguments.
        """
        name = f"{fun}_f16"
        two = fun in ("pow", "atan2", "hypot", "atan2pi")
        params, args = ("float a, float b", "a, b") if two else ("float a", "a")
        doubles = ", ".join(f"(double){one}" for one in args.split(", "))
        wider = wide.format(fun, doubles)
        text = _DECIDED if fun not in _WIDE else "float $N($P) { return half_of(to_47_bits($D)); }"
        fill = {"$N": name, "$P": params, "$F": narrow.format(fun, args), "$D": wider}
        for key, value in fill.items():
            text = text.replace(key, value)
        self.helpers["to_47_bits"] = _SHORT
        self.helpers[name] = text
        return name

    def root(self, at: Prim) -> str:
        """Return the reciprocal square root."""
        if at == "f16":
            return self.decided("rsqrt", "1.0f / sqrtf({1})", "1.0 / sqrt({1})")
        kind, one, end = ("double", "1.0", "") if at == "f64" else ("float", "1.0f", "f")
        self.helpers[f"rsqrt_{at}"] = (
            f"{kind} rsqrt_{at}({kind} a) {{ return {one} / sqrt{end}(a); }}"
        )
        return f"rsqrt_{at}"

    def of_turns(self, fun: str, at: Prim) -> str:
        """Return `sinpi`, `cospi` or `tanpi`."""
        if fun in _TURNS:
            return self.name(fun, at)
        ratio = "sinpi{0}({1}) / cospi{0}({1})"
        if at == "f16":
            return self.decided(fun, ratio.replace("{0}", "f"), ratio.replace("{0}", ""))
        kind, end = ("double", "") if at == "f64" else ("float", "f")
        body = ratio.format(end, "a")
        self.helpers[f"{fun}_{at}"] = f"{kind} {fun}_{at}({kind} a) {{ return {body}; }}"
        return f"{fun}_{at}"

    def in_turns(self, fun: str, at: Prim) -> str:
        """Return `asinpi` and the like."""
        called = fun[:-2]
        if at == "f16":
            narrow, wide = (f"{called}{end}({{1}}) / {PI}{end}" for end in ("f", ""))
            return self.decided(fun, narrow, wide)
        kind, end = ("double", "") if at == "f64" else ("float", "f")
        params, args = (f"{kind} a, {kind} b", "a, b") if "2" in fun else (f"{kind} a", "a")
        self.helpers[f"{fun}_{at}"] = (
            f"{kind} {fun}_{at}({params}) {{ return {called}{end}({args}) / {PI}{end}; }}"
        )
        return f"{fun}_{at}"
