"""`lint`: everything that is wrong with a robot file, the most severe first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinetree.errors import FileError
from kinetree.io.build import build
from kinetree.io.collisions import read_collisions
from kinetree.io.description import Description
from kinetree.io.files import Source, open_document
from kinetree.io.formats import format_of
from kinetree.io.meshes import check_meshes
from kinetree.io.paths import Folders
from kinetree.io.placement import snap_rotation
from kinetree.io.report import Finding, Log, by_severity

_ABOUT_LOADING = (
    "merged",
    "split",
    "ignored",
    "loop",
    "loop-redundant",
)  # part of the load report only: nothing is wrong with the file
_NEAR = 2e-3  # rad: 1.57, 3.14 and 1.571 are meant to be right angles
_EXACT = 1e-9


def lint(
    source: Source,
    *,
    format: str | None = None,
    package_dirs: Folders = (),
    include_dirs: Folders = (),
    xacro_args: Mapping[str, Any] | None = None,
) -> list[Finding]:
    """Everything that is wrong with a robot file: rule, severity, place, consequence and remedy.

    Args:
        source: a path or a text, as for `kinetree.load`.
        format: "urdf", "mjcf", "sdf", "usd" or "json"; recognised by content if None.
        package_dirs, include_dirs, xacro_args: as for `kinetree.load`.

    Returns:
        Findings, errors first; an unreadable file is a finding, too. An empty list means no findings.
    """
    log = Log()
    try:
        document = open_document(source, package_dirs, include_dirs, xacro_args)
        kind = format_of(document, format)
        robot = kind.read(document, log)
        if isinstance(robot, Description):
            read_collisions(robot, kind.collisions, document.reach, log)
            check_right_angles(robot, log)
            if document.package_dirs and robot.document is not None:
                check_meshes(robot.document, document.reach, log)
            build(robot, log)
    except FileError as error:
        log.findings.append(error.finding)
    return by_severity(f for f in log.findings if f.rule not in _ABOUT_LOADING)


def check_right_angles(robot: Description, log: Log) -> None:
    """Record placements that are almost, but not quite, at right angles."""
    for joint in robot.joints.values():
        given = joint.placement.rotation
        _, off = (snap_rotation(given, _NEAR).inverse() @ given).as_axis_angle()
        if off > _EXACT:
            log.add("right-angle", joint.where, f"the placement is {off:.2g} rad off a right angle")
