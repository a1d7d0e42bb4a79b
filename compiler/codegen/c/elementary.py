"""f64 functions written in C: accurate within one ulp, and branch-free.

A call of the C library keeps a loop from being vectorised, the vector library is off by up to four
ulp, and `long double` is a hundred times slower. These functions are a few lines each that the C
compiler inlines. They evaluate as written (`-ffp-contract=off`), so that all machines give the same
result.

Note [What rounding loses is kept]: an ulp is lost where two errors of half an ulp meet. So the
largest term of each sum is exact, or its rounding error is kept in a variable `low`: `b - (sum -
a)` for `sum = a + b` with `|a| >= |b|`, and `fma(a, b, -product)` (compensated arithmetic). What
remains is the rounding of the last sum, and errors of terms that are a few per cent of it.
Polynomials are minimax (Remez's algorithm), with an error of 2**-58 or less.
"""

from __future__ import annotations

import re

from compiler.base.dataclass import dataclass

_NUMBERS = {
    "ROUNDER": "0x1.8p52",
    "LOG_2": "0x1.62e42fefa39efp-1",
    "LOG_2_LEFT": "0x1.abc9e3b39803fp-56",
    "SHORT_LOG_2": "0x1.62e42feep-1",
    "SHORT_LOG_2_LEFT": "0x1.a39ef35793c76p-33",
    "SHORT_LOG10_2": "0x1.34413508p-2",
    "SHORT_LOG10_2_LEFT": "0x1.f79fef311f12bp-34",
    "LOG_10": "0x1.26bb1bbb55516p+1",
    "LOG_10_LEFT": "-0x1.f48ad494ea3e9p-53",
    "LOG2_10": "0x1.a934f0979a371p+1",
    "LOG2_E": "0x1.71547652b82fep+0",
    "LOG2_E_LEFT": "0x1.777d0ffda0d24p-56",
    "LOG10_E": "0x1.bcb7b1526e50ep-2",
    "LOG10_E_LEFT": "0x1.95355baaafad3p-57",
    "PI": "0x1.921fb54442d18p+1",
    "PI_LEFT": "0x1.1a62633145c07p-53",
    "ROOT_OF_HALF": "0x3fe6a09e667f3bcdull",
    "DIGITS": "0xfffffffffffffull",
    "INF": "(1.0 / 0.0)",
    "NAN": "(0.0 / 0.0)",
}
"""Constants of the texts: the nearest double, and its error. Short ones have 32 bits: their
products with small integers are exact. Adding ROUNDER rounds to an integer, in the low bits;
ROOT_OF_HALF is the bit pattern of a number."""


@dataclass(frozen=True, slots=True)
class Elementary:
    """A C function, with the functions of this file and of the C library that it calls."""

    code: str
    calls: tuple[str, ...]
    library: tuple[str, ...]


PARTS: dict[str, str] = {}
"""Functions by C name. They take and return sums of two doubles, the second through the pointer
`low`."""

PARTS["exp_of_rest"] = """\
double exp_of_rest(double r, double rest, double *low) {
  double one = 1 + r, left = ((1 - one) + r) + rest, r2 = r * r, r4 = r2 * r2;
  double cubic = (0x1.555555555555bp-3 + r * 0x1.555555555555ap-5)
    + r2 * (0x1.111111110ebfap-7 + r * 0x1.6c16c16c14151p-10)
    + r4 * ((0x1.a01a01b3a4d5cp-13 + r * 0x1.a01a01b1fef67p-16)
      + r2 * (0x1.71ddefc29f94bp-19 + r * 0x1.27e4c2bec8afap-22)
      + r4 * (0x1.af6c8643a245bp-26 + r * 0x1.1f99c246d3493p-29));
  double tail = left + (0.5 * r2 + r2 * r * cubic), sum = one + tail;
  *low = tail - (sum - one);
  return sum;
}"""
"""`e**(r + rest)` for `|r|` up to half of `log 2`: `1 + r + r**2 / 2 + r**3 * cubic`."""

