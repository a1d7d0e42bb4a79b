"""Guards of LMAD slices as C and CUDA functions, equal to `compiler/ir/guards.py`."""

from __future__ import annotations

from compiler.ir.guards import LARGEST_EXTENT

_INSIDE = """\
bool inside_$Rd(int64_t length, int64_t start, $PARAMS) {
  int64_t n[] = {$SIZES}, s[] = {$STRIDES}, low = start, high = start;
  for (int k = 0; k < $R; k++) if (n[k] <= 0) return true;
  if (start < 0 || start >= length) return false;
  for (int k = 0; k < $R; k++) {
    if (n[k] == 1 || s[k] == 0) continue;
    if (s[k] <= -length || s[k] >= length) return false;
    int64_t step = s[k] < 0 ? -s[k] : s[k];
    if (n[k] - 1 > (s[k] < 0 ? low : length - 1 - high) / step) return false;
    if (s[k] < 0) low -= (n[k] - 1) * step; else high += (n[k] - 1) * step;
  }
  return true;
}"""

_DISTINCT = """\
bool distinct_$Rd($PARAMS) {
  int64_t n[] = {$SIZES}, s[] = {$STRIDES}, rest[$R + 1], total[$R + 1], d[$R], last[$R];
  bool same[$R + 1], ordered = true, enter = true;
  int rank = 0;
  for (int k = 0; k < $R; k++) if (n[k] <= 0) return true;
  for (int k = 0; k < $R; k++) {  // largest stride first, without sign
    int64_t size = n[k], step = s[k] < 0 ? 0 - (uint64_t)s[k] : s[k];
    if (size == 1) continue;
    if (step <= 0 || size - 1 > $LARGEST / step) return false;
    int at = rank++;
    for (; at > 0 && s[at - 1] < step; at--) { s[at] = s[at - 1]; n[at] = n[at - 1]; }
    s[at] = step;
    n[at] = size;
  }
  rest[rank] = 0;
  for (int k = rank - 1; k >= 0; k--) {
    ordered = ordered && s[k] > rest[k + 1];
    rest[k] = rest[k + 1] + (n[k] - 1) * s[k];
  }
  if (ordered) return true;
  total[0] = 0;
  same[0] = true;
  for (int k = 0; k >= 0;) {  // two points that meet differ by d, and d * s adds up to 0
    if (k == rank && total[k] == 0 && !same[k]) return false;
    if (k < rank && enter) {
      int64_t up = rest[k + 1] - total[k], down = rest[k + 1] + total[k];
      last[k] = up < 0 ? -((s[k] - 1 - up) / s[k]) : up / s[k];
      d[k] = down < 0 ? (s[k] - 1 - down) / s[k] : -(down / s[k]);
      if (last[k] > n[k] - 1) last[k] = n[k] - 1;
      if (d[k] < 1 - n[k]) d[k] = 1 - n[k];
      if (same[k]) d[k] = 0;
    }
    if (k == rank || d[k] > last[k]) {
      enter = false;
      if (--k >= 0) d[k]++;
      continue;
    }
    total[k + 1] = total[k] + d[k] * s[k];
    same[k + 1] = same[k] && d[k] == 0;
    enter = true;
    k++;
  }
  return true;
}"""


def guard(name: str) -> str:
    """Return the definition of `inside_2d`, `distinct_4d`, .."""
    kind, _, rank = name.removesuffix("d").partition("_")
    each = range(int(rank))
    fill = (
        ("$PARAMS", ", ".join(f"int64_t n{k}, int64_t s{k}" for k in each)),
        ("$SIZES", ", ".join(f"n{k}" for k in each)),
        ("$STRIDES", ", ".join(f"s{k}" for k in each)),
        ("$LARGEST", f"{LARGEST_EXTENT}LL"),
        ("$R", rank),
    )
    text = _INSIDE if kind == "inside" else _DISTINCT
    for key, value in fill:
        text = text.replace(key, value)
    return text
