"""docs/sources.md: every id of the sources is there, and every name in it leads to something."""

from __future__ import annotations

import ast
import pkgutil
import re
from functools import cache

import numpy as np
from tests.conftest import each
from tests.meta.sources import ROOT

import kinetree as kt
from kinetree.cli.tables.table import printed

PAGE = (ROOT / "docs" / "sources.md").read_text()
# How many ids there are of each kind; those of joints count from 0.
COUNTS = {
    "TOP": 8, "ATT": 13, "POS": 3, "SPV": 14, "INE": 9, "SRB": 5, "JNT": 14, "KIN": 10, "OPR": 23, "MAS": 13,
    "IDY": 12, "ABI": 8, "FDY": 10, "FRC": 9, "MOM": 7, "INR": 4, "COR": 17, "ROT": 15, "SIM": 7, "SYM": 4,
    "CTL": 7, "EXA": 12, "TAB": 12,
}  # fmt: skip
ROWS = re.findall(r"^\| ([A-Z]{3}-\d+) \| (.*?) \| (.*?) \| (.*?) \| (.*?) ?\|$", PAGE, re.M)
CORRECTIONS = re.findall(r"^\| ([A-Z]\d+) \| .+ \| .+ \|$", PAGE, re.M)


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@cache
def operators():
    robot = kt.zoo.chain(2)
    return kt.operators(robot, np.zeros(2), np.zeros(2))


def leads_somewhere(name: str) -> bool:
    """Whether a name of the library, a letter of the operators or a file is there."""
    if "/" in name:
        return (ROOT / name).is_file()
    try:
        if name.startswith("op."):
            return getattr(operators(), name[3:]) is not None
        return pkgutil.resolve_name(re.sub(r"^kt\.", "kinetree.", name)) is not None
    except (AttributeError, ImportError):
        return False


@cache
def defined(path: str) -> set[str]:
    """The tests, classes of tests and laws of a file."""
    file = ROOT / "tests" / f"{path}.py"
    if not file.is_file():
        return set()
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{n.name}" for n in node.body if isinstance(n, ast.FunctionDef)}
    return found


def test_every_id_is_there_once():
    expected = [f"{kind}-{k + (kind != 'JNT')}" for kind, count in COUNTS.items() for k in range(count)]
    assert [row[0] for row in ROWS] == expected and len(expected) == 236


def test_names_are_not_stale():
    def check(row):
        _, what, names, tests, corrections = row
        assert what and quoted(names) and quoted(tests)
        for name in quoted(names):
            assert leads_somewhere(name), f"there is no {name}"
        for test in quoted(tests):
            path, _, name = test.partition("::")
            assert name in defined(path), f"there is no test {test}"
            own = name.rpartition("::")[2]
            assert own.startswith(("test_", "Test")) or "/laws_of_" in path, f"{test} is no test"
        assert set(corrections.split()) <= set(CORRECTIONS)

    each(ROWS, check)


def test_corrections_are_there_once_and_those_that_tests_and_tables_name():
    assert len(CORRECTIONS) == len(set(CORRECTIONS)) == 93
    named = {
        label
        for table in printed()
        for note in table.notes
        for label in re.findall(r"\b([TRMSBC]\d+)\b", note)
    }
    for path in (ROOT / "tests").rglob("*.py"):
        named |= set(re.findall(r"\bE:([TRMSBC]\d+)\b", path.read_text()))
    assert named and named <= set(CORRECTIONS), sorted(named - set(CORRECTIONS))


def test_stale_names_are_seen():
    assert (
        leads_somewhere("kt.mass_matrix") and leads_somewhere("op.phi") and leads_somewhere("docs/spatial.md")
    )
    assert not leads_somewhere("kt.mass_matrices") and not leads_somewhere("kinetree.nothing")
    assert not leads_somewhere("docs/nothing.md") and not leads_somewhere("op.nothing")
    assert "test_figure_2" in defined("soa/test_influence") and not defined("soa/nothing")
