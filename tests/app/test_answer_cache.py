"""The cache of answers is bounded in bytes, and so is every answer."""

import random
import string
import tracemalloc

from app.cache import AnswerCache, cache_key
from tests.app.conftest import SOURCE, MakeApp


def answer(size: int, seed: int) -> dict[str, object]:
    """An answer that does not compress."""
    letters = random.Random(seed).choices(string.ascii_letters + string.digits, k=size)
    return {"ok": True, "text": "".join(letters)}


def test_bytes_are_bounded_and_the_oldest_go_first() -> None:
    cache = AnswerCache(100_000)
    for number in range(40):
        cache.keep(str(number), [answer(10_000, number)])
        assert cache.get("0") is not None, "what is used stays"
        assert cache.bytes <= 100_000
    assert 8 <= len(cache) < 40
    assert cache.get("1") is None
    assert cache.get("39") == answer(10_000, 39)


def test_an_answer_that_is_replaced_is_counted_once() -> None:
    cache = AnswerCache(100_000)
    for seed in range(50):
        cache.keep("same", [answer(20_000, seed)])
    assert len(cache) == 1
    assert cache.bytes < 20_000
    assert cache.get("same") == answer(20_000, 49)


def test_an_answer_larger_than_the_cache_is_not_kept() -> None:
    cache = AnswerCache(10_000)
    cache.keep("small", [answer(1_000, 1)])
    cache.keep("large", [answer(50_000, 2)])
    assert cache.get("large") is None
    assert cache.bytes <= 10_000


def test_what_short_answers_take_beside_their_bytes_counts() -> None:
    """A million of them would else take many times what the cache may."""
    cache = AnswerCache(1_000_000)
    tracemalloc.start()
    try:
        for number in range(10_000):
            cache.keep(cache_key({"source": str(number)}), [{"ok": True}])
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 500_000 < taken < 1_300_000


def test_the_order_of_fields_does_not_matter() -> None:
    assert cache_key({"a": 1, "b": "x"}) == cache_key({"b": "x", "a": 1})
    assert cache_key({"a": 1}) != cache_key({"a": 2})


def test_an_answer_is_the_same_from_the_cache(make_app: MakeApp) -> None:
    client = make_app().test_client()
    first = client.post("/api/show", json={"source": SOURCE}).get_json()
    assert client.post("/api/show", json={"source": SOURCE}).get_json() == first
    text = client.get("/metrics").get_data(as_text=True)
    assert 'stridescope_jobs_total{op="show",outcome="ok"} 1.0' in text


def test_an_answer_that_is_too_long_is_not_taken(make_app: MakeApp) -> None:
    client = make_app(ANSWER_MB=1).test_client()
    response = client.post("/api/check", json={"source": "HUGE"})
    error = response.get_json()["error"]
    assert error["kind"] == "limitation"
    assert "1 MB" in error["message"]
    assert client.post("/api/check", json={"source": SOURCE}).get_json()["ok"]
