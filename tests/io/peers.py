"""The same robot in kinetree, MuJoCo and Pinocchio: states and matrices mapped by the tests' own hands.

Velocities of the three differ for free joints only (MuJoCo: world linear velocity, then body angular
velocity; Pinocchio: body linear, then body angular; kinetree: body angular, then body linear).
With v' = T(q) v, M = T' M' T and the bias is T' (c' + M' dT/dt v).
"""

from __future__ import annotations

import numpy as np

import kinetree as kt
from kinetree.joints import Free, Spherical


def eager(function, model, *arguments):
    return np.asarray(function(model, *arguments, target="eager"))


def quaternion_matrix(x, y, z, w):
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def all_positions(model, q):
    """The coordinates of every joint that moves, mimic joints worked out, by joint name."""
    bodies = {body.joint_name: body for body in model.bodies}
    values = {}
    for name, body in bodies.items():
        factor, offset, leader = 1.0, 0.0, body
        while leader.mimic is not None:
            offset += factor * leader.mimic.offset
            factor *= leader.mimic.multiplier
            leader = bodies[leader.mimic.joint]
        own = q[model.position_index(leader.joint_name)]
        values[name] = own if leader is body else factor * own + offset
    return values


def coupling(model):
    """G: the velocities of all joints, in the order of the bodies, from the independent ones."""
    bodies = {body.joint_name: body for body in model.bodies}
    rows = []
    for body in model.bodies:
        factor, leader = 1.0, body
        while leader.mimic is not None:
            factor *= leader.mimic.multiplier
            leader = bodies[leader.mimic.joint]
        block = np.zeros((body.joint.nv, model.nv))
        index = model.coordinate_index(leader.joint_name)
        block[:, index] = factor * np.eye(body.joint.nv)
        rows.append(block)
    return np.vstack(rows) if rows else np.zeros((0, model.nv))


def bias(model, q, v):
    return eager(kt.inverse_dynamics, model, q, v, np.zeros(model.nv))


class MuJoCo:
    """The model of a MuJoCo XML text or path whose joints, in order, are the moving joints of `model`."""

    def __init__(self, xml: str, model: kt.Model) -> None:
        import mujoco

        self.mujoco, self.model = mujoco, model
        read = (
            mujoco.MjModel.from_xml_string if xml.lstrip().startswith("<") else mujoco.MjModel.from_xml_path
        )
        self.peer = read(xml)
        self.data = mujoco.MjData(self.peer)
        self.joints = [body for body in model.bodies if body.joint.nv]
        assert self.peer.nv == sum(body.joint.nv for body in self.joints), "not the same joints"

    def dynamics(self, q, v):
        """Mass matrix and bias force in kinetree's coordinates."""
        values = all_positions(self.model, q)
        full = coupling(self.model) @ v
        qpos, qvel, T, Tv = [], [], [], []
        at = 0
        for body in self.joints:
            x, u = values[body.joint_name], full[at : at + body.joint.nv]
            at += body.joint.nv
            block, rate = np.eye(body.joint.nv), np.zeros(body.joint.nv)
            if isinstance(body.joint, Free):
                R, w = quaternion_matrix(*x[:4]), u[:3]
                qpos += [*x[4:], x[3], *x[:3]]
                block = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
                rate = np.concatenate([R @ np.cross(w, u[3:]), np.zeros(3)])
            elif isinstance(body.joint, Spherical):
                qpos += [x[3], *x[:3]]
            else:
                qpos += list(x)
            qvel += list(block @ u)
            T.append(block)
            Tv.append(rate)
        G = _block_diagonal(T) @ coupling(self.model)
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        self.mujoco.mj_forward(self.peer, self.data)
        M = np.zeros((self.peer.nv, self.peer.nv))
        self.mujoco.mj_fullM(self.peer, self.data, M) if _new_full(self.mujoco) else self.mujoco.mj_fullM(
            self.peer, M, self.data.qM
        )
        c = np.array(self.data.qfrc_bias)
        return G.T @ M @ G, G.T @ (c + M @ np.concatenate(Tv)) if Tv else np.zeros(0)


def _new_full(mujoco) -> bool:
    return int(mujoco.__version__.split(".")[0]) >= 4


def _block_diagonal(blocks):
    total = sum(len(b) for b in blocks)
    M, at = np.zeros((total, total)), 0
    for b in blocks:
        M[at : at + len(b), at : at + len(b)] = b
        at += len(b)
    return M


