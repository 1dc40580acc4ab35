"""Pictures: plots and drawings with matplotlib, the robot in the browser with viser. Both are extras.

They are imported when first used; if one is missing, the error says what to install.
"""

from kinetree.pictures.drawings import posture, tree
from kinetree.pictures.film import film
from kinetree.pictures.operators import flow, sparsity
from kinetree.pictures.plots import plot
from kinetree.pictures.rotors import rotor_map
from kinetree.pictures.viewer import Viewer, show

__all__ = ["Viewer", "film", "flow", "plot", "posture", "rotor_map", "show", "sparsity", "tree"]
