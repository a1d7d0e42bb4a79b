#!/usr/bin/env bash
# Numbers that NumPy's fast reader of text finds where there are none.
# Guess: a blank cell, or white space behind the last separator, is an error, as `1,,2` is.
# Seen: it reads as one more element without a warning: 0 among integers, and -1 among floats.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6'
"$work/venv/bin/python" - <<'PY'
import warnings

import numpy as np

warnings.simplefilter("error")
print("numpy", np.__version__)
for text, wanted in (
    ("1, ,2", [1, 0, 2]),
    ("1, 1, ", [1, 1, 0]),
    ("1, 1,", [1, 1]),
    ("1,\n", [1, 0]),
    (" ", [0]),
):
    for dtype in (np.int64, np.float64):
        found = np.fromstring(text, dtype=dtype, sep=",").tolist()
        print(f"fromstring({text!r}, {dtype.__name__}) -> {found}")
        assert found == (wanted if dtype is np.int64 else [-1 if x == 0 else x for x in wanted])
try:
    np.fromstring("1,,2", dtype=np.int64, sep=",")
except ValueError as error:
    print("fromstring('1,,2') ->", error)
else:
    raise AssertionError("1,,2 is read")
PY
