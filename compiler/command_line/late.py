"""Defer parts of argument parsers until they are needed: they import the whole compiler.

Most calls neither print help nor use such an option.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any


class LateChoices:
    """Choices of an option, held by a module that is imported on first use."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __iter__(self) -> Iterator[str]:
        """Iterate over the choices."""
        found: Iterable[str] = getattr(import_module(self._module), self._name)
        return iter(found)

    def __contains__(self, value: object) -> bool:
        """Return True if a value is one of the choices."""
        return value in tuple(self)


class LateParser(argparse.ArgumentParser):
    """A parser that adds deferred options when it meets an unknown option or prints help."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._late: list[Callable[[LateParser], None]] = []

    def add_late_choice(self, name: str, choices: LateChoices, **options: Any) -> None:
        """Add an option without iterating over its choices, as `add_argument` would."""
        self.add_argument(name, **options).choices = choices

    def add_later(self, add: Callable[[LateParser], None]) -> None:
        """Call `add` with this parser once its options are needed."""
        self._late.append(add)

    def complete(self) -> None:
        """Add the deferred options."""
        while self._late:
            self._late.pop(0)(self)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; if an option is unknown, add the deferred ones first."""
        options = (one.partition("=")[0] for one in args or () if one.startswith("--"))
        if any(one not in self._option_string_actions for one in options):
            self.complete()
        return super().parse_known_args(args, namespace)

    def format_help(self) -> str:
        """Return the help with all options."""
        self.complete()
        return super().format_help()

    def format_usage(self) -> str:
        """Return the usage with all options."""
        self.complete()
        return super().format_usage()
