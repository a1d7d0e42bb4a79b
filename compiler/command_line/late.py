"""Parts of parsers that are made when somebody needs them, since they ask the whole compiler.

Most calls neither print help nor give such an option.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any


class LateChoices:
    """The values of an option: what a name of a module holds, which is imported when asked."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __iter__(self) -> Iterator[str]:
        """All of them."""
        found: Iterable[str] = getattr(import_module(self._module), self._name)
        return iter(found)

    def __contains__(self, value: object) -> bool:
        """Whether a value is one of them."""
        return value in tuple(self)


class LateParser(argparse.ArgumentParser):
    """A parser that gets some options when it meets one that it does not know, or tells of all."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._late: list[Callable[[LateParser], None]] = []

    def add_late_choice(self, name: str, choices: LateChoices, **options: Any) -> None:
        """Add an option; `add_argument` would go through the choices at once."""
        self.add_argument(name, **options).choices = choices

    def add_later(self, add: Callable[[LateParser], None]) -> None:
        """Call `add` with this parser once its options are needed."""
        self._late.append(add)

    def complete(self) -> None:
        """Add what has been put off."""
        while self._late:
            self._late.pop(0)(self)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and before that complete this parser if it does not know an option by name."""
        options = (one.partition("=")[0] for one in args or () if one.startswith("--"))
        if any(one not in self._option_string_actions for one in options):
            self.complete()
        return super().parse_known_args(args, namespace)

    def format_help(self) -> str:
        """The help, with all options."""
        self.complete()
        return super().format_help()

    def format_usage(self) -> str:
        """The usage, with all options."""
        self.complete()
        return super().format_usage()
