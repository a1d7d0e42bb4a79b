#!/usr/bin/env bash
# Integers to negative powers in Taichi.
# Guess: 2**-3 of integers is refused, 0, or 0.125; the same whether the exponent is written or given.
# Seen: a written exponent is refused; one that is an argument is taken without its sign: 2**-3 is 8,
# 10**-1 is 10. Of floats 2.0**-3 is 0.125.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'numpy==2.4.6' 'taichi==1.7.4'
cat >"$work/seen.py" <<'PY'
import taichi as ti

ti.init(arch=ti.cpu, log_level=ti.CRITICAL)


@ti.kernel
def given(base: ti.i32, power: ti.i32) -> ti.i32:
    return base**power


@ti.kernel
def given64(base: ti.i64, power: ti.i64) -> ti.i64:
    return base**power


@ti.kernel
def floats(base: ti.f32, power: ti.i32) -> ti.f32:
    return base**power


@ti.kernel
def written(base: ti.i32) -> ti.i32:
    return base**-3


for name, seen, wanted in (
    ("i32 2**-3", given(2, -3), 8),
    ("i32 10**-1", given(10, -1), 10),
    ("i32 (-2)**-3", given(-2, -3), -8),
    ("i64 2**-3", given64(2, -3), 8),
    ("f32 2**-3", floats(2.0, -3), 0.125),
):
    print(f"{name}: {seen}")
    assert seen == wanted
try:
    written(2)
except RuntimeError as error:
    print("written 2**-3:", str(error).splitlines()[-1])
else:
    raise AssertionError("a written exponent is not refused")
PY
"$work/venv/bin/python" "$work/seen.py"
