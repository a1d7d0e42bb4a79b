"""Results of runs, whole and by parts, as a page gets them."""

import math
import struct
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.errors import AppError
from app.results import Results, SpooledResults
from app.sheets import OpenFile
from compiler.base.prim import INTS, int_range
from compiler.ir.values import from_bytes, parse, prim_of, to_binary
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
    first = results.name()
    assert results.take(first, {"ok": True, "data": spooled(results, b"abc", None)}) == {"ok": True}
    assert b"".join(results.part(first, 0, "").chunks) == b"abc"
    assert app.test_client().get(f"/api/results/{first}/1").status_code == 404
    for k in range(8):
        results.take(f"other {k}", {"ok": True, "data": spooled(results, bytes(1 << 20))})
    assert app.test_client().get(f"/api/results/{first}/0").status_code == 404
    assert len(list(Path(results.folder).iterdir())) == 3, "they go with what is evicted"


def spooled(results: Results, *data: bytes | None) -> SpooledResults:
    """Results in a file, as a worker's answer brings them."""
    found = SpooledResults(results.folder, [None if one is None else len(one) for one in data])
    for one in data:
        found.write(one or b"")
    found.end()
    return found


def test_bytes_that_are_no_array_have_no_part(make_app: MakeApp) -> None:
    """Whatever a worker gives as a result: the sizes in it are not believed."""
    results = make_app().extensions["stridescope"].jobs.results
    array = to_binary([np.arange(6, dtype=np.int64).reshape(2, 3)])
    huge = array[:3] + b"\x02" + array[4:7] + struct.pack("<2Q", 1 << 63, 0)
    for wrong in (b"", b"b", array[:20], array[:-1], array[:7] + bytes(16) + array[23:], huge):
        results.take("x", {"ok": True, "data": spooled(results, wrong)})
        assert b"".join(results.part("x", 0, "").chunks) == wrong
        with pytest.raises(AppError):
            b"".join(results.part("x", 0, "0:1").chunks)


def test_a_full_disk_costs_the_results_and_not_the_answer(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = make_app().extensions["stridescope"].jobs.results
    monkeypatch.setattr(OpenFile, "write", Mock(side_effect=OSError("no space left")))
    answer = {"ok": True, "data": spooled(results, b"abc")}
    assert results.take("x", answer) == {"ok": True}
    with pytest.raises(AppError, match="no longer stored"):
        results.part("x", 0, "")


@pytest.mark.parametrize("shape", [(700_000,), (3, 1000, 70), (2, 1, 90_000), (5, 0, 3), ()])
def test_every_part_is_what_numpy_cuts(make_app: MakeApp, shape: tuple[int, ...]) -> None:
    """Also where a part is read in several pieces."""
    results = make_app().extensions["stridescope"].jobs.results
    array = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    results.take("x", {"ok": True, "data": spooled(results, b"before", to_binary([array]))})
    random = Random(1)
    for _ in range(30 if shape else 1):
        cuts = [
            (random.randrange(n + 2), random.randrange(n + 2), random.choice((1, 2, 7, n + 1)))
            for n in shape
        ][: random.randint(1, 3)]
        asked = ",".join(":".join(map(str, cut)) for cut in cuts)
        part = results.part("x", 1, asked)
        data = b"".join(part.chunks)
        assert len(data) == part.length
        wanted = array[tuple(slice(*cut) for cut in cuts)]
        assert np.array_equal(from_bytes(data)[0], wanted), asked
        assert from_bytes(data)[0].shape == wanted.shape


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
