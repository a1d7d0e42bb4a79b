"""The exit statuses of the command line.

0 for success, 1 for an error in the program or its input, 2 for wrong usage, 3 for a defect of
Stridescope; 130 when the user interrupts.
"""

from __future__ import annotations

OK, WRONG_PROGRAM, WRONG_USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130
