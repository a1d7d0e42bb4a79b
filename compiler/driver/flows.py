"""Answer `flow`: the values of every statement of a stage (`explain/statement_values.py`)."""

from __future__ import annotations

from compiler.base.errors import UsageError
from compiler.driver import api
from compiler.driver.pipeline import MEMORY_STAGES, stage_named
from compiler.explain.statement_values import flow
from compiler.protocol import flows
from compiler.protocol.answering import answers


@answers(flows.FLOW)
def flowing(asked: flows.FlowRequest) -> flows.FlowAnswer:
    """Return the steps of a run at a stage; statements have their numbers in its text.

    Raises UsageError for a stage that has no statements; errors of inputs are those of a run.
    """
    stage = stage_named(asked.stage or "soa")
    if stage.kind != "ir":
        known = ", ".join(api.VALUE_STAGES)
        raise UsageError(
            f"The stage `{stage.id}` has no statements to step through.",
            hint=f"These have: {known}.",
        )
    args = api.input_values(asked)
    work = api.compilation(asked)
    entry = api.entry_named(work, asked.entry)
    return flow(work.result(stage.id).prog, stage.id in MEMORY_STAGES, entry, args)
