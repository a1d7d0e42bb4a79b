#!/usr/bin/env bash
# Reductions of ragged rows in awkward.
# Guess: each row is reduced as NumPy reduces it.
# Seen: f32 sums of a ragged row are added one by one and stop at 16,777,216, where the same row as a
# flat array gives 33,554,432; minima and maxima pass over NaN, NumPy's keep it; sort puts NaN
# first, NumPy last; softmax does not subtract the maximum: of two equal large numbers it is NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'awkward==2.14.0'
cat >"$work/seen.py" <<'PY'
import warnings

import awkward as ak
import numpy as np

warnings.simplefilter("ignore")
print("numpy", np.__version__, "awkward", ak.__version__)
ones = np.ones(2**25, np.float32)
flat, ragged = ak.sum(ones), ak.sum(ak.unflatten(ones, [ones.size]), axis=1)[0]
print("sum of 2^25 ones in f32: flat", flat, "ragged", ragged)
assert (flat, ragged) == (2**25, 2**24)
rows = ak.Array([[1.0, np.nan, 2.0]])
print("max", ak.max(rows, axis=1).to_list(), "NumPy", np.max([1.0, np.nan, 2.0]))
assert ak.max(rows, axis=1).to_list() == [2.0]
assert np.isnan(np.max([1.0, np.nan, 2.0]))
ordered = ak.sort(rows).to_list()[0]
print("sort", ordered, "NumPy", np.sort([1.0, np.nan, 2.0]))
assert np.isnan(ordered[0])
assert ordered[1:] == [1.0, 2.0]
for large in (700.0, 1000.0):
    made = ak.softmax(ak.Array([[large, large]]), axis=1).to_list()
    print(f"softmax of {large:.0f} twice: {made}")
    assert made == [[0.5, 0.5]] if large == 700.0 else np.isnan(made).all()
PY
"$work/venv/bin/python" "$work/seen.py"
