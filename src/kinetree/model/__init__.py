"""Models: immutable trees of bodies, and the builder that makes them."""

from kinetree.model.builder import ModelBuilder
from kinetree.model.model import Model
from kinetree.model.node import Member, Node
from kinetree.model.parts import Body, Frame, Limits, Mimic, Rotor

__all__ = ["Body", "Frame", "Limits", "Member", "Mimic", "Model", "ModelBuilder", "Node", "Rotor"]
