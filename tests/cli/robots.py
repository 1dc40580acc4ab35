"""Small robot files: a sound one and several that are not."""

from __future__ import annotations

LINK = """
  <link name="{name}">
    <inertial>
      <origin xyz="0 0 0.1"/>
      <mass value="{mass}"/>
      <inertia ixx="{ixx}" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>"""

JOINT = """
  <joint name="{name}" type="revolute">
    <parent link="{parent}"/>
    <child link="{child}"/>
    <origin xyz="0 0 0.3"/>
    <axis xyz="0 1 0"/>
    <limit lower="{lower}" upper="2" effort="10" velocity="3"/>
  </joint>"""


def urdf(mass: str = "1.5", ixx: str = "0.02", lower: str = "-2", name: str = "forearm") -> str:
    """A planar arm of two links as URDF; the arguments spoil its last link and joint."""
    return (
        '<robot name="two_links">\n  <link name="base"/>'
        + LINK.format(name="upper_arm", mass="2.0", ixx="0.02")
        + LINK.format(name=name, mass=mass, ixx=ixx)
        + JOINT.format(name="shoulder", parent="base", child="upper_arm", lower="-2")
        + JOINT.format(name="elbow", parent="upper_arm", child=name, lower=lower)
        + "\n</robot>\n"
    )


MJCF = """<mujoco model="pendulum">
  <worldbody>
    <body name="bob" pos="0 0 1">
      <joint name="swing" type="hinge" axis="0 1 0"/>
      <inertial pos="0 0 -0.5" mass="1" diaginertia="0.01 0.01 0.01"/>
    </body>
  </worldbody>
</mujoco>
"""
