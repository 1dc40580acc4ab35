"""Everything that can be wrong with a robot file: one entry per rule, with its consequence and the remedy.

`lint`, the load report, the errors and the page "What is wrong with my robot file?" all use this table.
Severities:

* `error`: no model without a change; `load` refuses the file, or repairs it with `repair=True` if it can;
* `warning`: the file loads, but its dynamics is wrong, singular or not what was meant;
* `note`: the file loads and its dynamics is what it says, but this is worth knowing.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One rule: severity, consequence, remedy, and whether `repair=True` repairs it."""

    severity: str
    matters: str
    remedy: str
    repairable: bool = False


_FIX = "Fix the file, or load with repair=True."

RULES: dict[str, Rule] = {
    # the document
    "xml-syntax": Rule("error", "the file cannot be read",
        "Correct the XML here; an editor with XML support shows the fault."),
    "xml-encoding": Rule("error", "the file cannot be read", "Save the file as UTF-8."),
    "xml-doctype": Rule("error", "document types can expand without bound and fetch files",
        "Delete the <!DOCTYPE ...>."),
    "xml-limit": Rule("error", "the file is larger than any robot",
        "Split the file, or keep data outside it."),
    "format": Rule("error", "the file cannot be read",
        "Pass a URDF (<robot>), an MJCF (<mujoco>), an SDF (<sdf>), a USD or a kinetree JSON file."),
    "file": Rule("error", "the file cannot be read", "Check the path."),
    "xacro": Rule("error", "the file is a template, not a robot",
        "Expand it with xacro, or load it with xacro_args={} if you trust it."),
    "include": Rule("error", "a part of the model is missing",
        "Keep included files next to the main file, or give include_dirs=."),
    "json": Rule("error", "the file cannot be read", "Write the file with kt.save(model, 'robot.json')."),
    "usd": Rule("error", "the file cannot be read", "Check the file with usdchecker, or export it again."),
    # numbers and names
    "number": Rule("error", "the value is unknown",
        "Write plain decimal numbers with a decimal point, such as 0.5 or 1e-3."),
    "attribute-missing": Rule("error", "the element is incomplete", "Add the attribute."),
    "element-missing": Rule("error", "the element is incomplete", "Add the element."),
    "element-repeated": Rule("warning", "only the first one counts", "Delete the others."),
    "value": Rule("error", "the value has no meaning here", "Use a value that the format defines."),
    "attribute-unknown": Rule("warning", "a misspelt attribute has no effect; other tools refuse it",
        "Correct or delete it."),
    "element-unknown": Rule("warning", "a misspelt element has no effect; other tools refuse it",
        "Correct or delete it."),
    "number-comma": Rule("warning", "tools that expect blanks reject the list",
        "Separate numbers by blanks only."),
    "name-invalid": Rule("error", "such a name breaks tools that print or quote it", _FIX, True),
    "name-duplicate": Rule("error", "references to the name are ambiguous", _FIX, True),
    "name-missing": Rule("note", "a name was made up", "Name the element if you want to refer to it."),
    # the tree
    "tree-empty": Rule("error", "there is nothing to load", "Add at least one link."),
    "tree-unknown-link": Rule("error", "the joint connects to nothing",
        "Correct the name, or add the link.", True),
    "tree-implicit-base": Rule("warning",
        "the base link is not declared; a massless base was assumed",
        "Add the link."),
    "tree-two-parents": Rule("warning",
        "a second parent closes a loop; the joint was left out",
        "Remove one of the joints."),
    "tree-cycle": Rule("error", "links that carry each other have no base", "Remove one joint of the cycle."),
    "tree-several-roots": Rule("warning", "each further root was welded to the world as well",
        "Connect the links with joints, or remove unused ones."),
    # joints
    "joint-type": Rule("error", "the motion is unknown", "Use a joint type that the format defines."),
    "axis-zero": Rule("error", "a joint without an axis has no motion", _FIX, True),
    "axis-not-unit": Rule("note", "it was normalised; tools that do not normalise move by another amount",
        "Write a unit vector.", True),
    "axis-missing": Rule("note", "the default axis of the format was used: 1 0 0 in URDF, 0 0 1 in SDF",
        "Write the axis explicitly."),
    "quaternion": Rule("error", "a zero quaternion is not a rotation", _FIX, True),
    "planar-normal": Rule("note",
        "the plane of motion is normal to the axis, as in URDF; some tools always use z", "Nothing to do."),
    "limits-missing": Rule("note", "the joint has no limits",
        "Add <limit lower= upper= effort= velocity=>."),
    "limits-swapped": Rule("warning", "no position satisfies the limits; they were dropped", _FIX, True),
    "limits-negative": Rule("warning", "a negative limit on speed or force allows no motion; it was dropped",
        _FIX, True),
    "coefficient-negative": Rule("error", "a negative coefficient adds energy without bound", _FIX, True),
    "right-angle": Rule("note",
        "a right angle written with few digits tilts everything outboard slightly, and costs flops",
        "Write more digits (1.5707963267948966), or load with snap=1e-3."),
    # mimic joints and equality constraints
    "mimic-unknown": Rule("error", "the joint follows a joint that does not exist", _FIX, True),
    "mimic-cycle": Rule("error", "no joint of the cycle is independent", _FIX, True),
    "mimic-not-scalar": Rule("error", "only joints with one degree of freedom can follow or lead",
        _FIX, True),
    "mimic-fixed": Rule("note", "a fixed joint cannot follow; the mimic was ignored",
        "Delete the mimic element.", True),
    "mimic-zero": Rule("note", "the joint never moves", "Use a fixed joint."),
    # loops
    "loop": Rule("note", "q holds the positions of all its joints, v the independent velocities",
        "Load with loops='ignore' to leave it open."),
    "loop-open": Rule("warning", "the mechanism moves as if the loop were open",
        "Correct the closing element, or add the constraint in your simulation code."),
    "loop-independent": Rule("warning", "a velocity marked as independent depends on others",
        "Mark as many joints as the loop has degrees of freedom."),
    "loop-key": Rule("note", "a loop is open in this configuration",
        "Write positions in which the loop is closed."),
    "loop-redundant": Rule("note", "redundant rows are left out", "Nothing to do."),
    # inertia
    "mass-negative": Rule("error", "negative mass accelerates against the force", _FIX, True),
    "inertia-negative": Rule("warning", "the part would turn against the torque on it", _FIX, True),
    "inertia-triangle": Rule("warning",
        "no mass distribution has this inertia: one principal moment exceeds the sum of the others",
        _FIX, True),
    "mass-missing": Rule("note", "the link weighs nothing", "Add <mass value=...> if the part has mass."),
    "inertia-missing": Rule("note", "the link weighs nothing",
        "Add an <inertial> if the part has mass, or load a URDF with density=1000 to fill its geometry."),
    "inertia-geometry": Rule("note", "the inertia was computed from the link's geometry with uniform density",
        "Add an <inertial> if you have better values."),
    "inertia-default": Rule("warning", "SDF gives such a link 1 kg and 1 kg m^2, which is rarely intended",
        "Write mass and inertia in full."),
    "inertia-zero": Rule("note", "the link is a point mass",
        "Add the inertia if the rotation of this part matters."),
    "inertia-incomplete": Rule("warning",
        "missing products count as zero here, but many tools drop the whole inertial",
        "Write all six numbers."),
    "inertia-massless": Rule("warning", "no body has rotational inertia but no mass",
        "Give it a mass."),
    "inertia-units": Rule("warning",
        "the radius of gyration does not fit a robot part: grams, millimetres or a placeholder?",
        "Check units: kg, m, kg m^2."),
    "inertia-mesh": Rule("warning", "this mass is missing from the model",
        "Put the mesh file where the model expects it, allow its folder with include_dirs= or package_dirs=, "
        "or give the body an <inertial>."),
    "motion-massless": Rule("warning",
        "forward dynamics is singular: there is no inertia along the joint's motion",
        "Give the links outboard of it inertia, add armature to the joint, fix it, or load with repair=True.",
        True),
    # drives
    "rotor-reflected": Rule("note",
        "the rotor acts as reflected inertia (ratio^2 J); its gyroscopic torque is left out",
        "Give mass, axis and full inertia."),
    "rotor-incomplete": Rule("note", "the drive adds no inertia",
        "Give both the rotor inertia and the reduction."),
    # meshes
    "mesh-missing": Rule("note", "the robot will be drawn without this part",
        "Give the right package_dirs, or add the file."),
    "mesh-open": Rule("warning", "it encloses no volume: its convex hull was used",
        "Close the mesh, or add an <inertial>."),
    "mesh-objects": Rule("note", "only one object of an OBJ file is read, as in MuJoCo",
        "Write one object per file."),
    "mesh-outside": Rule("warning", "a mesh outside the given directories is never read",
        "Keep meshes in a package directory, or allow their folder with include_dirs=."),
    # contact
    "contact-mesh": Rule("note", "this part makes no contact",
        "Put the mesh file where the model expects it, allow its folder with include_dirs= or package_dirs=, "
        "or add shapes with model.add_geometry."),
    "contact-simplified": Rule("note", "the shape touches at a limited number of points",
        "Add your own shapes with model.add_geometry if this matters."),
    "contact-shape": Rule("note", "this shape makes no contact",
        "Use spheres, capsules, boxes, cylinders or meshes."),
    "contact-pairs": Rule("note", "these shapes pass through each other",
        "Name the pairs that should touch with model.add_pair or replace(pairs=...)."),
    "contact-parameter": Rule("note", "has no effect on contact", "Nothing to do."),
    # what this library does not model
    "ignored": Rule("note", "has no effect on the dynamics of the tree", "Nothing to do."),
    "unsupported": Rule("warning", "affects the motion but is not modelled",
        "Model it in your control or simulation code."),
    # what loading did
    "merged": Rule("note", "the inertia moved to the parent; the link stays as a frame",
        "Load with merge_fixed=False to keep it."),
    "split": Rule("note", "massless bodies in between make the motion exact", "Nothing to do."),
}  # fmt: skip


def table() -> str:
    """All rules as a Markdown table."""
    head = ["| rule | severity | how much it matters | what to do | `repair=True` |", "|---|---|---|---|---|"]
    rows = [
        f"| `{name}` | {severity} | {matters} | {remedy} | {'repairs' if repairable else ''} |"
        for name, (severity, matters, remedy, repairable) in RULES.items()
    ]
    return "\n".join(line.replace("<", "&lt;") for line in [*head, *rows])
