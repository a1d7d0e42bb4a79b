#!/usr/bin/env bash
# Unsigned numbers in numexpr, which has no unsigned types.
# Guess: arrays of u64 are refused, as other types that it has not are.
# Seen: they become i64 without a word, and those from 2^63 on are negative; u32 becomes i64, u8
# becomes i32.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'numexpr==2.14.2'
"$work/venv/bin/python" - <<'PY'
import numexpr
import numpy as np

print("numexpr", numexpr.__version__, "numpy", np.__version__)
large = np.array([2**63 + 1, 2**64 - 1], np.uint64)
found = numexpr.evaluate("large")
larger = numexpr.evaluate("large > 0")
print("evaluate('large') ->", found, found.dtype, "; large > 0 ->", larger)
assert found.dtype == np.int64
assert found.tolist() == [-(2**63) + 1, -1]
assert larger.tolist() == [False, False]
for dtype, wanted in ((np.uint32, np.int64), (np.uint8, np.int32)):
    a = np.array([np.iinfo(dtype).max], dtype)
    made = numexpr.evaluate("a + a")
    print(f"{dtype.__name__}: a + a ->", made, made.dtype)
    assert made.dtype == wanted
PY
