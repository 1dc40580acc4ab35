"""Make the pictures of the tutorials and of other pages anew: run each page, keep what it saves.

python -m docs.pictures
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
NAMED = ("gallery", "rotors", "loops", "contact", "geometry")
PAGES = [*sorted((DOCS / "tutorials").glob("*.md")), *(DOCS / f"{page}.md" for page in NAMED)]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    start = Path.cwd()
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                namespace: dict = {"__name__": "__tutorial__"}
                for block in BLOCK.finditer(page.read_text()):
                    exec(compile(block[1], page.name, "exec"), namespace)
            finally:
                os.chdir(start)
            for picture in sorted(Path(folder).glob("*.png")):
                print(shutil.copyfile(picture, page.parent / picture.name))


if __name__ == "__main__":
    main()
