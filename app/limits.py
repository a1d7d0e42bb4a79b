"""Rate limits: for each purpose a bucket per page, and a larger one per address.

Whoever asks without a token shares the bucket of the tokenless at that address. Tokens cost
nothing, so that the address's bucket is the one that holds against ill will; the page's keeps
one page from using up what its neighbours behind the same address have.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from flask import request
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.clients import address_key, client_key, is_local
from app.errors import AppError

WORDS = {
    "check": "checks",
    "show": "compilations",
    "ask": "questions",
    "run": "runs",
    "share": "new links",
    "read": "links",
    "teach": "new lectures",
    "join": "codes of lectures",
    "follow": "looks at lectures",
}
"""The purposes: those that operations name as their `limit`, two of permalinks, three of lectures.

The requests of a batch count one by one, each for its own purpose.
"""


class RateLimits:
    """The buckets of one application."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._on = bool(config["RATELIMIT"])
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._rates = {name: parse(config[f"LIMIT_{name.upper()}"]) for name in WORDS}
        self._pages = int(config["ADDRESS_PAGES"])
        self._local = int(config["LOCAL_FACTOR"])

    def count(self, purpose: str) -> None:
        """Count the current request; AppError (429) beyond a limit.

        What its own page's bucket refuses is not counted for the address.
        """
        if not self._on:
            return
        client, address = client_key(request), address_key(request)
        rate = self._rates[purpose]
        factor = self._local if is_local(request) else 1
        of_page = _times(rate, factor)
        if not self._limiter.test(of_page, purpose, client):
            raise self._refusal("one page", of_page, purpose, client)
        of_address = _times(rate, factor * self._pages)
        if not self._limiter.hit(of_address, purpose, "all", address):
            raise self._refusal("all pages of one address", of_address, purpose, "all", address)
        self._limiter.hit(of_page, purpose, client)

    def _refusal(self, who: str, rate: RateLimitItem, purpose: str, *key: str) -> AppError:
        reset = self._limiter.get_window_stats(rate, purpose, *key).reset_time
        seconds = max(1, math.ceil(reset - time.time()))
        unit = rate.GRANULARITY.name
        each = f"in {rate.multiples} {unit}s" if rate.multiples > 1 else f"a {unit}"
        refusal = AppError(
            "busy",
            f"Too many requests: {who} may ask for {rate.amount} {WORDS[purpose]} {each}.",
            429,
            f"Wait {seconds} s.",
            retry=seconds,
        )
        refusal.headers["Retry-After"] = str(seconds)
        return refusal


def _times(rate: RateLimitItem, factor: int) -> RateLimitItem:
    return type(rate)(rate.amount * factor, rate.multiples)
