#!/usr/bin/env bash
# What numexpr's reductions give, beside those of NumPy, whose arrays it takes.
# Guess: min and max of an array with a NaN are NaN, the sum of i32 is counted in 64 bits, and
# that of no element is 0.
# Seen: min and max pass NaN by, the sum of i32 wraps in 32 bits, and that of no element is an
# array without elements.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'numexpr==2.14.2'
"$work/venv/bin/python" - <<'PY'
import numexpr
import numpy as np

print("numexpr", numexpr.__version__, "numpy", np.__version__)
with_nan = np.array([np.nan, 1.5, -1.5])
wide = np.full(3, 2**31 - 1, np.int32)
empty = np.array([], np.float64)
least, most, total, none = (
    numexpr.evaluate(text) for text in ("min(with_nan)", "max(with_nan)", "sum(wide)", "sum(empty)")
)
print("min, max:", least, most, "NumPy:", with_nan.min(), with_nan.max())
print("sum:", total, total.dtype, "NumPy:", wide.sum(), wide.sum().dtype)
print("sum of none:", none, none.shape, "NumPy:", empty.sum())
assert (least, most) == (-1.5, 1.5)
assert (int(total), total.dtype) == (3 * (2**31 - 1) - 2**32, np.int32)
assert none.shape == (0,)
PY
