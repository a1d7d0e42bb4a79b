"""Rate limits: for each purpose a bucket per page, and a larger one per address.

A client without a token has the bucket of its connection. Tokens and connections cost nothing, so
the address's bucket protects against abuse; the page's keeps one page from using up the share of
its neighbours behind the same address.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from operator import itemgetter
from threading import Lock, Timer
from typing import Any, NamedTuple

from flask import request
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.clients import address_key, client_key, is_local, key_of
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
    "send": "kilobytes of requests",
}
"""Purposes: the `limit` of operations, two of permalinks, three of lectures.

The requests of a batch count one by one, each for its own purpose.
"""


MOST = 20_000
"""Buckets of pages kept at a time, and as many of addresses: the least recently
used are forgotten, which are probably empty. So made-up pages do not evict addresses."""
LOOK_SECONDS = 20.0
"""Seconds between two looks for expired counts."""
ROUNDED = 1e-4
"""Rounding error of current times, as floats, in seconds."""


class Bucket(NamedTuple):
    """A bucket of at most `rate` for its key, whose first part is the purpose.

    `asked` is to be added.
    """

    who: str
    rate: RateLimitItem
    key: tuple[str, ...]
    asked: int

    @property
    def cost(self) -> int:
        """Return the requested amount, or all if it is more than the bucket holds."""
        return min(self.asked, self.rate.amount)


class Counts(MemoryStorage):
    """The counts in memory: expired ones are dropped when they are asked for, and now and then.

    The library looks through all counts up to a hundred times a second, in a new thread each time.
    """

    @property
    def timer(self) -> Any:
        """Return the timer of the next look, as the library starts it."""
        return self._timer

    @timer.setter
    def timer(self, timer: Timer) -> None:
        self._timer = _Seldom(timer)


class _Seldom:
    """A timer that counts as alive for a while after its start, so that none follows it."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._until = 0.0

    def start(self) -> None:
        self._until = time.monotonic() + LOOK_SECONDS
        self._timer.daemon = True
        self._timer.start()

    def is_alive(self) -> bool:
        return time.monotonic() < self._until


class RateLimits:
    """The buckets of one application."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._on = bool(config["RATELIMIT"])
        self._counting = Lock()  # of what was found to have room, nobody else takes it
        self._storage = Counts()
        self._limiter = SlidingWindowCounterRateLimiter(self._storage)
        self._known: defaultdict[str, OrderedDict[tuple[str, ...], Bucket]]
        self._known = defaultdict(OrderedDict)
        self._rates = {name: parse(config[f"LIMIT_{name.upper()}"]) for name in WORDS}
        self._pages = int(config["ADDRESS_PAGES"])
        self._local, self._keyed = int(config["LOCAL_FACTOR"]), int(config["KEY_FACTOR"])

    def count(self, *purposes: str, kilobytes: int = 0) -> None:
        """Count the current request, once for each purpose, and its bytes.

        AppError (429) beyond a limit.

        Refused requests are not counted: after the wait that the refusal names one is accepted,
        unless others of the same bucket came before. A request for more than a bucket holds takes
        it all.
        """
        if not self._on:
            return
        whose = (
            ("one page", 1, (client_key(request),)),
            ("all pages of one address", self._pages, ("all", address_key(request))),
        )
        sent = [("send", kilobytes)] if kilobytes else []
        factor = self.factor()
        buckets = [
            Bucket(who, _times(self._rates[purpose], factor * pages), (purpose, *key), number)
            for purpose, number in [*Counter(purposes).items(), *sent]
            for who, pages, key in whose
        ]
        with self._counting:
            full = [one for one in buckets if not self._has_room(one)]
            if full:
                raise _refusal(*max(((one, self._until(one)) for one in full), key=itemgetter(1)))
            for one in buckets:
                self._limiter.hit(one.rate, *one.key, cost=one.cost)
                self._note(one)

    def _note(self, bucket: Bucket) -> None:
        """Forget the least recently used bucket, if there are too many."""
        known = self._known[bucket.who]
        known[bucket.key] = bucket
        known.move_to_end(bucket.key)
        if len(known) > MOST:
            _, oldest = known.popitem(last=False)
            self._limiter.clear(oldest.rate, *oldest.key)

    def factor(self) -> int:
        """Return the factor by which limits are wider for the current request."""
        keyed = self._keyed if key_of(request) else 1
        return max(keyed, self._local if is_local(request) else 1)

    def _has_room(self, bucket: Bucket) -> bool:
        return self._limiter.test(bucket.rate, *bucket.key, cost=bucket.cost)

    def _until(self, bucket: Bucket) -> int:
        """Return the whole seconds until a bucket accepts the request, at least 1.

        Counts of the previous window decay until the end of this one; counts of this one decay in
        the next.
        """
        window = bucket.rate.get_expiry()
        key = bucket.rate.key_for(*bucket.key)
        earlier, _, now, left = self._storage.get_sliding_window(key, window)
        left -= window  # until the end of this window
        room = bucket.rate.amount - bucket.cost + 1  # what weighs less than that leaves enough
        seconds = left - (room - now) * window / earlier if earlier and now < room else left
        if seconds >= left:
            seconds = left + (max(0.0, window - room * window / now) if now else 0.0)
        return max(1, math.floor(seconds + ROUNDED) + 1)


def _refusal(bucket: Bucket, seconds: int) -> AppError:
    rate = bucket.rate
    unit = rate.GRANULARITY.name
    each = f"in {rate.multiples} {unit}s" if rate.multiples > 1 else f"a {unit}"
    words = WORDS[bucket.key[0]]
    verb = "send" if bucket.key[0] == "send" else "ask for"
    refusal = AppError(
        "busy",
        f"Too many requests: {bucket.who} may {verb} {rate.amount} {words} {each}.",
        429,
        f"Wait {seconds} s.",
        retry=seconds,
    )
    refusal.headers["Retry-After"] = str(seconds)
    return refusal


def _times(rate: RateLimitItem, factor: int) -> RateLimitItem:
    return type(rate)(rate.amount * factor, rate.multiples)
