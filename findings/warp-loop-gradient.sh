#!/usr/bin/env bash
# Gradients of loops in NVIDIA Warp, on a processor.
# Guess: s = s * x, n times, has the gradient n * x^(n-1), whether n is written or an argument.
# Seen: where n is an argument, the values of s on the way are not kept: for x = 2, n = 5 the gradient
# is 682, not 80; the value is right, and nothing is said. With range(5) it is 80. A square
# written to where it was read has the gradient 18 at 3, not 6.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'warp-lang==1.19.0'
cat >"$work/seen.py" <<'PY'
import numpy as np
import warp as wp

wp.config.quiet = True
wp.set_device("cpu")


@wp.kernel
def given(a: wp.array(dtype=wp.float32), n: int, out: wp.array(dtype=wp.float32)):
    s = float(1.0)
    for _ in range(n):
        s = s * a[0]
    out[0] = s


@wp.kernel
def written(a: wp.array(dtype=wp.float32), n: int, out: wp.array(dtype=wp.float32)):
    s = float(1.0)
    for _ in range(5):
        s = s * a[0]
    out[0] = s


@wp.kernel
def in_place(a: wp.array(dtype=wp.float32)):
    a[0] = a[0] * a[0]


print("warp", wp.__version__)
for kernel, wanted in ((given, 682), (written, 80)):
    x = wp.array(np.array([2], np.float32), requires_grad=True)
    out = wp.zeros(1, dtype=wp.float32, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=1, inputs=[x, 5, out])
    out.grad.fill_(1)
    tape.backward()
    print(f"{kernel.key}: x^5 at 2 is {out.numpy()[0]}, its gradient {x.grad.numpy()[0]}")
    assert (out.numpy()[0], x.grad.numpy()[0]) == (32, wanted)
x = wp.array(np.array([3], np.float32), requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(in_place, dim=1, inputs=[x])
x.grad.fill_(1)
tape.backward()
print(f"in_place: x^2 at 3 is {x.numpy()[0]}, its gradient {x.grad.numpy()[0]}")
assert (x.numpy()[0], x.grad.numpy()[0]) == (9, 18)
PY
WARP_CACHE_PATH="$work/cache" "$work/venv/bin/python" "$work/seen.py"
