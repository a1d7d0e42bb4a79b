"""Runs tests as a user without rights, for whoever is root: some limits do not hold for root.

    python -m tests.sandbox.ordinary [OPTION OF PYTEST ..]

runs all tests of this folder so. The user is a number that nobody else has, with a home and a
temporary folder of its own. Where Python lies where nobody else may look, as in root's home, it may
read what root may, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
USER = 1_999_999_999
READS = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
ASKS = (
    "import os, sys, numpy, pytest;"
    f" print(os.geteuid() == {USER} and sys.base_prefix == sys.argv[1])"
)


def main() -> int:
    """Run the tests; the answer is the exit status."""
    if why := why_not():
        print(f"Not run: {why}.")  # noqa: T201
        return 0
    done = run(*sys.argv[1:])
    print(done.stdout, end="")  # noqa: T201
    return done.returncode


def why_not() -> str:
    """Why nothing can be run as an ordinary user here; "" if it can."""
    if os.name != "posix" or os.geteuid() != 0:
        return "the tests around this one are run by an ordinary user"
    if shutil.which("setpriv") is None:
        return "there is no setpriv (of util-linux) to become another user by"
    return "" if _way() is not None else "an ordinary user cannot read this Python"


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of this folder, which `options` may choose from."""
    way = _way()
    assert way is not None
    pytest = ("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "tests/sandbox", *options)
    with tempfile.TemporaryDirectory(prefix="stridescope-") as home:
        os.chown(home, USER, USER)
        return subprocess.run(
            [*way, sys.executable, *pytest],
            cwd=ROOT,
            env={**os.environ, "HOME": home, "TMPDIR": home},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def _way() -> tuple[str, ...] | None:
    """How a command begins by which this Python runs as that user; None: there is no way."""
    plain = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
    for way in (plain, (*plain, *READS)):
        asked = [*way, sys.executable, "-c", ASKS, sys.base_prefix]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.stdout.strip() == "True":
            return way
    return None


if __name__ == "__main__":
    sys.exit(main())
