#!/usr/bin/env bash
# An array of JAX that NumPy takes over by DLPack, and its way back.
# Guess: what NumPy has taken from JAX without a copy, JAX takes back.
# Seen: NumPy marks it as read-only, and refuses to give a read-only array to JAX, which asks for
# DLPack as it was before 1.0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'jax[cpu]==0.10.2'
"$work/venv/bin/python" - <<'PY'
import jax
import jax.numpy as jnp
import numpy as np

print("jax", jax.__version__, "numpy", np.__version__)
taken = np.from_dlpack(jnp.arange(6.0))
print("NumPy's array is writeable:", taken.flags.writeable)
assert not taken.flags.writeable
try:
    jax.dlpack.from_dlpack(taken)
except BufferError as error:
    print("back to JAX ->", error)
    assert "readonly" in str(error)
else:
    raise AssertionError("it goes back")
print("with a copy of its own ->", jax.dlpack.from_dlpack(taken.copy()))
PY
