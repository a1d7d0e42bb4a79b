"""`python -m stridescope`, and the command `stridescope`."""

from __future__ import annotations

import sys

from compiler.__main__ import main as main

if __name__ == "__main__":
    sys.exit(main())