PARTS["rest_of_powers"] = """\
double rest_of_powers(double x, double *low, double *turned) {
  *turned = x * $LOG2_E + $ROUNDER;
  double k = *turned - $ROUNDER, high = x - k * $SHORT_LOG_2, by = k * $SHORT_LOG_2_LEFT;
  double r = high - by;
  *low = (high - r) - by;
  return r;
}"""
"""`x - k * log 2` for the nearest `k`, which is in the low bits of `turned`."""

PARTS["power_of_2"] = """\
double power_of_2(double turned, int64_t more) {
  uint64_t power = to_bits_f64(turned) - to_bits_f64($ROUNDER) + (uint64_t)(1023 + more);
  return from_bits_f64(power << 52);
}"""

PARTS["times_power_of_2"] = """\
double times_power_of_2(double y, double turned, int64_t more) {
  uint64_t power = to_bits_f64(turned) - to_bits_f64($ROUNDER) + (uint64_t)(2048 + more);
  uint64_t half = power >> 1;
  return y * from_bits_f64((half - 1) << 52) * from_bits_f64((power - half - 1) << 52);
}"""
"""In two steps: one power alone may be too large, or 0, where the result is neither. One that is
subnormal is rounded twice."""

PARTS["log_of_digits"] = """\
double log_of_digits(double a, double *low, double *k) {
  double x = a < 0x1p-1022 ? a * 0x1p54 : a, bias = a < 0x1p-1022 ? 2048 + 54 : 2048;
  uint64_t bits = to_bits_f64(x) - $ROOT_OF_HALF, power = (bits + (1ull << 63)) >> 52;
  *k = from_bits_f64(to_bits_f64(0x1p52) + power) - (0x1p52 + bias);
  double f = from_bits_f64((bits & $DIGITS) + $ROOT_OF_HALF) - 1, s = f / (2 + f);
  double s2 = s * s, s4 = s2 * s2, half = 0.5 * f, square = half * f;
  double higher = s2 * ((0x1.5555555555555p-1 + s2 * 0x1.9999999999e00p-2)
    + s4 * ((0x1.249249242b0a9p-2 + s2 * 0x1.c71c72595224dp-3)
      + s4 * ((0x1.745cde16c9da9p-3 + s2 * 0x1.3b20b164bc565p-3)
        + s4 * (0x1.0f5c3b7f01d92p-3 + s2 * 0x1.0f686287cc874p-3))));
  double rest = (s * (square + higher) - fma(half, f, -square)) - square, sum = f + rest;
  *low = rest - (sum - f);
  return sum;
}"""
"""`log (a / 2**k)`, with `a / 2**k = 1 + f` between the roots of 1/2 and 2.

`log (1 + f) = f - f**2 / 2 + s * (f**2 / 2 + higher)` for `s = f / (2 + f)`.
"""

PARTS["plus_logs_of_2"] = """\
double plus_logs_of_2(double y, double low, double k) {
  double whole = k * $SHORT_LOG_2, sum = whole + y;
  return sum + (((whole - sum) + y) + (low + k * $SHORT_LOG_2_LEFT));
}"""

PARTS["where_log_ends"] = """\
double where_log_ends(double a, double y) {
  y = a == $INF ? a : y;
  y = a == 0 ? -$INF : y;
  return a >= 0 ? y : $NAN;
}"""

PARTS["log1p_of_sum"] = """\
double log1p_of_sum(double z, double rest) {
  double sum = 1 + z, one = sum - z, low, k, left = (1 - one) + (z - (sum - one)) + rest;
  double y = log_of_digits(sum, &low, &k);
  return plus_logs_of_2(y, low + left / sum, k);
}"""
"""`log (1 + z + rest)` for `z` above -1."""

PARTS["sine_of_eighth"] = """\
double sine_of_eighth(double p, double rest, double *low) {
  double p2 = p * p, cubic = -0x1.5555555555549p-3 + p2 * (0x1.111111110f862p-7
    + p2 * (-0x1.a01a019c0e619p-13 + p2 * (0x1.71de3574ca4e9p-19
      + p2 * (-0x1.ae5e63d88238fp-26 + p2 * 0x1.5d9249a8d079ap-33))));
  double tail = p * p2 * cubic + rest * (1 - 0.5 * p2), sum = p + tail;
  *low = tail - (sum - p);
  return sum;
}"""
"""The sine of `p + rest`, for `|p|` up to an eighth of a turn: `p + p**3 * cubic`."""

