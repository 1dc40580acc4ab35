"""What pyproject.toml cannot say: the README as a package index shows it.

An index knows no files of the repository. Links to them become links to `Source` of `[project.urls]`; as long
as there is none they become plain text, and pictures are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent


def described() -> str:
    """The README with no link that leads nowhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    home = project.get("urls", {}).get("Source", "").rstrip("/")
    text = (ROOT / "README.md").read_text()
    if not home:
        text = re.sub(r"^.*<img src=.*\n(?:\n.*Right: a plot of.*\n)?", "", text, flags=re.M)
        return re.sub(r"\[([^]]*)\]\((?!\w+:)[^)]*\)", r"\1", text)
    text = re.sub(r'(<img src=")(?!\w+:)', rf"\1{home}/raw/main/", text)
    return re.sub(r"(\]\()(?!\w+:|#)", rf"\1{home}/blob/main/", text)


if __name__ == "__main__":
    from setuptools import setup

    setup(long_description=described(), long_description_content_type="text/markdown")
