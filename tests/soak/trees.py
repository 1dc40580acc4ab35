"""A random tree through every cross-check that needs no compiler.

The laws that connect the algorithms; first principles that share no code with the library; a batch against
its states. Every fifth tree is also checked against the laws with finite differences.
"""

from __future__ import annotations

import numpy as np
from tests.dynamics.test_against_first_principles import check as first_principles
from tests.identities.case import Case
from tests.identities.laws import broken_laws
from tests.reference.random_mechanism import random_mechanism

COUNT = 100_000
BLOCK = 20


def trial(seed: int) -> str:
    rng = np.random.default_rng([seed, 10])
    mechanism = random_mechanism(rng, 1 + int(rng.integers(1, 8) * rng.random()), roots=0.1)
    first_principles(mechanism, rng, "first principles")
    costly = seed % 5 == 0
    broken = broken_laws(Case(f"tree {seed}", mechanism.build(), rng, mechanism), costly)
    assert not broken, "\n".join(broken)
    return "all laws" if costly else "laws"
