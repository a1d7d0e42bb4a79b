"""Random nests of parallel operators are valid when they have memory, and after expansion."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.base.errors import Limitation
from compiler.driver.pipeline import verify
from compiler.explain import validity
from compiler.storage.allocate import allocate
from compiler.storage.expand import expand
from compiler.storage.short_circuit import short_circuit
from tests.parallel.random_nests import program
from tests.parallel.test_random_nests import arguments
from tests.parallel.versions import flat, versions


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    sizes=st.sampled_from([(1, 1), (3, 2), (1, 4), (2, 3)]),
    target=st.sampled_from(["c", "cuda"]),
)
def test_memory_keeps_the_values(seed: int, sizes: tuple[int, int], target: str) -> None:
    before, ctx = flat(program(seed), target)
    funmem = allocate(before, ctx)
    verify(funmem, "funmem")
    shortened = short_circuit(funmem, ctx)
    verify(shortened, "shortcircuit")
    try:
        expanded = expand(shortened, ctx)
    except Limitation as refusal:
        assert "inside" in refusal.message
        expanded = shortened
    else:
        verify(expanded, "expanded")
    for thresholds in versions(before)[:2]:
        for prog in dict.fromkeys((funmem, shortened, expanded)):  # some change nothing
            args = arguments(seed, *sizes)
            outcome = validity.check(prog, "main", args, thresholds)
            assert outcome.verdict == "valid", outcome.because
