"""Installs chromium and a font for the browser tests, where Debian's packages can be had.

Where they cannot, it says so and succeeds: the tests are then skipped, with the same reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess

PACKAGES = ("chromium", "fonts-dejavu-core")


def main() -> None:
    """Install what is missing."""
    if (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    ):
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        print("No chromium, and no right to install it: the browser tests will be skipped.")
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run([apt, "-qq", *command], env=environment, check=False)
        if done.returncode:
            print("Chromium could not be installed: the browser tests will be skipped.")
            return


if __name__ == "__main__":
    main()
