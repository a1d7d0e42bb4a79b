"""Find chromium, and start it without a screen."""

from __future__ import annotations

import shutil


def found(*names: str) -> str | None:
    """The first of these commands that this machine has."""
    return next(filter(None, map(shutil.which, names)), None)


SHELL = "chromium-headless-shell"
"""Chromium's engine with no windows, menus and profiles around it: half of the work for a page."""
CHROMIUM = found("chromium", "chromium-browser", "google-chrome", SHELL)
"""The browser that readers have, for measurements and pictures."""
FOR_TESTS = found(SHELL) or CHROMIUM
FLAGS = [
    "--headless",
    "--font-render-hinting=none",  # the engine alone rounds the widths of characters otherwise
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
