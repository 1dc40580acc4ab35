"""Write the pages of docs/reference and the stub of the package from the functions themselves.

python -m docs.generate             write the files
python -m docs.generate --check     exit with status 1 if a file is not what would be written
"""

from __future__ import annotations

import sys

from docs import reference, stubs


def main(words: list[str]) -> int:
    pages = reference.pages() | {stubs.FILE: stubs.text()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    extra = [path for path in reference.FOLDER.glob("*.md") if path not in pages]
    if "--check" in words:
        for path in stale + extra:
            print(f"{path} is out of date: run python -m docs.generate")
        return 1 if stale or extra else 0
    reference.FOLDER.mkdir(exist_ok=True)
    for path, text in pages.items():
        path.write_text(text)
    for path in extra:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
