"""The colliding geoms of MJCF: which of them touch the ground, and their stiffness and friction.

MuJoCo's contacts are soft by `solref` and `solimp`, relative to the masses in contact. The conversion keeps
the penetration of a robot standing still, and the damping ratio.
"""

from __future__ import annotations

from itertools import compress
from math import hypot
from operator import not_
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ModelError
from kinetree.io.attributes import parse_number, parse_numbers, values
from kinetree.io.collisions import MISSES_GROUND, Collisions
from kinetree.io.description import WORLD
from kinetree.io.files import read_bytes
from kinetree.io.mjcf_compiler import read_pose
from kinetree.io.mjcf_inertia import TYPES, shape_of_geom
from kinetree.io.mjcf_mesh import Meshes, fitted
from kinetree.io.placement import HERE
from kinetree.io.polyhedra import MeshError
from kinetree.io.report import Log
from kinetree.io.text import CUSTOM, GEOMETRY, GROUND, PAIR
from kinetree.io.xml import Element
from kinetree.model.geometry import DISSIPATION, EARTH
from kinetree.model.ground import Ground, Heightfield
from kinetree.model.pairs import Pair
from kinetree.model.shapes import Shape
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import dot, mat_vec

SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's defaults
FRICTION = 1.0
_NUMBERS = ("contype", "conaffinity", "priority", "condim", "friction", "solref", "solimp", "solmix",
            "margin", "gap")  # fmt: skip
_GROUNDS = ("plane", "hfield")
FEET = 4  # points that a robot is assumed to stand on
_LOWEST, _HIGHEST = 1e-4, 0.9999  # MuJoCo's bounds on impedances
_STEP = 0.002  # s: MuJoCo's default time step
_NARROW = 1e-15  # a smaller width or share counts as zero
_HEIGHTS = 1 << 24  # most heights of a field


class Surface(NamedTuple):
    """The contact parameters of a geom or a pair of geoms; None where they are not given."""

    friction: float | None = None
    condim: int | None = None
    solref: tuple[float, ...] | None = None
    solimp: tuple[float, ...] | None = None
    priority: int = 0
    contype: int = 1
    conaffinity: int = 1
    solmix: float = 1.0

    def meets(self, other: Surface) -> bool:
        """Whether two geoms collide."""
        return bool(self.contype & other.conaffinity or other.contype & self.conaffinity)

    @property
    def is_soft(self) -> bool:
        """Whether `solref` or `solimp` is given."""
        return self.solref is not None or self.solimp is not None

    def on(self, other: Surface) -> Surface:
        """The contact of two geoms: the higher priority decides, otherwise the larger friction and a mean."""
        if self.priority != other.priority:
            return self if self.priority > other.priority else other
        rougher = max(FRICTION if x is None else x for x in (self.friction, other.friction))
        condim = max(3 if x is None else x for x in (self.condim, other.condim))
        mixed = self._replace(friction=rougher, condim=condim)
        if not (self.is_soft or other.is_soft):
            return mixed
        share, (a, b) = _share(self.solmix, other.solmix), (x.solref or SOLREF for x in (self, other))
        solref = _mean(share, a, b) if a[0] > 0 and b[0] > 0 else tuple(map(min, a, b))
        solimp = _mean(share, self.solimp or SOLIMP, other.solimp or SOLIMP)
        return mixed._replace(solref=solref, solimp=solimp)


def read_mjcf_collisions(found: Collisions, root: Element) -> None:
    """Read the geoms of all bodies, or what `save` wrote if present."""
    custom = [e for section in root.all("custom") for e in section.all("text")]
    ours = [(e, (e.get("name") or "").removeprefix(CUSTOM).partition(":")[0]) for e in custom
            if (e.get("name") or "").startswith(CUSTOM)]  # fmt: skip
    kinds = (GEOMETRY, GROUND, PAIR)
    texts = [[(e, e.get("data") or "") for e, kind in ours if kind == tag] for tag in kinds]
    if found.restore(*texts):
        return
    flags = [flag for option in root.all("option") for flag in option.all("flag")]
    if any(flag.get(name) == "disable" for flag in flags for name in ("contact", "constraint")):
        found.note("contact-parameter", root.where, "contacts are turned off: no shapes were read")
        return
    if any(flag.get("override") == "enable" for flag in flags):
        found.note("contact-parameter", root.where, "the contact parameters of <option> (override)")
    if any(flag.get("filterparent") == "disable" for flag in flags):
        found.note("contact-parameter", root.where, "neighbours do not touch (filterparent) without a <pair>")
    if any(option.get("collision") not in (None, "all") for option in root.all("option")):
        found.note("contact-parameter", root.where, "the choice of collisions of <option> (collision)")
    _Reader(found, _quickest(root)).read()


