"""`stridescope lsp`: answer an editor, as a language server."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys

from compiler.command_line.late import LateParser
from compiler.command_line.status import WRONG_USAGE


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    del to


def run(_: argparse.Namespace) -> int:
    """Become the language server. It needs what only those install who want it."""
    if importlib.util.find_spec("pygls"):
        os.execv(sys.executable, [sys.executable, "-m", "compiler.editor.lsp"])
    sys.stderr.write("There is no `pygls`: install it with `pip install 'stridescope[lsp]'`.\n")
    return WRONG_USAGE
