"""MuJoCo's computations for the same robot, without contacts and limits."""

from __future__ import annotations

from benchmarks.measure import Call
from kinetree.interop import to_mujoco
from kinetree.model import Model


class MuJoCo:
    """A robot in MuJoCo, with calls named after our functions."""

    def __init__(self, model: Model):
        import mujoco

        self.mujoco = mujoco
        self.model, self.maps = to_mujoco(model, strict=False)
        disabled = mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(disabled.mjDSBL_CONTACT) | int(disabled.mjDSBL_CONSTRAINT)
        self.data = mujoco.MjData(self.model)

    def calls(self) -> dict[str, Call]:
        """One call per state; the state is already in `data` and does not affect the work.

        `mj_fwdPosition` leaves the mass matrix in MuJoCo's own sparse form, and also factorises it.
        """
        mj, state = self.mujoco, [self.model, self.data]
        return {
            "inverse_dynamics": Call(mj.mj_inverse, state),
            "forward_dynamics": Call(mj.mj_forward, state),
            "mass_matrix": Call(mj.mj_fwdPosition, state),
        }
