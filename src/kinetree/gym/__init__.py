"""Environments for learning: many robots at once, with Gymnasium's vector interface."""

from kinetree.gym.env import VectorEnv
from kinetree.gym.pushes import Push

__all__ = ["Push", "VectorEnv"]
