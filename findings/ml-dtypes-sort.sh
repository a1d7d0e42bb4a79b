#!/usr/bin/env bash
# Sorting bfloat16 with a NaN in NumPy with ml_dtypes.
# Guess: as float16 and float32 do: numbers ascending, NaN last.
# Seen: the array comes back unsorted, and argsort is the identity; no warning. Without a NaN it is
# sorted. float8 types do the same.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'ml_dtypes==0.6.0'
cat >"$work/seen.py" <<'PY'
import ml_dtypes
import numpy as np

print("numpy", np.__version__, "ml_dtypes", ml_dtypes.__version__)
values = [3, np.nan, 1, 2]
for dtype in (np.float16, np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
    a = np.array(values, dtype)
    ordered = np.sort(a).astype(np.float32)
    order = np.argsort(a)
    print(f"{np.dtype(dtype)}: {ordered} {order}")
    own = dtype in (np.float16, np.float32)
    np.testing.assert_array_equal(ordered, [1, 2, 3, np.nan] if own else values)
    assert order.tolist() == ([2, 3, 0, 1] if own else [0, 1, 2, 3])
    assert np.sort(np.array([3, 1, 2], dtype)).tolist() == [1, 2, 3]
PY
"$work/venv/bin/python" "$work/seen.py"
