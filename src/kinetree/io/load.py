"""`kt.load`: a robot from a file or a text, whatever format it is in."""

from __future__ import annotations

import warnings

from kinetree.errors import FileWarning
from kinetree.io.build import build
from kinetree.io.files import Document, Source, open_document
from kinetree.io.formats import format_of
from kinetree.io.meshes import check_meshes
from kinetree.io.mjcf_marks import frames_of_geoms
from kinetree.io.paths import Folders
from kinetree.io.report import LoadReport, Log, Where, refuse
from kinetree.io.tree import BASES
from kinetree.model import Model

# findings that make the model move otherwise than what the file describes
_WRONG = ("motion-massless", "unsupported", "inertia-mesh", "attribute-unknown", "element-unknown")


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
) -> Model:
    """The robot that a URDF, MJCF or kinetree JSON file describes.

    Args:
        source: a path, or the text of a file; a text begins with `<` or `{`.
        format: "urdf", "mjcf" or "json"; recognised by content if None.
        repair: repair what can be (see `kinetree.io.rules`); every change is in `model.report.repaired`.
        snap: placements within this many radians of a right angle become exact, offsets of at most this many
            metres become zero, axes within it of a coordinate axis become exact. 0 keeps the file's numbers.
        base: "free" lets the root link float, "fixed" welds it to the world, None keeps what the file says (a
            URDF root is welded).
        package_dirs: directories in which `package://` references are looked up. Meshes have no part in
            dynamics and are never opened; with directories given, the report names those that are missing.
        merge_fixed: make links on fixed joints a part of their parents (they stay as frames). False keeps
            them as bodies with fixed joints.
        geom_frames: make frames of the named geoms of MJCF bodies, as of sites, for files in which geoms mark
            places.

    Returns:
        The model, with keyframes in `model.configurations`, and what was merged, repaired and ignored in
        `model.report`.

    Warns:
        FileWarning: once, if the model leaves out something that acts on the motion, or moves without mass.

    Raises:
        FileError: a `ModelError` that names file, line, element, rule and remedy.
    """
    document = open_document(source, package_dirs, include_dirs)
    _check_options(document, snap, base)
    log = Log(repair, strict=True)
    robot = format_of(document, format).read(document, log)
    if isinstance(robot, Model):
        return robot
    if geom_frames:
        frames_of_geoms(robot, log)
    if document.package_dirs and robot.document is not None:
        check_meshes(robot.document, document.reach, log)
    model = build(robot, log, base=base, snap=snap, merge=merge_fixed)
    log.raise_errors()
    assert model is not None
    _warn(model.report)
    return model


def _warn(report: LoadReport) -> None:
    """Say it once if the model moves otherwise than the file says, or has no inertia along a motion."""
    found = [f for f in report.warnings if f.rule in _WRONG]
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        shown = f"{found[0].where.element}: {found[0].problem}{more}"
        remedy = "see model.report.warnings, or run: kinetree check"
        warnings.warn(f"{report.source}: {shown}; {remedy} {report.source}", FileWarning, stacklevel=3)


def _check_options(document: Document, snap: float, base: str | None) -> None:
    where = Where(document.file, 0, "load")
    if base is not None and base not in BASES:
        refuse("value", where, f"base={base!r}", f"Use {', '.join(map(repr, BASES))} or None.")
    if not 0.0 <= snap <= 0.1:
        problem = f"snap={snap!r}"
        refuse("value", where, problem, "Use a tolerance between 0 and 0.1 (rad and m), such as 1e-3.")
