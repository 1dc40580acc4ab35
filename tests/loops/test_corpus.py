"""Every function of a model on the robots of the corpus whose files say loops, against multipliers.

The files stand in ../shared/corpus beside the repository; without them these tests are skipped.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from tests.loops.checks import Checked
from tests.loops.corpus import MJCF, ROBOTS, checked, robot
from tests.loops.rest import check_the_rest
from tests.soak.loops import laws

import kinetree as kt

pytestmark = pytest.mark.skipif(not MJCF.is_dir(), reason="the corpus of robot files is not here")
QUICK = ("robotiq_2f85/2f85", "ufactory_xarm7/hand")
EVERY = [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in ROBOTS]


@cache
def state(name: str) -> Checked:
    return checked(robot(name), np.random.default_rng([*name.encode()]))


def test_no_robot_is_left_out():
    """No other file of the corpus has loops that close."""
    asks = re.compile(r"<connect |polycoef=\"[^\"]*\"")
    files = {
        str(p.relative_to(MJCF).with_suffix("")) for p in MJCF.rglob("*.xml") if asks.search(p.read_text())
    }
    known = {name.split("/")[0] for name in ROBOTS}
    loaded = {name for name in files if "assets" not in name and name.split("/")[0] not in known}
    assert {name for name in loaded if robot(name).loops} == set()


@pytest.mark.parametrize("name", EVERY)
def test_every_function(name):
    found = state(name).all()
    check_the_rest(found)
    assert not found.failures, "\n".join(found.failures)
    assert len(found.errors) > 60


@pytest.mark.parametrize("name", EVERY)
def test_laws(name):
    broken = laws(name, state(name))
    assert not broken, "\n".join(broken)


@pytest.mark.long
@pytest.mark.parametrize("name", ["robotiq_2f85/2f85", "agility_cassie/cassie"])
def test_machine_code(name):
    """The same by machine code, which for a robot of this size keeps its loops or not."""
    model = state(name).model
    found = checked(
        model, np.random.default_rng(1), lambda f, *given, **more: getattr(kt, f)(model, *given, **more)
    )
    found.all()
    check_the_rest(found)
    assert not found.failures, "\n".join(found.failures)
