"""Find the page's files: at the top of a checkout, or inside the installed package.

A wheel carries `static/` and `templates/` as `app/_page/static` and `app/_page/templates`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE / "examples"
LESSONS = HERE / "lessons"


@cache
def page_root() -> Path:
    """Return the folder that holds `static` and `templates`."""
    packaged = HERE / "_page"
    return packaged if packaged.is_dir() else HERE.parent


def static_folder() -> Path:
    """Return the folder of style sheets, and of the bundles in `dist`."""
    return page_root() / "static"


def template_folder() -> Path:
    """Return the folder of Jinja templates."""
    return page_root() / "templates"
