"""The command that runs mutants: its log, and what it says of differences."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from bench import mutated as command
from bench.machine import ROOT
from testing.mutated import BATCH, Result


def test_a_log_is_gone_on_with_and_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def batches(numbers: list[int], *_: object) -> object:
        for number in numbers:
            asked.append(number)
            seeds = range(number * BATCH, (number + 1) * BATCH)
            made = [Result(seed, "a.fut", outcome="agrees") for seed in seeds]
            made[0] = Result(seeds[0], "a.fut", (), "difference", f"c: wrong {number}")
            yield number, made

    log = tmp_path / "log.jsonl"
    known = [{"says": "wrong 0", "why": "not ours"}]
    (tmp_path / "explained.json").write_text(json.dumps(known))
    monkeypatch.setattr(command, "batches", batches)
    monkeypatch.setattr(command, "EXPLAINED", tmp_path / "explained.json")
    for programs in (BATCH, 3 * BATCH):
        words = ["mutated", str(tmp_path), "--programs", str(programs), "--log", str(log)]
        monkeypatch.setattr(sys, "argv", words)
        command.main()
    assert asked == [0, 1, 2]
    said = capsys.readouterr().out
    assert "wrong 1" in said
    made = json.loads(said[said.rindex('{\n "seeds"') :])
    assert made["seeds"] == 3 * BATCH
    assert (made["differences"], made["not_explained"]) == (3, 2)
    assert made["explained"] == {"not ours": 1}


def test_every_explanation_is_read_and_says_where_it_stands() -> None:
    known = json.loads(command.EXPLAINED.read_text("utf-8"))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    language = (ROOT / "docs" / "language.md").read_text("utf-8")
    for one in known:
        re.compile(one["says"])
        assert one["why"]
        assert set(re.findall(r"docs/([\w.]+)", one["why"])) <= pages
    assert "Futhark 0.25 accepts only signed types" in language
    assert command.explained("c: it fails: Range -9223372036854775807...0 is invalid.", known)
    assert not command.explained("c: it fails: Range 1...0 is invalid.", known)
