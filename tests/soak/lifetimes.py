"""Kernels are compiled, called and dropped; memory stays flat.

With PYTHONMALLOC=malloc MALLOC_PERTURB_=255 freed memory is overwritten at once, so that using it is fatal.
"""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np

import kinetree as kt

COUNT = 10_000
BLOCK = 500
WARM, EVERY, GROWTH = 500, 250, 24e6  # trials before memory is measured; trials in between; bytes
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "potential_energy")
STATM = Path("/proc/self/statm")

tried = 0
sizes: list[int] = []


def trial(seed: int) -> str:
    global tried
    rng = np.random.default_rng(seed)
    model = kt.zoo.pendulum().replace(gravity=tuple(rng.normal(size=3)))
    function = getattr(kt, FUNCTIONS[seed % len(FUNCTIONS)])
    taken = [a.name for a in function.own_inputs if not a.optional]
    inputs = [rng.normal(size=(5, 1)) for _ in taken]
    kt.cache.set_limit(0)  # each one is compiled anew
    expected = function(model, *inputs, target="eager")
    if seed % 3:
        kernel = kt.compile(function, model)
        found = [kernel(*inputs) for _ in range(3)]
        call = kernel.call
        if seed % 2:
            del kernel
        found.append(call(*inputs))
    else:
        found = [function(model, *inputs) for _ in range(4)]
    for values in found:
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)
    del model, found
    tried += 1
    if tried % EVERY == 0:
        gc.collect()
        if tried > WARM and STATM.exists():
            sizes.append(4096 * int(STATM.read_text().split()[1]))
            grown = sizes[-1] - sizes[0]
            assert grown < GROWTH, f"{tried} kernels, and {grown / 1e6:.0f} MB more than after {WARM}"
    return "dropped"