class _Reader:
    def __init__(self, found: Collisions, quickest: float) -> None:
        self.found, self.robot, self.quickest = found, found.robot, quickest
        self.fall = hypot(*self.robot.gravity) or EARTH
        self.above = {joint.child: joint.parent for joint in self.robot.joints.values()}
        self.places = {WORLD: HERE}  # of links that stand still
        for joint in self.robot.in_order():
            if joint.is_fixed and joint.parent in self.places:
                self.places[joint.child] = self.places[joint.parent] @ joint.placement
        self.below: tuple[str, Surface, str] | None = None  # the ground geom: its name, and its body
        self.pairs: dict[frozenset[str], Element] = {}
        for contact in self.robot.contacts:
            if contact.tag == "pair":
                if self.pairs.setdefault(_ends(contact, "geom"), contact) is not contact:
                    found.note("contact-parameter", contact.where, "a second <pair> of the same geoms")
            else:
                self.robot.excluded.add(bodies := _ends(contact, "body"))
                if not bodies <= {WORLD, *self.robot.links}:
                    found.note("contact-parameter", contact.where, "<exclude> of a body that does not exist")

    def read(self) -> None:
        geoms = [(WORLD, *geom) for geom in self.robot.still]
        geoms += [(link.name, *geom) for link in self.robot.links.values() for geom in link.geoms]
        below = [_kind(geom[1]) in _GROUNDS and geom[0] in self.places for geom in geoms]
        for geom in compress(geoms, below):
            self._read_ground(*geom)
        for geom in compress(geoms, map(not_, below)):
            self._read_geom(*geom)
        self._read_pairs()

    def _read_geom(self, link: str, element: Element, frame: Pose, meshes: Meshes) -> None:
        found, where = self.found, element.where
        own = surface_of(element)
        pair = self._pair(element)
        if pair is not None:
            contact = surface_of(pair)
        elif not (own.contype or own.conaffinity):
            return
        elif self.below is not None and link not in self.places:
            if not own.meets(self.below[1]) or frozenset((link, self.below[2])) in self.robot.excluded:
                found.note("contact-pairs", where, MISSES_GROUND)
                return
            contact = own.on(self.below[1])
        else:
            contact = own
        shape, placement = self._shape(element, meshes)
        self._note_unread(element if pair is None else pair, contact)
        if shape is not None:
            more = {"groups": (own.contype, own.conaffinity), "owner": self._owner(link), "surface": own}
            numbers = self._numbers(contact)
            found.add(element.get("name"), link, where, shape, frame @ placement, **numbers, **more)

    def _note_unread(self, element: Element, contact: Surface) -> None:
        """Note the numbers of a geom or a pair that have no effect."""
        friction = values(element, "friction")[:2] if element.tag == "pair" else ()
        for problem, is_given in (
            *((f"{name} is not made of numbers", _is_odd(element, name)) for name in _NUMBERS),
            (f"margin of a {element.tag}", any(values(element, "margin"))),
            (f"gap of a {element.tag}", any(values(element, "gap"))),
            ("torsional and rolling friction (condim 4 and 6)", (contact.condim or 3) > 3),
            ("a second coefficient of friction of a pair", len(set(friction)) > 1),
        ):
            if is_given:
                self.found.note("contact-parameter", element.where, problem)

    def _owner(self, link: str) -> str:
        """The child body of the world that carries a link."""
        while (above := self.above.get(link, WORLD)) != WORLD:
            link = above
        return link

    def _pair(self, element: Element) -> Element | None:
        """The `<pair>` of a geom and the ground."""
        if self.below is None or not self.pairs:
            return None
        return self.pairs.get(frozenset((element.get("name") or "", self.below[0])))

    def _shape(self, element: Element, meshes: Meshes) -> tuple[Shape | None, Pose]:
        found, kind, mesh, unheard = self.found, _kind(element), element.get("mesh"), Log()
        placement = read_pose(element, meshes.compiler, unheard)
        shape: Shape | None = None
        if kind in _GROUNDS or kind not in TYPES or kind == "sdf":
            found.note("contact-shape", element.where, f"a geom of type {kind[:20]!r} on a body")
        elif kind == "mesh":
            key = (id(meshes), mesh or "")
            shape = found.hull(key, lambda: meshes.placed(mesh or "").vertices, element.where)
        elif mesh is not None:
            try:
                factor = parse_number(element.get("fitscale") or "1") or 1.0
                size, inner = fitted(kind, meshes.shape(mesh), meshes.compiler.fitaabb, factor)
                shape, placement = found.primitive(kind, size, element.where), placement @ inner
            except MeshError as error:
                found.missing(error, element.where)
        else:
            sizes = shape_of_geom(element, kind, meshes.compiler, unheard)
            if sizes is not None:
                shape, placement = found.primitive(kind, sizes[0], element.where), sizes[1]
        if unheard.errors:
            found.note("contact-shape", element.where, unheard.errors[0].problem)
            return None, HERE
        return shape, placement

    def _numbers(self, contact: Surface) -> dict[str, Any]:
        """Friction, and the penetration of a standing robot: see `sink`."""
        rough = FRICTION if contact.friction is None else contact.friction
        given: dict[str, Any] = {"friction": max(rough, 0.0) if contact.condim != 1 else 0.0}
        if contact.solref is None and contact.solimp is None:
            return given
        first, *rest = contact.solref or SOLREF
        solref = (max(first, self.quickest) if first > 0 else first, *rest)
        depth, ratio = sink(solref, contact.solimp or SOLIMP, self.fall)
        return given | {"sink": depth, "dissipation": DISSIPATION * ratio}

    # -- the ground

    def _read_ground(self, link: str, element: Element, frame: Pose, meshes: Meshes) -> None:
        found, surface, name = self.found, surface_of(element), element.get("name") or ""
        if self.below is not None:
            found.note("contact-shape", element.where, "a second plane or field: the first one is the ground")
            return
        is_paired = bool(name) and any(name in ends for ends in self.pairs)
        if not (surface.contype or surface.conaffinity or is_paired):
            return
        pose = self.places[link] @ frame @ read_pose(element, meshes.compiler, Log())
        try:
            if _kind(element) == "plane":
                normal = mat_vec(pose.R, (0.0, 0.0, 1.0))
                self.robot.ground = Ground(normal, dot(normal, pose.p))
            else:
                self.robot.ground = _field(element, pose, meshes)
        except (ModelError, MeshError, ValueError) as error:
            found.note("contact-shape", element.where, f"the ground is not read: {error}")
            return
        self.below = name, surface, link

    def _read_pairs(self) -> None:
        ground = None if self.below is None else self.below[0]
        names = {part.name for part in self.robot.geometries}
        for ends, pair in self.pairs.items():
            if not names.issuperset(ends - {ground}) or len(ends) != 2:
                self.found.note("contact-parameter", pair.where, "<pair> of geoms that were not read")
            elif ground not in ends:
                surface = surface_of(pair)
                self._note_unread(pair, surface)
                if surface.is_soft:
                    self.found.note("contact-parameter", pair.where, "solref and solimp of a pair of geoms")
                rough = self._numbers(surface)["friction"]
                self.robot.pairs.append(Pair(pair.get("geom1") or "", pair.get("geom2") or "", rough))


