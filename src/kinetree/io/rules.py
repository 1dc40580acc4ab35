"""Everything that can be wrong with a robot file: one line per rule, with how much it matters and what to do.

`lint`, the load report, the errors and the page "What is wrong with my robot file?" all read this table.
Severities:

* `error`: there is no model without a change; `load` refuses, or repairs it under `repair=True` if it can;
* `warning`: the file loads, but its dynamics is wrong, singular or not what was meant;
* `note`: the file loads and its dynamics is what it says; worth knowing all the same.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """What a rule means: severity, consequence, remedy, and whether `repair=True` repairs it."""

    severity: str
    matters: str
    remedy: str
    repairable: bool = False


_FIX = "Fix the file, or load with repair=True."

RULES: dict[str, Rule] = {
    # the document
    "xml-syntax": Rule("error", "nothing can be read",
        "Correct the XML at this place; an editor that checks XML shows it."),
    "xml-encoding": Rule("error", "nothing can be read", "Save the file as UTF-8."),
    "xml-doctype": Rule("error", "document types can expand without bound and fetch files",
        "Delete the <!DOCTYPE ...>."),
    "xml-limit": Rule("error", "the file is larger than any robot",
        "Split the file, or keep data outside of it."),
    "format": Rule("error", "nothing can be read",
        "Pass a URDF (<robot>), an MJCF (<mujoco>), an SDF (<sdf>), a USD or a kinetree JSON file."),
    "file": Rule("error", "nothing can be read", "Check the path."),
    "xacro": Rule("error", "the file is a template, not a robot",
        "Expand it with xacro, or load it with xacro_args={} if you trust it."),
    "include": Rule("error", "a part of the model is missing",
        "Keep included files beside the main file, or give include_dirs=."),
    "json": Rule("error", "nothing can be read", "Write the file with kt.save(model, 'robot.json')."),
    "usd": Rule("error", "nothing can be read", "Check the file with usdchecker, or export it anew."),
    # numbers and names
    "number": Rule("error", "the value is unknown",
        "Write plain decimal numbers with a point, such as 0.5 or 1e-3."),
    "attribute-missing": Rule("error", "the element is incomplete", "Add the attribute."),
    "element-missing": Rule("error", "the element is incomplete", "Add the element."),
    "element-repeated": Rule("warning", "only the first one counts", "Delete the others."),
    "value": Rule("error", "the value has no meaning here", "Use one of the values that the format knows."),
    "attribute-unknown": Rule("warning", "a misspelt attribute has no effect; other tools refuse it",
        "Correct or delete it."),
    "element-unknown": Rule("warning", "a misspelt element has no effect; other tools refuse it",
        "Correct or delete it."),
    "number-comma": Rule("warning", "tools that split at blanks only refuse the list",
        "Separate numbers by blanks alone."),
    "name-invalid": Rule("error", "such a name breaks tools that print or quote it", _FIX, True),
    "name-duplicate": Rule("error", "references to the name are ambiguous", _FIX, True),
    "name-missing": Rule("note", "a name was made up", "Name the element if you want to refer to it."),
    # the tree
    "tree-empty": Rule("error", "there is nothing to load", "Add at least one link."),
    "tree-unknown-link": Rule("error", "the joint connects to nothing",
        "Correct the name, or add the link.", True),
    "tree-implicit-base": Rule("warning",
        "the link on which everything stands is not declared; it was taken as a base without mass",
        "Add the link."),
    "tree-two-parents": Rule("warning",
        "a second parent closes a loop; the joint was left out",
        "Remove one of the joints."),
    "tree-cycle": Rule("error", "links that carry each other have no base", "Remove one joint of the cycle."),
    "tree-several-roots": Rule("warning", "each further root was welded to the world as well",
        "Connect the links with joints, or remove those not used."),
    # joints
    "joint-type": Rule("error", "the motion is unknown", "Use a type that the format knows."),
    "axis-zero": Rule("error", "a joint without an axis has no motion", _FIX, True),
    "axis-not-unit": Rule("note", "it was normalised; tools that do not do so move by another amount",
        "Write a unit vector.", True),
    "axis-missing": Rule("note", "the default axis of the format was used: 1 0 0 in URDF, 0 0 1 in SDF",
        "Write the axis if this is meant."),
    "quaternion": Rule("error", "a zero quaternion is not a rotation", _FIX, True),
    "planar-normal": Rule("note",
        "the plane of motion is normal to the axis, as URDF says; some tools always use z", "Nothing to do."),
    "limits-missing": Rule("note", "the joint moves without bounds",
        "Add <limit lower= upper= effort= velocity=>."),
    "limits-swapped": Rule("warning", "no position satisfies the limits; they were dropped", _FIX, True),
    "limits-negative": Rule("warning", "a negative bound on speed or force allows nothing; it was dropped",
        _FIX, True),
    "coefficient-negative": Rule("error", "a negative coefficient adds energy without end", _FIX, True),
    "right-angle": Rule("note",
        "a right angle written with few digits tilts everything behind it a little, and costs flops",
        "Write more digits (1.5707963267948966), or load with snap=1e-3."),
    # mimic joints and equality constraints
    "mimic-unknown": Rule("error", "the joint follows a joint that does not exist", _FIX, True),
    "mimic-cycle": Rule("error", "joints that follow each other in a circle move nothing", _FIX, True),
    "mimic-not-scalar": Rule("error", "only joints with one degree of freedom can follow or lead",
        _FIX, True),
    "mimic-fixed": Rule("note", "a fixed joint cannot follow; the mimic was ignored",
        "Delete the mimic element.", True),
    "mimic-zero": Rule("note", "the joint never moves", "Use a fixed joint."),
    # loops
    "loop": Rule("note", "q has the positions of all its joints, v the independent velocities",
        "Load with loops='ignore' to leave it open."),
    "loop-open": Rule("warning", "the mechanism moves as if the loop were open",
        "Correct what closes it, or hold it by a constraint in your simulation."),
    "loop-independent": Rule("warning", "a velocity that is marked as independent depends on others",
        "Mark as many joints as the loop has degrees of freedom."),
    "loop-key": Rule("note", "a loop is open in this configuration",
        "Write positions in which it is closed."),
    "loop-redundant": Rule("note", "rows that add nothing are left out", "Nothing to do."),
    # inertia
    "mass-negative": Rule("error", "negative mass accelerates against the force", _FIX, True),
    "inertia-negative": Rule("warning", "the part would turn against the torque on it", _FIX, True),
    "inertia-triangle": Rule("warning",
        "no mass distribution has this inertia: one principal moment exceeds the sum of the others",
        _FIX, True),
    "mass-missing": Rule("note", "the link weighs nothing", "Add <mass value=...> if the part has mass."),
    "inertia-missing": Rule("note", "the link weighs nothing",
        "Add an <inertial> if the part has mass, or load a URDF with density=1000 to fill its geometry."),
    "inertia-geometry": Rule("note", "the inertia is that of the link's geometry, filled with one material",
        "Add an <inertial> if you know better."),
    "inertia-default": Rule("warning", "SDF gives such a link 1 kg and 1 kg m^2, which is hardly meant",
        "Write mass and inertia in full."),
    "inertia-zero": Rule("note", "the link is a point mass",
        "Add the inertia if rotation of this part matters."),
    "inertia-incomplete": Rule("warning",
        "products left out count as zero here, but many tools drop the whole inertial",
        "Write all six numbers."),
    "inertia-massless": Rule("warning", "a body that resists turning but weighs nothing does not exist",
        "Give it its mass."),
    "inertia-units": Rule("warning",
        "the radius of gyration does not fit a robot part: grams, millimetres or a placeholder?",
        "Check units: kg, m, kg m^2."),
    "inertia-mesh": Rule("warning", "this mass is missing from the model",
        "Put the mesh file where the model looks for it, allow its folder by include_dirs= or package_dirs=, "
        "or give the body an <inertial>."),
    "motion-massless": Rule("warning",
        "forward dynamics is singular: the joint moves nothing that resists",
        "Give the links behind it inertia, give the joint an armature, fix it, or load with repair=True.",
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
    "mesh-open": Rule("warning", "it encloses no volume: its convex hull was filled",
        "Close the mesh, or add an <inertial>."),
    "mesh-objects": Rule("note", "MuJoCo reads one object of an OBJ file, and so does this",
        "Write one object for each file."),
    "mesh-outside": Rule("warning", "a mesh outside of the given directories is never read",
        "Keep meshes in a package directory, or allow their folder by include_dirs=."),
    # contact
    "contact-mesh": Rule("note", "this part touches nothing",
        "Put the mesh file where the model looks for it, allow its folder by include_dirs= or package_dirs=, "
        "or add shapes by model.add_geometry."),
    "contact-simplified": Rule("note", "the shape touches at fewer points than it has",
        "Add shapes of your own by model.add_geometry if this matters."),
    "contact-shape": Rule("note", "this shape has no part in contact",
        "Use spheres, capsules, boxes, cylinders or meshes."),
    "contact-pairs": Rule("note", "these shapes pass through each other",
        "Name those that should touch by model.add_pair or replace(pairs=...)."),
    "contact-parameter": Rule("note", "has no part in contact", "Nothing to do."),
    # what this library does not model
    "ignored": Rule("note", "has no part in the dynamics of the tree", "Nothing to do."),
    "unsupported": Rule("warning", "acts on the motion but is not modelled",
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
