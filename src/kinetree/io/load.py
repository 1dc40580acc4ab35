"""`kt.load`: a robot from a file or a text in any supported format."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

from kinetree.errors import FileWarning
from kinetree.io.build import build
from kinetree.io.collisions import read_collisions
from kinetree.io.files import Document, Source, open_document
from kinetree.io.formats import format_of
from kinetree.io.loops import CHOICES
from kinetree.io.meshes import check_meshes
from kinetree.io.mjcf_marks import frames_of_geoms
from kinetree.io.paths import Folders
from kinetree.io.report import LoadReport, Log, Where, refuse
from kinetree.io.tree import BASES
from kinetree.model import Model

# findings after which the model moves differently from what the file describes
_WRONG = (
    "motion-massless",
    "unsupported",
    "loop-open",
    "inertia-mesh",
    "attribute-unknown",
    "element-unknown",
)


def load(
    source: Source,
    *,
    format: str | None = None,
    repair: bool = False,
    snap: float = 0.0,
    base: str | None = None,
    package_dirs: Folders = (),
    include_dirs: Folders = (),
    merge_fixed: bool = True,
    geom_frames: bool = False,
    density: float | None = None,
    loops: str = "close",
    geometry: bool = True,
    self_collision: bool = False,
    xacro_args: Mapping[str, Any] | None = None,
) -> Model:
    """The robot that a URDF, MJCF, SDF, USD or kinetree JSON file describes.

    Args:
        source: a path, or the text of a file; a text begins with `<`, `{` or `#usda`.
        format: "urdf", "mjcf", "sdf", "usd" (needs the extra `usd`) or "json"; recognised by content if None.
        repair: repair what can be repaired (see `kinetree.io.rules`); all changes are in
            `model.report.repaired`.
        snap: tolerance in rad and m. Placements within it of a right angle and axes within it of a coordinate
            axis become exact, offsets within it become zero. 0 keeps the file's numbers.
        base: "free" lets the root link float, "fixed" welds it to the world, None follows the file (a URDF
            root is welded; SDF models and USD bodies float unless a joint fixes them).
        package_dirs: folders in which `package://` references are looked up; if given, the report also names
            missing meshes. `$NAME` stands for the folders of an environment variable, such as
            `$ROS_PACKAGE_PATH`.
        include_dirs: further folders for included files and meshes. Nothing is read outside the file's folder
            and these, even through links and `..`.
        merge_fixed: merge links on fixed joints into their parents (they stay as frames). False keeps them
            as bodies with fixed joints.
        geom_frames: turn the named geoms of MJCF bodies into frames, like sites, for files in which geoms
            mark places.
        density: kg/m^3 for the geometry of URDF links without `<inertial>`, from which their inertia is then
            computed; None leaves them massless. MJCF files give their own densities.
        loops: "close" closes loops (`<connect>`, `<weld>` and polynomials of MJCF, `<loop>` of URDF+, a
            second joint on a link in SDF and USD); "ignore" leaves them open and reports them.
        geometry: read collision shapes and the ground (see the page on geometry). False leaves them out.
        self_collision: let the links of one robot touch each other, except for neighbours and pairs that the
            file excludes. Bodies of different robots in one file always can.
        xacro_args: the arguments of a xacro template, {} if it has none; needs the package `xacro`. Templates
            can run arbitrary code: give this only for files that you trust. None refuses templates.

    Returns:
        The model, with keyframes in `model.configurations`. `model.report` lists what was merged, repaired
        and ignored.

    Warns:
        FileWarning: once, if the model leaves out something that affects the motion, or if a motion has no
            inertia.

    Raises:
        FileError: a `ModelError` that names file, line, element, rule and remedy.
    """
    document = open_document(source, package_dirs, include_dirs, xacro_args)
    _check_options(document, snap, base, density, loops)
    document = replace(document, density=density)
    log = Log(repair, strict=True)
    kind = format_of(document, format)
    robot = kind.read(document, log)
    if isinstance(robot, Model):
        robot = robot if geometry else robot.remade(geometries=(), ground=None, pairs=())
        return robot if loops == "close" else robot.spanning_tree
    if geometry:
        read_collisions(robot, kind.collisions, document.reach, log)
    if geom_frames:
        frames_of_geoms(robot, log)
    if document.package_dirs and robot.document is not None:
        check_meshes(robot.document, document.reach, log)
    model = build(robot, log, base=base, snap=snap, merge=merge_fixed, close=loops == "close",
                  within=self_collision)  # fmt: skip
    log.raise_errors()
    assert model is not None
    _warn(model.report)
    return model


def _warn(report: LoadReport) -> None:
    """Warn once if the model moves differently from the file, or if a motion has no inertia."""
    found = [f for f in report.warnings if f.rule in _WRONG]
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        shown = f"{found[0].where.element}: {found[0].problem}{more}"
        remedy = "see model.report.warnings, or run: kinetree check"
        warnings.warn(f"{report.source}: {shown}; {remedy} {report.source}", FileWarning, stacklevel=3)


def _check_options(
    document: Document, snap: float, base: str | None, density: float | None, loops: str
) -> None:
    where = Where(document.file, 0, "load")
    if loops not in CHOICES:
        refuse("value", where, f"loops={loops!r}", f"Use {' or '.join(map(repr, CHOICES))}.")
    if base is not None and base not in BASES:
        refuse("value", where, f"base={base!r}", f"Use {', '.join(map(repr, BASES))} or None.")
    if not 0.0 <= snap <= 0.1:
        problem = f"snap={snap!r}"
        refuse("value", where, problem, "Use a tolerance between 0 and 0.1 (rad and m), such as 1e-3.")
    if density is not None and not 0.0 < density < inf:
        refuse("value", where, f"density={density!r}", "Use kg/m^3, such as 1000, or None.")
