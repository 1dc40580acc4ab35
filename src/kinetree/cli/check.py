"""`kinetree check`: find problems in robot files, where they are, and how much they matter."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinetree.cli.source import STANDARD_INPUT, ZOO, configure_reach, existing, opened, reach
from kinetree.cli.status import FINDINGS, OK, Misuse
from kinetree.cli.text import Style, plural, printable, progress, table
from kinetree.errors import KinetreeError

if TYPE_CHECKING:
    from kinetree.io.report import Finding

SUMMARY = "find problems in robot files, and repair them"
DESCRIPTION = """Read robot files and list their problems. With an error there is no model; with a warning its
dynamics is wrong or singular; a note is worth knowing. The exit status is 1 if there is an error or a
warning, or with --fix, if one remains."""
EXAMPLES = """  kinetree check panda.urdf
  kinetree check --level warning --json *.urdf
  kinetree check --fix --output repaired.urdf hand.urdf"""

LEVELS = ("error", "warning", "note")
CLEAN = {"error": "no errors", "warning": "no errors or warnings", "note": "no findings"}
PLACES = 4  # shown per rule without --all


class Checked(NamedTuple):
    """The findings of a file and the outcome of --fix: the repaired file and what remains, or the failure."""

    path: Path
    findings: list[Finding]
    repaired: Path | None = None
    left: list[Finding] | None = None
    failure: str = ""

    @property
    def is_serious(self) -> bool:
        return any(f.severity != "note" for f in (self.findings if self.left is None else self.left))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="robot file, or - for standard input")
    level = "list findings from this severity up (default: note)"
    parser.add_argument("--level", choices=LEVELS, default="note", help=level)
    every = f"list every place, not just the first {PLACES} of each rule"
    parser.add_argument("--all", action="store_true", help=every)
    beside = "write NAME.repaired.SUFFIX next to each repairable FILE"
    parser.add_argument("--fix", action="store_true", help=beside)
    one = "with --fix and a single FILE: the file to write"
    parser.add_argument("--output", metavar="PATH", type=Path, help=one)
    parser.add_argument("--force", action="store_true", help="with --fix: overwrite existing files")
    parser.add_argument("--json", action="store_true", help="print JSON")
    configure_reach(parser)


def run(options: argparse.Namespace) -> int:
    if options.output and not (options.fix and len(options.files) == 1):
        raise Misuse("--output needs --fix and exactly one FILE")
    if zoo := [file for file in options.files if file.startswith(ZOO)]:
        raise Misuse(f"'{zoo[0]}' is not a file; robots of the zoo need no check")
    if STANDARD_INPUT in options.files and options.fix and not options.output:
        raise Misuse("--fix writes next to FILE; for standard input, give --output")
    paths = [Path(file) if file == STANDARD_INPUT else existing(file) for file in options.files]
    checked = [check(path, options) for path in progress(paths, len(paths), "checking")]
    shown = LEVELS[: LEVELS.index(options.level) + 1]
    if options.json:
        print(json.dumps([as_json(c, shown) for c in checked], indent=2))
    else:
        write(Style(sys.stdout), checked, shown, options)
    return FINDINGS if any(c.is_serious for c in checked) else OK


def check(path: Path, options: argparse.Namespace) -> Checked:
    """Lint one file and, with --fix, write the repaired one."""
    from kinetree.io.files import write_text
    from kinetree.io.fix import fix
    from kinetree.io.lint import lint

    document = opened(STANDARD_INPUT) if str(path) == STANDARD_INPUT else path
    findings = lint(document, **reach(options))
    if not (options.fix and any(f.fixable for f in findings)):
        return Checked(path, findings)
    target = options.output or path.with_suffix(f".repaired{path.suffix}")
    if os.path.lexists(target) and not options.force:
        raise Misuse(f"'{target}' exists: use --force to overwrite it, or --output to write elsewhere")
    try:
        text, _ = fix(document, package_dirs=options.package_dir, include_dirs=options.include_dir)
    except KinetreeError as fault:
        return Checked(path, findings, failure=str(fault))
    try:
        write_text(target, text)
    except OSError as fault:
        raise Misuse(f"'{target}' cannot be written: {fault.strerror}") from None
    return Checked(path, findings, target, lint(target, **reach(options)))


def as_json(checked: Checked, shown: tuple[str, ...]) -> dict[str, Any]:
    """The result for one file as plain data."""
    data: dict[str, Any] = {
        "file": str(checked.path),
        "findings": [{**f.to_dict(), "fixable": f.fixable} for f in checked.findings if f.severity in shown],
    }
    if checked.failure:
        data["failure"] = checked.failure
    if checked.repaired is not None:
        data["repaired"] = str(checked.repaired)
        data["left"] = [f.to_dict() for f in checked.left or () if f.severity in shown]
    return data


def write(style: Style, checked: list[Checked], shown: tuple[str, ...], options: argparse.Namespace) -> None:
    """Print the findings, file by file and rule by rule, the most severe first."""
    paint = {"error": style.bad, "warning": style.doubtful, "note": style.dim}
    for each in checked:
        rules: dict[tuple[int, str], list[Finding]] = {}
        for f in each.findings:
            if f.severity in shown:
                rules.setdefault((LEVELS.index(f.severity), f.rule), []).append(f)
        print(style.bold(printable(each.path)) + ("" if rules else f": {style.good(CLEAN[options.level])}"))
        for _, found in sorted(rules.items(), key=lambda item: item[0][0]):
            found.sort(key=lambda f: f.where.line)
            first = found[0]
            severity = paint[first.severity](first.severity)
            print(f"  {severity} {style.bold(first.rule)}: {printable(first.matters)}")
            places = found if options.all else found[:PLACES]
            rows = [[f.where.line or "", printable(f"{f.where.element}: {f.problem}")] for f in places]
            print(table([["     ", *row] for row in rows], align="<><"))
            if len(places) < len(found):
                print(style.dim(f"       and {len(found) - len(places)} more; --all lists them"))
            print(style.dim(f"       {style.glyph('→', '->')} {printable(first.remedy)}"))
        if each.failure:
            print(f"  {style.bad('cannot be repaired')}: {printable(each.failure)}")
        if each.repaired is not None:
            print(f"  {style.good('repaired')}: {printable(each.repaired)}, {summary(each.left or [])} left")
    found = [f for each in checked for f in each.findings]
    fixable = sum(f.fixable for f in found)
    hint = f"; --fix repairs {fixable}" if fixable and not options.fix else ""
    print(f"\n{plural(len(checked), 'file')}: {summary(found)}{hint}")


def summary(findings: list[Finding]) -> str:
    """The number of findings of each severity."""
    count = Counter(f.severity for f in findings)
    return ", ".join(plural(count[level], level) for level in LEVELS if count[level]) or "no findings"
