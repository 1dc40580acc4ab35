"""kinetree: articulated rigid-body dynamics, written once and compiled for each robot."""

# Written by `python -m docs.generate`: do not edit.

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy.typing as npt

from kinetree import alternatives as alternatives
from kinetree import control as control
from kinetree import errors as errors
from kinetree import gym as gym
from kinetree import interop as interop
from kinetree import ops as ops
from kinetree import pictures as pictures
from kinetree import robots as robots
from kinetree import scale as scale
from kinetree import spatial as spatial
from kinetree import symbolic as symbolic
from kinetree import textbook as textbook
from kinetree import zoo as zoo
from kinetree.algorithms.derivatives import ForwardDynamicsDerivatives
from kinetree.algorithms.derivatives import InverseDynamicsDerivatives
from kinetree.bridges import casadi as casadi
from kinetree.bridges import jax as jax
from kinetree.bridges import scipy as scipy
from kinetree.bridges import torch as torch
from kinetree.compiler.runtime import cache as cache
from kinetree.compiler.runtime import cuda as cuda
from kinetree.compiler.runtime import threads as threads
from kinetree.constraints import Constraint as Constraint
from kinetree.constraints import DistanceConstraint as DistanceConstraint
from kinetree.constraints import FrameConstraint as FrameConstraint
from kinetree.constraints import JointConstraint as JointConstraint
from kinetree.constraints import LoopConstraint as LoopConstraint
from kinetree.constraints import PointConstraint as PointConstraint
from kinetree.constraints.dynamics import Constrained
from kinetree.constraints.dynamics import Impact
from kinetree.constraints.dynamics import Projected
from kinetree.derived import Admissibility
from kinetree.derived import RotorError
from kinetree.differential import Hessian
from kinetree.differential import Linearization
from kinetree.differential import SecondDerivatives
from kinetree.identification import base_parameters as base_parameters
from kinetree.identification import identify as identify
from kinetree.identification import regressor_columns as regressor_columns
from kinetree.identification.regressors import EnergyRegressor
from kinetree.io.load import load as load
from kinetree.io.save import save as save
from kinetree.joints import Cylindrical as Cylindrical
from kinetree.joints import Fixed as Fixed
from kinetree.joints import Free as Free
from kinetree.joints import Helical as Helical
from kinetree.joints import Planar as Planar
from kinetree.joints import PlanarTwist as PlanarTwist
from kinetree.joints import Prismatic as Prismatic
from kinetree.joints import Revolute as Revolute
from kinetree.joints import Spherical as Spherical
from kinetree.joints import Universal as Universal
from kinetree.kinematics import Frames as Frames
from kinetree.kinematics import inverse_kinematics as inverse_kinematics
from kinetree.model import Model as Model
from kinetree.model import ModelBuilder as ModelBuilder
from kinetree.model.ground import Ground as Ground
from kinetree.model.ground import Heightfield as Heightfield
from kinetree.model.pairs import Pair as Pair
from kinetree.model.shapes import Box as Box
from kinetree.model.shapes import Capsule as Capsule
from kinetree.model.shapes import Cylinder as Cylinder
from kinetree.model.shapes import Point as Point
from kinetree.model.shapes import Sphere as Sphere
from kinetree.model.shapes import Vertices as Vertices
from kinetree.motion import Trajectory as Trajectory
from kinetree.motion import simulate as simulate
from kinetree.rotor_map import rotor_error_map as rotor_error_map
from kinetree.soa import function_of as function_of
from kinetree.soa import identities as identities
from kinetree.soa import letters as letters
from kinetree.soa import operators as operators
from kinetree.spatial.inertia import Inertia as Inertia
from kinetree.spatial.pose import Pose as Pose
from kinetree.spatial.rotation import Rotation as Rotation
from kinetree.stages import Function as Function
from kinetree.stages import compile as compile
from kinetree.stages import function as function
from kinetree.stages.targets.c import export_c as export_c
from kinetree.stages.transforms import jacobian_of as jacobian_of
from kinetree.stages.transforms import jvp as jvp
from kinetree.stages.transforms import jvp_of as jvp_of
from kinetree.stages.transforms import vjp as vjp
from kinetree.stages.transforms import vjp_of as vjp_of

__version__: str

class _SupportsArray(Protocol):
    def __array__(self) -> npt.NDArray[Any]: ...

_Array: TypeAlias = npt.NDArray[Any]
_Scalar: TypeAlias = Any  # a float for one state, an array for a batch
# any kind of number: in an array, in nested lists or tuples, or in what turns into an array
_Numbers: TypeAlias = npt.NDArray[Any] | list[Any] | tuple[Any, ...] | _SupportsArray

