"""The pages of docs/reference and the stub of the package are what docs/generate.py writes."""

from __future__ import annotations

import subprocess
import sys

from tests.meta.sources import ROOT


def test_generated_files_are_up_to_date():
    run = subprocess.run(
        [sys.executable, "-m", "docs.generate", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
