#!/usr/bin/env bash
# Sums of bfloat16 in NumPy with ml_dtypes.
# Guess: 1,000 ones give 1,000, as in float16, whose sums NumPy adds in pairs and in f32.
# Seen: sum, mean and cumsum stop at 256, where adding 1 changes nothing; the mean of 1,000 ones is
# 0.2559. dot is 1,000, and @ of two bfloat16 is float32. An int4 sum wraps at 8, where an int8
# sum is int64.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'ml_dtypes==0.6.0'
cat >"$work/seen.py" <<'PY'
import ml_dtypes
import numpy as np

print("numpy", np.__version__, "ml_dtypes", ml_dtypes.__version__)
half = np.ones(1000, np.float16)
ones = np.ones(1000, ml_dtypes.bfloat16)
print("float16 sum", half.sum(), "mean", half.mean())
print("bfloat16 sum", ones.sum(), "mean", ones.mean(), "cumsum", ones.cumsum()[-1])
print("bfloat16 dot", np.dot(ones, ones), "@", repr(ones @ ones))
assert (half.sum(), half.mean()) == (1000, 1)
assert (ones.sum(), ones.cumsum()[-1]) == (256, 256)
assert 0.25 < float(ones.mean()) < 0.26
assert np.dot(ones, ones) == 1000
assert np.dot(ones, ones).dtype == ml_dtypes.bfloat16
assert (ones @ ones).dtype == np.float32
few = np.ones(100, ml_dtypes.int4)
print("int4: 100 ones", few.sum(), "; int8:", repr(np.ones(100, np.int8).sum()))
assert (few.sum(), few.sum().dtype) == (4, ml_dtypes.int4)
assert np.ones(100, np.int8).sum().dtype == np.int64
PY
"$work/venv/bin/python" "$work/seen.py"
