"""`exp` and `log` of f64 in C, within one unit in the last place and without a branch.

A call of the C library's keeps a loop from becoming vector code, and the vector library's are up
to four units off. These are neither: each is a few lines that the C compiler puts into the loop.
They add and multiply as they are written (`-ffp-contract=off`), so that all machines give the same.

Note [A sum without its error]: what a result's largest term is rounded by would be half a unit or
more at the end. Both functions keep it: `exp` as what `1 + r` leaves, `log` in that `f` is exact
and is added last. What is left are rounding the last sum, and the errors of terms that are less
than a quarter of it.
"""

from __future__ import annotations

LOG2_HIGH, LOG2_LOW = "0x1.62e42feep-1", "0x1.a39ef35793c76p-33"
"""The logarithm of 2 in two parts; the first has 32 bits, so that `k` times it is exact."""

EXP = f"""\
double exp_f64(double a) {{
  double x = a > 710 ? 710 : a;
  x = x < -746 ? -746 : x;
  double turned = x * 0x1.71547652b82fep+0 + 0x1.8p52, k = turned - 0x1.8p52;
  double high = x - k * {LOG2_HIGH}, low = k * {LOG2_LOW}, r = high - low;
  double one = 1 + r, left = ((1 - one) + r) + ((high - r) - low), r2 = r * r, r4 = r2 * r2;
  double cubic = (0x1.555555555555bp-3 + r * 0x1.555555555555ap-5)
    + r2 * (0x1.111111110ebfap-7 + r * 0x1.6c16c16c14151p-10)
    + r4 * ((0x1.a01a01b3a4d5cp-13 + r * 0x1.a01a01b1fef67p-16)
      + r2 * (0x1.71ddefc29f94bp-19 + r * 0x1.27e4c2bec8afap-22)
      + r4 * (0x1.af6c8643a245bp-26 + r * 0x1.1f99c246d3493p-29));
  double y = one + (left + (0.5 * r2 + r2 * r * cubic));
  uint64_t power = to_bits_f64(turned) - to_bits_f64(0x1.8p52) + 2048, half = power >> 1;
  return y * from_bits_f64((half - 1) << 52) * from_bits_f64((power - half - 1) << 52);
}}"""
"""`2**k * e**r` with `r` within half of `log 2`: `e**r = 1 + r + r**2 / 2 + r**3 * cubic`.

The polynomial is the best one of its degree, 2**-64 off. Adding `1.5 * 2**52` rounds to an integer,
which the low bits then are. The power of 2 comes in two factors: one alone may be too large or too
small for a number that is neither. Where the result is subnormal it is rounded twice: 0.77 units.
"""

LOG = f"""\
double log_f64(double a) {{
  double x = a < 0x1p-1022 ? a * 0x1p54 : a;
  uint64_t bits = to_bits_f64(x) - 0x3fe6a09e667f3bcdull;
  uint64_t power = (bits + 0x8000000000000000ull) >> 52;
  double bias = a < 0x1p-1022 ? 0x1p52 + 2048 + 54 : 0x1p52 + 2048;
  double k = from_bits_f64(0x4330000000000000ull + power) - bias;
  double f = from_bits_f64((bits & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull) - 1;
  double square = 0.5 * f * f, s = f / (2 + f), s2 = s * s, s4 = s2 * s2;
  double rest = s2 * ((0x1.5555555555555p-1 + s2 * 0x1.9999999999e00p-2)
    + s4 * ((0x1.249249242b0a9p-2 + s2 * 0x1.c71c72595224dp-3)
      + s4 * ((0x1.745cde16c9da9p-3 + s2 * 0x1.3b20b164bc565p-3)
        + s4 * (0x1.0f5c3b7f01d92p-3 + s2 * 0x1.0f686287cc874p-3))));
  double y = k * {LOG2_HIGH} - ((square - (s * (square + rest) + k * {LOG2_LOW})) - f);
  y = a == 1.0 / 0.0 ? a : y;
  y = a == 0 ? -1.0 / 0.0 : y;
  return a >= 0 ? y : 0.0 / 0.0;
}}"""
"""`k * log 2 + log (1 + f)`, with `1 + f` between the roots of 1/2 and 2.

`log (1 + f) = f - f**2 / 2 + s * (f**2 / 2 + rest)` for `s = f / (2 + f)`; the polynomial is the
best one of its degree, 2**-65 off. A subnormal number is made a larger one first.
"""

TEXTS = {"exp": EXP, "log": LOG}
