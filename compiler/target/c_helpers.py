"""Small functions that C lacks, by name and type; a program holds those that it uses.

They agree bit for bit on integers with `compiler/ir/scalar.py`: division rounds towards minus
infinity, shifts by the width or more give 0 or the sign, conversions of finite floats saturate.
"""

from __future__ import annotations

from compiler.base.prim import BYTES, Prim, int_range
from compiler.target.c_types import C_TYPE, c_literal


def helper(name: str, prim: Prim, dst: Prim | None = None) -> str:
    """The definition of `name` at type `prim` (conversions: from `prim` to `dst`)."""
    if dst is not None:
        return _saturate(prim, dst)
    head, body = _TEXTS[name]
    if name == "shr" and prim[0] == "i":
        body = "return a >> ((uint64_t)b >= $W ? $W - 1 : b);"
    t = C_TYPE[prim]
    bits = BYTES[prim] * 8
    fill = (
        ("$T", t),
        ("$U", f"u{t}" if prim[0] == "i" else t),
        ("$W", str(bits)),
        ("$P", prim),
        ("$B", f"uint{bits}_t"),
        ("$f", "" if prim == "f64" else "f"),
    )
    text = f"{head} {{ {body} }}"
    for key, value in fill:
        text = text.replace(key, value)
    return text


def _saturate(src: Prim, dst: Prim) -> str:
    """Float to int: towards zero; NaN and infinities are 0, else the nearest bound is taken."""
    low, high = int_range(dst)
    t, d = C_TYPE[src], C_TYPE[dst]
    wide = "double" if src == "f64" else "float"
    bottom = c_literal(low, dst)
    top = c_literal(high, dst)
    limit = f"{float(high + 1)!r}" + ("f" if wide == "float" else "")
    least = f"{float(low)!r}" + ("f" if wide == "float" else "")
    return (
        f"{d} to_{dst}_from_{src}({t} x) {{ return x - x != 0 ? 0 : ({wide})x >= {limit} ? {top}"
        f" : ({wide})x <= {least} ? {bottom} : ({d})x; }}"
    )


_TEXTS: dict[str, tuple[str, str]] = {
    "div": (
        "$T div_$P($T a, $T b)",
        "if (b == -1) return ($T)(0 - ($U)a); $T q = a / b; "
        "return q - ((a % b != 0) & ((a < 0) != (b < 0)));",
    ),
    "mod": (
        "$T mod_$P($T a, $T b)",
        "if (b == -1) return 0; $T r = a % b; return r + ((r != 0 && (r < 0) != (b < 0)) ? b : 0);",
    ),
    "quot": ("$T quot_$P($T a, $T b)", "return b == -1 ? ($T)(0 - ($U)a) : ($T)(a / b);"),
    "rem": ("$T rem_$P($T a, $T b)", "return b == -1 ? 0 : ($T)(a % b);"),
    "pow": (
        "$T pow_$P($T a, $T b)",
        "$U x = ($U)a, r = 1; for ($U e = ($U)b; e; e >>= 1) { "
        "if (e & 1) r = ($U)(r * (uint64_t)x); "
        "x = ($U)(x * (uint64_t)x); } return ($T)r;",
    ),
    "shl": ("$T shl_$P($T a, $T b)", "return (uint64_t)b >= $W ? 0 : ($T)(($U)a << b);"),
    "shr": ("$T shr_$P($T a, $T b)", "return (uint64_t)b >= $W ? 0 : ($T)(a >> b);"),
    "min": ("$T min_$P($T a, $T b)", "return a < b ? a : b;"),
    "max": ("$T max_$P($T a, $T b)", "return a > b ? a : b;"),
    "fmin": ("$T fmin_$P($T a, $T b)", "return (a < b) | (b != b) ? a : b;"),
    "fmax": ("$T fmax_$P($T a, $T b)", "return (a > b) | (b != b) ? a : b;"),
    "abs": ("$T abs_$P($T a)", "return a < 0 ? ($T)(0 - ($U)a) : a;"),
    "sgn": ("$T sgn_$P($T a)", "return ($T)((a > 0) - (a < 0));"),
    "fsgn": ("$T sgn_$P($T a)", "return a > 0 ? 1 : a < 0 ? -1 : a;"),
    "mul_hi": (
        "$T mul_hi_$P($T a, $T b)",
        "return ($T)(((__int128)a * (__int128)b) >> $W);",
    ),
    "umul_hi": (
        "$T mul_hi_$P($T a, $T b)",
        "return ($T)(((unsigned __int128)a * b) >> $W);",
    ),
    "sinpi": (
        "$T sinpi_$P($T x)",
        "$T p = fmod$f(x, 2); return fmod$f(p, 1) == 0 ? p * 0 : sin$f(p * ($T)3.141592653589793);",
    ),
    "cospi": (
        "$T cospi_$P($T x)",
        "$T p = fabs$f(fmod$f(x, 2)); "
        "return p == ($T)0.5 || p == ($T)1.5 ? 0 : cos$f(p * ($T)3.141592653589793);",
    ),
    "to_bits": ("$B to_bits_$P($T a)", "$B r; __builtin_memcpy(&r, &a, sizeof r); return r;"),
    "from_bits": ("$T from_bits_$P($B a)", "$T r; __builtin_memcpy(&r, &a, sizeof r); return r;"),
}