def placements(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """World poses T of all bodies, as homogeneous matrices [R p; 0 1].

        T_i = T_p T_joint(q_i)

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        T (..., nb, 4, 4)

    Reference: Jain (2024) part 1; Featherstone (2008) section 4.4.
    """

def body_velocities(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Spatial velocities [omega; v] of all bodies, in body axes at the body origins.

        V_i = X_i V_p + S_i v_i

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        V (..., nb, 6)

    Reference: Featherstone (2008) eq. 5.14; Jain (2024) part 4 (V = phi* H* v).
    """

def body_accelerations(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    kind: Literal["spatial", "classical"] = "spatial",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Accelerations of all bodies without gravity, in body axes at the body origins.

        A_i = X_i A_p + S_i a_i + c_i + V_i x S_i v_i

    with c_i the apparent derivative of S_i times v_i. The spatial acceleration is the derivative of the
    components of V; with kind="classical" it is that of the body's origin, A + [0; omega x v]. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        kind: "spatial" or "classical".
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        A (..., nb, 6)

    Reference: Featherstone (2008) eq. 5.15; Boyden (1997) on the two accelerations; Echeandia (2020) eq.
    2.16, corrected.
    """

def frame_placement(
    model: Model,
    q: _Numbers,
    frame: str,
    point: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The world pose of a frame (or body), or of the frame moved to a point given in its axes, as [R p; 0 1].

        T = T_b T_bf [1 r; 0 1]        of the frame f of body b, at the point r

    Cost O(N), O(d) when unrolled.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        frame: name of a frame or body.
        point (..., 3): a point in the axes of the frame, m; its origin if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        T (..., 4, 4)

    Reference: Jain (2024) part 1 (nodes of a body).
    """

def frame_velocity(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    frame: str,
    reference: Literal["body", "world", "aligned"] = "body",
    *,
    point: _Numbers | None = None,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The spatial velocity [omega; v] of a frame, or of the frame moved to a point given in its axes.

        V = X_fb V_b        from body b to the frame

    `reference`: "body" (axes and origin of the frame), "world" (axes and origin of the world), or "aligned"
    (axes of the world, origin of the frame). Cost O(N), O(d) when unrolled.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        frame: name of a frame or body.
        reference: "body", "world" or "aligned" (axes of the world, origin of the frame).
        point (..., 3): a point in the axes of the frame, m; its origin if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        V (..., 6)
    """

def frame_acceleration(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    frame: str,
    reference: Literal["body", "world", "aligned"] = "body",
    kind: Literal["spatial", "classical"] = "spatial",
    *,
    point: _Numbers | None = None,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The acceleration of a frame without gravity, or of the frame moved to a point given in its axes.

        A = X_fb A_b        classical: A + [0; omega x v]

    The spatial acceleration is transformed like a velocity. With kind="classical" it is the second derivative
    of the position of the frame's origin, in the axes of the reference. Cost O(N), O(d) when unrolled.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        frame: name of a frame or body.
        reference: "body", "world" or "aligned" (axes of the world, origin of the frame).
        kind: "spatial" or "classical".
        point (..., 3): a point in the axes of the frame, m; its origin if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        A (..., 6)

    Reference: Featherstone (2008) section 2.11; Boyden (1997), planet on a circle.
    """

def jacobian(
    model: Model,
    q: _Numbers,
    frame: str,
    reference: Literal["body", "world", "aligned"] = "body",
    *,
    point: _Numbers | None = None,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The Jacobian J of a frame, or of the frame moved to a point given in its axes: J v is its velocity.

        J_i = Y_i S_i        for the bodies i on the path to the root, 0 for all others

    with the transform Y_i from body i to the reference: "body" (axes and origin of the frame), "world" (those
    of the world), or "aligned" (axes of the world, origin of the frame). Cost O(d), and O(N) for the
    placement.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        frame: name of a frame or body.
        reference: "body", "world" or "aligned" (axes of the world, origin of the frame).
        point (..., 3): a point in the axes of the frame, m; its origin if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        J (..., 6, nv)

    Reference: Jain (2024) part 4 (J = B* phi* H*); Featherstone (2008) eq. 4.20.
    """

def jacobian_rate(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    frame: str,
    reference: Literal["body", "world", "aligned"] = "body",
    *,
    point: _Numbers | None = None,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The time derivative of the Jacobian of a frame: J' v + J a is its acceleration.

        J'_i = Y_i (V_i x S_i + dS_i) - V_r x Y_i S_i

    where V_r is the velocity of the reference: that of the frame ("body"), zero ("world"), or that of its
    origin alone ("aligned"). Cost O(d), and O(N) for the velocities.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        frame: name of a frame or body.
        reference: "body", "world" or "aligned" (axes of the world, origin of the frame).
        point (..., 3): a point in the axes of the frame, m; its origin if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        J (..., 6, nv)

    Reference: Jain (2024) part 4; Featherstone (2008) section 2.10.
    """

def partial_velocities(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The velocity of every body per unit of every generalised velocity, in body axes: V_b = J_b v.

        J_bi = Y_i S_i        with Y_i from body i to body b, for i on the path from b to the root

    the blocks of phi* H*. Cost O(N d).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        J (..., nb, 6, nv)

    Reference: Kane's partial velocities in Jain (2024) part 4.
    """

def center_of_mass(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The centre of mass of everything that moves, in world axes.

        c = sum_i m_i c_i / sum_i m_i

    from the composite inertia of the whole system, summed from tips to base. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        c (..., 3)

    Reference: Jain (2024) part 4 (system centre of mass).
    """

def center_of_mass_velocity(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The velocity of the centre of mass, in world axes: linear momentum over mass. Cost O(N).

        c' = sum_i m_i c'_i / sum_i m_i

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        c (..., 3)

    Reference: Jain (2024) part 4 (velocity of the centre of mass).
    """

def center_of_mass_jacobian(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The Jacobian of the centre of mass: J v is its velocity, in world axes.

        J_i = [0 1] (I^C_i S_i) / m        the linear momentum per unit of v_i, in world axes

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        J (..., 3, nv)

    Reference: Jain (2024) part 4 (momentum from composite inertias).
    """

def inverse_dynamics(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Generalised forces that produce the acceleration `a` in the state (`q`, `v`).

        J_i = X_i J_p moved by (S_i v_i, S_i a_i + S-ring_i v_i)        base to tips, J_0 = -gravity
        F_i = I_i force(J_i) - f_ext,i                                  [I w' + w x I w + m c x a; ...]
        tau_i = S_i^T F_i        F_p += X_i^T F_i                       tips to base

    A jet J holds the angular velocity w and the classical acceleration [w'; a] of a body's origin, which give
    the same forces as spatial ones and need no linear velocity. tau is the total force of the joints: the
    motors provide tau minus `passive_force`. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: Featherstone (2008) table 5.1; Echeandia (2020) Alg. 1, with apparent derivatives and external
    forces.
    """

def forward_dynamics(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Accelerations that the generalised forces `tau` produce in the state (`q`, `v`).

        U = I^A S       D = S^T U       u = tau - S^T p^A       I^a = I^A - U D^-1 U^T
        I^A_p += X^T I^a X              p^A_p += X^T p^a,  p^a = p^A + I^a c + U D^-1 u  (so S^T p^a = tau)
        a_i = D^-1 (u - U^T (X A_p + c))                        A_i = X A_p + c + S a_i

    with A_0 = -gravity. No inertia is inverted, only D, the inertia along the joint. Accelerations are
    classical (`Jet`), as in inverse dynamics. `tau` is the total force of the joints: damping, friction and
    springs of the model act through `passive_force`,

        a = forward_dynamics(model, q, v, tau + passive_force(model, q, v))

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        a (..., nv)

    Reference: Featherstone (2008) table 7.1; Echeandia (2020) Alg. 3 and 6, corrected.
    """

def hybrid_dynamics(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    known: _Numbers,
    accelerate: Sequence[str] = (),
    *,
    f_ext: _Numbers | None = None,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array]:
    """All accelerations and generalised forces (a, tau), where one of the two is known for each joint.

    `known` holds the accelerations of the joints named in `accelerate`, and the generalised forces of all
    others. With no joint named, this is forward dynamics; with all named, inverse dynamics. The articulated
    inertia passes a joint of known acceleration as if it were locked:

        I^A_p += X^T I^A X        p^A_p += X^T (p^A + I^A (c + S a))        tau = S^T (I^A A + p^A)

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        known (..., nv): accelerations of the joints in `accelerate`, generalised forces of the others.
        accelerate: names of the joints whose acceleration is known.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        a (..., nv), tau (..., nv)

    Reference: Featherstone (2008) section 9.2; listed by Boyden (1997).
    """

def augmented_dynamics(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    added: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Accelerations with inertia `added` along the velocity of each joint, felt by that joint alone.

        (M + G^T diag(added) G) a + C v + g = tau

    with u = G v the velocities of all joints: G = 1 without loops, otherwise `added` has more entries than v.
    A force that decreases with the velocity at the end of a step, tau - d (v + h a), acts as such an inertia
    h d, so a step that is implicit in damping, springs and gains costs one articulated-body solution. The
    algorithm is that of forward dynamics with D = S^T U + G^T diag(added) G. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        added (..., nu): inertia added along the velocity of each joint, kg m^2 or kg.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        a (..., nv)

    Reference: Featherstone (2008) table 7.1; Castro and others, convex implicit steps (arXiv 2312.03908).
    """

def bias_force(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The generalised force C v + g (less that of `f_ext`) that keeps the velocity `v` constant: a = 0.

        b = C(q, v) v + g(q) - sum_i J_i^T f_ext,i

    Inverse dynamics at zero acceleration; terms that do not depend on the state fold away. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: Jain (2024) part 4 (H phi (M phi* a + b)); Featherstone (2008) table 5.1.
    """

def gravity_force(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The generalised force g that holds the mechanism at rest against gravity.

        A_i = X_i A_p        f_i = I_i A_i        g_i = S_i^T f_i        f_p += X_i^T f_i

    with A_0 = -gravity: gravity as an acceleration of the world. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: Jain (2024) part 4 (gravity), with the sign of free fall.
    """

def mass_matrix(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The mass matrix M(q).

        M_ij = S_i^T I^C_j S_j   for i on the path from j to the root, 0 for unrelated bodies

    I^C_j, the inertia of everything outboard of joint j locked together, is summed from tips to base; the
    force I^C_j S_j is carried along the path. Cost O(N d) for depth d.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        M (..., nv, nv)

    Reference: Featherstone (2008) table 6.2; Echeandia (2020) Alg. 2; Jain (2024) part 4.
    """

def inverse_mass_matrix(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """M(q)^-1, by factors of the mass matrix that keep its sparsity.

        M = L^T D L        M^-1 = L^-1 D^-1 L^-T

    L and its inverse only have entries for pairs of velocities on one path. Cost O(N d^2 + N^2 d); in deep
    trees the columns are computed one by one from articulated inertias, O(N^2).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        inverse (..., nv, nv)

    Reference: Featherstone (2005), Efficient factorization of the joint-space inertia matrix; for deep trees
    Jain (2024) part 4.
    """

def mass_matrix_rate(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The time derivative M' of the mass matrix, C + C^T.

        M'_ij = dS_i^T F2 + S_i^T (F1 + F3)

    with the forces of the Coriolis matrix. Cost O(N d).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        rate (..., nv, nv)

    Reference: Echeandia (2020) eq. 3.22 and Alg. 4, corrected.
    """

def mass_matrix_product(
    model: Model,
    q: _Numbers,
    x: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """M(q) x: propagate outward, multiply by the inertias, gather inward.

        A_i = X A_p + S x_i        f_i = I A_i        (M x)_i = S^T f_i        f_p += X^T f_i

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        x (..., nv): any vector over the velocities.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: Jain (2024) part 4 (M = H phi M phi* H*, read from right to left).
    """

def mass_matrix_solve(
    model: Model,
    q: _Numbers,
    x: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """M(q)^-1 x: the accelerations that the generalised forces `x` produce from rest, without gravity.

        u_i = x_i - S^T p_i        p_p += X^T (p_i + U D^-1 u_i)        a_i = D^-1 (u_i - U^T X A_p)

    with the articulated inertias of forward dynamics. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        x (..., nv): any vector over the velocities.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        a (..., nv)

    Reference: Jain (2024) part 4 (M^-1 = (1 - H psi K)* D^-1 (1 - H psi K)).
    """

def mass_matrix_logdet(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Scalar:
    """The logarithm of det M(q), from the articulated inertias along the joints. Cost O(N).

        log det M = sum_i log det D_i

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        value (...)

    Reference: Jain (2024) part 4 (innovations factorisation: det M = prod det D).
    """

def mass_matrix_trace(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Scalar:
    """The trace of M(q), without the matrix. Cost O(N).

        tr M = sum_i tr(S_i^T I^C_i S_i)

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        value (...)

    Reference: Jain (2024) part 4 (trace of the mass matrix).
    """

def innovations(
    model: Model,
    q: _Numbers,
    x: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array]:
    """The part of the forces `x` felt by each velocity with everything outboard free, and the response to it.

        e = L^-1 (1 - H psi K) x        answer = d^-1 e        x^T M^-1 y = e(x)^T answer(y)

    with D = L d L^T the inertia along each joint, d diagonal; L = 1 for joints with one velocity. This is one
    inward pass: half of M^-1 x, and all that products with the inverse mass matrix need. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        x (..., nv): any vector over the velocities.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        e (..., nv), answer (..., nv)

    Reference: Jain (2024) part 4 (innovations factorisation).
    """

def innovations_response(
    model: Model,
    q: _Numbers,
    x: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The accelerations for the innovations `x`: the outward half of M^-1.

        a = (1 - H psi K)* L^-T d^-1 x

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        x (..., nv): any vector over the velocities.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        a (..., nv)

    Reference: Jain (2024) part 4 (innovations factorisation).
    """

def augmented_innovations(
    model: Model,
    q: _Numbers,
    x: _Numbers,
    added: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array]:
    """Innovations with inertia `added` along the velocity of each joint, felt by that joint alone.

        x^T (M + G^T diag(added) G)^-1 y = e(x)^T answer(y)

    with u = G v the velocities of all joints: G = 1 without loops. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        x (..., nv): any vector over the velocities.
        added (..., nu): inertia added along the velocity of each joint, kg m^2 or kg.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        e (..., nv), answer (..., nv)
    """

def augmented_innovations_response(
    model: Model,
    q: _Numbers,
    x: _Numbers,
    added: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The accelerations for the innovations `x`, with inertia `added` along the velocity of each joint.

        x = augmented_innovations(b)        a = (M + G^T diag(added) G)^-1 b

    with u = G v the velocities of all joints: G = 1 without loops. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        x (..., nv): any vector over the velocities.
        added (..., nu): inertia added along the velocity of each joint, kg m^2 or kg.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        a (..., nv)
    """

def composite_inertias(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The composite inertia I^C of every body, 6 x 6 in body axes, with everything outboard locked to it.

        I^C_p = I_p + sum X^T I^C X

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        I (..., nb, 6, 6)

    Reference: Featherstone (2008) eq. 6.15; Jain (2024) part 4; Echeandia (2020) eq. 2.17.
    """

def composite_moments(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array, _Array]:
    """Mass, centre of mass and inertia about it of each body and everything it carries, in body axes.

        m_i = sum_j m_j        c_i = sum_j m_j c_j / m_i        over the bodies j that body i carries, and i

    These are the components of the composite inertia, of the bodies locked together. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        mass (..., nb), com (..., nb, 3), inertia (..., nb, 3, 3)

    Reference: Jain (2024) part 4 (composite bodies).
    """

def articulated_inertias(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The articulated inertia I^A of every body, 6 x 6 in body axes, with everything outboard free to move.

        I^A_p = I_p + sum X^T (I^A - U D^-1 U^T) X        U = I^A S        D = S^T U

    It depends on q alone, and lies between the body's own inertia and the composite one. Bodies coupled to
    one set of coordinates are treated as cut from each other. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        I (..., nb, 6, 6)

    Reference: Featherstone (2008) eq. 7.21; Boyden (1997); the branch inertia of Concurrent Dynamics (2017).
    """

def coriolis_matrix(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The Coriolis matrix C(q, v) of the Christoffel symbols: C v + g is the bias, M' - 2 C is skew.

        C_ij = S_i^T (I^C dS_j + B^C S_j)        I^C, B^C of the outer one of i and j

    with B(V, I) = (V x* I + (I V) x-bar* - I V x) / 2 summed over all bodies outboard, and dS = V x S plus
    the apparent derivative, which makes it correct for joints of every kind. Cost O(N d).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        C (..., nv, nv)

    Reference: Echeandia (2020) Alg. 4, corrected: use, then transform, then step.
    """

def coriolis_matrices(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array, _Array]:
    """The mass matrix, its rate and the Coriolis matrix, from one sweep: (M, M', C). Cost O(N d).

        M' = C + C^T

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        M (..., nv, nv), rate (..., nv, nv), C (..., nv, nv)

    Reference: Echeandia (2020) Alg. 4, corrected.
    """

def coriolis_product(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    x: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """C(q, v) x for any vector `x`, with the C of the Christoffel symbols.

        w_i = X w_p + S x_i        z_i = X z_p + dS x_i        f_i = I z_i + B w_i        (C x)_i = S^T f_i

    Passivity-based control needs C times a velocity that is not the robot's own. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        x (..., nv): any vector over the velocities.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: the factors of Echeandia (2020) Alg. 4 applied to a vector.
    """

def coriolis_transpose_product(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    x: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """C(q, v)^T x for any vector `x`, with the C of the Christoffel symbols.

        w_i = X w_p + S x_i        h_i = I w_i        f_i = B^T w_i        (C^T x)_i = dS^T h_i + S^T f_i

    With x = v it serves momentum observers: (M v)' = tau - g + C^T v. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        x (..., nv): any vector over the velocities.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: the factors of Echeandia (2020) Alg. 4 applied to a vector.
    """

def christoffel_symbols(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Christoffel symbols of the first kind: C_ij = sum_k Gamma_ijk v_k, zero unless i, j, k lie on one path.

    For velocities i, j, k of nodes a, b, c with c outermost and a innermost, B = B(S_k, I^C_c) and
    D = (I^C_c S_k) x-bar* - B,

        Gamma_ijk = Gamma_ikj = S_i^T B S_j
        Gamma_jik = Gamma_jki = S_j^T B S_i
        Gamma_kij = Gamma_kji = S_i^T D S_j

    plus, where velocities share a node, derivatives of its S: Gamma_ikj += S_i^T I^C d_j S_k for b = c, and
    Gamma_kji += S_k^T I^C d_i S_j for a = b. For quasi-velocities these are the connection coefficients
    of the Levi-Civita connection: Gamma_ijk - Gamma_ikj = sum_l M_il c^l_kj with the structure constants c.
    Cost O(N d^2).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        Gamma (..., nv, nv, nv)

    Reference: Echeandia (2020) Alg. 5, corrected and for joints with any number of degrees of freedom.
    """

def christoffel_values(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Christoffel symbols of the first kind without structural zeros: one number for each triple.

        Gamma_ijk = values[n]        for the triple (i, j, k) = model.christoffel_sparsity()[n]

    In a branching robot few of the nv^3 triples lie on one path: 23 % for a humanoid, 2 % for a binary tree
    of 60 bodies. Cost O(N d^2), and no more numbers than that.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        values (..., triples)

    Reference: Echeandia (2020) Alg. 5: zero unless i, j, k lie on one path.
    """

def inverse_dynamics_derivatives(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    hold: Literal["body", "world"] = "body",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> InverseDynamicsDerivatives:
    """The derivatives of inverse dynamics along increments of q, along v and along a: (dtau/dq, dtau/dv, M).

    A unit of velocity k of node j moves everything outboard like a rigid body, and changes the rest by

        d_k V_i = S_k x V_i + dV_k                    dV = V_p x S + dS v
        d_k A_i = S_k x A_i + dV_k x V_i + dA_k       dA = A_p x S + V_p x dV + V_j x dS v + d(S a + S-ring v)
        d_k f_i = S_k x* f_i + I_i dA_k + 2 B_i dV_k

    Summed over all bodies outboard (I^C, B^C, F^C) and carried along the path to the root, for i inboard of j

        dtau_i/dq_j = S_i^T (I dA_j + 2 B dV_j + S_j x* F)      dtau_i/dv_j = S_i^T (I W_j + 2 B S_j)
        dtau_j/dq_i = S_j^T (I dA_i + 2 B dV_i)                 dtau_j/dv_i = S_j^T (I W_i + 2 B S_i)

    with W = dV + V x S + S-ring; for i = j the term S x* F becomes dS^T F. External forces stay constant in
    the axes of their bodies as q changes (`hold="body"`), or in those of the world, about the bodies' origins
    (`hold="world"`). Cost O(N d).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        hold: the axes in which f_ext stays constant as q changes.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        dq (..., nv, nv), dv (..., nv, nv), M (..., nv, nv)

    Reference: Singh, Russell and Wensing (2022), extended to joints whose S depends on q, and to groups.
    """

def forward_dynamics_derivatives(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    f_ext: _Numbers | None = None,
    hold: Literal["body", "world"] = "body",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> ForwardDynamicsDerivatives:
    """The derivatives of forward dynamics along increments of q, along v and along tau: (da/dq, da/dv, M^-1).

        da/dq = -M^-1 dtau/dq        da/dv = -M^-1 dtau/dv        at a = M^-1 (tau - bias)

    with the derivatives of inverse dynamics, `hold` as there, and M = L^T D L on the paths. Cost O(N^2 d).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        hold: the axes in which f_ext stays constant as q changes.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        dq (..., nv, nv), dv (..., nv, nv), inverse (..., nv, nv)

    Reference: Carpentier and Mansard (2018); the factors of Featherstone (2005).
    """

def kinetic_energy(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Scalar:
    """The kinetic energy of all bodies, rotors and armatures. Cost O(N).

        T = sum_i V_i^T I_i V_i / 2 = v^T M v / 2

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        T (...)

    Reference: Jain (2024) part 4 (kinetic energy).
    """

def potential_energy(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Scalar:
    """The potential energy of gravity, zero if all mass is at the world origin.

        U = -sum_i m_i g^T c_i

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        U (...)

    Reference: Jain (2024) part 4 (gravity).
    """

def momentum(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    frame: str = "world",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The momentum [angular; linear] of everything that moves, in the axes of a frame, about its origin.

        h = sum_i X_i0^T I_i V_i

    By default the world: axes of the world, about its origin. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        frame: name of a frame or body.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        h (..., 6)

    Reference: Jain (2024) part 4 (system momentum).
    """

def centroidal_momentum(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The momentum [angular; linear] about the centre of mass, in world axes. Cost O(N).

        h_G = sum_i X_iG^T I_i V_i

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        h (..., 6)

    Reference: Orin, Goswami and Lee (2013); Jain (2024) part 4.
    """

def centroidal_momentum_matrix(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The matrix A with A v the momentum [angular; linear] about the centre of mass, in world axes.

        A_i = X_Gi^T I^C_i S_i        from body i to the centre of mass

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        A (..., 6, nv)

    Reference: Orin, Goswami and Lee (2013); Jain (2024) part 4 (h = E phi R H* v).
    """

def centroidal_momentum_matrix_rate(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The time derivative of the centroidal momentum matrix: A' v + A a is the rate of the momentum.

        W_i = I^C_i S_i        W'_i = I^C_i dS_i + (B^C_i + B^C_i^T) S_i        A'_i = W'_i - [c' x W_i; 0]

    about the centre of mass c; dS = V x S plus the apparent derivative, B: Coriolis inertias. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        A (..., 6, nv)

    Reference: Echeandia (2020) eq. 3.1 (the rate of a composite inertia is B + B^T); Orin, Goswami and Lee
    (2013).
    """

def system_inertia(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The inertia of the whole system in its present posture, 6 x 6 about the centre of mass, in world axes.

        I_S = sum_i X_iG^T I_i X_iG        block diagonal: [J 0; 0 m]

    Also called the locked or centroidal composite inertia. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        I (..., 6, 6)

    Reference: Jain (2024) part 4 (system inertia); Orin, Goswami and Lee (2013).
    """

def joint_wrenches(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The wrench [moment; force] on each body through its joint, in body axes about the body origin.

        f_i = I_i a_i + v_i x* I_i v_i - f_ext,i + sum X_c^T f_c

    It supports everything outboard. The reaction of a drive on its predecessor belongs to that body. In a
    loop, the closures carry their part (`loop_wrenches`), so dependent joints give no force. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        f (..., nb, 6)

    Reference: the interbody force of Concurrent Dynamics (2017); f of the recursive Newton-Euler algorithm.
    """

def constraint_forces(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The components of each joint's wrench along the directions that the joint constrains.

        f^c_i = N_i^T f_i        S_i^T N_i = 0, N_i orthonormal

    A joint with k degrees of freedom has 6 - k; the rest of its row is zero. They do no work. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        f (..., nb, 6)

    Reference: Concurrent Dynamics (2017), proposition 5, with the transpose that it lacks.
    """

def base_reaction(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The wrench [moment; force] of the ground on the whole system, in world axes about the world origin.

        f_0 = sum over roots of X^T f

    It is the rate of the momentum of the system, less gravity and external forces. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        f (..., 6)

    Reference: Newton's law for the whole system; Jain (2024) part 4.
    """

def composite_wrenches(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array]:
    """The wrench through each joint as R alpha + y: the part due to the body's acceleration, and the rest.

        f_i = R_i alpha_i + y_i        R_i = I^C_i

    R alpha is the force that moves everything outboard as one rigid body; y depends on the accelerations
    outboard and on velocities. Accelerations include gravity as -g. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        inertial (..., nb, 6), rest (..., nb, 6)

    Reference: Jain (2024) part 4 (decompositions of interbody forces).
    """

def articulated_wrenches(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    f_ext: _Numbers | None = None,
    side: Literal["outboard", "inboard"] = "outboard",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array]:
    """The wrench through each joint under the forces `tau`, as an articulated inertia and a remainder.

        side="outboard":   f = P (alpha - c) + z                    z = psi (K tau + P c + b)
        side="inboard":    f = P+ alpha+ + z+        P+ = P - U D^-1 U^T        z+ = z + U D^-1 (tau - S^T z)

    alpha is the body's acceleration, alpha+ that of its predecessor seen at the body (both include gravity
    as -g), and c the velocity-dependent part. The remainder depends on no acceleration. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        side: "outboard" or "inboard".
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        inertial (..., nb, 6), rest (..., nb, 6)

    Reference: Jain (2024) part 4 (decompositions of interbody forces).
    """

def inverse_dynamics_composite(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Inverse dynamics by composite bodies: the same result as `inverse_dynamics`, by another route.

        f = R alpha + y        y_p = b_p + sum X^T (y + R (S a + c))        tau = S^T f

    with R the composite inertias and b = V x* I V - f_ext. Cost O(N), more than that of `inverse_dynamics`.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: Jain (2024) part 4 (inverse dynamics by composite bodies).
    """

def inverse_dynamics_inertial(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Inverse dynamics in the inertially referenced formulation.

        V = V_p + S_I v        alpha = alpha_p + S_I a + S_I' v        f = I_I alpha + V x* I_I V - f_ext

    with S_I' v = V x S_I v plus the apparent part. Cost O(N), more than in body frames.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: Jain (2024) part 4 (inertially referenced equations of motion).
    """

def forward_dynamics_concurrent(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Accelerations by the product of influence matrices, equation (19b) of concurrent dynamics.

        a = [e - K^T Phi_D Psi_beta G] R^-1 [e - G^T Psi_beta^T Phi_D^T K] (tau - C)

    Every frame has world axes and its origin at the joint's centre: D_i shifts from the predecessor's, G_i is
    the joint axis, J_i the branch inertia, R_i = G^T J G, K_i = J G R^-1, beta_i = (e - G K^T) D_i. C is the
    force at a = 0, including gravity and external forces. Accelerations are classical. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        a (..., nv)

    Reference: Concurrent Dynamics (2017), equations (1) to (19b), for joints of every kind.
    """

def gravity_force_composite(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The force g that holds the mechanism at rest, from the weights.

        g_i = -S_i^T [h^C x g; m^C g]        g on the right the acceleration of free fall

    Gravity acts as an external force at the centre of mass of everything outboard, in world axes. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)

    Reference: gravity as forces at centres of mass, Jain (2024) part 4.
    """

def mass_matrix_inertial(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The mass matrix in the inertially referenced formulation. Cost O(N d).

        M = H_I phi_I M_I phi_I* H_I*

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        M (..., nv, nv)

    Reference: Jain (2024) part 4 (inertially referenced velocities).
    """

def composite_moments_walker_orin(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array, _Array]:
    """The same as `composite_moments`, with every sum taken about the common centre of mass of its parts.

        m = m_p + sum m_c        m c = m_p c_p + sum m_c c_c        J = sum (J_c + m_c (|d|^2 1 - d d^T))

    Cost O(N), more than with moments about the body's origin, which simply add.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        mass (..., nb), com (..., nb, 3), inertia (..., nb, 3, 3)

    Reference: Walker and Orin (1982), as described by Jain (2024) part 4.
    """

def constrained_dynamics(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    constraints: Constraint | Sequence[Constraint],
    f_ext: _Numbers | None = None,
    added: _Numbers | None = None,
    period: float | _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> Constrained:
    """Accelerations and constraint forces of a mechanism under constraints.

        M a + C v + g = tau + J^T lambda        J a + J' v = 0

    Each constraint defines the axes of its forces. Redundant constraints are allowed: of all possible forces,
    the result is the one with the least squares. A state in which no forces satisfy the constraints raises a
    SingularError: they contradict each other. With `period` (s), drift is pulled back within about that time
    (Baumgarte stabilisation), J a + J' v = -2 J v / period - phi / period^2; it should be several steps long.
    Without it, drift is not corrected: `kt.project` puts a state back exactly. `added` is inertia along each
    velocity, as in `augmented_dynamics`. Cost O(N + m d + m^2 d + m^3).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        constraints: one or several constraints that hold.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        added (..., nu): inertia added along the velocity of each joint, kg m^2 or kg; none if left out.
        period (...): time constant with which drift is pulled back, s; no stabilisation if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        acceleration (..., nv), force (..., constraints)

    Reference: Featherstone (2008) section 8; Baumgarte (1972); Parikh and Boyd (2014) for the proximal step.
    """

def constrained_inverse_dynamics(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    constraints: Constraint | Sequence[Constraint],
    f_ext: _Numbers | None = None,
    unactuated: Sequence[str] | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array]:
    """Generalised forces and constraint forces that together produce the accelerations `a`.

        tau + J^T lambda = M a + C v + g        tau = 0 for joints without a motor

    `unactuated`: the joints without a motor; the free joints of the model if None. Of all constraint forces
    that replace their motors, the result has the least squares; without such joints the constraints carry
    nothing. A motion that the constraints cannot support raises a SingularError. Cost O(N + m d + m^3).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        constraints: one or several constraints that hold.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        unactuated: names of the joints without a motor.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv), force (..., constraints)
    """

def constraint_jacobian(
    model: Model,
    q: _Numbers,
    constraints: Constraint | Sequence[Constraint],
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The Jacobian J of one or several constraints, stacked.

        d phi / dt = J v

    Cost O(d) for each row, and O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        constraints: one or several constraints that hold.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        J (..., constraints, nv)
    """

def constraint_residual(
    model: Model,
    q: _Numbers,
    constraints: Constraint | Sequence[Constraint],
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The residuals of constraints, m and rad; zero for those that hold wherever the mechanism is.

        phi(q)        its rate is J(q) v

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        constraints: one or several constraints that hold.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        phi (..., constraints)
    """

def delassus(
    model: Model,
    q: _Numbers,
    constraints: Constraint | Sequence[Constraint],
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The Delassus matrix: the accelerations of constraint rows per unit of their forces.

        J M^-1 J^T = E^T D^-1 E        E = (1 - H psi K) J^T

    Its inverse is the inertia that the constraints feel. It is singular if rows are redundant. Cost
    O(N + m d + m^2 d) for m rows.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        constraints: one or several constraints that hold.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        Delassus (..., constraints, constraints)

    Reference: Delassus (1917); Jain (2024) part 4 (innovations); Featherstone (2008) section 8.
    """

def impact(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    constraints: Constraint | Sequence[Constraint],
    restitution: float | _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> Impact:
    """The velocity right after an impact that makes constraints hold, and their impulses.

        M (v+ - v) = J^T p        J v+ = -e J v

    with the restitution e, zero if left out: the constraints then hold from now on. All constraints act at
    once, including those that would pull; energy never grows for e between 0 and 1. Cost
    O(N + m d + m^2 d + m^3).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        constraints: one or several constraints that hold.
        restitution (...): share of the velocity along the constraints that is returned; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        velocity (..., nv), impulse (..., constraints)

    Reference: Featherstone (2008) section 11.7; Moreau (1988).
    """

def project(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    constraints: Constraint | Sequence[Constraint],
    steps: int = 3,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> Projected:
    """The state projected onto the constraints: the nearest one in the metric of the mass matrix.

        q <- q (+) -M^-1 J^T (J M^-1 J^T)^-1 phi        v <- v - M^-1 J^T (J M^-1 J^T)^-1 J v

    The position takes `steps` Newton steps, each of which squares the error: starting from the error of one
    time step, two reach rounding. Points held wherever they are, and joints without a position, stay where
    they are.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        constraints: one or several constraints that hold.
        steps: how many Newton steps.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        position (..., nq), velocity (..., nv)

    Reference: Hairer, Lubich and Wanner (2006) section IV.4.
    """

def christoffel_symbols_second_kind(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Christoffel symbols of the second kind: a = -Gamma[:, j, k] v_j v_k without forces.

        Gamma^i_jk = sum_l (M^-1)_il Gamma_ljk

    They give the covariant derivative of geometric control. Cost O(N^2 d^2).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        Gamma (..., nv, nv, nv)
    """

def mass_matrix_partials(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The derivatives of the mass matrix: [i, j, k] is that of M_ij along velocity k.

        X_k M_ij = Gamma_ijk + Gamma_jik        for coordinates and for quasi-velocities

    Cost O(N d^2).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        dM (..., nv, nv, nv)
    """

def bias_force_hessian(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Second derivatives of the bias force along v.

        d2 b_i / dv_j dv_k = Gamma_ijk + Gamma_ikj

    Cost O(N d^2).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        hessian (..., nv, nv, nv)
    """

def admissibility(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    C: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> Admissibility:
    """Whether a matrix can serve as the Coriolis matrix, and whether it is that of the Christoffel symbols.

        |C v - b|,  |M' - C - C^T|,  |C_ij - sum_k Gamma_ijk v_k|        relative to the size of C

    Many matrices give the right C v; passivity needs M' - 2 C skew; only one matrix has the entries
    C_ij = sum Gamma_ijk v_k. The result is errors, not a verdict: compare them with a tolerance.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        C (..., nv, nv): a matrix to be compared with the Coriolis matrix.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        bias_error (...), skew_error (...), christoffel_error (...)

    Reference: Echeandia (2020) eq. 2.13, with the correction that admissible matrices are not unique.
    """

def nullify_momentum(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    momentum: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The velocity with the motion of the floating base changed so that the whole system has no momentum.

        V_base <- V_base - I_S^-1 (h_S - h)

    with the inertia I_S and the momentum h_S of the whole system, seen at the base. Joint velocities do not
    change. `momentum` sets another value h, in world axes about the world origin. Integrators drift; this
    restores a conserved momentum. A model without exactly one free joint at its root raises a ModelError.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        momentum (..., 6): the wanted momentum [angular; linear], world axes, about the world origin, N m s and N s; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        v (..., nv)

    Reference: Jain (2024) part 4 (nullifying the momentum).
    """

def operational_space_inertia(
    model: Model,
    q: _Numbers,
    frames: str | Sequence[str],
    reference: Literal["body", "world", "aligned"] = "body",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array]:
    """The operational-space inertia Lambda of one frame or several, felt by forces on them, and its inverse.

        Lambda^-1 = J M^-1 J^T        with J the stacked Jacobians of the frames

    A motion that the frames cannot make has no inertia: Lambda is the pseudo-inverse if Lambda^-1 is
    singular. Cost O(N) for each row of J.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        frames: names of frames or bodies.
        reference: "body", "world" or "aligned" (axes of the world, origin of the frame).
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        Lambda (..., 6 frames, 6 frames), inverse (..., 6 frames, 6 frames)

    Reference: Khatib (1987); Jain (2024) part 4 (Lambda^-1 = B* Omega B).
    """

def impulse_response(
    model: Model,
    q: _Numbers,
    frame: str,
    impulse: _Numbers,
    reference: Literal["body", "world", "aligned"] = "aligned",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The change of velocity due to an impulse p = [angular; linear] on a frame.

        v+ - v = M^-1 J^T p

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        frame: name of a frame or body.
        impulse (..., 6): [angular; linear], on the frame, N m s and N s.
        reference: "body", "world" or "aligned" (axes of the world, origin of the frame).
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        v (..., nv)
    """

def passive_force(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    smoothing: float = 0.0,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The passive generalised force of the joints: damping, Coulomb friction, springs.

        tau = -d v - f sign(v) - k (q - q_0)

    Inverse and forward dynamics take the total force of a joint:

        a = forward_dynamics(model, q, v, tau_motor + passive_force(model, q, v))

    With `smoothing` (a velocity) the sign becomes tanh(v / smoothing), which is easier on integrators. Joints
    that depend on others through loops act as G^T tau (`loop_matrix`). Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        smoothing: velocity over which friction changes its sign, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)
    """

def spring_energy(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Scalar:
    """The energy of the springs of all joints, J.

        U = sum_i k_i (q_i - q_0,i)^2 / 2

    Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        energy (...)
    """

def rotor_error(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    rotors: Literal["reflected", "lumped", "none"] = "reflected",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> RotorError:
    """The error of treating rotors approximately: `rotors` is "reflected" (n^2 J on the diagonal) or "none".

        max |M_approx - M| / max |M|        likewise for the bias and the acceleration

    Each number is the largest entry of the difference over the largest entry of the exact quantity.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        rotors: "reflected" or "lumped" or "none".
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        mass_matrix (...), bias (...), acceleration (...)

    Reference: Echeandia (2020) section 4.4, with the exact algorithm for comparison.
    """

def system_velocity(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The spatial velocity that the whole system would have as one rigid body with the same momentum.

        V_C = I_S^-1 h_S        about the centre of mass: [J^-1 (angular momentum); velocity of the centre
        of mass]

    In world axes at the centre of mass; J is the inertia of the whole system about it in its present posture.
    About an axis without inertia the angular velocity is zero.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        V (..., 6)

    Reference: Jain (2024) part 4 (velocity of the centre of mass).
    """

def external_wrenches(
    model: Model,
    q: _Numbers,
    forces: Mapping[str, _Numbers] | _Numbers,
    frames: str | Sequence[str] = (),
    reference: Literal["body", "world", "aligned"] = "aligned",
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """Wrenches on frames, {frame: [moment; force]} about the frames' origins, as `f_ext`.

        f_body = X^T f_frame

    `reference`: the axes of the wrenches; "aligned" for those of the world, "body" for the frame's own,
    "world" for the world's axes and moments about the world origin. Wrenches on one body add up; those on the
    world have no effect.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        forces (..., frames, 6): a wrench [moment; force] for each frame by name.
        frames: names of frames or bodies.
        reference: "body", "world" or "aligned" (axes of the world, origin of the frame).
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        f_ext (..., nb, 6)

    Reference: external forces at nodes, Jain (2024) part 4; impact points of Concurrent Dynamics (2017).
    """

def inverse_dynamics_second_derivatives(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> SecondDerivatives:
    """The non-zero second derivatives of inverse dynamics, for small robots.

        d2_dqdq[i, j, k] = d_k (dtau_i / dq_j)        d2_dvdv[i, j, k] = d2 tau_i / dv_j dv_k
        d2_dqdv[i, j, k] = d2 tau_i / dq_j dv_k       d2_dadq[i, j, k] = dM_ij / dq_k

    Along increments that turn a body they are not symmetric: with the structure constants c of the joints
    (`Joint.brackets`), d2_dqdq[i, j, k] - d2_dqdq[i, k, j] = sum_l c[k][j][l] dtau_i / dq_l. External forces
    are constant in the axes of their bodies. Cost O(N d^2) numbers; for large robots use
    `inverse_dynamics_hessian`.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        d2_dqdq (..., nv, nv, nv), d2_dvdv (..., nv, nv, nv), d2_dqdv (..., nv, nv, nv), d2_dadq (..., nv, nv, nv)

    Reference: Singh, Wensing and others (2023), second-order derivatives of inverse dynamics.
    """

def inverse_dynamics_hessian(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    weights: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> Hessian:
    """The second derivatives of inverse dynamics, contracted with one weight for each force.

        qq[j, k] = sum_i weights_i d_k (dtau_i / dq_j)        and in the same way vv, qv and aq

    This is what an optimal-control solver needs for a large robot: four matrices instead of the four tensors
    of `inverse_dynamics_second_derivatives`. Found from the gradient of weights . tau.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        weights (..., nv): one number for each generalised force.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        qq (..., nv, nv), vv (..., nv, nv), qv (..., nv, nv), aq (..., nv, nv)
    """

def linearize(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    dt: float | _Numbers | None = None,
    integrator: Literal["discrete", "rk4", "variational"] = "rk4",
    *,
    f_ext: _Numbers | None = None,
    passive: bool = True,
    ground: Ground | Heightfield | bool = True,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> Linearization:
    """The linearised equations of motion about a motion: x = [increments of q; changes of v].

        x' = A x + B u        without `dt`, from the equations of motion
        x+ = A x + B u        with `dt`, exactly for the step of the integrator

    u are changes of tau. Where velocities are not rates of coordinates, increments turn with the body:
    e' = dv - [v, e]. `passive`: include damping and springs of the joints, as in a step. External forces are
    constant in the axes of their bodies. `ground`: as in a step; only "discrete" steps have contact.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        dt (...): length of the step, s; continuous time, where that is possible, if left out.
        integrator: "discrete" or "rk4" or "variational".
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        passive: with the damping, friction and springs of the joints.
        ground: what the model stands on: True for its own ground, False for nothing.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        A (..., 2 nv, 2 nv), B (..., 2 nv, nv)
    """

def rotor_wrenches(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The wrench on each rotor from its bearings, gears and motor together.

        f = I (A - g) + V x* I V

    in the axes of the rotor's placement, which do not turn with it, about its origin. The moment along the
    rotor's axis is the net torque of motor and gear that accelerates it; the other five components load the
    bearings. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        F (..., nr, 6)

    Reference: Echeandia (2020) eq. 4.3 and 4.18, with the rotor's own transform.
    """

def motor_torques(
    model: Model,
    tau: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The motor torques, on the rotor side of the gears, that give the generalised forces `tau`.

        tau = N^T tau_m        N the ratios of the rotors

    For a joint with one rotor this is tau / n; if several rotors drive a joint, the least-squares solution.
    Forces of joints without a rotor are not produced. Rotors of joints that depend on others through a loop
    act as tau = (N G)^T tau_m, which depends on the position: solve for it with `loop_matrix`. Cost O(N).

    Args:
        model: the robot.
        tau (..., nv): generalised forces, N m or N.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        motors (..., nr)

    Reference: Echeandia (2020) section 4.2: the motor acts between rotor and carrier.
    """

def rotor_ratios(model: Model) -> _Array:
    """The speed of each rotor relative to the body that carries it, per unit of each velocity, (nr, nu).

        omega_rotor = N u        u the velocities of all joints: v without loops, else G v

    A joint that drives no rotor has a column of zeros.
    """

def loop_matrix(
    model: Model,
    q: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The matrix G that gives the velocities u of all joints from the independent ones, u = G v.

        G = [1; -K_d^-1 K_i]        K u = 0 the rows of the closures

    Rows are in the order of `model.spanning_tree`, the model with its loops cut. Motor forces on any joints
    act through G^T: tau = G^T tau_motor. G is the identity for a model without loops. Cost O(N), plus the
    cube of the number of dependent velocities of each loop.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        G (..., nu, nv)

    Reference: constraint embedding, Jain (2012); Chignoli and others (2023).
    """

def loop_wrenches(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The wrench [moment; force] on the second body of each closure, through that closure.

        K_d^T lambda = (S^T F)_d        F what each body needs to move as it does

    In the axes of that body, about its origin, in the order of `model.closure_names`; the opposite wrench
    acts on the first body. They make the forces of dependent joints zero. Redundant rows carry nothing: in an
    over-determined loop the forces depend on the stiffness of its bodies, and these are one possibility. A
    relation between coordinates has no wrench. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        f (..., nc, 6)

    Reference: multipliers of constraint embedding, Jain (2012).
    """

def loop_force(
    model: Model,
    q: _Numbers,
    efforts: _Numbers,
    limits: bool = True,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The generalised forces of forces at all joints, including those that loops make dependent.

        tau = G^T efforts

    So a motor may drive any joint of a loop. `efforts` are in the order of `model.spanning_tree`. With
    `limits`, each is clipped to the effort limit of its joint. Cost as for `loop_matrix`.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        efforts (..., nu): forces along the velocity of each joint, N m or N.
        limits: with stops at the joint limits.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        tau (..., nv)
    """

def relative_placement(
    model: Model,
    q: _Numbers,
    frame: str,
    base: str,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The pose of a frame in another frame, as [R p; 0 1]: a body, a named frame, or the world.

        T = T_base^-1 T_frame

    Cost O(d), of the joints between the two.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        frame: name of a frame or body.
        base: name of the frame or body that it is relative to.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        T (..., 4, 4)

    Reference: Jain (2024) part 1 (poses between arbitrary frames).
    """

def relative_velocity(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    frame: str,
    base: str,
    axes: str | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The spatial velocity [omega; v] of a frame seen from another frame, at the frame's own origin.

        V(b, f) = V(f) - X_fb V(b)

    In the axes of the frame, or of a third frame `axes`. Cost O(d), of the joints between the frames.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        frame: name of a frame or body.
        base: name of the frame or body that it is relative to.
        axes: name of the frame or body whose axes the result has; `frame` if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        V (..., 6)

    Reference: Jain (2024) part 1 (propagation and reversal of spatial velocities).
    """

def relative_acceleration(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    frame: str,
    base: str,
    axes: str | None = None,
    seen_from: str | None = None,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The acceleration of a frame relative to another one: the derivative of `relative_velocity`.

        d_s V = d_f V + omega(s, f) x V        on both halves of V = V(b, f)

    A derivative depends on the frame of the observer. Seen from the frame f itself, the default, it is the
    spatial acceleration; with seen_from=base its second half is the second derivative of the position of f in
    b. It is given in the axes of the frame, or of a third frame `axes`, which does not affect the derivative.
    Without gravity. Cost O(d).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        frame: name of a frame or body.
        base: name of the frame or body that it is relative to.
        axes: name of the frame or body whose axes the result has; `frame` if left out.
        seen_from: name of the frame or body in which the derivative is taken; `frame` if left out.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        A (..., 6)

    Reference: Jain (2024) part 1 (derivative and representation frames; Coriolis terms, corrected).
    """

def step(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    f_ext: _Numbers | None = None,
    *,
    dt: float | _Numbers,
    integrator: Literal["discrete", "rk4", "variational"] = "discrete",
    kp: _Numbers | None = None,
    kd: _Numbers | None = None,
    setpoint: _Numbers | None = None,
    passive: bool = True,
    limits: bool = True,
    constraints: Constraint | Sequence[Constraint] = (),
    ground: Ground | Heightfield | bool = True,
    contact_stiffness: _Numbers | None = None,
    contact_dissipation: _Numbers | None = None,
    contact_friction: _Numbers | None = None,
    creep: float | _Numbers | None = None,
    contact_accuracy: float | _Numbers | None = None,
    newton_limit: int | None = None,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> tuple[_Array, _Array]:
    """The state (q, v) after a step of `dt` seconds, with `tau` and `f_ext` constant during the step.

        discrete      (M + h slope) a = tau + offset - slope v - C v - g,  v+ = v + h a,  q+ = q (+) h v+
        rk4           the classical method of Runge and Kutta for (q, v)' on the group of positions
        variational   the stationary point of the sum of h L(q_m, v_m), q_m = q (+) h/2 v_m,  q+ = q (+) h v_m

    "discrete" (order 1) is implicit in damping, springs, servos, joint friction and stops at joint limits,
    and stable at any step length however stiff they are. "rk4" (order 4) is the most accurate for smooth
    motion. "variational" (order 2) conserves momentum to rounding and its energy does not drift; its equation
    is solved to rounding, and a step for which that fails raises SimulationError. "rk4" takes passive forces
    and servos explicitly, "variational" at the middle of the step; neither has stops.

    A servo kp (setpoint - q) - kd v is part of the step. `passive`: include damping, friction and springs of
    the joints. `limits`: include stops at the joint limits (discrete only), which absorb all the energy of an
    impact; and drives, `tau` plus servo, give no more than the effort limits of their joints. With a ground,
    or a servo with effort limits, all of these are terms of one convex minimisation (`kt.contact_forces`);
    otherwise the active stops are those that the velocity at the beginning leads to. `constraints` hold to
    rounding: the step uses `constrained_dynamics`, and the state is then projected back (`project`).
    Quaternions stay on the unit sphere. Cost: 1, 4 and about 20 forward dynamics.

    `ground`: what the points of the model touch (discrete only): a `kt.Ground` or `kt.Heightfield`, False for
    nothing, or True for the model's own ground; a model with a floating base and no ground of its own gets
    the plane z = 0. With contact the step minimises one convex function (see `kt.contact_forces`) by a few
    Newton steps, each at the cost of a forward dynamics; `newton_limit` is the most there may be (None: as
    many as needed); the step then lacks what they have not found of the forces.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        dt (...): length of the step, s.
        integrator: "discrete" or "rk4" or "variational".
        kp (..., nv): position gains of the servos, N m/rad or N/m; zero if left out.
        kd (..., nv): velocity gains of the servos, N m s/rad or N s/m; zero if left out.
        setpoint (..., nq): positions that the servos hold, rad or m; the neutral position if left out.
        passive: with the damping, friction and springs of the joints.
        limits: with stops at the joint limits.
        constraints: one or several constraints that hold.
        ground: what the model stands on: True for its own ground, False for nothing.
        contact_stiffness (..., points): stiffness of each contact point, N/m; the model's own if left out.
        contact_dissipation (..., points): dissipation of each contact point: growth of its force with the approach speed, s/m; the model's own if left out.
        contact_friction (..., points): Coulomb friction coefficient of each contact point; the model's own if left out.
        creep (...): speed below which contact points stick, m/s; 1e-4 if left out.
        contact_accuracy (...): share of all contact forces that may be missing after the last Newton step; 1e-4 if left out.
        newton_limit: largest number of Newton steps for contact; None for as many as needed.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        q (..., nq), v (..., nv)

    Reference: discrete steps, Castro and others (2023); Munthe-Kaas (1998) for Runge-Kutta
    methods on groups; Marsden and West (2001), Lee and others (2016) for variational integrators.
    """

def contact_forces(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    tau: _Numbers,
    dt: float | _Numbers,
    f_ext: _Numbers | None = None,
    kp: _Numbers | None = None,
    kd: _Numbers | None = None,
    setpoint: _Numbers | None = None,
    passive: bool = True,
    limits: bool = True,
    ground: Ground | Heightfield | bool = True,
    *,
    contact_stiffness: _Numbers | None = None,
    contact_dissipation: _Numbers | None = None,
    contact_friction: _Numbers | None = None,
    creep: float | _Numbers | None = None,
    contact_accuracy: float | _Numbers | None = None,
    newton_limit: int | None = None,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The force of the ground on each point of `model.contact_points` during a step, in world axes.

        f_n = k (depth - h u_n)_+ (1 - d u_n)_+        f_t = -mu f0 u_t / sqrt(|u_t|^2 + v_s^2)

    u is the velocity of the point at the end of the step and f0 its normal force at the beginning; k, d and
    mu are its stiffness, dissipation and friction (the model's own, or given as contact_stiffness and so on),
    and v_s = `creep`. The new velocities minimise one convex function:

        1/2 |v+ - v*|_M^2 + h sum (N(u_n) + mu f0 sqrt(|u_t|^2 + v_s^2)) + h sum P(v_j)

    with v* the velocities without contact, N' = -f_n, and P for the forces at the joints: damping, springs,
    servos, dry friction, stops. The step and its arguments are those of `kt.step`, but `dt` comes before
    `f_ext`. Forces are zero where nothing touches. After the points of `model.contact_points` come those of
    `model.pair_points`, with the force on the first geometry of the pair.

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        tau (..., nv): generalised forces, N m or N.
        dt (...): length of the step, s.
        f_ext (..., nb, 6): wrench [moment; force] on each body, body axes, about the body origin, N m and N; zero if left out.
        kp (..., nv): position gains of the servos, N m/rad or N/m; zero if left out.
        kd (..., nv): velocity gains of the servos, N m s/rad or N s/m; zero if left out.
        setpoint (..., nq): positions that the servos hold, rad or m; the neutral position if left out.
        passive: with the damping, friction and springs of the joints.
        limits: with stops at the joint limits.
        ground: what the model stands on: True for its own ground, False for nothing.
        contact_stiffness (..., points): stiffness of each contact point, N/m; the model's own if left out.
        contact_dissipation (..., points): dissipation of each contact point: growth of its force with the approach speed, s/m; the model's own if left out.
        contact_friction (..., points): Coulomb friction coefficient of each contact point; the model's own if left out.
        creep (...): speed below which contact points stick, m/s; 1e-4 if left out.
        contact_accuracy (...): share of all contact forces that may be missing after the last Newton step; 1e-4 if left out.
        newton_limit: largest number of Newton steps for contact; None for as many as needed.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        force (..., points, 3)

    Reference: Castro and others (2023).
    """

def torque_regressor(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    a: _Numbers,
    extra: str | Sequence[str] = (),
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The matrix Y of tau = Y pi: generalised forces are linear in the inertial parameters.

        tau = Y(q, v, a) pi

    with pi = model.parameters.reshape(-1), for a model without rotors and armatures. `extra` adds columns,
    any of "rotors" (ten for each, of its inertia), "armature" (one for each velocity that is a rate),
    "damping" and "friction" (one for each velocity): the product with all parameters (see
    `regressor_columns`) is then the force of the motors. Cost O(N d).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        a (..., nv): accelerations, rad/s^2 or m/s^2.
        extra: further columns: "rotors", "armature", "damping", "friction".
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        Y (..., nv, 10 nb)

    Reference: Atkeson, An and Hollerbach (1986); Khalil and Dombre (2002) ch. 12.
    """

def energy_regressor(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> EnergyRegressor:
    """The rows that give the energies of a model from its inertial parameters pi.

        T = y_T pi        U = y_U pi

    pi = model.parameters.reshape(-1), for a model without rotors and armatures. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        kinetic (..., 10 nb), potential (..., 10 nb)
    """

def momentum_regressor(
    model: Model,
    q: _Numbers,
    v: _Numbers,
    *,
    parameters: _Numbers | None = None,
    gravity: _Numbers | None = None,
    out: _Array | tuple[_Array, ...] | None = None,
    target: str | None = None,
) -> _Array:
    """The matrix of the momentum [angular; linear] about the world origin, world axes.

        h = Y_h pi

    pi = model.parameters.reshape(-1), for a model without rotors and armatures. Cost O(N).

    Args:
        model: the robot.
        q (..., nq): positions of the joints, rad or m.
        v (..., nv): velocities, rad/s or m/s.
        parameters (..., nb, 10): of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz), kg, kg m, kg m^2; the model's own if left out.
        gravity (..., 3): acceleration of free fall, world axes, m/s^2; the model's own if left out.

    Returns:
        h (..., 6, 10 nb)
    """
