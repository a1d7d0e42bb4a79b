"""The web server: pages, the JSON API, permalinks, and the pool of workers that compile.

`create_app` makes the application (`factory.py`); importing this has no effects. `server.py` starts
gunicorn with it.
"""

from app.factory import create_app

__all__ = ["create_app"]
