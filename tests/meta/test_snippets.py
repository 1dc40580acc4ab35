"""Every Python block of the README and of docs/ runs, and so does every `kinetree` command shown there.

The blocks of one page run in order, in one namespace, in an empty directory. A block that cannot run
(a sketch, another project's code) is fenced as `text`; signatures and bodies in the generated reference are
fenced as `py`. A section that imports a package which is not installed is left out. A third of the pages run
each time, others the next, and all in a full run.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import shlex
from glob import glob
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.conftest import share
from tests.meta.sources import ROOT, named

from kinetree.extras import EXTRAS

FENCE = re.compile(r"^```(python|sh)\n(.*?)^```$", re.M | re.S)
PICTURE = re.compile(r"!\[[^]]*\]\(([^):]+\.png)\)")
PAGES = [
    p for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if FENCE.search(p.read_text())
]


@pytest.mark.parametrize("page", [PAGES[0], *share(PAGES[1:], 3)], ids=named)
def test_page(page: Path, tmp_path, monkeypatch, capsys):
    if "savefig" in page.read_text():
        pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kinetree.cli.tables.measures.SECONDS", 1e-4)  # that times come out is enough here
    namespace: dict = {"__name__": "__snippet__"}
    text = page.read_text()
    for block in FENCE.finditer(text):
        line = text.count("\n", 0, block.start(2))
        if lacking(section(text, block.start())):
            continue
        if block[1] == "python":
            exec(compile("\n" * line + block[2], named(page), "exec"), namespace)
        else:
            run_commands(block[2], f"{named(page)}:{line + 1}")
    for picture in PICTURE.findall(text):
        assert (page.parent / picture).is_file(), f"{named(page)}: {picture}: run python -m docs.pictures"
        if f'savefig("{picture}"' in text:
            assert (tmp_path / picture).read_bytes()[:4] == b"\x89PNG"


def section(text: str, place: int) -> str:
    """The text from one heading to the next around a place."""
    end = text.find("\n## ", place)
    return text[text.rfind("\n## ", 0, place) + 1 : end if end >= 0 else len(text)]


def lacking(text: str) -> bool:
    """Whether an extra that a text imports is not installed."""
    return any(f"import {extra}" in text and find_spec(extra) is None for extra in EXTRAS)


def run_commands(block: str, place: str) -> None:
    """Run the lines that call kinetree, but for what is long and has tests of its own.

    make and pip are left to the reader.
    """
    from kinetree.cli import main

    for line in block.replace("\\\n", " ").split("\n"):
        given = shlex.split(line, comments=True)
        alone = itertools.takewhile(lambda word: word not in "|>", given)
        words = [found for word in alone for found in glob(word) or [word]]
        if words[:1] == ["kinetree"] and not {"bench", "demo", "tables", "view"} & set(words):
            with contextlib.ExitStack() as stack:
                if ">" in given:
                    file = stack.enter_context(open(given[given.index(">") + 1], "w"))
                    stack.enter_context(contextlib.redirect_stdout(file))
                assert main(words[1:]) in (0, 1), f"{place}: {line}"
