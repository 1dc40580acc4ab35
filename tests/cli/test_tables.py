"""`kinetree tables`: printed digits come out again where print is right, corrected ones where it is not."""

from __future__ import annotations

import json

import pytest
from tests.cli.command import assert_one_line_error, kinetree
from tests.conftest import share
from tests.textbook.test_thesis_tables import TABLES

from kinetree.alternatives.costs import ROUTES
from kinetree.cli.tables import measured, measures, writing
from kinetree.cli.tables.table import Row, printed
from kinetree.cli.text import Style

BY_ID = {table.id: table for table in printed()}
# Rows whose printed digits are right; those of the fourth row of Table 4.5 are print's own mistake, repeated.
RIGHT = {"4.3": [False, False, True], "4.4": [False, False, True], "4.5": [False, False, False, True]}


def test_everything_that_is_printed_is_there():
    items = {table.item for table in printed()}
    assert items == {f"TAB-{k}" for k in range(1, 13)}
    ids = "3.1 3.2 3.3 4.1 4.2 4.3 4.4 4.5 4.6 fig3.2 fig3.3 fig3.4 fig4.4 fig4.5 complexity"
    assert list(BY_ID) == ids.split()
    for table in printed():
        assert callable(getattr(measures, table.measure))
        assert {len(row.printed) for row in table.rows} == {len(table.columns)}
        for row in table.rows:
            assert all(text == "-" or float(text) > 0 for text in row.printed)


@pytest.mark.parametrize("name", share(RIGHT, 2))
def test_differences_of_accelerations(name):
    """Nine printed entries to their digits; the others as first principles have them (tests/textbook)."""
    table = measured(BY_ID[name])
    assert [row.agrees for row in table.rows] == RIGHT[name]
    (corrected,) = [rows for title, (_, _, rows) in TABLES.items() if title.startswith(name)]
    for row, values in zip(table.rows, corrected):
        assert row.here == pytest.approx(values, abs=0.0051 if values[0] > 0.1 else 0.00051)


@pytest.mark.parametrize(("name", "bound"), share([("3.1", 1e-10), ("4.1", 1e-11), ("4.2", 1e-11)], 3))
def test_errors_are_rounding(name, bound):
    table = measured(BY_ID[name])
    assert all(0 <= x < bound for row in table.rows for x in row.here)


@pytest.mark.parametrize("name", ["3.2", "3.3", "4.6", "fig3.2", "fig3.3", "fig3.4", "fig4.5"])
def test_times_are_measured(name, monkeypatch):
    """With small robots: only that all rows come out, as positive numbers."""
    monkeypatch.setattr(measures, "SECONDS", 1e-4)
    monkeypatch.setattr(measures, "SIZES", (2, 3, 4))
    monkeypatch.setattr(measures, "GROWING", (2, 3, 4, 5))
    if name not in ("3.3", "fig4.5"):
        monkeypatch.setattr(measures, "call", lambda *given: 1e-6)
    table = measured(BY_ID[name])
    assert all(x > 0 for row in table.rows for x in row.here)
    assert all(len(line) <= 80 for line in writing.text(table, Style()).split("\n"))


def test_operations_are_counted(monkeypatch):
    """Each row is a route, with the power that print claims, but for one (C12); on short chains."""
    monkeypatch.setattr(measures, "COUNTED", (4, 6, 8, 10, 12))
    table = measured(BY_ID["complexity"])
    for row, cost in zip(table.rows, ROUTES, strict=True):
        assert 0 < row.here[0] < row.here[1] < row.here[2], row.name
        assert row.power(table.sizes) == cost[2] == row.grows or "Jacobians" in row.name
    assert (table.rows[1].grows, table.rows[1].power([])) == (2, 3)


def test_digits():
    row = Row("x", ("0.11", "-"), (0.1149, 3.0))
    assert row.agrees and not Row("x", ("0.11",), (0.1151,)).agrees
    assert Row("x", ("-", "-"), (2.0, 8.0)).power([1.0, 2.0]) == 2.0
    assert writing.shown("0.037", 0.15249) == "0.152"
    assert writing.shown("-", float("nan")) == "-"


def test_text_markdown_json_and_plots(tmp_path):
    run = kinetree("tables", "4.3", "table 4.5", "--plots", tmp_path)
    assert run.returncode == 0, run.stderr
    assert max(map(len, run.stdout.split("\n"))) <= 80
    assert "MCRBA and ABA   printed  23.15   39.18   57.79" in run.stdout
    assert "23.17   39.27   57.94  see below" in run.stdout and "(T31)" in run.stdout
    for name in ("4.3", "4.5"):
        assert (tmp_path / f"table-{name}.png").read_bytes()[:4] == b"\x89PNG"
    text = kinetree("tables", "4.4", "--markdown").stdout
    assert "| MCRBA and ABA | printed | 28.19 | 79.69 | 179.47 |  |" in text
    (table,) = json.loads(kinetree("tables", "4.4", "--json").stdout)
    assert table["item"] == "TAB-8" and [row["agrees"] for row in table["rows"]] == RIGHT["4.4"]


def test_unknown_table():
    assert "There are: 3.1, 3.2" in assert_one_line_error(kinetree("tables", "9.9"), 2)
    assert "Did you mean 'fig3.2'?" in assert_one_line_error(kinetree("tables", "fig32"), 2)
