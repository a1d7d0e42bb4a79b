"""Long texts of requests, on their way from the parser of long requests to a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class LongText(str):
    """A long text, together with its JSON, which is then not computed again."""

    token: bytes

    def __new__(cls, text: str, token: bytes) -> LongText:
        """Make a text whose JSON is `token`."""
        made = super().__new__(cls, text)
        made.token = token
        return made


@dataclass(frozen=True, slots=True)
class TextToken:
    """The JSON of a long text, in its place: the text may take four bytes for each character."""

    json: bytes


def shortened(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request with tokens in the place of its long texts."""
    long = {name: one for name, one in request.items() if isinstance(one, LongText)}
    return {**request, **{name: TextToken(one.token) for name, one in long.items()}}
