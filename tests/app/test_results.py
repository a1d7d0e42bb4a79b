"""Results of runs, whole and by parts, as a page gets them."""

from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient

from compiler.base.prim import INTS, int_range
from compiler.ir.values import from_bytes, parse, prim_of
from tests.app.conftest import MakeApp

MATRIX = "entry main (n: i64) (m: i64) = (tabulate_2d n m (\\i j -> i * m + j), 7u8)\n"


@pytest.fixture
def real(real_app: Flask) -> FlaskClient:
    return real_app.test_client()


def run(client: FlaskClient, source: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("/api/run", json={"source": source, **fields})
    assert answer.json is not None
    assert answer.json["ok"], answer.json
    return dict(answer.json)


def test_a_result_comes_whole_and_by_parts(real: FlaskClient) -> None:
    answer = run(real, MATRIX, input="300i64 200i64")
    assert "data" not in answer
    at = f"/api/results/{answer['kept']}"
    wanted = np.arange(300 * 200).reshape(300, 200)
    whole = real.get(f"{at}/0")
    assert whole.mimetype == "application/octet-stream"
    assert np.array_equal(from_bytes(whole.data)[0], wanted)
    assert from_bytes(real.get(f"{at}/1").data) == [np.uint8(7)]
    for part, cut in {
        "0:3,5:9": wanted[0:3, 5:9],
        "::100": wanted[::100],
        ":,190:": wanted[:, 190:],
        "299:1000,::50": wanted[299:, ::50],
        "300:301": wanted[300:],
    }.items():
        got = from_bytes(real.get(f"{at}/0?part={part}").data)[0]
        assert np.array_equal(got, cut), part
    for wrong in ("-1:3", "a", "1:2:0", "0:1,0:1,0:1", "1:2:3:4"):
        assert real.get(f"{at}/0?part={wrong}").status_code == 400, wrong
    assert real.get(f"{at}/2").status_code == 404
    assert real.get("/api/results/nobody/0").status_code == 404


def test_results_that_are_too_large_stay_where_they_are(make_app: MakeApp) -> None:
    app = make_app(RESULTS_MB=4)
    app.config["MANIFEST"] = None
    results = app.extensions["stridescope"].jobs.results
    assert results.most == 1 << 20
    first = results.take({"ok": True, "data": ["YWJj", None]})["kept"]
    assert results.part(first, 0, "") == b"abc"
    assert app.test_client().get(f"/api/results/{first}/1").status_code == 404
    assert results.take({"ok": True, "data": [None]}) == {"ok": True}


def test_a_run_can_be_repeated_and_says_what_compiling_took(real: FlaskClient) -> None:
    source = "entry main (n: i64) = i64.sum (iota n)\n"
    once = run(real, source, input="1000i64", runs=1)
    often = run(real, source, input="1000i64", runs=12)
    assert len(often["times"]) == 12
    assert often["ms"] == round(min(often["times"]), 3)
    assert once["compile_ms"] > often["compile_ms"] >= 0
    refused = real.post("/api/run", json={"source": source, "input": "1i64", "runs": 1000})
    assert "1 to 100" in (refused.json or {})["error"]["message"]


def test_a_link_does_not_keep_the_name_of_a_result(real: FlaskClient) -> None:
    asked = {"input": "2i64 3i64"}
    assert run(real, MATRIX, **asked)["kept"]
    link = real.post("/api/share", json={"source": MATRIX, "run": asked}).json
    assert link is not None
    state = real.get(f"/z/{link['id']}.json").json
    assert state is not None
    assert "kept" not in state["run"]["answer"]
    assert "[0i64, 1i64, 2i64]" in state["run"]["answer"]["output"]


def test_distributions_hold_what_they_say(real: FlaskClient) -> None:
    def made(prim: str, distribution: str) -> Any:
        source = f"entry main [n] (xs: [n]{prim}) = xs\n"
        fields = {"source": source, "sizes": {"n": 2000}, "distribution": distribution}
        answer = real.post("/api/generate", json=fields).json
        assert answer is not None
        (value,) = parse(answer["input"])
        assert prim_of(value) == prim
        return value

    for prim in ("i8", "u64", "f32", "f16", "i64"):
        ordered = made(prim, "sorted")
        assert (ordered[1:] >= ordered[:-1]).all()
        assert len(set(made(prim, "equal").tolist())) == 1
        borders = made(prim, "borders")
        if prim in INTS:
            low, high = int_range(prim)
            assert {low, high} <= set(borders.tolist())
        else:
            assert np.isnan(borders).any()
            assert np.isposinf(borders).any()
    normal = made("f32", "normal")
    assert abs(float(normal.mean())) < 0.1 < float(normal.std())
    assert (made("bool", "normal") == 0).any()
