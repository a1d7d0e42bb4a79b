"""Export certificates to other provers: SMT-LIB 2 and Lean 4.

A certificate is a tree of steps over inequalities (and equations of constants). Each leaf is
written as a question or theorem of its own, from the facts of its sum, or from a premise and the
side conditions of its rule; the steps between them are the checker's and are not written. The claim
itself, without its proof, is a question for a counterexample.
"""

from __future__ import annotations

from compiler.algebra.bitvectors import counterexample
from compiler.algebra.checker import Theorem, theorems
from compiler.algebra.formulas import on_one_line
from compiler.algebra.lean import lean
from compiler.algebra.smtlib import smtlib

FORMATS = ("smtlib", "claims", "lean")
_HEADS = {
    "smtlib": """\
; What the proofs of {claims} come down to: every answer must be unsat.
(set-logic QF_NIA)
""",
    "claims": """\
; Counterexamples to {claims}, which need not have been shown: no answer may be sat.
(set-logic QF_BV)
""",
    "lean": """\
-- What the proofs of {claims} come down to. Needs Lean 4.22 or later, and no library.

private theorem unscaled {{s c : Int}} (hs : 0 < s) (h : 0 ≤ s * c) : 0 ≤ c :=
  Int.not_lt.mp fun hc => absurd h (Int.not_le.mpr (Int.mul_neg_of_pos_of_neg hs hc))

private theorem rounded {{s c k : Int}} (hs : 0 < s) (hk : k < s) (h : 0 ≤ s * c + k) : 0 ≤ c := by
  apply Int.not_lt.mp
  intro hc
  have below : s * c ≤ s * (-1) := Int.mul_le_mul_of_nonneg_left (by omega) (Int.le_of_lt hs)
  omega
""",
}


def exported(certificate: object, to: str) -> str:
    """Return all claims of a certificate in one of the formats. Raises `checker.Refused`.

    Checks the proofs first, except in the format `claims`.
    """
    ask = _nothing if to == "claims" else Theorem.check
    parts: list[str] = []
    number = 0
    for number, theorem in enumerate(theorems(certificate, ask), 1):
        comment = "--" if to == "lean" else ";"
        parts.append(f"{comment} Claim {number}: {on_one_line(str(theorem))}\n")
        match to:
            case "smtlib":
                parts += smtlib(theorem)
            case "claims":
                parts.append(counterexample(theorem, f"claim {number}"))
            case "lean":
                parts += lean(theorem, number)
    head = _HEADS[to].format(claims=f"{number} claim{'s' * (number != 1)}")
    return "\n".join([head, *parts])


def _nothing(theorem: Theorem) -> None:
    """Ask nothing."""