def _quickest(root: Element) -> float:
    """The shortest time constant that MuJoCo uses: two steps, unless `refsafe` is off."""
    step = _STEP
    for option in root.all("option"):
        step = next(iter(values(option, "timestep")), step)
        if any(flag.get("refsafe") == "disable" for flag in option.all("flag")):
            return 0.0
    return 2 * step


def _field(element: Element, pose: Pose, meshes: Meshes) -> Heightfield:
    """Heights on a grid: rows along y, columns along x, values from 0 to 1 times a height."""
    asset = meshes.fields.get(element.get("hfield") or "")
    if asset is None:
        raise MeshError("it names no <hfield>")
    if not np.allclose(np.array(pose.R, float), np.eye(3), atol=1e-9):
        raise MeshError("a rotated height field is not supported")
    size = values(asset, "size")
    if len(size) != 4 or min(size[:3]) <= 0:
        raise MeshError("size must be four positive numbers")
    heights = _from_file(meshes.file(asset)) if asset.get("file") else _elevation(asset)
    rows, columns = heights.shape
    low, high = heights.min(), heights.max()
    if not np.isfinite(high - low):
        raise MeshError("a height is not finite")
    scaled = (heights - low) / (high - low if high > low else 1.0) * size[2]
    x, y, z = pose.p
    steps = (2 * size[0] / (columns - 1), 2 * size[1] / (rows - 1))
    return Heightfield(scaled.T, steps, (x - size[0], y - size[1], z))


