"""Each kind of rewrite that rests on a proof: its certificate is in the file, and no lie makes one.

`docs/certificates.md` lists the kinds.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compiler.algebra import checker, encode
from compiler.algebra.certificate import Numbers, Sum
from compiler.algebra.disjoint import _Search
from compiler.algebra.inequality import Prover
from compiler.analysis.facts import IntegerFacts
from compiler.analysis.ranges import Ranges
from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver import explanations
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Alloc, Assert, Copy, If, Prog, Update
from compiler.ir.walk import all_stms
from compiler.protocol.proofs import CertificateRequest
from compiler.storage.short_circuit.assumptions import forget

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "app" / "examples"


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.fut").read_text("utf-8")


KINDS = {
    "an index": (
        r"entry main [n] (xs: [n]i32): [n]i32 = map (\i -> xs[i] + 1) (iota n)",
        r"check: 0 <= i < n",
    ),
    "a slice": (
        "entry main [n] (xs: [n]i32) (b: i64): i32 = "
        "if b >= 0 && b <= n then i32.sum xs[0:b] else 0",
        r"check: .*b <= n",
    ),
    "an assertion": (
        "entry main (n: i64) (m: i64): i64 = let a = assert (n < m) n in assert (n <= m) (a + 1)",
        r"check: n <= m",
    ),
    "a division": (
        r"entry main [n] (xs: [n]i32): [n]i64 = map (\i -> i / n) (iota n)",
        r"check: n != 0",
    ),
    "a size": (
        "entry main [n] (xs: [n]i32): []i64 = if n > 3 then iota (n - 3) else []",
        r"soa: n - 3 is the size of an array",
    ),
    "a branch": (
        "entry main [n] (xs: [n]i32): i32 = if n < 0 then 1 else i32.sum xs",
        r"simplified: n >= 0",
    ),
    "a minimum": (
        r"entry main [n] (xs: [n]i64): i64 = i64.sum (map (\i -> i64.min i n) (indices xs))",
        r"simplified: i <= n",
    ),
    "a quotient": (
        r"entry main [n] (xs: [n]i32): [n]i64 = map (\i -> (i + n * 3) / n) (iota n)",
        r"simplified: i \+ 3\*n = \(3\) \* \(n\) \+ i",
    ),
    "what moves out of a loop": (example("lu_step"), r"simplified: -b \+ n >= 1"),
    "a polynomial in place of an expression": (
        example("lu_step"),
        r"shortcircuit: b \+ i does not wrap",
    ),
    "an array that is built in its place": (example("lu_step"), r"^\d+:\d+ update: "),
    "an inequality of it": (example("blocked_wavefront"), r"^shortcircuit: .* >= 0"),
    "a division that moves up": (
        """entry main [n] [m] (k: i64) (xs: *[m]i32) (ys: [n]i32): *[m]i32 =
  let new = scan (+) 0 ys
  let at = k / (n + 2)
  in xs with [at:at + n] = new
""",
        r"shortcircuit: n \+ 1 >= 0",
    ),
    "a guard of cells that are apart": (example("blocked_wavefront"), r"guard: dimension 1"),
    "a block for two arrays": (
        """entry main [n] (xs: [n]i32): i32 =
  let a = scan (+) 0 xs
  let b = scan (+) (i32.sum a) (map (+ 1) xs[1:])
  in b[0] + i32.sum b
""",
        r"merged: n >= n - 1",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_its_certificate_is_in_the_file(kind: str) -> None:
    source, about = KINDS[kind]
    certificate = explanations.certificate(CertificateRequest(source))["certificate"]
    assert any(re.search(about, claim["about"]) for claim in certificate["claims"]), kind
    assert len(list(checker.verify(certificate))) == len(certificate["claims"])


def work_of(source: str) -> Counter[str]:
    """What is left to do: checks, copies, allocations, operators by the stage that decides."""
    forget()
    work = Compilation(source, Options())
    found: Counter[str] = Counter()
    for stage in ("soa", "flat", "shortcircuit", "merged"):
        prog: Prog = work.result(stage).prog
        for fun in prog.funs:
            for stm in all_stms(fun.body.stms):
                for kind in (Assert, Copy, If, Update, Alloc):
                    found[f"{kind.__name__} in {stage}"] += isinstance(stm.exp, kind)
        text = plain(work.result(stage).text)
        found.update({f"{op} in {stage}": text.count(op) for op in ("min(", " / ")})
    return found


UNPROVED = {
    "a division that moves up": """
entry main [n] [m] (k: i64) (d: i64) (xs: *[m]i32) (ys: [n]i32): *[m]i32 =
  if d != 0 then
    let new = scan (+) 0 ys
    let at = k / d
    in xs with [at:at + n] = new
  else xs
