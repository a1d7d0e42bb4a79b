#!/usr/bin/env bash
# Numbers below the normal ones on JAX's CPU back end.
# Guess: they count as in NumPy, at least in f64, and what sorts and compares them agrees with
# that.
# Seen: f32 and f64 below the normal ones are equal to 0 and stay where they are when sorted,
# products with 1 are 0; nextafter gives them all the same, and f16 keeps them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'jax[cpu]==0.10.2'
"$work/venv/bin/python" - <<'PY'
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
print("jax", jax.__version__, jax.default_backend(), "numpy", np.__version__)
for dtype, small in ((jnp.float32, 1e-40), (jnp.float64, 1e-310)):
    x = jnp.asarray(small, dtype)
    print(dtype.__name__, "x =", np.asarray(x), " x == 0:", x == 0, " x * 1:", x * 1)
    assert np.asarray(x) != 0
    assert bool(x == 0)
    assert float(x * 1) == 0.0
mixed = np.array([1e-40, -1e-40, 0, 5e-41], np.float32)
found = np.asarray(jnp.sort(jnp.asarray(mixed)))
print("sort:", found, "NumPy:", np.sort(mixed))
assert found.tobytes() == mixed.tobytes()
assert np.sort(mixed).tobytes() != mixed.tobytes()
next_up = jnp.nextafter(jnp.float32(0), jnp.float32(1))
print("nextafter(0, 1):", np.asarray(next_up), " times 1:", next_up * 1)
assert np.asarray(next_up) == np.nextafter(np.float32(0), np.float32(1))
assert float(next_up * 1) == 0.0
half = jnp.asarray(6e-8, jnp.float16)
print("float16 x =", np.asarray(half), " x == 0:", half == 0)
assert not bool(half == 0)
PY
