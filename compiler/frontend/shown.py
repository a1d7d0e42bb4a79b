"""Select the definitions to show: the main program's, and those that it needs of its files."""

from __future__ import annotations

from compiler.base.names import Name
from compiler.frontend import typed as t
from compiler.frontend.check.types.walks import names_in_type
from compiler.frontend.parts import free_variables


def shown(prog: t.TypedProg) -> list[t.Def]:
    """Return the main program's definitions, then the needed ones of its files, file by file."""
    own = [d for d in prog.defs if d.span.is_own]
    files = {file: number for number, file in enumerate(dict.fromkeys(d.span.file for d in own))}
    if len(files) < 2:
        return own
    needed = {d.name for d in own if not d.span.file}
    for d in reversed(own):  # a definition needs earlier ones only
        if d.name in needed:
            needed |= _mentioned(d)
    found = [d for d in own if d.name in needed]
    return sorted(found, key=lambda d: (bool(d.span.file), files[d.span.file]))


def _mentioned(d: t.Def) -> set[Name]:
    types = (d.ret, *(p.type for p in d.params))
    return free_variables(d.body).union(*map(names_in_type, types))
