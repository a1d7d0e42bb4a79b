"""What the rules of a program's remarks do, and how often: as many as there are remarks."""

from collections import Counter
from pathlib import Path

import pytest

from compiler.driver import api, switches
from compiler.protocol.programs import RulesRequest, ShowRequest

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_rule_counts_its_remarks(path: Path) -> None:
    source = path.read_text("utf-8")
    rules = api.rules(RulesRequest(source))["rules"]
    shown = Counter((r["rule"], r["kind"]) for r in api.show(ShowRequest(source))["remarks"])
    told = {"applied": "applied", "missed": "missed", "notes": "note"}
    counted = {(r["id"], kind): r[field] for r in rules for field, kind in told.items()}
    assert {key: count for key, count in counted.items() if count} == shown
    assert all(r["optional"] == (r["id"] in switches.RULES) for r in rules)
    assert all(r["does"].endswith(".") for r in rules)


def test_a_rule_that_is_switched_off_has_no_uses() -> None:
    source = "entry main [n] (xs: [n]i32) = reduce (+) 0 (map (+ 1) xs)"
    assert "fuse" in {r["id"].partition("/")[0] for r in api.rules(RulesRequest(source))["rules"]}
    off = api.rules(RulesRequest(source, {"disable": ["fuse"]}))["rules"]
    assert "fuse" not in {r["id"].partition("/")[0] for r in off}
