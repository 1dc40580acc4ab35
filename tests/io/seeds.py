"""Small robot files that use every feature of the readers: what the fuzzer starts from."""

from __future__ import annotations

URDF_ARM = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"><visual><geometry><box size="1 1 1"/></geometry></visual></link>
  <link name="upper">
    <inertial><origin xyz="0 0.1 0.2" rpy="0.1 0.2 0.3"/><mass value="2.5"/>
      <inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.04" iyz="0" izz="0.02"/></inertial>
  </link>
  <link name="lower">
    <inertial><mass value="1e0"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.005"/>
      </inertial>
  </link>
  <link name="tool"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.3" rpy="1.5708 0 0"/><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="100" velocity="3"/><dynamics damping="0.5" friction="0.1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <origin xyz="0 0 0.5"/><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <mimic joint="shoulder" multiplier="-2" offset="0.1"/>
  </joint>
  <joint name="flange" type="fixed"><origin xyz="0 0 0.4"/><parent link="lower"/><child link="tool"/></joint>
  <transmission name="t"><joint name="shoulder"/><actuator name="m">
      <mechanicalReduction>100</mechanicalReduction>
    <rotorInertia>1e-5</rotorInertia></actuator></transmission>
</robot>
"""

URDF_MIXED = """<robot name="mixed"><link name="world"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
      </inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
      </inertial></link>
  <link name="c"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
      </inertial></link>
  <link name="d"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
      </inertial></link>
  <joint name="f" type="floating"><parent link="world"/><child link="a"/></joint>
  <joint name="p" type="planar"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>
  <joint name="s" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 1 0"/></joint>
  <drake:joint name="u" type="universal"><parent link="c"/><child link="d"/></drake:joint>
  <frame name="tip" link="d" xyz="0 0 1" rpy="0 0 0"/>
  <kinetree gravity="0 0 -1.62"><joint name="s" stiffness="10"/>
    <rotor joint="s" ratio="50"><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
      <inertial><mass value="0.1"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5"/></inertial></rotor></kinetree>
</robot>
"""

MJCF_LEG = """<mujoco model="leg">
  <compiler angle="degree" eulerseq="XYZ" autolimits="true"/>
  <option gravity="0 0 -9.8"/>
  <default><joint damping="0.1" armature="0.01"/><geom density="500"/>
    <default class="thin"><geom type="capsule" size="0.02"/><joint axis="0 1 0"/></default></default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="trunk" pos="0 0 1"><freejoint name="root"/><geom type="box" size="0.1 0.1 0.2"/>
      <body name="thigh" pos="0 0.1 0" euler="0 10 0" childclass="thin">
        <joint name="hip_x" axis="1 0 0" range="-40 40"/>
      <joint name="hip_y" pos="0 0 0.1" ref="5" stiffness="3"/>
        <geom fromto="0 0 0 0 0 -0.4"/>
        <site name="knee_site" pos="0 0 -0.4"/>
        <frame pos="0 0 -0.4" euler="0 0 90"><body name="shank"><joint name="knee" type="hinge" axis="0 1 0"/>
          <inertial pos="0 0 -0.2" mass="1.5" fullinertia="0.1 0.1 0.01 0 0.001 0"/>
          <body name="foot" pos="0 0 -0.4"><joint name="ankle" type="ball"/>
      <geom type="sphere" size="0.05" mass="0.3"/>
          </body></body></frame>
      </body>
    </body>
    <replicate count="2" offset="1 0 0" sep="_"><body name="box"><joint type="slide" axis="1 0 0"/>
      <geom type="ellipsoid" size="0.1 0.2 0.3"/></body></replicate>
  </worldbody>
  <equality><joint joint1="knee" joint2="hip_y" polycoef="0.1 0.5 0 0 0"/></equality>
  <actuator><motor joint="knee"/></actuator>
