"""The visual geometry of a robot file. It has no effect on the dynamics; pictures use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kinetree.io.attributes import parse_numbers, shorten, values
from kinetree.io.description import Description, Link
from kinetree.io.files import Source, open_document
from kinetree.io.formats import format_of
from kinetree.io.mjcf_compiler import read_pose
from kinetree.io.mjcf_inertia import TYPES, shape_of_geom
from kinetree.io.mjcf_mesh import label
from kinetree.io.paths import Folders, Reach
from kinetree.io.primitives import SIZES
from kinetree.io.report import Log
from kinetree.io.sdf_inertia import size_of
from kinetree.io.sdf_values import pose_in, text_in, vector_in
from kinetree.io.urdf_geometry import primitive
from kinetree.io.urdf_parts import read_origin
from kinetree.io.xml import Element
from kinetree.spatial.pose import Pose

MESH = "mesh"
_SHOWN = 2  # MJCF: by convention, geoms of groups 0 to 2 are visible
_ENDLESS = ("plane", "hfield", "sdf")
_GREY = (0.7, 0.7, 0.7, 1.0)
_MOST = 5_000  # most shapes drawn from one file

Color = tuple[float, ...]


class Visual(NamedTuple):
    """One shape on a link.

    `size`: radius of a sphere; radius and half length of a cylinder or capsule (along z); half axes of a box
    or an ellipsoid; coordinates of vertices; scale of a mesh along x, y, z.
    """

    link: str  # name of a body or frame of the model
    placement: Pose
    shape: str  # "sphere", "cylinder", "capsule", "box", "ellipsoid", "vertices" or "mesh"
    size: tuple[float, ...]
    color: Color | None = None  # red, green, blue, opacity, each from 0 to 1
    file: Path | None = None  # of a mesh


@dataclass
class Looks:
    """The shapes of a file, and those that are missing."""

    visuals: list[Visual] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def read_looks(
    source: Source,
    *,
    format: str | None = None,
    repair: bool = False,
    package_dirs: Folders = (),
    include_dirs: Folders = (),
    xacro_args: Mapping[str, Any] | None = None,
) -> Looks:
    """The visual geometry of a robot file, by link.

    Args:
        source, format, repair, xacro_args: as for `kinetree.load`.
        package_dirs, include_dirs: the only folders, besides that of the file, in which meshes and included
            files are looked up.
    """
    document = open_document(source, package_dirs, include_dirs, xacro_args)
    log = Log(repair)
    robot = format_of(document, format).read(document, log)
    if not isinstance(robot, Description) or robot.document is None:
        return Looks()
    reader = _Reader(document.reach, robot.document, log)
    for link in robot.links.values():
        for visual in reader.sdf(link) if robot.format == "sdf" else (*reader.urdf(link), *reader.mjcf(link)):
            if len(reader.looks.visuals) < _MOST:
                reader.looks.visuals.append(visual)
    return reader.looks


class _Reader:
    """Reads the shapes of one document."""

    def __init__(self, reach: Reach, root: Element, log: Log) -> None:
        self.reach, self.log, self.looks = reach, log, Looks()
        assets = [e for section in root.all("asset") for e in section.children]
        self.meshes = {label(e): e for e in assets if e.tag == "mesh"}
        self.colors = {e.get("name"): _rgba(e) for e in assets if e.tag == "material"}
        self.colors |= {e.get("name"): _rgba(e.find("color")) for e in root.all("material")}
        folders = [e.get("meshdir") or e.get("assetdir") for e in root.all("compiler")]
        self.folder = next((folder for folder in reversed(folders) if folder), "")

    def urdf(self, link: Link) -> Iterator[Visual]:
        """The `<visual>` elements of a link."""
        for element in link.source.all("visual") if link.source is not None else ():
            geometry, material = element.find("geometry"), element.find("material")
            color = None
            if material is not None:
                color = _rgba(material.find("color")) or self.colors.get(material.get("name"))
            for shape in geometry.children if geometry is not None else ():
                placement = read_origin(element.find("origin"), self.log)
                found = self._urdf_shape(link.name, shape)
                if found is not None:
                    yield found._replace(placement=placement, color=color)

    def _urdf_shape(self, link: str, element: Element) -> Visual | None:
        found = primitive(element)
        if found is not None:
            return Visual(link, Pose(), *found)
        if element.tag == "mesh":
            return self._mesh(link, element.get("filename") or "", element)
        self.looks.missing.append(f"{link}: a <{shorten(element.tag)}> without valid sizes")
        return None

    def sdf(self, link: Link) -> Iterator[Visual]:
        """The `<visual>` elements of a link of SDF."""
        for element in link.source.all("visual") if link.source is not None else ():
            geometry, material = element.find("geometry"), element.find("material")
            color = vector_in(material, "diffuse", _GREY, self.log) if material is not None else None
            for shape in geometry.children if geometry is not None else ():
                size = size_of(shape, self.log)
                found = None
                if shape.tag == MESH:
                    found = self._mesh(link.name, text_in(shape, "uri"), None)
                    scale = vector_in(shape, "scale", (1.0, 1.0, 1.0), self.log)
                    found = found and found._replace(size=scale)
                elif size is not None and size[0] in SIZES and min(size[1]) > 0:
                    found = Visual(link.name, Pose(), *size)
                if found is not None:
                    yield found._replace(placement=pose_in(element, self.log), color=color)

    def mjcf(self, link: Link) -> Iterator[Visual]:
        """The visible geoms of a body."""
        for element, frame, meshes in link.geoms:
            compiler = meshes.compiler
            kind = element.get("type") or ("mesh" if element.get("mesh") else "sphere")
            group = parse_numbers(element.get("group") or "0")
            if kind in _ENDLESS or kind not in TYPES or isinstance(group, str) or max(group) > _SHOWN:
                continue
            color = _rgba(element) or self.colors.get(element.get("material"))
            if kind == MESH:
                asset = self.meshes.get(element.get("mesh") or "")
                uri = "" if asset is None else asset.get("file") or ""
                placed = frame @ read_pose(element, compiler, self.log)
                found = self._mesh(link.name, f"{self.folder}/{uri}" if self.folder else uri, asset)
                if found is not None:
                    yield found._replace(placement=placed, color=color)
                continue
            shape = shape_of_geom(element, kind, compiler, self.log)
            if shape is not None:
                yield Visual(link.name, frame @ shape[1], kind, shape[0], color)

    def _mesh(self, link: str, uri: str, element: Element | None) -> Visual | None:
        file = self.reach.mesh_file(uri) if uri else None
        if file is None:
            self.looks.missing.append(f"{link}: mesh {shorten(uri)!r} was not found")
            return None
        scale = values(element, "scale")
        return Visual(link, Pose(), MESH, scale if len(scale) == 3 else (1.0, 1.0, 1.0), None, file)


def _rgba(element: Element | None) -> Color | None:
    """The attribute `rgba`, if it is four numbers from 0 to 1."""
    given = values(element, "rgba")
    return given if len(given) == 4 and all(0 <= x <= 1 for x in given) else None