class Pinocchio:
    """The model that Pinocchio makes of a URDF, with its joints found by name."""

    def __init__(self, text: str, model: kt.Model, free: bool = False) -> None:
        import pinocchio

        self.pin, self.model = pinocchio, model
        root = (pinocchio.JointModelFreeFlyer(),) if free else ()
        self.peer = pinocchio.buildModelFromXML(text, *root)
        self.peer.gravity.linear = np.array(model.gravity)
        self.data = self.peer.createData()
        moving = {body.joint_name for body in model.bodies if body.joint.nv}
        names = {name for name in self.peer.names if name != "universe"}
        assert names == moving, f"not the same joints: {sorted(names ^ moving)[:4]}"

    def dynamics(self, q, v):
        """Mass matrix and bias force in kinetree's coordinates."""
        values = all_positions(self.model, q)
        G_all, at = coupling(self.model), 0
        qp, vp = self.pin.neutral(self.peer), np.zeros(self.peer.nv)
        G = np.zeros((self.peer.nv, self.model.nv))
        for body in self.model.bodies:
            nv = body.joint.nv
            block = G_all[at : at + nv]
            at += nv
            if not nv:
                continue
            joint = self.peer.joints[self.peer.getJointId(body.joint_name)]
            x = values[body.joint_name]
            if isinstance(body.joint, Free):
                qp[joint.idx_q : joint.idx_q + 7] = [*x[4:], *x[:4]]
                block = np.vstack([block[3:], block[:3]])
            elif joint.nq == 2:
                qp[joint.idx_q : joint.idx_q + 2] = [np.cos(x[0]), np.sin(x[0])]
            else:
                qp[joint.idx_q : joint.idx_q + joint.nq] = x
            G[joint.idx_v : joint.idx_v + joint.nv] = block
        vp = G @ v
        M = self.pin.crba(self.peer, self.data, qp)
        M = np.triu(M) + np.triu(M, 1).T
        M = M + np.diag(_armature(self.model, self.peer))
        c = self.pin.rnea(self.peer, self.data, qp, vp, np.zeros(self.peer.nv))
        return G.T @ M @ G, G.T @ c


def _armature(model, peer):
    """Armatures of the file, which Pinocchio does not read from URDF."""
    values = np.zeros(peer.nv)
    for body in model.bodies:
        if body.joint.nv == 1:
            joint = peer.joints[peer.getJointId(body.joint_name)]
            values[joint.idx_v] = body.armature[0]
    return values


def deviation(ours, theirs, scale=0.0):
    """The largest difference, relative to the diagonal, or to the largest entry or `scale` of a vector."""
    if not ours.size:
        return 0.0
    if ours.ndim == 2:
        d = np.sqrt(np.abs(np.diag(theirs)))
        return float(
            np.max(np.abs(ours - theirs) / np.maximum(np.outer(d, d), 1e-12 * d.max() ** 2 + 1e-300))
        )
    return float(np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), scale, 1e-300))


def disagreement(model, peer, rng):
    """The largest deviation in mass matrix, bias force and forward dynamics at a random state."""
    q, v = model.random_state(rng)
    M, c = eager(kt.mass_matrix, model, q), bias(model, q, v)
    M_peer, c_peer = peer.dynamics(q, v)
    size = np.max(np.abs(M_peer), initial=0.0)
    worst = max(deviation(M, M_peer), deviation(c, c_peer, 1e-3 * size * (9.81 + v @ v)))
    if any(f.rule == "motion-massless" for f in model.report):
        return worst
    tau = rng.standard_normal(model.nv)
    a = eager(kt.forward_dynamics, model, q, v, tau)
    bound = np.sqrt(np.diag(M_peer) * max(a @ M_peer @ a, 0.0))  # |M a| is not larger (Cauchy and Schwarz)
    residual = np.abs(M_peer @ a + c_peer - tau) / (bound + np.abs(c_peer) + np.abs(tau))
    return max(worst, float(np.max(residual, initial=0.0)))


# --- MuJoCo needs mesh files that the corpus does not have: write the tree alone ---------------------------
_KEEP = ("mujoco", "compiler", "option", "flag", "default", "worldbody", "body", "joint", "freejoint")
_KEEP += ("inertial", "geom", "site", "frame", "replicate")
_DROP = ("material", "mesh", "hfield", "meshdir", "texturedir", "assetdir", "strippath")


def bare_mjcf(path):
    """The text of an MJCF file with its includes, without meshes, assets, actuators and constraints."""
    from pathlib import Path

    from kinetree.io.mjcf_spec import MAIN, Defaults, expand_includes
    from kinetree.io.paths import Reach
    from kinetree.io.report import Log
    from kinetree.io.xml import read_xml

    root = read_xml(Path(path).read_bytes(), str(path))
    expand_includes(root, Reach(Path(path).resolve().parent))
    defaults = Defaults(root, Log())
    lines = []

    def write(element, childclass, inside):
        if element.tag not in _KEEP:
            return
        if element.tag == "geom" and not inside:
            kind = defaults.resolve(element, childclass)
            if kind.get("type") in ("mesh", "hfield", "sdf") or kind.get("mesh"):
                return
        keep = {k: v for k, v in element.attributes.items() if k not in _DROP}
        if inside and keep.get("type") in ("mesh", "hfield", "sdf"):
            del keep["type"]
        text = "".join(f' {k}="{v}"' for k, v in keep.items())
        lines.append(f"<{element.tag}{text}>")
        for child in element.children:
            write(child, element.get("childclass") or childclass, inside or element.tag == "default")
        lines.append(f"</{element.tag}>")

    write(root, MAIN, False)
    return "\n".join(lines)


def frame_pose(model, q, name):
    """(R, p) of a body or frame in the world, from the joints alone."""
    body, X = model.frame(name)
    R, p = np.array(X.rotation, dtype=float).T, np.array(X.translation, dtype=float)
    values = all_positions(model, q)
    while body:
        part = model.bodies[body - 1]
        J = part.joint.placement(tuple(values[part.joint_name]))
        for step in (J, part.placement.transform()):
            E, r = np.array(step.rotation, dtype=float), np.array(step.translation, dtype=float)
            R, p = E.T @ R, E.T @ p + r
        body = part.parent
    return R, p
