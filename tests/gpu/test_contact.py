"""Steps with contact on a device, against the same runs on the CPU: bit by bit.

States of one batch need different numbers of Newton steps and of steps along a line: each ends on its own.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact import scenes

import kinetree as kt
from kinetree.stages.targets.cuda_code import same_bits

RUN = {"duration": 0.024, "dt": 0.004, "record": 3}
HILLS = kt.Heightfield(0.03 * np.random.default_rng(2).normal(size=(7, 9)), (0.4, 0.3), (-1.2, -1.2, 0.0))


def dropped(model: kt.Model, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States from high above the ground to some centimetres within it, at rest and thrown."""
    rng = np.random.default_rng(seed)
    q, v = model.random_state(rng, count)
    q[:, 4:6] = rng.uniform(-0.5, 0.5, (count, 2))
    for k, height in enumerate(rng.uniform(-0.03, 0.05, count)):
        q[k, 6] += height - min(scenes.lowest(model, q[k]))
    return q, v * rng.uniform(0.0, 3.0, (count, 1))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("ground", [kt.Ground(), HILLS], ids=["plane", "hills"])
def test_the_same_bits(fake, dtype, ground):
    model = scenes.box().replace(name="there")
    q, v = (x.astype(dtype) for x in dropped(model, 40))
    here = kt.simulate(model, q, v, ground=ground, **RUN)
    there = kt.simulate(model, kt.cuda.array(q), kt.cuda.array(v), ground=ground, **RUN)
    assert there.q.dtype == dtype
    found = there.numpy()
    assert same_bits(found.q, here.q) and same_bits(found.v, here.v)
    free = kt.simulate(model, q, v, ground=False, **RUN)
    assert 10 < np.sum(np.abs(free.v[:, -1] - here.v[:, -1]).max(-1) > 1e-3) < 40
