"""Damaged files with loops: each becomes a model whose loops are closed, or an error that says why not."""

from __future__ import annotations

import os
import random
import warnings

import numpy as np
import pytest
from tests.io.test_fuzz import CHANGES, finite
from tests.io.test_loops import urdf
from tests.io.test_loops_mjcf import CLOSED

import kinetree as kt
from kinetree.errors import FileError, KinetreeError

SEEDS = [urdf(), *(text for text, _ in CLOSED.values())]
FILES = int(os.environ.get("KINETREE_LOOP_FUZZ", "30"))


@pytest.mark.parametrize("part", range(3))
def test_damaged_loops_are_closed_or_named(part):
    outcomes = {"closed": 0, "open": 0, "refused": 0}
    for seed in range(part, FILES, 3):
        chance = random.Random(seed)
        text = chance.choice(SEEDS)
        for _ in range(chance.choice((1, 1, 2, 3))):
            text = chance.choice(CHANGES)(text, chance)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", kt.errors.FileWarning)
                model = kt.load(text)
        except FileError:
            outcomes["refused"] += 1
            continue
        outcomes["closed" if model.loops else "open"] += 1
        assert finite(model), seed
        if model.loops:
            _check(model, seed)
    assert sum(outcomes.values()) == len(range(part, FILES, 3))


def _check(model: kt.Model, seed: int) -> None:
    assert kt.Model.from_dict(model.to_dict()) == model, seed
    q = model.neutral()
    try:
        M = kt.mass_matrix(model, q, target="eager")
    except KinetreeError:
        return
    G = kt.loop_matrix(model, q, target="eager")
    there = kt.mass_matrix(model.spanning_tree, q, target="eager")
    size = np.abs(G.T) @ np.abs(there) @ np.abs(G)
    assert np.abs(M - G.T @ there @ G).max() <= 1e-9 * size.max() + 1e-300, seed
