"""Evaluate expressions over the definitions of a program.

An expression is compiled as one more definition of the program: an entry point without parameters.
So it is checked, run and sandboxed like the program.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, cast

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, TypeError_
from compiler.base.names import base_of
from compiler.base.spans import EXPRESSION
from compiler.driver import api
from compiler.frontend import flatpack
from compiler.frontend import typed as t
from compiler.frontend.check.types.walks import names_in_type
from compiler.frontend.files import FLATPACK
from compiler.frontend.show_type import show_type
from compiler.frontend.typed import TypedProg
from compiler.frontend.types import Arrow
from compiler.protocol import runs
from compiler.protocol.answering import answers

_NO_ENTRY = (codes.types.POLYMORPHIC_ENTRY, codes.types.FUNCTION, codes.sizes.ENTRY)
"""Codes of errors about an expression that has a type but cannot be an entry point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(runs.RunRequest):
    """A run whose entry point is an expression."""

    expression: str


@answers(runs.EVAL)
def evaluated(asked: runs.EvalRequest) -> runs.EvalAnswer:
    """Evaluate an expression; return its value and type. Errors: of the program and its run."""
    try:
        return _evaluated(asked)
    except CompileError as error:
        for one in (error, *error.others):
            if one.span.file == EXPRESSION:
                one.text = asked.expression
        raise


def _evaluated(asked: runs.EvalRequest) -> runs.EvalAnswer:
    if asked.main.endswith(FLATPACK):
        return _of_flatpack(asked)
    name = "it"
    while re.search(rf"\b{name}\b", asked.source + asked.expression):
        name += "_"
    run = _run_of(asked, name)
    try:
        entry = _typed(run).entries[-1]
    except TypeError_ as error:
        if error.code not in _NO_ENTRY:
            raise
        entry = None
    if entry is None or entry.param_names:
        definition = _typed(replace(run, options={**run.options, "entry": ""})).defs[-1]
        why = "it contains a function"
        if definition.params:
            why = "it is a function"
        elif definition.type_params:
            why = "its type is ambiguous"
        return _without_value(_type_of(definition), f"It has no value to show: {why}.")
    types = entry.result_types
    shown = types[0] if len(types) == 1 else f"({', '.join(types)})"
    return _with_value(run, shown, asked.typed)


def _of_flatpack(asked: runs.EvalRequest) -> runs.EvalAnswer:
    found = flatpack.over(asked.source, asked.expression)
    if found.meaning is None:
        return _without_value(found.type, "It has no value to show: it is not an array.")
    if files := dict.fromkeys(f"`{one.file}`" for one in found.meaning.sources):
        needs = ", ".join(files)
        return _without_value(found.type, f"It has no value to show: it needs the data {needs}.")
    return _with_value(_run_of(asked, "main"), found.type, asked.typed)


def _run_of(asked: runs.EvalRequest, name: str) -> Evaluation:
    """Make the run of an expression under that entry name."""
    return Evaluation(
        asked.source,
        {**asked.options, "entry": name, "thresholds": {}, "edited": {}},
        asked.files,
        asked.main,
        entry=name,
        input="",
        backend=asked.backend,
        deadline=asked.deadline,
        longest=asked.longest,
        expression=asked.expression or " ",
    )


def _with_value(run: Evaluation, shown: str, only_type: bool) -> runs.EvalAnswer:
    if only_type:
        return _without_value(shown)
    told: Any = {**api.run(run), "type": shown}
    return cast(runs.EvalAnswer, told)


def _typed(run: Evaluation) -> TypedProg:
    found: TypedProg = api.compilation(run).result("typed").prog
    return found


def _without_value(kind: str, note: str = "") -> runs.EvalAnswer:
    nothing: runs.EvalAnswer = {
        "ok": True, "type": kind, "output": "", "results": [], "ms": 0, "total_ms": 0,
        "backend": "ref",
    }  # fmt: skip
    return {**nothing, "note": note} if note else nothing


def _type_of(definition: t.Def) -> str:
    """Render the type of a function, or of another value that cannot be an entry point."""
    found, last = definition.ret, True
    used = names_in_type(found)
    for param in reversed(definition.params):
        name, star = (param.name, param.consumes) if isinstance(param, t.PVar) else ("", False)
        ext, unique = (definition.ext, definition.unique) if last else ((), False)
        found = Arrow(param.type, found, name if name in used else "", star, unique, ext)
        last = False
    bound = [f"[{name}]" for name in definition.size_params]
    bound += [f"'{name}" for name in definition.type_params]
    text = " ".join([*bound, show_type(found, full=True)])
    called: dict[str, str] = {}
    for name in (*definition.size_params, *definition.type_params, *definition.ext, *sorted(used)):
        own = base_of(name)
        while own in called.values():
            own += "'"
        called.setdefault(name, own)
    return re.sub(r"\w+", lambda word: called.get(word[0], word[0]), text)
