"""Programs of many generators in one batch; each seed says of which."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from testing.generators import nests, parted, programs, results, stencils
from testing.generators.storage import Generated

BATCH = 20
"""Programs in a batch."""
KERNELS = 2
"""The remainder of the numbers, by 4, of batches whose kernels are run."""
Make = Callable[[int, str], Generated]


def named(make: Callable[[int], programs.Generated]) -> Make:
    """Return a generator of programs of one function, by the name that is asked for."""

    def found(seed: int, name: str = "main") -> Generated:
        made = make(seed)
        source = made.source.replace("entry main ", f"entry {name} ", 1)
        return Generated(seed, name, source, [made.inputs])

    return found


RESULTS, STENCILS, PARTED, NESTS = map(
    named, (results.program, stencils.program, parted.program, nests.program)
)


class Mixed:
    """Programs of generators by their shares: others where kernels are run as well."""

    def __init__(
        self, generators: Mapping[str, Make], usual: Mapping[str, int], kernels: Mapping[str, int]
    ) -> None:
        self.generators, self.usual, self.kernels = generators, usual, kernels

    def sort(self, seed: int) -> str:
        """Return the name of the generator of a seed."""
        shares = self.kernels if seed // BATCH % 4 == KERNELS else self.usual
        return random.Random(f"mixed {seed}").choices([*shares], [*shares.values()])[0]

    def __call__(self, seed: int, name: str = "main") -> Generated:
        """The program of a seed."""
        return self.generators[self.sort(seed)](seed, name)
