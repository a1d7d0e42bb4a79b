#!/usr/bin/env bash
# Identities of floats that Halide and PyTensor simplify by, without any flag that asks for it.
# Guess: as C compilers without -ffast-math: x == x is false for NaN, x * 0 of an infinity and 0 / 0 are
# NaN, (x + 1e17) - 1e17 rounds.
# Seen: x == x is true for NaN in both, though both have a test that knows NaN; x * 0 is 0 for NaN and
# infinities, x / x is 1 for 0 and NaN, in PyTensor 0 / x is 0 for 0; the sum comes back unrounded. In
# Halide 0 - x is -0.0 for 0.0, and x / 3 is x * (1/3), one unit off for 5 and 7; with its target
# feature strict_float x == x and x / 3 are as guessed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'halide==21.0.0' 'pytensor==3.0.7'
cat >"$work/seen.py" <<'PY'
import halide as hl
import numpy as np
import pytensor
import pytensor.tensor as pt

print("halide 21.0.0, pytensor", pytensor.__version__)
special = np.array([0.0, np.inf, np.nan, 1.0], np.float32)
var = hl.Var("x")


def halide(make, values, strict=False):
    func, data = hl.Func(), hl.Buffer(values)
    func[var] = make(data[var])
    target = hl.get_jit_target_from_environment()
    if strict:
        target = target.with_feature(hl.TargetFeature.StrictFloat)
    return np.array(func.realize([len(values)], target))


def tensor(make, values):
    x = pt.vector("x", dtype="float64")
    with np.errstate(all="ignore"):
        return pytensor.function([x], make(x))(values.astype(np.float64))


def same(name, seen, wanted):
    print(f"{name}: {seen}")
    np.testing.assert_array_equal(seen, wanted)


f32 = hl.f32
same("Halide x == x", halide(lambda x: hl.u8(x == x), special), [1, 1, 1, 1])
same("Halide is_nan", halide(lambda x: hl.u8(hl.is_nan(x)), special), [0, 0, 1, 0])
same("Halide x * 0", halide(lambda x: x * f32(0), special), [0, 0, 0, 0])
same("Halide x / x", halide(lambda x: x / x, special), [1, 1, 1, 1])
same("Halide (x + 1e8) - 1e8", halide(lambda x: (x + f32(1e8)) - f32(1e8), special[3:]), [1])
negative = np.signbit(halide(lambda x: f32(0) - x, special[:1]))
same("Halide sign of 0 - 0.0", negative, [True])
sevens = np.array([7, 5, 1], np.float32)
thirds = halide(lambda x: x / f32(3), sevens)
same("Halide x / 3", thirds, sevens * np.float32(1 / 3))
assert (thirds != sevens / np.float32(3)).tolist() == [True, True, False]
same("Halide strict x == x", halide(lambda x: hl.u8(x == x), special, True), [1, 1, 0, 1])
same("Halide strict x / 3", halide(lambda x: x / f32(3), sevens, True), sevens / np.float32(3))
same("PyTensor x == x", tensor(lambda x: pt.eq(x, x), special), [True] * 4)
same("PyTensor isnan", tensor(pt.isnan, special), [False, False, True, False])
same("PyTensor x * 0", tensor(lambda x: x * 0, special), [0, 0, 0, 0])
same("PyTensor x / x", tensor(lambda x: x / x, special), [1, 1, 1, 1])
same("PyTensor 0 / x", tensor(lambda x: pt.zeros_like(x) / x, special), [0, 0, 0, 0])
same("PyTensor (x + 1e17) - 1e17", tensor(lambda x: (x + 1e17) - 1e17, special[3:]), [1])
PY
"$work/venv/bin/python" "$work/seen.py"
