#!/usr/bin/env bash
# The composition of two layouts in NVIDIA's pycute, the Python of CuTe's algebra of layouts.
# Guess: a composition that no layout is equal to is refused, as the conditions of CuTe's
# documentation have it.
# Seen: it has fewer elements than the right side, or a stride of 0: (3,5):(5,1) after 4:1 is 3:5,
# and (4,3):(3,1) after 12:-1 is 12:0, without an error.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'nvidia-cutlass==4.2.0.0'
"$work/venv/bin/python" - <<'PY'
from importlib.metadata import version

from pycute.layout import Layout, composition, size

print("nvidia-cutlass", version("nvidia-cutlass"))
for left, right, wanted in (
    (Layout((3, 5), (5, 1)), Layout(4, 1), Layout(3, 5)),
    (Layout((4, 3), (3, 1)), Layout(12, -1), Layout(12, 0)),
):
    made = composition(left, right)
    print(f"{left} after {right} -> {made}")
    assert (made.shape, made.stride) == (wanted.shape, wanted.stride)
    composed = [left(right(i)) for i in range(size(right))]
    print("  cell by cell:", composed, " the layout's cells:", [made(i) for i in range(size(made))])
    assert composed != [made(i) for i in range(size(made))]
PY
