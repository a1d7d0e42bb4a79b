#!/usr/bin/env bash
# Integers divided by 0 in JAX on a CPU.
# Guess: the quotient is -1 or 0, and quotient times divisor plus remainder is the dividend.
# Seen: 5 // 0 and -5 // 0 are -2, 0 // 0 is -1, and all remainders 0, while lax.div and lax.rem,
# which they are made of, give -1 and the dividend.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'jax[cpu]==0.10.2'
"$work/venv/bin/python" - <<'PY'
import jax
import jax.numpy as jnp

print("jax", jax.__version__, jax.default_backend())
zero = jnp.int32(0)
found = {}
for x in (5, -5, 0):
    a = jnp.int32(x)
    made = (a // zero, a % zero, jax.lax.div(a, zero), jax.lax.rem(a, zero))
    found[x] = tuple(map(int, made))
    print(f"{x} // 0, {x} % 0, lax.div, lax.rem ->", found[x])
assert found == {5: (-2, 0, -1, 5), -5: (-2, 0, -1, -5), 0: (-1, 0, -1, 0)}
PY