PARTS["cosine_of_eighth"] = """\
double cosine_of_eighth(double p, double rest, double *low) {
  double p2 = p * p, half = 0.5 * p2, one = 1 - half, fourth = 0x1.555555555554cp-5
    + p2 * (-0x1.6c16c16c15168p-10 + p2 * (0x1.a01a019caf69bp-16
      + p2 * (-0x1.27e4f808220bdp-22 + p2 * (0x1.1ee9ea9b6ae8ep-29 - p2 * 0x1.8fade693bca12p-37))));
  double tail = ((1 - one) - half) + (p2 * p2 * fourth - p * rest), sum = one + tail;
  *low = tail - (sum - one);
  return sum;
}"""

PARTS["eighth_of_turns"] = """\
double eighth_of_turns(double x, double *low, double *quarter) {
  double part = x - 2 * rint(x / 2);
  *quarter = rint(2 * part);
  double t = part - *quarter / 2, p = t * $PI;
  *low = fma(t, $PI, -p) + t * $PI_LEFT;
  return p;
}"""
"""`pi * x` less the nearest quarter of a turn, of which there are -2 to 2."""

PARTS["exp_f64"] = """\
double exp_f64(double a) {
  double x = a > 710 ? 710 : a, low, turned;
  x = x < -746 ? -746 : x;
  double r = rest_of_powers(x, &low, &turned), y = exp_of_rest(r, low, &low);
  return times_power_of_2(y, turned, 0);
}"""

PARTS["exp2_f64"] = """\
double exp2_f64(double a) {
  double x = a > 1025 ? 1025 : a, low;
  x = x < -1076 ? -1076 : x;
  double turned = x + $ROUNDER, t = x - (turned - $ROUNDER), r = t * $LOG_2;
  double y = exp_of_rest(r, fma(t, $LOG_2, -r) + t * $LOG_2_LEFT, &low);
  return times_power_of_2(y, turned, 0);
}"""

PARTS["exp10_f64"] = """\
double exp10_f64(double a) {
  double x = a > 310 ? 310 : a, low;
  x = x < -330 ? -330 : x;
  double turned = x * $LOG2_10 + $ROUNDER, k = turned - $ROUNDER;
  double high = x - k * $SHORT_LOG10_2, by = k * $SHORT_LOG10_2_LEFT, t = high - by;
  double r = t * $LOG_10, left = ((high - t) - by) * $LOG_10 + t * $LOG_10_LEFT;
  double y = exp_of_rest(r, fma(t, $LOG_10, -r) + left, &low);
  return times_power_of_2(y, turned, 0);
}"""

PARTS["both_exps"] = """\
double both_exps(double x, double sign, double *far) {
  double low, turned, r = rest_of_powers(x > 711 ? 711 : x, &low, &turned);
  double y = exp_of_rest(r, low, &low);
  *far = times_power_of_2(y, turned, -1);
  double m = x > 40 ? 1 : power_of_2(turned, -1), n = sign * 0.25 / m;
  double by = 1 / y, left = (fma(-by, y, 1.0) - by * low) * by;
  double sum = m * y + n * by;
  return sum + (((m * y - sum) + n * by) + (m * low + n * left));
}"""
"""`(e**x + sign * e**(-x)) / 2` for `x` from 0 to 40; behind that it is `far`."""

PARTS["sinh_f64"] = """\
double sinh_f64(double a) {
  double x = fabs(a), far, near = both_exps(x, -1, &far);
  double y = x > 40 ? far : x < 0x1p-30 ? x : near;
  return copysign(a == a ? y : a, a);
}"""

PARTS["cosh_f64"] = """\
double cosh_f64(double a) {
  double x = fabs(a), far, near = both_exps(x, 1, &far);
  return a == a ? x > 40 ? far : near : a;
}"""

