"""The pages of docs/algorithms are what docs/generate.py writes from the algorithms."""

from __future__ import annotations

import subprocess
import sys

from tests.meta.sources import ROOT


def test_pages_are_up_to_date():
    run = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
