"""`kinetree examples`: the list, the text of one, and running it."""

from __future__ import annotations

import json
import re

from tests.cli.command import assert_one_line_error, kinetree
from tests.meta.sources import ROOT


def test_list():
    run = kinetree("examples")
    names = [path.stem for path in sorted((ROOT / "examples").glob("*.py"))]
    assert run.returncode == 0 and re.findall(r"^(\w+)", run.stdout, re.M) == names
    assert max(map(len, run.stdout.split("\n"))) <= 80
    assert [row["name"] for row in json.loads(kinetree("examples", "--json").stdout)] == names


def test_text_and_run():
    assert kinetree("examples", "planet").stdout == (ROOT / "examples" / "planet.py").read_text()
    assert "towards the centre, m/s^2: 12" in kinetree("examples", "planet", "--run").stdout


def test_bad_use():
    assert "Did you mean 'crane'?" in assert_one_line_error(kinetree("examples", "crain"), 2)
    assert "needs the NAME" in assert_one_line_error(kinetree("examples", "--run"), 2)
