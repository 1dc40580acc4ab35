"""What MuJoCo computes for the same robot, without contacts and limits."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Call
from kinetree.interop import to_mujoco
from kinetree.model import Model


class MuJoCo:
    """A robot in MuJoCo, by the names of our functions."""

    def __init__(self, model: Model):
        import mujoco

        self.mujoco = mujoco
        self.model, self.maps = to_mujoco(model, strict=False)
        disabled = mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(disabled.mjDSBL_CONTACT) | int(disabled.mjDSBL_CONSTRAINT)
        self.data = mujoco.MjData(self.model)

    def calls(self) -> dict[str, Call]:
        """One call per state; the state is in `data` already and does not change what is done."""
        mj, m, d = self.mujoco, self.model, self.data
        dense = np.zeros((m.nv, m.nv))
        arguments = (m, d, dense) if int(mj.__version__.partition(".")[0]) >= 4 else (m, dense, d.qM)

        def mass_matrix() -> None:
            mj.mj_kinematics(m, d)
            mj.mj_comPos(m, d)
            mj.mj_crb(m, d)
            mj.mj_fullM(*arguments)

        return {
            "inverse_dynamics": Call(mj.mj_inverse, [m, d]),
            "forward_dynamics": Call(mj.mj_forward, [m, d]),
            "mass_matrix": Call(mass_matrix),
        }