PARTS["tanh_f64"] = """\
double tanh_f64(double a) {
  double x = fabs(a), low, turned, r = rest_of_powers(x > 20 ? 40 : 2 * x, &low, &turned);
  double y = exp_of_rest(r, low, &low), m = power_of_2(turned, 0);
  y *= m;
  low *= m;
  double less = y - 1, over = ((y - less) - 1) + low, n = less + over;
  double d = y + 1, under = ((y - d) + 1) + low, q = n / d;
  double t = q + ((fma(-q, d, n) + (over - (n - less))) - q * under) / d;
  t = x < 0x1p-30 ? x : t;
  return copysign(a == a ? t : a, a);
}"""
"""`(e**2x - 1) / (e**2x + 1)`, with what both lack."""

PARTS["log_f64"] = """\
double log_f64(double a) {
  double low, k, y = log_of_digits(a, &low, &k);
  return where_log_ends(a, plus_logs_of_2(y, low, k));
}"""

PARTS["log2_f64"] = """\
double log2_f64(double a) {
  double low, k, y = log_of_digits(a, &low, &k), p = y * $LOG2_E, sum = k + p;
  low = fma(y, $LOG2_E, -p) + (low * $LOG2_E + y * $LOG2_E_LEFT);
  return where_log_ends(a, sum + (((k - sum) + p) + low));
}"""

PARTS["log10_f64"] = """\
double log10_f64(double a) {
  double low, k, y = log_of_digits(a, &low, &k), p = y * $LOG10_E;
  low = fma(y, $LOG10_E, -p) + (low * $LOG10_E + y * $LOG10_E_LEFT);
  double whole = k * $SHORT_LOG10_2, sum = whole + p;
  return where_log_ends(a, sum + (((whole - sum) + p) + (low + k * $SHORT_LOG10_2_LEFT)));
}"""

PARTS["log1p_f64"] = """\
double log1p_f64(double a) {
  double y = log1p_of_sum(a, 0);
  y = fabs(a) < 0x1p-54 ? a : y;
  y = a == $INF ? a : y;
  y = a == -1 ? -$INF : y;
  return a >= -1 ? y : $NAN;
}"""

PARTS["atanh_f64"] = """\
double atanh_f64(double a) {
  double x = fabs(a), d = 1 - x, under = (1 - d) - x, q = 2 * x / d;
  double y = 0.5 * log1p_of_sum(q, (fma(-q, d, 2 * x) - q * under) / d);
  y = x < 0x1p-30 ? x : y;
  y = x == 1 ? $INF : y;
  return copysign(x <= 1 ? y : $NAN, a);
}"""
"""Half of `log (1 + 2x / (1 - x))`."""

PARTS["root_of_sum"] = """\
double root_of_sum(double a, double rest, double *low) {
  double root = sqrt(a);
  *low = a == 0 ? 0 : (fma(-root, root, a) + rest) / (2 * root);
  return root;
}"""

PARTS["sum_of_any"] = """\
double sum_of_any(double a, double b, double *low) {
  double sum = a + b, of_b = sum - a;
  *low = (a - (sum - of_b)) + (b - of_b);
  return sum;
}"""

PARTS["log_of_double"] = """\
double log_of_double(double a) {
  double low, k, y = log_of_digits(a, &low, &k);
  return plus_logs_of_2(y, low, k + 1);
}"""

PARTS["asinh_f64"] = """\
double asinh_f64(double a) {
  double x = fabs(a), z = x > 0x1p28 ? 0x1p28 : x, square = z * z, lost = fma(z, z, -square);
  double left, low, under, rest, in = sum_of_any(1, square, &left);
  double d = sum_of_any(1, root_of_sum(in, left + lost, &low), &under), q = square / d;
  double over = ((fma(-q, d, square) - q * (under + low)) + lost) / d;
  double t = sum_of_any(z, q, &rest), near = log1p_of_sum(t, rest + over);
  double y = x > 0x1p28 ? log_of_double(x) : near;
  y = x < 0x1p-30 || x == $INF ? x : y;
  return copysign(a == a ? y : a, a);
}"""
"""`log (1 + (x + x**2 / (1 + sqrt (1 + x**2))))`."""

PARTS["acosh_f64"] = """\
double acosh_f64(double a) {
  double x = a > 0x1p28 ? 0x1p28 : a, t = x - 1, square = t * t;
  double left, low, rest, in = sum_of_any(2 * t, square, &left);
  double root = root_of_sum(in, left + fma(t, t, -square), &low), sum = sum_of_any(t, root, &rest);
  double y = log1p_of_sum(sum, rest + low);
  y = a > 0x1p28 ? log_of_double(a) : y;
  y = a == $INF ? a : y;
  return a >= 1 ? y : $NAN;
}"""
"""`log (1 + (t + sqrt (2t + t**2)))` for `t = x - 1`."""