""",
    "a minimum": (
        "entry main [n] (k: i64) (xs: [n]i64): i64 = "
        r"i64.sum (map (\i -> i64.min i k) (indices xs))"
    ),
    "a quotient": (
        r"entry main [n] (k: i64) (xs: [n]i32): [n]i64 = map (\i -> (i + k * 3) / k) (iota n)"
    ),
    # False for s = 1000 only, where no small values refute it.
    "a guard of cells that are apart": """entry main [n] [k] (xs: *[n]i32) (s: i64) (v: [k][2]i32) =
  if s >= 0 && s <= 2000 then lmad_update_2d xs 0 ((s - 1000) * (s - 1000) + 1, 1) v else xs
""",
    "a block for two arrays": """entry main [n] (xs: [n]i32): i32 =
  let a = scan (+) 0 xs
  let b = scan (+) 1 (map i32.i64 (iota (i64.i32 a[0])))
  in b[0] + i32.sum b
""",
    "an index": r"entry main [n] (xs: [n]i32) (k: i64): [n]i32 = map (\i -> xs[i + k]) (iota n)",
    "a slice": "entry main [n] (xs: [n]i32) (b: i64): i32 = i32.sum xs[0:b]",
    "an assertion": "entry main (n: i64) (m: i64): i64 = assert (n <= m) (n + 1)",
    "a division": r"entry main (n: i64) (k: i64): [n]i64 = map (\i -> i / k) (iota n)",
    "a size": "entry main [n] (xs: [n]i32): i64 = i64.sum (iota (n - 3)) + i64.i32 (i32.sum xs)",
    "a branch": "entry main [n] (k: i64) (xs: [n]i32): i32 = if k < 0 then 1 else i32.sum xs",
    "what moves out of a loop": (
        "entry main (k: i64) (xs: []i32): i32 = loop s = 0 for i < k do s + xs[k]"
    ),
    "an array that is built in its place": """entry main [n] (xs: *[n]i32) (k: i64): [n]i32 =
  let part = map (\\x -> x + xs[0]) xs[0:k]
  in xs with [1:k + 1] = part
""".replace("\\\\", "\\"),
}


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prover that claims everything: what it could prove it still proves."""
    search, sums, cells = Ranges.non_negative, Prover.nonnegative, _Search.solve

    def inequality(self: Ranges, *args: Any, **more: Any) -> bool:
        return search(self, *args, **more) or True

    def total(self: Prover, claim: Any) -> Sum:
        return sums(self, claim) or Sum(claim, 1, ((1, (claim,)),))

    def apart(self: Any, *args: Any) -> Any:
        return cells(self, *args) or Numbers()

    monkeypatch.setattr(Ranges, "non_negative", inequality)
    monkeypatch.setattr(Prover, "nonnegative", total)
    monkeypatch.setattr(_Search, "solve", apart)


PROGRAMS = {kind: source for kind, (source, _) in KINDS.items()}
PROGRAMS |= {f"{kind}, unproved": source for kind, source in UNPROVED.items()}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_prover_that_claims_everything_saves_nothing(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """No check, copy, branch or block less: the checker refuses what is not shown."""
    before = work_of(PROGRAMS[kind])
    request.getfixturevalue("liar")
    after = work_of(PROGRAMS[kind])
    forget()
    assert not less(before, after)


@pytest.mark.parametrize("kind", UNPROVED)
def test_without_the_checker_it_would(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = work_of(UNPROVED[kind])
    request.getfixturevalue("liar")
    trusting(monkeypatch)
    after = work_of(UNPROVED[kind])
    forget()
    assert less(before, after)


def less(before: Counter[str], after: Counter[str]) -> dict[str, tuple[int, int]]:
    """Of what there was to do, what is no longer."""
    return {name: (before[name], after[name]) for name in before if after[name] < before[name]}


def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that believes its provers."""
    monkeypatch.setattr(IntegerFacts, "_accepted", lambda *_: True)
    monkeypatch.setattr(encode, "refusal", lambda *_: "")


@pytest.mark.parametrize("name", ["lu_step", "heat_by_parts", "blocked_wavefront"])
def test_a_changed_rule_is_refused(name: str) -> None:
    """Of each line that is no sum, in each claim of an example; one other rule, by chance."""
    rng = random.Random(name)
    certificate = explanations.certificate(CertificateRequest(example(name)))["certificate"]
    changed = 0
    for claim in certificate["claims"]:
        for line in claim["lines"]:
            if "rule" in line:
                rule, changed = line["rule"], changed + 1
                line["rule"] = rng.choice([one for one in checker.RULES if one != rule])
                with pytest.raises(checker.Refused):
                    checker.Theorem(claim).check()
                line["rule"] = rule
    assert changed > 20
