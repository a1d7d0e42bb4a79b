"""`python -m app`: serve the page; what `stridescope serve` runs."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from app.seeds import SEEDS
from app.settings import from_environment, listing
from app.version import compiler_version


def main() -> int:
    """Parse the arguments and serve until interrupted; return the exit status.

    The answer is the exit status.

    The server is imported only after the arguments have been checked.
    """
    parser = argparse.ArgumentParser(
        prog="stridescope serve",
        description="Serve the page.",
        epilog=f"settings, from the environment:\n{listing()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"stridescope {compiler_version()}")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on")
    args = parser.parse_args()
    try:
        settings = from_environment()
    except ValueError as error:
        parser.error(str(error))
    if settings["WARM"]:
        SEEDS.begin()
    import_module("app.server").serve(args.host, args.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
