"""`stridescope lsp`: run the language server for editors."""

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
    """Replace this process by the language server, which needs the extra `lsp`."""
    if importlib.util.find_spec("pygls"):
        os.execv(sys.executable, [sys.executable, "-m", "compiler.editor.lsp"])
    sys.stderr.write("There is no `pygls`: install it with `pip install 'stridescope[lsp]'`.\n")
    return WRONG_USAGE
