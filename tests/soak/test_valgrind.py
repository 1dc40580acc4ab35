"""Kernels that come and go under valgrind: no freed or uninitialised memory is read.

Valgrind reports two things about every Python program, as a run without this library shows:

- CPython creates an integer that becomes zero without a digit (`_PyLong_New`), and multiplies this
  uninitialised digit by a length of zero. The product is zero, but valgrind tracks it wherever it goes. Each
  report of an uninitialised value says where its memory comes from: from there, and nowhere else.
- The dynamic loader compares names eight bytes at a time (`is_dst`), across the end of short ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
VALGRIND = [
    "valgrind", "--xml=yes", "--show-leak-kinds=none", "--track-origins=yes", "--error-limit=no",
    "--num-callers=40",
]  # fmt: skip
WITHOUT = "import ctypes, gc, llvmlite.binding, numpy; print(numpy.linalg.norm(numpy.ones(5))); gc.collect()"
WITH = "import gc; from tests.soak import lifetimes; print(*map(lifetimes.trial, range({}))); gc.collect()"
NUMBER, LOADER = "a digit of zero", "the dynamic loader"


def explanation(error: ElementTree.Element) -> str | None:
    """Which of the two a report is; None if neither."""
    kind, stacks = error.findtext("kind", ""), _stacks(error)
    if kind in ("UninitValue", "UninitCondition") and len(stacks) == 2 and stacks[1][1] == "_PyLong_New":
        return NUMBER
    if kind == "InvalidRead" and stacks[0][:2] == ["strncmp", "is_dst"]:
        return LOADER
    return None


def _stacks(error: ElementTree.Element) -> list[list[str]]:
    """Function names, innermost first: where it happened, and where its memory comes from."""
    return [[frame.findtext("fn", "?") for frame in stack.iter("frame")] for stack in error.iter("stack")]


def reports(code: str, folder: Path) -> Counter[str]:
    """How often valgrind makes each report about a program; an unexplained one fails."""
    path = folder / "valgrind.xml"
    places = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    settings = {"PYTHONMALLOC": "malloc", "PYTHONPATH": places, "XDG_CACHE_HOME": str(folder)}
    command = [*VALGRIND, f"--xml-file={path}", sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, **settings}, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    errors = list(ElementTree.parse(path).getroot().iter("error"))
    strange = [f"{e.findtext('kind')}: {_stacks(e)}" for e in errors if explanation(e) is None]
    assert not strange, "\n".join(strange[:5])
    return Counter(str(explanation(error)) for error in errors)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_no_memory_is_used_that_was_freed_or_never_written(tmp_path_factory):
    """All reports are explained, and of the kinds that Python has without the library."""
    usual = reports(WITHOUT, tmp_path_factory.mktemp("without"))
    found = reports(WITH.format(40), tmp_path_factory.mktemp("with"))
    assert found.keys() <= usual.keys(), (found, usual)


def test_what_is_not_explained_is_seen():
    """A report of freed memory, and one of a value that something else left uninitialised."""
    freed = "<error><kind>InvalidRead</kind><stack><frame><fn>meth_dealloc</fn></frame></stack></error>"
    malloc, maker = "<frame><fn>malloc</fn></frame>", "<frame><fn>{}</fn></frame>"
    unwritten = (
        "<error><kind>UninitValue</kind><stack><frame><fn>Py_INCREF</fn></frame></stack>"
        f"<stack>{malloc}{maker}</stack></error>"
    )
    assert explanation(ElementTree.fromstring(freed)) is None
    assert explanation(ElementTree.fromstring(unwritten.format("PyArray_New"))) is None
    assert explanation(ElementTree.fromstring(unwritten.format("_PyLong_New"))) == NUMBER