def _elevation(asset: Element) -> Any:
    """The heights in the attributes of an asset; level if there are none."""
    rows, columns = (int(parse_number(asset.get(name) or "0") or 0) for name in ("nrow", "ncol"))
    if min(rows, columns) < 2 or rows * columns > _HEIGHTS:
        raise MeshError(f"nrow and ncol are {rows:g} and {columns:g}, less than 2 or too many")
    words = (asset.get("elevation") or "").split()
    if not words:
        return np.zeros((rows, columns))
    if len(words) != rows * columns:
        raise MeshError(f"elevation has {len(words)} numbers, expected {rows * columns}")
    try:
        heights = np.array([float(word) for word in words]).reshape(rows, columns)
    except ValueError:
        raise MeshError("elevation has words that are not numbers") from None
    return heights[::-1]  # the first row of the text has the highest y


def _from_file(path: Path) -> Any:
    """MuJoCo's binary height files: two counts, then rows * columns floats."""
    if path.suffix.lower() == ".png":
        raise MeshError("height images are not read")
    content = read_bytes(path, 4 * _HEIGHTS)
    rows, columns = (int(n) for n in np.frombuffer(content[:8].ljust(8, b"\0"), "<i4"))
    if min(rows, columns) < 2 or len(content) != 8 + 4 * rows * columns:
        raise MeshError("the counts in its file do not match its size")
    return np.frombuffer(content, "<f4", offset=8).astype(float).reshape(rows, columns)


def _ends(contact: Element, kind: str) -> frozenset[str]:
    """The two geoms of a `<pair>`, or the two bodies of an `<exclude>`."""
    return frozenset(contact.get(kind + end) or "" for end in "12")


def _is_odd(element: Element, name: str) -> bool:
    """Whether an attribute holds something other than numbers."""
    return isinstance(parse_numbers(element.get(name) or ""), str)


def surface_of(element: Element) -> Surface:
    """The contact parameters in the attributes of a geom or a pair."""

    def whole(name: str, usual: int) -> int:
        given = values(element, name)
        return int(given[0]) if given else usual

    friction, solref, solimp = (values(element, name) for name in ("friction", "solref", "solimp"))
    return Surface(
        friction[0] if friction else None,
        whole("condim", 3) if element.get("condim") else None,
        (*solref, *SOLREF[len(solref) :]) if solref else None,
        (*solimp, *SOLIMP[len(solimp) :]) if solimp else None,
        whole("priority", 0),
        whole("contype", 1),
        whole("conaffinity", 1),
        next(iter(values(element, "solmix")), 1.0),
    )


def _share(first: float, second: float) -> float:
    """The share of the first of two geoms in their mixture, by `solmix`."""
    if min(first, second) < _NARROW:
        return 0.5 if max(first, second) < _NARROW else float(first > second)
    return first / (first + second)


def _mean(share: float, a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(share * x + (1 - share) * y for x, y in zip(a, b, strict=False))


def sink(solref: tuple[float, ...], solimp: tuple[float, ...], fall: float) -> tuple[float, float]:
    """The penetration of a robot standing still on one point, m, and the damping ratio.

    At rest on n points MuJoCo balances n d k r = (1 - d) g at the impedance d of the depth r, with the
    stiffness for unit mass k = d / (dmax timeconst dampratio)^2, or k = -solref[0] d / dmax^2 in its direct
    form. The impedance is taken with four points carrying the robot; on one point of the same stiffness the
    depth is n r.
    """
    first, second = solref[:2]
    most = _bounded(solimp[1])
    if first > 0 and second > 0:
        stiff, ratio = 1 / (most * first * second) ** 2, second
    elif first < 0:
        stiff, ratio = -first / most**2, max(-second, 0.0) / (2 * (-first) ** 0.5)
    else:
        return sink(SOLREF, solimp, fall)
    low, high = 0.0, fall / (_LOWEST**2 * stiff)
    for _ in range(200):  # bisection: the left side grows with the depth, the right side falls
        depth = (low + high) / 2
        d = impedance(solimp, depth)
        low, high = (depth, high) if FEET * d * d * stiff * depth < (1 - d) * fall else (low, depth)
    return FEET * (low + high) / 2, ratio


def impedance(solimp: tuple[float, ...], depth: float) -> float:
    """MuJoCo's impedance at a depth: a smooth step from dmin at the surface to dmax at `width`."""
    least, most, width, middle, power = solimp[:5]
    least, most, middle, power = _bounded(least), _bounded(most), _bounded(middle), max(power, 1.0)
    if width <= _NARROW:
        return (least + most) / 2
    x = min(depth / width, 1.0)
    if x <= middle:
        y = x**power / middle ** (power - 1)
    else:
        y = 1 - (1 - x) ** power / (1 - middle) ** (power - 1)
    return least + y * (most - least)


def _bounded(x: float) -> float:
    return min(max(x, _LOWEST), _HIGHEST)


def _kind(element: Element) -> str:
    return element.get("type") or "sphere"
