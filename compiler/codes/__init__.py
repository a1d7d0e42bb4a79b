"""Every error and warning by its code, declared once.

    syntax, names, types, sizes, uniqueness, modules, files, warnings, limits, flatpack

A place that raises an error names its code as a value, `codes.names.UNKNOWN`. What a code means
never changes; one that nothing raises any more is deleted, and its number is not given again.
"""

from __future__ import annotations

from compiler.base.code import Code as Code
from compiler.codes import (
    files,
    flatpack,
    limits,
    modules,
    names,
    sizes,
    syntax,
    types,
    uniqueness,
    warnings,
)

FAMILIES = (syntax, names, types, sizes, uniqueness, modules, files, warnings, limits, flatpack)
CODES = {
    code.id: code for family in FAMILIES for code in vars(family).values() if isinstance(code, Code)
}
"""All codes, by id."""
