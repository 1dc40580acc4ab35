"""A robot in a viser scene: its bodies, and further layers that can be shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.errors import MissingPackageError
from kinetree.io.visuals import Looks, Visual
from kinetree.model import Model
from kinetree.pictures.shapes import MeshError, add_visual, ellipsoid_of, wxyz
from kinetree.pictures.sticks import poses, size, sticks
from kinetree.spatial.pose import Pose

LAYERS = (
    "shapes", "sticks", "collision shapes", "contact points", "frames", "centres of mass",
    "inertia ellipsoids", "joint wrenches", "names",
)  # fmt: skip
_TOUCHING = (230, 140, 40, 0.5)  # red, green, blue, opacity
_FORCE, _MOMENT = (220, 60, 50), (60, 90, 220)
_NAMED = 100  # most bodies with a label


class Scene:
    """The scene nodes of one robot, named by numbers since names from files may contain anything."""

    def __init__(self, server: Any, model: Model, looks: Looks):
        self.server, self.model, self.scene = server, model, server.scene
        self.size = size(model)
        self.missing = list(looks.missing)
        self.layers: dict[str, list[Any]] = {name: [] for name in LAYERS}
        self.bodies = [
            self.scene.add_frame(f"/bodies/{i}", show_axes=False) for i in range(model.nbodies + 1)
        ]
        self._add_shapes(looks)
        self._add_touching()
        self._add_marks()
        self.visible = {"shapes": True, "sticks": not self.layers["shapes"] or bool(self.missing)}
        for name in LAYERS:
            self.show(name, self.visible.get(name, False))

    @property
    def offered(self) -> list[str]:
        """The layers that this robot has."""
        return [name for name in LAYERS if self.layers[name]]

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer."""
        self.visible[layer] = visible
        for node in self.layers[layer]:
            node.visible = visible

    def pose(self, q: Any, wrenches: Any = None) -> None:
        """Put the robot into a posture; `wrenches` (nb, 6), in body axes, are drawn as arrows."""
        if not np.isfinite(q).all():
            return  # the run of this state has ended: leave the robot where it is
        T = poses(self.model, q)
        found = sticks(self.model, q)
        with self.server.atomic():
            for node, pose in zip(self.bodies, T):
                node.wxyz, node.position = wxyz(pose[:3, :3]), tuple(map(float, pose[:3, 3]))
            if len(found.lines):
                self.sticks.points = found.lines.astype(np.float32)
            if wrenches is not None and self.visible["joint wrenches"]:
                self._draw(T, wrenches)

    def _add_shapes(self, looks: Looks) -> None:
        for k, visual in enumerate(looks.visuals):
            try:
                body, transform = self.model.frame(visual.link)
            except Exception:
                self.missing.append(f"{visual.link}: no such link in the model")
                continue
            placement = np.asarray(Pose.from_transform(transform) @ visual.placement, float)
            try:
                node = add_visual(self.scene, f"/bodies/{body}/shape{k}", visual, placement)
            except (MeshError, MissingPackageError) as problem:
                self.missing.append(f"{visual.link}: {problem}")
            else:
                self.layers["shapes"].append(node)

    def _add_touching(self) -> None:
        """Collision shapes, and the points that would touch level ground in the neutral position."""
        model, color = self.model, (*(c / 255 for c in _TOUCHING[:3]), _TOUCHING[3])
        for k, part in enumerate(model.geometries):
            size = part.shape.size or (0.01 * self.size,)  # a point has none
            kind = "sphere" if part.shape.kind == "point" else part.shape.kind
            visual = Visual("", Pose(), kind, size, color)
            name = f"/bodies/{part.body}/touching{k}"
            node = add_visual(self.scene, name, visual, np.asarray(part.placement, float))
            self.layers["collision shapes"].append(node)
        R = poses(model, model.neutral())[:, :3, :3]
        for k, point in enumerate(model.contact_points):
            normal = tuple(map(float, R[point.body][2]))  # the world's z axis, seen from the body
            place = tuple(map(float, point.touching(normal)))  # type: ignore[arg-type]
            ball = self.scene.add_icosphere(
                f"/bodies/{point.body}/contact{k}", radius=0.008 * self.size, color=_FORCE, position=place
            )
            self.layers["contact points"].append(ball)

    def _add_marks(self) -> None:
        model, scene, unit = self.model, self.scene, self.size
        q = model.neutral()
        found = sticks(model, q)
        lines = found.lines if len(found.lines) else np.zeros((1, 2, 3))
        colors = (60, 120, 200)
        self.sticks = scene.add_line_segments(
            "/sticks", lines.astype(np.float32), colors, thickness=0.018 * unit
        )
        self.layers["sticks"].append(self.sticks)
        for i, body in enumerate(model.bodies, 1):
            here = f"/bodies/{i}"
            knob = scene.add_icosphere(f"{here}/joint", radius=0.017 * unit, color=(40, 60, 90))
            self.layers["sticks"].append(knob)
            self.layers["frames"].append(
                scene.add_frame(f"{here}/axes", axes_length=0.09 * unit, axes_radius=0.004 * unit)
            )
            if i <= _NAMED:
                self.layers["names"].append(scene.add_label(f"{here}/name", body.name))
            solid = ellipsoid_of(body.inertia)
            if solid is None:
                continue
            center, R, axes = solid
            place: dict[str, Any] = {"position": tuple(map(float, center))}
            ball = scene.add_icosphere(f"{here}/com", radius=0.014 * unit, color=(220, 60, 50), **place)
            self.layers["centres of mass"].append(ball)
            scale = tuple(float(max(x, 1e-4 * unit)) for x in axes)
            cloud = scene.add_icosphere(
                f"{here}/inertia", 1.0, (90, 170, 110), scale=scale, opacity=0.45, wxyz=wxyz(R), **place
            )
            self.layers["inertia ellipsoids"].append(cloud)
        for k, frame in enumerate(model.frames):
            T = np.asarray(frame.placement, float)
            node = scene.add_frame(
                f"/bodies/{frame.body}/frame{k}", axes_length=0.06 * unit, axes_radius=0.003 * unit,
                wxyz=wxyz(T[:3, :3]), position=tuple(map(float, T[:3, 3]))
            )  # fmt: skip
            self.layers["frames"].append(node)
        nothing = np.zeros((model.nbodies, 2, 3), np.float32)
        look = {"shaft_radius": 0.006 * unit, "head_radius": 0.016 * unit, "head_length": 0.04 * unit}
        self.arrows = [
            scene.add_arrows(f"/{name}", nothing, color, **look)
            for name, color in (("forces", _FORCE), ("moments", _MOMENT))
        ]
        self.layers["joint wrenches"] += self.arrows

    def _draw(self, T: np.ndarray, wrenches: np.ndarray) -> None:
        """Arrows for the wrench through each joint: red forces, blue moments."""
        weight = float(self.model.total_mass) * 9.81 or 1.0
        R, origins = T[1:, :3, :3], T[1:, :3, 3]
        # the weight, and the weight times the size, are drawn half as long as the robot
        scales = 0.5 * self.size / weight, 0.5 / weight
        for arrow, part, scale in zip(self.arrows, (slice(3, 6), slice(0, 3)), scales):
            vectors = np.einsum("bij,bj->bi", R, np.asarray(wrenches)[:, part]) * scale
            lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
            longest = 0.8 * self.size  # of an arrow; longer ones are cut to this length
            vectors = np.where(lengths > longest, vectors * (longest / np.maximum(lengths, 1e-12)), vectors)
            arrow.points = np.stack([origins, origins + vectors], 1).astype(np.float32)

    def holding(self, q: Any) -> np.ndarray:
        """(nb, 6): the wrenches through the joints of a robot at rest in the posture `q`."""
        zero = np.zeros(self.model.nv)
        return of.joint_wrenches(self.model, q, zero, zero)


__all__ = ["LAYERS", "Scene"]
