"""What pyproject.toml cannot say: the README as a package index shows it, and examples inside the package.

An index knows no files of the repository. Links to them become links to `Source` of `[project.urls]`; as long
as there is none they become plain text, and pictures are left out.
"""

from __future__ import annotations

import re
import shutil
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
    from setuptools.command.build_py import build_py

    class WithExamples(build_py):
        """The folder `examples` beside the modules, for `kinetree examples`."""

        def run(self) -> None:
            super().run()
            if not self.editable_mode:
                shutil.copytree(
                    ROOT / "examples", Path(self.build_lib, "kinetree", "examples"), dirs_exist_ok=True
                )

    page = {"long_description": described(), "long_description_content_type": "text/markdown"}
    setup(**page, cmdclass={"build_py": WithExamples})
