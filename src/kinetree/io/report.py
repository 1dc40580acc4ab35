"""Findings about a file, the errors raised from them, and the load report of a model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from kinetree.errors import FileError
from kinetree.io.rules import RULES

_MOST = 10_000  # most findings kept per severity
_SUGGESTIONS = 10  # most suggestions: finding similar names is slow


class Where(NamedTuple):
    """A place in a file: file name, line (0 if there is none) and element."""

    file: str
    line: int
    element: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.element}" if self.line else f"{self.file}: {self.element}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about a file: rule, place, problem, consequence and remedy."""

    rule: str
    severity: str
    where: Where
    problem: str
    matters: str
    remedy: str
    repaired: str = ""  # the change made by repair=True, if any

    def __str__(self) -> str:
        action = f"Repaired: {self.repaired}." if self.repaired else self.remedy
        return f"{self.where}: {self.problem} [{self.rule}]. {action}"

    @property
    def fixable(self) -> bool:
        """Whether `repair=True` repairs this kind of finding."""
        return RULES[self.rule].repairable

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `kinetree check --json` prints it."""
        data = asdict(self)
        data["where"] = self.where._asdict()
        return data


def finding(rule: str, where: Where, problem: str, remedy: str = "", repaired: str = "") -> Finding:
    """The finding of `rule` for `problem` at `where`."""
    entry = RULES[rule]
    return Finding(rule, entry.severity, where, problem, entry.matters, remedy or entry.remedy, repaired)


def refuse(rule: str, where: Where, problem: str, remedy: str = "") -> NoReturn:
    """Give up on a file at once, where reading on is pointless."""
    raise FileError(finding(rule, where, problem, remedy))


class Log:
    """Collects findings while a file is read: a linter shows all of them, `load` raises the first error."""

    def __init__(self, repair: bool = False, strict: bool = False) -> None:
        self.repair, self.strict = repair, strict
        self.findings: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self._suggestions = 0

    def add(self, rule: str, where: Where, problem: str, remedy: str = "", change: str = "") -> None:
        """Record a finding, unless there are already thousands of its severity."""
        severity = RULES[rule].severity
        self._counts[severity] += 1
        if self._counts[severity] <= _MOST:
            self.findings.append(finding(rule, where, problem, remedy, change))

    def suggest(self, name: str, options: Iterable[str]) -> str:
        """A remedy that names the option most similar to `name`; "" if none is, or after many suggestions."""
        self._suggestions += 1
        if self._suggestions > _SUGGESTIONS:
            return ""
        close = get_close_matches(name[:80], islice(options, 300), 1)
        return f"Did you mean {close[0]!r}?" if close else ""

    def repairable(self, rule: str, where: Where, problem: str, change: str, remedy: str = "") -> bool:
        """Record a repairable finding; True if the caller should repair it, as described by `change`."""
        assert RULES[rule].repairable, rule
        self.add(rule, where, problem, remedy, change if self.repair else "")
        return self.repair

    def bounds(self, lower: float, upper: float, where: Where) -> tuple[float, float]:
        """Limits of a joint that some position satisfies: exchanged if swapped and repaired, or none."""
        if lower > upper:
            problem = f"the lower limit {lower:g} is above the upper limit {upper:g}"
            if not self.repairable("limits-swapped", where, problem, "limits exchanged"):
                return -math.inf, math.inf
            lower, upper = upper, lower
        if lower == math.inf or upper == -math.inf:
            problem = f"no position lies between the limits {lower:g} and {upper:g}"
            self.repairable("limits-swapped", where, problem, "limits dropped")
            return -math.inf, math.inf
        return lower, upper

    @property
    def errors(self) -> list[Finding]:
        """The findings that prevent a model."""
        return [f for f in self.findings if f.severity == "error" and not f.repaired]

    def checkpoint(self) -> None:
        """Between two stages: a loader stops here on errors, a linter goes on."""
        if self.strict:
            self.raise_errors()

    def raise_errors(self) -> None:
        """Raise the first error, if there is one."""
        errors = self.errors
        if errors:
            raise FileError(errors[0], len(errors) - 1)


@dataclass(frozen=True)
class LoadReport:
    """What loading a robot file found and did: `model.report`."""

    source: str
    format: str
    findings: tuple[Finding, ...] = field(default=())

    @property
    def merged(self) -> tuple[Finding, ...]:
        """Links that were merged into their parents, and bodies that were split into several."""
        return self._of("merged", "split")

    @property
    def repaired(self) -> tuple[Finding, ...]:
        """What `repair=True` changed."""
        return tuple(f for f in self.findings if f.repaired)

    @property
    def ignored(self) -> tuple[Finding, ...]:
        """What the file contains but the model does not."""
        return self._of("ignored", "unsupported", "inertia-mesh", "rotor-incomplete")

    @property
    def loops(self) -> tuple[Finding, ...]:
        """Loops that were closed, their redundant rows, and loops that were left open."""
        return self._of("loop", "loop-redundant", "loop-independent", "loop-key", "loop-open")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that make the dynamics wrong, singular or not what was meant."""
        return tuple(f for f in self.findings if f.severity == "warning" and not f.repaired)

    def _of(self, *rules: str) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.rule in rules)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        found = [f.to_dict() for f in self.findings]
        return {"source": self.source, "format": self.format, "findings": found}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        yield f"{self.source} ({self.format})"
        for title, group in (
            ("warnings", self.warnings),
            ("repaired", self.repaired),
            ("ignored", tuple(f for f in self.ignored if f.severity == "note")),
            ("loops", tuple(f for f in self.loops if f.severity == "note")),
            ("merged", self.merged),
            ("contact", tuple(f for f in self.findings if f.rule.startswith("contact-"))),
        ):
            if group:
                yield f"  {title}: {len(group)}"
                yield from (f"    {f}" for f in group)


SEVERITIES = ("error", "warning", "note")


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Findings sorted by severity, the most severe first, each severity in file order."""
    return sorted(findings, key=lambda f: SEVERITIES.index(f.severity))
