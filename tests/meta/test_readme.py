"""The README shows what is there: pictures, links, a short example, and figures that were measured."""

from __future__ import annotations

import re

import pytest
from tests.meta.sources import ROOT

README = (ROOT / "README.md").read_text()
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text()
MICROSECONDS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3}


def test_the_example_is_a_dozen_lines_about_a_robot_file():
    (block, *_) = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
    assert len([line for line in block.split("\n") if line.strip()]) <= 13
    assert "kt.load(" in block


def test_pictures_are_small_and_there():
    pictures = re.findall(r'<img src="([^"]+)"', README)
    assert len(pictures) >= 2
    for picture in pictures:
        assert 0 < (ROOT / picture).stat().st_size < 100_000, picture


def test_links_lead_to_files():
    for link in re.findall(r"\]\(([^):]+?)(?:#[^)]*)?\)", README):
        assert (ROOT / link).exists(), link


def measured(robot: str, function: str) -> list[str]:
    """The cells of a row of the benchmarks, of their first table."""
    row, *_ = re.findall(rf"^\| {re.escape(robot)} \| {function} \|(.*)\|$", BENCHMARKS, re.M)
    return [cell.strip() for cell in row.split("|")]


def microseconds(cell: str) -> float:
    number, unit = re.match(r"~?([\d.]+) (ns|µs|ms)", cell).groups()  # type: ignore[union-attr]
    return float(number) * MICROSECONDS[unit]


# (start of the row in the README, robot, function, columns of the benchmarks in the order of the README)
ROWS = [
    ("inverse dynamics of a humanoid, one call", "humanoid", "inverse_dynamics", (2, 3, 5)),
    ("the same per state, in a batch of 4096", "humanoid", "inverse_dynamics", (6, 7)),
    ("forward dynamics of a 7-axis arm, one call", "arm7", "forward_dynamics", (2, 3, 5)),
    ("its derivatives per state, in a batch of 4096", "arm7", "forward_dynamics_derivatives", (6, 7)),
    ("inverse mass matrix of a chain of 20", "chain of 20", "inverse_mass_matrix", (2, 3)),
]


@pytest.mark.parametrize("start, robot, function, columns", ROWS)
def test_figures_are_those_of_the_benchmarks(start, robot, function, columns):
    (row,) = re.findall(rf"^\| {re.escape(start)} \|(.*)\|$", README, re.M)
    shown = [cell.strip() for cell in row.split("|")]
    cells = measured(robot, function)
    for cell, column in zip(shown, columns):
        figure = microseconds(cells[column])
        assert abs(microseconds(cell) - figure) <= 0.051 * max(figure, 0.1), (cell, cells[column])
