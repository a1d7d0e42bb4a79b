"""Helper functions that C lacks, by name and type; a program includes those it uses.

They agree bit for bit on integers with `compiler/ir/scalar.py`: division rounds towards minus
infinity, shifts by the width or more give 0 or the sign, floats convert via integers of 32 or 64
bits.
"""

from __future__ import annotations

from functools import lru_cache

from compiler.base.prim import BYTES, FUNS, Prim
from compiler.codegen.c.guards import guard
from compiler.codegen.c.types import C_TYPE


@lru_cache(maxsize=1024)
def helper(name: str, prim: Prim) -> str:
    """Return the definition of `name` at type `prim`."""
    if name in FUNS and FUNS[name][1] == "lmad":
        return guard(name)
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
    )
    text = f"{head} {{ {body} }}"
    for key, value in fill:
        text = text.replace(key, value)
    return text


@lru_cache(maxsize=256)
def to_int(src: Prim, dst: Prim, branches: bool) -> str:
    """Return the conversion from float to int, via a signed type of 32 or 64 bits.

    See `nodes.Conv`. With `branches`, and for 64 bits, the common case is one instruction; without,
    loops vectorise.
    """
    bits = 64 if BYTES[dst] == 8 else 32
    t, d = C_TYPE[src], C_TYPE[dst]
    wide, f = ("double", "") if src == "f64" else ("float", "f")
    size, half = (f"{2.0**power!r}{f}" for power in (bits, bits - 1))
    usual = f"if (x < {half} && x >= -{half}) return ({d})(int{bits}_t)x; "
    fits = usual if branches or bits == 64 else ""
    upper = f"r = r >= {half} && r < {size} ? r - {size} : r; " if dst in ("u32", "u64") else ""
    return (
        f"{d} to_{dst}_from_{src}({t} x) {{ {fits}{wide} r = trunc{f}(x); {upper}"
        f"r = r >= -{half} && r < {half} ? r : -{half}; "
        f"return ({d})(int{bits}_t)(x - x == 0 ? r : 0); }}"
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
    "minus": ("$T minus_$P($T a, $T b)", "return ($T)(a - b);"),
    "square": ("$T square_$P($T a)", "return ($T)(a * a);"),
    "shl": ("$T shl_$P($T a, $T b)", "return (uint64_t)b >= $W ? 0 : ($T)(($U)a << b);"),
    "shr": ("$T shr_$P($T a, $T b)", "return (uint64_t)b >= $W ? 0 : ($T)(a >> b);"),
    "min": ("$T min_$P($T a, $T b)", "return a < b ? a : b;"),
    "max": ("$T max_$P($T a, $T b)", "return a > b ? a : b;"),
    "fmin": ("$T fmin_$P($T a, $T b)", "return (a < b) | (b != b) ? a : b;"),
    "fmax": ("$T fmax_$P($T a, $T b)", "return (a > b) | (b != b) ? a : b;"),
    "abs": ("$T abs_$P($T a)", "return a < 0 ? ($T)(0 - ($U)a) : a;"),
    "sgn": ("$T sgn_$P($T a)", "return ($T)((a > 0) - (a < 0));"),
    "fsgn": ("$T sgn_$P($T a)", "return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a;"),
    "mul_hi": (
        "$T mul_hi_$P($T a, $T b)",
        "return ($T)(((__int128)a * (__int128)b) >> $W);",
    ),
    "umul_hi": (
        "$T mul_hi_$P($T a, $T b)",
        "return ($T)(((unsigned __int128)a * b) >> $W);",
    ),
    "to_bits": ("$B to_bits_$P($T a)", "$B r; __builtin_memcpy(&r, &a, sizeof r); return r;"),
    "from_bits": ("$T from_bits_$P($B a)", "$T r; __builtin_memcpy(&r, &a, sizeof r); return r;"),
}
