"""The web server: pages, the JSON API, permalinks, and the pool of workers that compile.

`create_app` makes the application (`factory.py`); importing this has no effects, and takes no time.
`server.py` starts gunicorn with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flask import Flask


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Return the application, with some settings changed."""
    made: Flask = import_module("app.factory").create_app(config)
    return made
