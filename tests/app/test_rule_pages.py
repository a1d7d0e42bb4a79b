"""Each rule on a page of its own, which reads without JavaScript."""

import json

from flask import Flask
from markupsafe import Markup

from compiler.driver import switches


def test_rules_are_listed_and_shown_at_work(real_app: Flask) -> None:
    client = real_app.test_client()
    listed = client.get("/rules/").text
    assert all(f'href="/rules/{name}"' in listed for name in switches.IDS)
    assert all(f'id="{name}"' in listed for name in switches.IDS)
    for name, said in {
        "fuse/map-map": "were run by the reference interpreter on [1, 2, 3]; each gave",
        "memory/row": "Before: Flattened",
        "kernels/rows": "Kernels, without it",
        "laws/inverse": "Types, with it",
        "simplify": "simplify/loop-unroll",
        "parse": "After: Syntax",
        "shortcircuit/budget": "steps of proofs for a program 2 instead of 100,000",
    }.items():
        shown = client.get(f"/rules/{name}")
        assert shown.status_code == 200, name
        body = shown.text.partition("<main")[2]
        assert "<script" not in body
        assert said in " ".join(Markup(body).striptags().split()), name
    opened = client.get("/rules/laws/inverse/program").text
    carried = opened.partition('data-program="')[2].partition('"')[0]
    program = json.loads(carried.replace("&#34;", '"'))
    assert program == {"source": "main (xs : n Of m) = transpose (transpose xs)", "main": "main.fp"}
    for path in ("fuse/none", "%3Cb%3E", "none/program", "simplify/program"):
        answer = client.get(f"/rules/{path}")
        assert answer.status_code == 404
        assert "<b>" not in answer.text
