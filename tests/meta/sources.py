"""Where the repository is, and the files in it that are written by hand."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "kinetree"
FOLDERS = ("src", "tests", "benchmarks", "examples", "docs", ".ci")


def written(*suffixes: str) -> list[Path]:
    """Every file of the repository with one of these suffixes, built things left out."""
    top = [p for p in ROOT.iterdir() if p.is_file()]
    deep = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.is_file()]
    built = {".git", "__pycache__", "kinetree.egg-info"}
    return sorted(p for p in top + deep if p.suffix in suffixes and not built & set(p.parts))


def modules() -> list[Path]:
    """Every Python file of the package."""
    return [p for p in written(".py") if PACKAGE in p.parents]


def named(path: Path) -> str:
    """The path as a person writes it, from the root of the repository."""
    return path.relative_to(ROOT).as_posix()
