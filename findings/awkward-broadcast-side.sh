#!/usr/bin/env bash
# Which side awkward arrays are stretched from.
# Guess: equal values of equal shape give equal sums: [[1, 2], [3, 4]] + [10, 20] adds 10 and 20 to the
# columns, as in NumPy.
# Seen: a list of lists is stretched from the left, so that 10 goes to the first row and 20 to the
# second; the same values from a NumPy array, or after to_regular, are stretched from the right. So
# a matrix of equal rows gives another result after it has been through a list, and a shape that NumPy
# refuses is accepted.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'awkward==2.14.0'
cat >"$work/seen.py" <<'PY'
import awkward as ak
import numpy as np

print("numpy", np.__version__, "awkward", ak.__version__)
rows, added = [[1, 2], [3, 4]], np.array([10, 20])
for name, made, wanted in (
    ("lists", ak.Array(rows), [[11, 12], [23, 24]]),
    ("NumPy", ak.Array(np.array(rows)), [[11, 22], [13, 24]]),
    ("to_regular", ak.to_regular(ak.Array(rows)), [[11, 22], [13, 24]]),
    ("through a list", ak.Array(ak.Array(np.array(rows)).to_list()), [[11, 12], [23, 24]]),
):
    total = (made + added).to_list()
    print(f"{name}: {total}")
    assert total == wanted
wide = ak.Array([[1, 2, 3], [4, 5, 6]]) + added
print("2 rows of 3, and 2:", wide.to_list())
assert wide.to_list() == [[11, 12, 13], [24, 25, 26]]
PY
"$work/venv/bin/python" "$work/seen.py"
