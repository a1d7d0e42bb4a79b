#!/usr/bin/env bash
# `/` and `%` of signed bit vectors in Z3's Python.
# Guess: they belong together: `a == a / b * b + a % b`, both rounding to 0 or both rounding down.
# Seen: `/` rounds to 0 (bvsdiv) and `%` has the sign of the divisor (bvsmod): of -7 and 3 they
# are -2 and 2. SRem is the remainder of `/`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'z3-solver==5.4.1.0'
"$work/venv/bin/python" - <<'PY'
import z3

print("Z3", z3.get_version_string())
a, b = z3.BitVecVal(-7, 8), z3.BitVecVal(3, 8)
quotient, modulo, rest = (
    z3.simplify(one).as_signed_long() for one in (a / b, a % b, z3.SRem(a, b))
)
print("-7 / 3, -7 % 3, SRem(-7, 3) ->", quotient, modulo, rest)
assert (quotient, modulo, rest) == (-2, 2, -1)
x, y = z3.BitVecs("x y", 8)
for name, of in (("%", x % y), ("SRem", z3.SRem(x, y))):
    solver = z3.Solver()
    solver.add(y != 0, x != x / y * y + of)
    print(f"x != x / y * y + {name}:", solver.check())
    assert solver.check() == (z3.sat if name == "%" else z3.unsat)
PY
