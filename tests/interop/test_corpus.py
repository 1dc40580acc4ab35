"""Public robot files mean in kinetree what they mean in Pinocchio and MuJoCo, by the library's own maps.

The files stand in ../shared/corpus beside the repository; without them these tests are skipped.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.corpus import mjcfs, urdfs
from tests.interop.agreement import CORPUS, PAIRS, deviations
from tests.interop.robots import eager

import kinetree as kt

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of robot files is not here")

TOLERANCE = 1e-9
LEAST = {"URDF, Pinocchio": 0.7, "URDF, MuJoCo": 0.4, "MJCF, MuJoCo": 0.7}  # share of files within both


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
    compare(pair, 40)


@pytest.mark.parametrize("peer", ["pinocchio", "mujoco"])
def test_models_of_files_go_there_and_back(peer):
    """Kinetic energies of the same state, before and after."""
    pytest.importorskip(peer)
    rng, compared = np.random.default_rng(0), 0
    for path in (*urdfs(CORPUS)[5::120], *mjcfs(CORPUS)[5::120]):
        try:
            model = kt.load(path, repair=True)
            twin, maps = getattr(kt.interop, f"to_{peer}")(model, strict=False)
        except kt.errors.ModelError:
            continue
        again, second = getattr(kt.interop, f"from_{peer}")(twin)
        q, v = model.random_state(rng)
        Q, V = maps.q(q), maps.v(q, v)
        reflected = model.replace(rotors="reflected")
        energy = eager("kinetic_energy", reflected, q, v)
        theirs = eager("kinetic_energy", again, second.q_back(Q), second.v_back(Q, V))
        assert theirs == pytest.approx(energy, rel=1e-9, abs=1e-12), path.name
        compared += 1
    assert compared >= 4


@pytest.mark.long
@pytest.mark.parametrize("pair", PAIRS)
def test_all_files(pair):
    compare(pair, 1)
