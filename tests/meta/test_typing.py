"""What type checkers and editors see of kinetree: every name, with its signature, type and docstring."""

from __future__ import annotations

import ast
import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import each
from tests.meta.sources import PACKAGE, ROOT

import kinetree as kt

SAMPLES = Path(__file__).parent / "typed"
STUB = ast.parse((PACKAGE / "__init__.pyi").read_text())
DEFINED = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}


@pytest.fixture(scope="module")
def complaints() -> list[tuple[str, int]]:
    """The errors of one run of `mypy --strict` over both samples: file and line."""
    pytest.importorskip("mypy")
    files = [str(SAMPLES / name) for name in ("right.py", "wrong.py")]
    cache = ROOT / ".mypy_cache" / "samples"
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", *files],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found = re.findall(r"^(.*?):(\d+): error: ", run.stdout, re.M)
    return [(Path(file).name, int(line)) for file, line in found]


def test_typical_calls_are_clean(complaints):
    assert [where for where in complaints if where[0] != "wrong.py"] == []


def test_wrong_calls_are_errors(complaints):
    lines = (SAMPLES / "wrong.py").read_text().splitlines()
    wrong = {k for k, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert len(wrong) >= 30
    assert {line for file, line in complaints if file == "wrong.py"} == wrong


def test_typical_calls_run():
    assert runpy.run_path(str(SAMPLES / "right.py"))["tau"].shape == (7,)


def test_the_stub_has_every_public_name():
    imports = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]
    imported = {name.asname for node in imports for name in node.names}
    assert set(kt.__all__) - {"__version__"} <= imported | set(DEFINED)


def test_the_stub_has_the_signature_and_the_docstring():
    """Read back independently of the generator: names, order, kinds, defaults and text."""

    def check(name):
        arguments = DEFINED[name].args
        signature = inspect.signature(getattr(kt, name)).parameters.values()
        keywords = [p.name for p in signature if p.kind is p.KEYWORD_ONLY]
        assert [a.arg for a in (*arguments.args, *arguments.kwonlyargs)] == [p.name for p in signature]
        assert [a.arg for a in arguments.kwonlyargs] == keywords
        given = [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
        defaults = [ast.literal_eval(d) for d in given]
        assert defaults == [p.default for p in signature if p.default is not p.empty]
        assert ast.get_docstring(DEFINED[name]) == inspect.getdoc(getattr(kt, name))

    each(DEFINED, check)
