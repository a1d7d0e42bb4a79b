"""Answer `check` with entry points and warnings, or errors.

It needs only the front end. The compiler is imported where options name its passes or targets, or
the program has an attribute about its compiled code.
"""

from __future__ import annotations

from contextlib import suppress

from compiler.base.context import Options
from compiler.base.errors import CompileError
from compiler.base.lazy import later
from compiler.driver.answers import entry_json, warning_json
from compiler.frontend.files import FLATPACK
from compiler.frontend.incremental import recheck
from compiler.frontend.lint.all_warnings import warnings
from compiler.frontend.parser import parse
from compiler.frontend.typed import TypedProg
from compiler.protocol import programs
from compiler.protocol.answering import answers
from compiler.protocol.reading import check_options

_compilation = later("compiler.driver.api", "compilation")
_options = later("compiler.driver.api", "options_from")
_warned = later("compiler.explain.bounds", "warned")
_WARNED = "safety_checks"
"""The attribute that asks for warnings about bounds checks left in compiled code."""
_NAMING = ("disable", "edited", "enable", "limits", "thresholds")
"""The options that name passes, rules, stages or thresholds."""


@answers(programs.CHECK)
def check(asked: programs.CheckRequest) -> programs.CheckAnswer:
    """Return the entry points and warnings of a program. Raises its errors."""
    entries, found = _edited(asked) or _checked(asked)
    return {
        "ok": True,
        "entries": [entry_json(e) for e in entries],
        "warnings": [warning_json(w, asked.source, asked.files) for w in found],
    }


def _edited(asked: programs.CheckRequest) -> recheck.Answer | None:
    """Check incrementally by `recheck`; None where the program must be read or compiled whole."""
    options = check_options(asked.options)
    usual = Options()
    target = options.get("target", usual.target)
    if target != usual.target or any(map(options.get, _NAMING)):
        _options(asked.options)
    compiled = _WARNED in "".join((asked.source, *asked.files.values()))
    if compiled or options.get("thresholds") or asked.main.endswith(FLATPACK):
        return None
    return recheck.checked(asked.source, asked.files, asked.main, options.get("entry", ""))


def _checked(asked: programs.CheckRequest) -> recheck.Answer:
    if not asked.main.endswith(FLATPACK):
        parse(asked.source)  # an error of syntax needs no compiler
    work = _compilation(asked)
    typed: TypedProg = work.result("typed").prog
    found = warnings(work.result("ast").prog, typed, asked.files, asked.main)
    if typed.entries and _WARNED in "".join((asked.source, *asked.files.values())):
        with suppress(CompileError):  # that it cannot be compiled is told then
            found = [*found, *_warned(typed, work.result("merged").prog)]
    return list(typed.entries), found
