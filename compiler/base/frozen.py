"""Frozen dataclasses that are cheap to make: the type checker guards their fields, not each call.

Programs and proofs are made of hundreds of thousands of small values. What `dataclasses` has a
frozen class do at run time makes each of them take twice as long, and each class twice the memory.
"""

from __future__ import annotations

from dataclasses import dataclass as dataclass
from typing import TYPE_CHECKING, Any

if not TYPE_CHECKING:
    _guarded = dataclass

    def dataclass(*, frozen: bool = False, eq: bool = True, **options: Any) -> Any:
        """As in `dataclasses`; one that is frozen has a hash, but does not refuse assignments."""
        return _guarded(unsafe_hash=frozen and eq, eq=eq, **options)
