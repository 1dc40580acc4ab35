"""Public robot files mean in kinetree what they mean in Pinocchio and MuJoCo, by the library's own maps.

The files stand in ../shared/corpus beside the repository; without them these tests are skipped.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.interop.agreement import CORPUS, PAIRS, deviations

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of robot files is not here")

TOLERANCE = 1e-9
LEAST = {"URDF, Pinocchio": 0.7, "URDF, MuJoCo": 0.45, "MJCF, MuJoCo": 0.7}  # share of files within both


def compare(pair: str, step: int) -> None:
    pytest.importorskip(pair.split(", ")[1].lower())
    paths, with_peer = PAIRS[pair]
    chosen = paths(CORPUS)[::step]
    found, outside = deviations(chosen, with_peer)
    far = {path.name: deviation for path, deviation in found.items() if not np.max(deviation[:3]) < TOLERANCE}
    assert not far, far
    assert len(found) >= LEAST[pair] * len(chosen), outside


@pytest.mark.parametrize("pair", PAIRS)
def test_a_sample_of_the_files(pair):
    compare(pair, 10)


@pytest.mark.soak
@pytest.mark.parametrize("pair", PAIRS)
def test_all_files(pair):
    compare(pair, 1)
