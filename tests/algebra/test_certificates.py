"""Certificates as files: written by the compiler, read by the checker, spoilt on the way."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.algebra import checker
from compiler.algebra.disjoint import Disjoint
from compiler.algebra.encode import document
from compiler.driver import worker
from testing import meaning
from testing.claims import genuine
from tests.algebra.test_disjoint import DATA, decide

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]


def known() -> Iterator[Json]:
    """A claim for each kind of step, and those of wavefront and LU programs."""
    yield from genuine().values()
    for group in DATA:
        for pair in group["pairs"]:
            if pair["verdict"] == "disjoint":
                verdict, _ = decide(group["assumptions"], pair["a"], pair["b"])
                assert isinstance(verdict, Disjoint)
                yield verdict.theorem(f"{group['name']}: {pair['name']}")


FILES = [json.dumps(document([claim])).encode() for claim in known()]


def spoilt(file: bytes, rng: random.Random) -> bytes:
    """The file with a bit turned, a number changed, or two of its tokens exchanged."""
    text = bytearray(file)
    kind = rng.randrange(3)
    if kind == 0:
        text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
        return bytes(text)
    tokens = list(re.finditer(rb'-?\d+|"[^"]*"|true|false', file))
    one = rng.choice([t for t in tokens if t.group()[:1] in b"-0123456789"])
    new = str(int(one.group()) + rng.choice([-2, -1, 1, 2, 10**20])).encode()
    if kind == 2:
        new = rng.choice(tokens).group()
    text[one.start() : one.end()] = new
    return bytes(text)


def test_no_spoilt_file_is_accepted() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        file = rng.choice(FILES)
        changed = spoilt(file, rng)
        if changed == file:
            continue
        with pytest.raises(checker.Refused):
            list(checker.verify(checker.read(changed)))


def test_what_a_spoilt_claim_still_shows_is_true() -> None:
    """With the seal made anew: another claim may be shown by the same proof, none that is false."""
    rng = random.Random(6)
    shown = 0
    for _ in range(4000):
        try:
            data: Any = checker.read(spoilt(rng.choice(FILES), rng))
        except checker.Refused:
            continue
        if type(data) is not dict or "claims" not in data:
            continue
        try:
            sealed = {**data, "sha256": checker.digest(data["claims"])}
            list(checker.verify(sealed))
        except checker.Refused:
            continue
        for claim in sealed["claims"]:
            if claim["claim"] != "disjoint":
                continue
            shown += 1
            assert not meets(claim), claim
    assert shown > 50


def meets(claim: Json) -> bool:
    """Whether the claim is false for small values, by counting cells."""
    names = meaning.names(claim)
    grid = range(-1, 4) if len(names) < 4 else range(1, 4) if len(names) < 7 else range(1, 3)
    points = (dict(zip(names, p, strict=True)) for p in product(grid, repeat=len(names)))
    return any(meaning.refutes(claim, point) for point in points)


def test_claims_that_are_false_are_found_by_counting() -> None:
    claim = genuine()["tidy"]
    assert not meets(claim)
    claim["b"]["offset"] = []
    assert meets(claim)


PROBLEM = {
    "assumptions": {"nonnegative": ["k"], "equalities": ["n = k + 1"]},
    "a": "0 + {(n : 2)}",
    "b": "2*k + 1 + {(m : 1)}",
}


def test_prove_writes_what_verify_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem, file = tmp_path / "problem.json", tmp_path / "certificate.json"
    problem.write_text(json.dumps(PROBLEM))
    assert main(["prove", str(problem), "--certificate", str(file)]) == 0
    capsys.readouterr()
    assert main(["verify", str(file)]) == 0
    sentence, number = capsys.readouterr().out.splitlines()
    assert sentence == "0 + {(n : 2)} and 2*k + 1 + {(m : 1)} share no cell if n = k + 1"
    assert number == "1 claim shown."
    assert main(["verify", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "claims": [sentence]}
    file.write_text(file.read_text().replace('[[2, "k"], [1]]', '[[2, "k"]]'))
    assert main(["verify", str(file)]) == 1
    assert "not those that the file was written with" in capsys.readouterr().err


def test_what_is_not_proved_has_a_file_without_claims(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem, file = tmp_path / "problem.json", tmp_path / "certificate.json"
    problem.write_text(json.dumps({**PROBLEM, "b": "0"}))
    assert main(["prove", str(problem), "--certificate", str(file)]) == 0
    assert main(["verify", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 claims shown."


@pytest.mark.parametrize("command", ["show", "attempts"])
def test_a_compilation_writes_all_that_it_rests_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    program = ROOT / "app" / "examples" / "blocked_wavefront.fut"
    file = tmp_path / "certificate.json"
    assert main([command, str(program), "--certificate", str(file)]) == 0
    capsys.readouterr()
    assert main(["verify", str(file)]) == 0
    *sentences, number = capsys.readouterr().out.splitlines()
    answer = worker.answer({"op": "attempts", "path": str(program)})
    proved = sum(len(a["obligations"]) for a in answer["attempts"] if a["done"])
    assert number == f"{len(sentences)} claims shown."
    assert sum(" share no cell" in sentence for sentence in sentences) == proved > 20
    assert all(re.match(r"(\d+:\d+ \S+|[a-z]+): ", sentence) for sentence in sentences)
    checks = [sentence for sentence in sentences if re.match(r"\d+:\d+ check: ", sentence)]
    others = [sentence for sentence in sentences if re.match(r"[a-z]+: ", sentence)]
    assert len(checks) + len(others) == len(sentences) - proved
    assert min(len(checks), len(others)) > 5


def test_each_check_that_is_gone_has_its_claims() -> None:
    program = "entry main [n] (xs: [n]i32): i32 = loop s = 0 for i < n - 1 do s + xs[i + 1]"
    answer = worker.answer({"op": "certificate", "source": program})
    sentence, *_ = checker.verify(answer["certificate"])
    assert sentence.startswith("1:68 check: 0 <= i + 1 < n; ")
    claims = re.sub(r"_\d+", "", sentence).split(": ", 2)[2]
    assert claims.startswith("i + 1 >= 0, -i + n - 2 >= 0 if ")
    kept = program.replace("n - 1 do", "n do")
    answer = worker.answer({"op": "certificate", "source": kept})
    for sentence in checker.verify(answer["certificate"]):
        assert "0 <= i + 1 < n" not in sentence


def test_the_worker_gives_certificates() -> None:
    answer = worker.answer({"op": "prove", "certificate": True, **PROBLEM})
    assert len(list(checker.verify(answer["certificate"]))) == 1
    assert "certificate" not in worker.answer({"op": "prove", **PROBLEM})
    assert not worker.answer({"op": "prove", "certificate": 1, **PROBLEM})["ok"]
    program = "entry main [n] (xs: *[n]i32): *[n]i32 = map (+ 1) xs"
    answer = worker.answer({"op": "certificate", "source": program})
    assert len(list(checker.verify(answer["certificate"]))) == 2


@pytest.mark.parametrize("path", ["missing/x.json", "."])
def test_a_certificate_that_cannot_be_written_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    problem = tmp_path / "problem.json"
    problem.write_text(json.dumps(PROBLEM))
    assert main(["prove", str(problem), "--certificate", str(tmp_path / path)]) == 2
    assert "Cannot write" in capsys.readouterr().err


WHOLE = json.dumps(document([genuine()["tidy"]])).encode()


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{}", b"\xff", b"[" * 100_000, b'{"format": 1}', WHOLE[:-1], WHOLE[: len(WHOLE) // 2],
        WHOLE + WHOLE, WHOLE.replace(b"tidy", b"ti\xffdy"), WHOLE.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + WHOLE, WHOLE.replace(b"tidy", b"\\ud800"), WHOLE.replace(b"1", b"NaN"),
        WHOLE.replace(b'"given": []', b'"given": ' + b"[" * 50_000 + b"]" * 50_000),
        WHOLE.replace(b"1", b"9" * 100_000),
    ],
    ids=range(15),
)  # fmt: skip
def test_what_is_no_certificate_is_refused_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: bytes
) -> None:
    file = tmp_path / "certificate.json"
    file.write_bytes(text)
    assert main(["verify", str(file)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(str(file))
    assert "Traceback" not in said
    assert "defect" not in said
    assert checker.main([str(file)]) == 1


def test_the_document_has_every_step_and_field() -> None:
    text = (ROOT / "docs" / "certificates.md").read_text()
    for step, fields in checker._STEPS.items():
        assert f"| `{step}` |" in text, step
        assert all(f"`{field}`" in text for field in fields.split()), step
    for rule in checker.RULES:
        assert f"| `{rule}`" in text, rule
    for kind, (fields, _) in checker.GIVEN.items():
        assert f'"given": "{kind}"' in text or f"- `{kind}`" in text, kind
        assert all(f'"{field}"' in text for field in fields.split()), kind
    for limit in ("BYTES", "BITS", "DEGREE", "DEPTH", "WORK", "STATES"):
        assert f"{getattr(checker, limit):,}" in text, limit
    assert f'"format": "{checker.FORMAT}", "version": {checker.VERSION}' in text


@pytest.mark.parametrize(
    "verify", [lambda file: main(["verify", file]), lambda f: checker.main([f])]
)
def test_of_a_file_that_is_too_long_no_more_is_read_than_may_be(
    verify: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify("/dev/zero") == 1
    assert "more than 16777216 bytes" in capsys.readouterr().err


def test_a_file_of_an_earlier_version_is_refused_with_the_way_to_make_it_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its claims did not say in which type a program computes, and were false: n = k = 2^32."""
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps({**document([]), "version": 2}))
    assert main(["verify", str(file)]) == 1
    said = capsys.readouterr().err
    assert "version 2 of the format, not 3: make the file anew by `--certificate`" in said


@pytest.mark.parametrize(
    "part",
    [
        {"equal": [[f"x{k}", [[1, f"y{k}"]]] for k in range(20_000)]},
        {"equal": [["x", [[1, f"y{k}"] for k in range(3000)]]], "nonnegative": [[[1, *["x"] * 9]]]},
        {"nonnegative": [[[1, f"y{k}"] for k in range(1500)]], "lines": [
            {"claim": [], "scale": 1, "terms": [[1, [[[1, f"y{k}"] for k in range(1500)]] * 2]]}]},
    ],
    ids=["equalities", "powers", "products"],
)  # fmt: skip
def test_work_without_end_is_refused(part: Json) -> None:
    with pytest.raises(checker.Refused, match="too large, or too many"):
        checker.Theorem({**genuine()["tidy"], **part}).check()
