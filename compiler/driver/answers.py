"""Convert errors, remarks, lines and entry points to plain data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from compiler import codes
from compiler.base.errors import CompileError, CompilerBug, Limitation, RuntimeError_
from compiler.base.remarks import Remark
from compiler.base.spans import Span, plain, user_spans
from compiler.base.text import Text
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.typed import EntryPoint
from compiler.protocol import programs
from compiler.protocol.programs import Entry, Failure, Line, Problem

_NO_FILES: Mapping[str, str] = MappingProxyType({})


def failure(error: CompileError, source: str = "", files: Mapping[str, str] = _NO_FILES) -> Failure:
    """Make the answer for an error; `errors` holds all errors of the run, in order."""
    found = [error_json(e, source, files) for e in (error, *error.others)]
    return {"ok": False, "error": {**found[0], "errors": found}}


def as_error(problem: Exception) -> CompileError:
    """Convert any exception to the error that a user sees."""
    match problem:
        case CompileError():
            return problem
        case RecursionError():
            return Limitation(codes.limits.DEPTH, "The program is nested too deeply.")
        case MemoryError():
            return RuntimeError_("There is not enough memory for this program.")
    return CompilerBug(
        f"{type(problem).__name__}: {problem}",
        hint="This is a defect of Stridescope, not of the program.",
    )


def error_json(
    error: CompileError, source: str = "", files: Mapping[str, str] = _NO_FILES
) -> Problem:
    """Convert one error. A wrong stage, option, entry or input gets the kind `runtime`."""
    kind = "runtime" if error.kind == "usage" else error.kind
    answer: Problem = {
        "kind": kind,
        "message": error.message,
        "span": span_json(error.span),
        "hint": error.hint,
    }
    if error.code:
        answer["code"] = error.code.id
    if error.related:
        answer["related"] = [
            {"span": span_json(span), "message": says} for span, says in error.related
        ]
    if error.calls:
        answer["calls"] = user_spans(error.calls)
    if error.traces:
        answer["traces"] = error.traces
    if source:
        answer["rendered"] = error.render(source, files)
    return answer


def warning_json(warning: Warning_, source: str, files: Mapping[str, str]) -> Problem:
    """Convert a warning to the shape of an error."""
    return {
        "kind": "warning",
        "message": warning.message,
        "span": span_json(warning.span),
        "hint": warning.hint,
        "code": warning.code.id,
        "rendered": warning.render(source, files),
    }


def span_json(span: Span) -> list[int | str] | None:
    """Return the place in the user's files, or None where there is none."""
    return plain(span) if span.is_own else None


def remark_json(remark: Remark) -> programs.Remark:
    """Convert a remark."""
    return {
        "kind": remark.kind,
        "rule": remark.rule,
        "stage": remark.stage,
        "src": user_spans(remark.at),
        "because": remark.because,
        "hint": remark.hint,
        "attempt": remark.attempt,
        "refusal": remark.refusal,
        "fused": [user_spans(prov) for prov in remark.fused],
        "numbers": [list(pair) for pair in remark.numbers],
    }


def lines_json(text: Text) -> list[Line]:
    """Convert a stage's text, line by line."""
    return [{"text": line.text, "src": user_spans(line.src), "node": line.node} for line in text]


def entry_json(entry: EntryPoint) -> Entry:
    """Convert an entry point as the author wrote it."""
    return {
        "name": entry.name,
        "names": list(entry.param_names),
        "params": list(entry.param_types),
        "results": list(entry.result_types),
    }
