"""All commands, in the order in which `stridescope --help` lists them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, also that of its module, and its line in `--help`."""

    name: str
    help: str
    on_deep_stack: bool = True
    """Run it in a thread with a deep stack, for deeply nested programs."""
    by_server: bool = False
    """It belongs to the server, a program of its own (`serving.py`)."""

    @property
    def module(self) -> Any:
        """Import its module, which has `add_options` and `run`."""
        return import_module(f"{__package__}.commands.{self.name}")


COMMANDS = (
    Command("check", "parse and type check"),
    Command("translate", "print a FlatPack program in Futhark"),
    Command("doc", "make pages of HTML from a library's comments"),
    Command("fmt", "lay programs out in one way, in their files"),
    Command("show", "print stages of the pipeline"),
    Command("attempts", "print which arrays are built in their places, and why others are not"),
    Command(
        "bounds", "print which checks of indices are proved, made once, or made each time, and why"
    ),
    Command(
        "accesses",
        "print what each access costs on a GPU, predicted and seen in a run on this machine",
    ),
    Command("cost", "print what functions and statements cost, as formulas in their sizes"),
    Command("flow", "print what each statement of a stage gives in a run, step by step"),
    Command("repl", "evaluate expressions, one line after the other", on_deep_stack=False),
    Command("literate", "make a page of a program's text, code and results"),
    Command("profile", "print which lines and kernels take the time of a run"),
    Command("run", "run an entry point"),
    Command("test", "run the tests of programs"),
    Command("bench", "measure the tests of programs"),
    Command("autotune", "find the thresholds with which the tests of a program run fastest"),
    Command("prove", "whether two LMADs share a cell"),
    Command("verify", "check a certificate, by the checker alone"),
    Command("export", "print the inequalities of a certificate for another prover"),
    Command("explain", "print what a code means, or what a rule does"),
    Command("lesson", "write and check lessons and puzzles"),
    Command("worker", "answer JSON requests on standard input, line by line", on_deep_stack=False),
    Command("serve", "serve the page", by_server=True),
    Command("links", "list, delete, export a server's links", by_server=True),
    Command("lsp", "answer an editor, as a language server", on_deep_stack=False),
)
BY_NAME = {one.name: one for one in COMMANDS}