PARTS["cbrt_f64"] = """\
double cbrt_f64(double a) {
  double x = fabs(a), n = x < 0x1p-1022 ? x * 0x1p54 : x;
  uint64_t bits = to_bits_f64(n);
  double k = from_bits_f64(to_bits_f64(0x1p52) + (bits >> 52)) - (0x1p52 + 1023);
  double third = rint(k / 3), over = k - 3 * third;
  double m = from_bits_f64((bits & $DIGITS) | to_bits_f64(1.0));
  m *= over < 0 ? 0.5 : over > 0 ? 2 : 1;
  double y = 0x1.dd2771249fe22p-2 + m * (0x1.aba42f7446aa9p-1 + m * (-0x1.b54b6cc4b11b2p-2
    + m * (0x1.3a5100ffc1584p-3 + m * (-0x1.dfc19c8a3ae34p-6 + m * 0x1.24df6c88280cep-9))));
  double cube = y * y * y;
  y *= (cube + 2 * m) / (2 * cube + m);
  for (int i = 0; i < 2; i++) {
    double square = y * y, lost = fma(y, y, -square);
    cube = square * y;
    y += (((m - cube) - fma(square, y, -cube)) - lost * y) / (3 * square);
  }
  y *= power_of_2(third + $ROUNDER, x < 0x1p-1022 ? -18 : 0);
  y = x == 0 || x == $INF ? x : y;
  return copysign(a == a ? y : a, a);
}"""
"""The root of a number from 1/2 to 4, to 10 bits by a polynomial, 31 by Halley's step, all by
Newton's."""

PARTS["sinpi_f64"] = """\
double sinpi_f64(double a) {
  double rest, quarter, low, p = eighth_of_turns(a, &rest, &quarter);
  double s = sine_of_eighth(p, rest, &low), c = cosine_of_eighth(p, rest, &low);
  double y = fabs(quarter) == 1 ? c : s;
  y = quarter == -1 || fabs(quarter) == 2 ? -y : y;
  return y == 0 ? copysign(0.0, a) : y;
}"""

PARTS["cospi_f64"] = """\
double cospi_f64(double a) {
  double rest, quarter, low, p = eighth_of_turns(fabs(a), &rest, &quarter);
  double s = sine_of_eighth(p, rest, &low), c = cosine_of_eighth(p, rest, &low);
  double y = fabs(quarter) == 1 ? s : c;
  return (quarter == 1 || fabs(quarter) == 2 ? -y : y) + 0;
}"""

PARTS["tanpi_f64"] = """\
double tanpi_f64(double a) {
  double rest, quarter, of_sine, of_cosine, p = eighth_of_turns(a, &rest, &quarter);
  double s = sine_of_eighth(p, rest, &of_sine), c = cosine_of_eighth(p, rest, &of_cosine);
  bool odd = fabs(quarter) == 1, half = fabs(quarter) == 2;
  double n = odd ? c : s, over = odd ? of_cosine : of_sine;
  double d = odd ? -s : c, under = odd ? -of_sine : of_cosine, q = n / d;
  double y = q + ((fma(-q, d, n) + over) - q * under) / d;
  y = s == 0 && odd ? quarter * $INF : y;
  return s == 0 && !odd ? copysign(0.0, half ? -a : a) : y;
}"""


def _written(code: str) -> Elementary:
    """Substitute the constants of a text, and find its calls."""
    names = dict.fromkeys(re.findall(r"\b(\w+)\(", code.partition("{")[2]))
    bits = ("to_bits_f64", "from_bits_f64")
    calls = tuple(name for name in names if name in PARTS or name in bits)
    library = tuple(n for n in names if n in ("fabs", "fma", "copysign", "rint", "sqrt"))
    return Elementary(re.sub(r"\$(\w+)", lambda found: _NUMBERS[found[1]], code), calls, library)


WRITTEN = {name: _written(code) for name, code in PARTS.items()}
