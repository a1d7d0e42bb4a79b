"""Installs chromium and a font for the browser tests, where Debian's packages can be had.

Where they cannot, it says so and succeeds: the tests are then skipped, with the same reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from testing.chromium import CHROMIUM, SHELL, found

FONT = "fonts-dejavu-core"


def main() -> None:
    """Install what is missing: the engine alone, or the whole of it where it is not for itself."""
    if found(SHELL):
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        if CHROMIUM is None:
            print("No chromium, and no right to install it: the browser tests will be skipped.")
        return
    get(apt, "update")
    if get(apt, "install", SHELL, FONT) or CHROMIUM or get(apt, "install", "chromium", FONT):
        return
    print("Chromium could not be installed: the browser tests will be skipped.")


def get(apt: str, command: str, *packages: str) -> bool:
    """Whether the packages could be had."""
    without = ["--yes", "--no-install-recommends"] if packages else []
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    ran = subprocess.run([apt, "-qq", command, *without, *packages], env=environment, check=False)
    return ran.returncode == 0


if __name__ == "__main__":
    main()
