"""Conversion of models and states to and from Pinocchio and MuJoCo, which are imported only when needed."""

from kinetree.interop.maps import Maps, angular_first
from kinetree.interop.mujoco import mujoco_maps, mujoco_wrenches, to_mjcf, to_mujoco
from kinetree.interop.mujoco_reading import from_mujoco
from kinetree.interop.pinocchio import pinocchio_maps, pinocchio_wrenches, to_pinocchio
from kinetree.interop.pinocchio_reading import from_pinocchio
from kinetree.interop.twin import Twin

__all__ = [
    "Maps", "Twin", "angular_first", "from_mujoco", "from_pinocchio", "mujoco_maps", "mujoco_wrenches",
    "pinocchio_maps", "pinocchio_wrenches", "to_mjcf", "to_mujoco", "to_pinocchio",
]  # fmt: skip
