r"""Decode string and character literals, with Haskell's escapes.

`\n` and the like, `\101` (decimal), `\x41`, `\o101`, `\^A`, `\DEL`; `\&` is nothing.
"""

from __future__ import annotations

import re

_LETTERS = dict(zip("abfnrtv\\\"'&", "\a\b\f\n\r\t\v\\\"'", strict=False)) | {"&": ""}
_NAMES = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN"
    " EM SUB ESC FS GS RS US SP"
).split()
_NAMED = {name: chr(code) for code, name in enumerate(_NAMES)} | {"DEL": "\x7f"}
_BASES = {"x": 16, "X": 16, "o": 8, "O": 8}
_ESCAPE = re.compile(
    rf"""\\(?: (?P<letter>[abfnrtv\\"'&])
             | (?P<number>[0-9]+ | [xX][0-9a-fA-F]+ | [oO][0-7]+)
             | \^(?P<control>[@-_])
             | (?P<name>{"|".join(sorted(_NAMED, key=len, reverse=True))})
             | (?P<other>.?) )""",
    re.VERBOSE | re.DOTALL,
)
_SURROGATES = range(0xD800, 0xE000)
_LAST = 0x10FFFF


def unescaped(text: str) -> str:
    """Resolve the escapes of a literal's text (without its quotes).

    Raises ValueError, with a message for the author.
    """
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    if letter := found["letter"]:
        return _LETTERS[letter]
    if name := found["name"]:
        return _NAMED[name]
    if control := found["control"]:
        return chr(ord(control) - 64)
    if not (number := found["number"]):
        raise ValueError(f"`\\{found['other']}` is not an escape sequence.")
    base = _BASES.get(number[0], 10)
    digits = (number if base == 10 else number[1:]).lstrip("0") or "0"
    code = int(digits, base) if len(digits) < 10 else _LAST + 1
    if code > _LAST:
        raise ValueError("The last character has the number 1114111.")
    if code in _SURROGATES:
        raise ValueError("Half of a surrogate pair is no character.")
    return chr(code)
