"""The page on spatial algebra keeps its promises: every name in its table exists, every id is tested."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| ([A-Z]{3}-\d+) \| [^|]+ \| ([^|]+) \|$", re.M)
ROWS = ROW.findall((ROOT / "docs" / "spatial.md").read_text())
TESTS = "\n".join(p.read_text() for p in sorted((ROOT / "tests" / "spatial").glob("test_*.py")))

SECTIONS = {"ATT": 13, "POS": 3, "SPV": 14, "INE": 9, "SRB": 5}


def test_table_is_complete():
    ids = [row[0] for row in ROWS]
    expected = [f"{name}-{k}" for name, count in SECTIONS.items() for k in range(1, count + 1)]
    assert ids == [*expected, "KIN-5", "KIN-6", "KIN-7"]


@pytest.mark.parametrize(("id_", "names"), ROWS, ids=[row[0] for row in ROWS])
def test_row(id_, names):
    for name in re.findall(r"`([\w.]+)`", names):
        assert found(name) is not None
    assert re.search(rf"\b{id_}\b", TESTS), f"no test cites {id_}"


@pytest.mark.parametrize(
    "erratum",
    "S1 S2 S3 S4 S5 S6 S7 S8 S9 S16 B1 B2 B3 B4 B5 B6 B10 C7 C9 T15 T25".split(),
)
def test_erratum_has_a_regression_test(erratum):
    assert re.search(rf"\bE:{erratum}\b", TESTS)


def found(name):
    """The object `<name>` of `kinetree.spatial` or `kinetree.textbook`, or of a module or class there."""
    for room in ("kinetree.spatial", "kinetree.textbook"):
        value = importlib.import_module(room)
        for part in name.split("."):
            if not hasattr(value, part) and importlib.util.find_spec(f"{value.__name__}.{part}"):
                importlib.import_module(f"{value.__name__}.{part}")
            value = getattr(value, part, None)
            if value is None:
                break
        else:
            return value
    return None