</mujoco>
"""

MJCF_PENDULUM = """<mujoco><worldbody><body name="p" axisangle="0 0 1 30"><joint axis="0 1 0" pos="0 0 1"/>
<inertial pos="0 0 -1" quat="1 0 0 0" mass="1" diaginertia="0.1 0.1 0.01"/>
<body name="q" pos="0 0 -2" xyaxes="1 0 0 0 1 0"><joint type="slide" axis="0 0 1" range="0 1"/>
<geom type="cylinder" size="0.1 0.3" zaxis="0 1 1"/></body></body></worldbody></mujoco>"""

SDF_ARM = """<sdf version="1.11">
<world name="w"><gravity>0 0 -9.8</gravity>
<model name="arm" canonical_link="base"><pose degrees="true">1 0 0 0 0 30</pose>
  <link name="base"><inertial><mass>3</mass>
    <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
  <joint name="mount" type="fixed"><parent>world</parent><child>base</child></joint>
  <link name="upper"><pose relative_to="shoulder">0 0 0.1 0 0 0</pose>
    <inertial><pose>0 0 0.2 0 0 0.1</pose><mass>2</mass>
      <inertia><ixx>0.03</ixx><ixy>0.001</ixy><iyy>0.03</iyy><izz>0.02</izz></inertia></inertial></link>
  <joint name="shoulder" type="revolute"><pose relative_to="base">0 0 0.5 1.5707963 0 0</pose>
    <parent>base</parent><child>upper</child>
    <axis><xyz expressed_in="__model__">0 1 0</xyz>
      <limit><lower>-2</lower><upper>2</upper><effort>9</effort></limit>
      <dynamics><damping>0.1</damping><spring_stiffness>2</spring_stiffness></dynamics></axis></joint>
  <model name="hand"><pose relative_to="upper" rotation_format="quat_xyzw">0 0 0.4 0 0 0.6 0.8</pose>
    <link name="palm"><inertial auto="true"><density>500</density></inertial>
      <collision name="c"><geometry><box><size>0.1 0.2 0.05</size></box></geometry></collision></link>
    <link name="finger"><pose>0.1 0 0 0 0 0</pose>
      <inertial><mass>0.1</mass><inertia><ixx>1e-4</ixx><iyy>1e-4</iyy><izz>1e-4</izz></inertia></inertial></link>
  </model>
  <joint name="wrist" type="universal"><parent>upper</parent><child>hand::palm</child>
    <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
  <joint name="grip" type="screw"><parent>hand::palm</parent><child>hand::finger</child>
      <screw_thread_pitch>0.01</screw_thread_pitch><axis><xyz>1 0 0</xyz>
      <mimic joint="wrist" axis="axis2"><multiplier>0.5</multiplier><offset>0.1</offset></mimic>
      </axis></joint>
  <frame name="tool" attached_to="hand::finger"><pose>0 0 0.1 0 0 0</pose></frame>
</model></world></sdf>"""

SDF_LOOP = """<sdf version="1.6"><model name="m">
<link name="a"><pose>0 0 1 0 0 0</pose></link>
<link name="b"><pose>0 1 1 0 0 0</pose></link>
<link name="c"><pose>1 1 1 0.1 0.2 0.3</pose></link>
<link name="d"><pose>1 0 1 0 0 0</pose></link>
<joint name="ab" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz>
<use_parent_model_frame>1</use_parent_model_frame>
<limit><lower>-1e16</lower><upper>1e16</upper></limit></axis></joint>
<joint name="cb" type="ball"><parent>c</parent><child>b</child></joint>
<joint name="cd" type="prismatic"><parent>c</parent><child>d</child><axis><xyz>1 0 0</xyz></axis></joint>
<joint name="da" type="revolute"><parent>d</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="gear" type="gearbox"><parent>a</parent><child>d</child><gearbox_ratio>3</gearbox_ratio>
<gearbox_reference_body>c</gearbox_reference_body>
<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>
</model></sdf>"""

JSON_MODEL = """{"format": "kinetree model", "version": 1, "name": "m", "gravity": [0, 0, -9.81], "bodies": [
{"name": "a", "parent": "world", "joint": "j", "type": "revolute", "parameters": [0, 0, 1],
 "placement": {"R": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "p": [0, 0, 0.5]},
 "inertia": [1, 0, 0, 0.1, 1, 1, 1, 0, 0, 0],
 "armature": [0.1], "limits": {"lower": [-1], "upper": [1]}},
{"name": "b", "parent": "a", "joint": "k", "type": "prismatic", "parameters": [1, 0, 0],
 "inertia": [1, 0, 0, 0, 1, 1, 1, 0, 0, 0], "mimic": ["j", 0.5, 0]}], "rotors": [], "frames": [
 {"name": "tip", "body": "b", "placement": {"R": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "p": [0, 0, 1]}}]}"""

SEEDS = {
    "urdf arm": URDF_ARM,
    "urdf mixed": URDF_MIXED,
    "mjcf leg": MJCF_LEG,
    "mjcf pendulum": MJCF_PENDULUM,
    "sdf arm": SDF_ARM,
    "sdf loop": SDF_LOOP,
    "json": JSON_MODEL,
}
