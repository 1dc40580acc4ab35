"""Example robots: textbook examples, trees of any size, and machines with published parameters."""

from kinetree.zoo.arm7 import arm7
from kinetree.zoo.legged import biped, humanoid, legged, quadruped
from kinetree.zoo.linkages import differential, four_bar, gripper, slider_crank
from kinetree.zoo.parallel import cassie_leg, delta, parallel_ankle, stewart
from kinetree.zoo.puma560 import puma560
from kinetree.zoo.solid import solid
from kinetree.zoo.spacecraft import spacecraft
from kinetree.zoo.textbook import cart_pole, double_pendulum, pendulum
from kinetree.zoo.trees import auto_tree, chain, geared_tree, star, tree

__all__ = [
    "arm7", "auto_tree", "biped", "cart_pole", "cassie_leg", "chain", "delta", "differential",
    "double_pendulum", "four_bar", "geared_tree", "gripper", "humanoid", "legged", "parallel_ankle",
    "pendulum", "puma560", "quadruped", "slider_crank", "solid", "spacecraft", "star", "stewart", "tree",
]  # fmt: skip
