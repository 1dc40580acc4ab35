"""Identification: which inertial parameters the motion of a robot reveals, and how to estimate them."""

from kinetree.identification.base import BaseParameters, base_parameters
from kinetree.identification.identify import Identified, identify
from kinetree.identification.regressors import (
    energy_regressor,
    momentum_regressor,
    regressor_columns,
    torque_regressor,
)

__all__ = [
    "BaseParameters",
    "Identified",
    "base_parameters",
    "energy_regressor",
    "identify",
    "momentum_regressor",
    "regressor_columns",
    "torque_regressor",
]
