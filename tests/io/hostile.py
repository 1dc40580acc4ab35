"""Files that nobody should meet, each with the rule that must refuse it (or None where loading is right)."""

from __future__ import annotations

LINK = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
JOINT = (
    '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 0 1"/>{3}</joint>'
)


def robot(*parts: str) -> str:
    return '<robot name="r">' + "".join(parts) + "</robot>"


def arm(joint: str = "", a: str = LINK.format("a"), b: str = LINK.format("b"), attributes: str = "") -> str:
    """Two links and a joint, with something wrong put in."""
    return robot(a, b, JOINT.format("j", "a", "b", joint))


def body(inside: str, attributes: str = 'name="b"', head: str = "") -> str:
    """One MJCF body with something wrong put in."""
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    return f"<mujoco>{head}<worldbody><body {attributes}>{inertial}{inside}</body></worldbody></mujoco>"


def mass(value: str) -> str:
    return LINK.format("b").replace('value="1"', f'value="{value}"')


def origin(text: str) -> str:
    return arm(f"<origin {text}/>")


LAUGHS = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
DOCTYPE = f'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l0 "lol">{LAUGHS}]><robot name="&l9;"/>'
DEEP = 100_000

HOSTILE: dict[str, tuple[str | bytes, str | None]] = {
    # the document
    "empty": ("", "file"),
    "blank": (b"   \n\t ", "xml-syntax"),
    "no xml at all": (b"hello robot", "xml-syntax"),
    "nul bytes": (b"\0" * 1000, "xml-syntax"),
    "random bytes": (bytes(range(256)) * 40, "xml-syntax"),
    "cut off": ('<robot name="r"><link name="a">', "xml-syntax"),
    "wrong nesting": ('<robot name="r"><link name="a"></robot></link>', "xml-syntax"),
    "two roots": ('<robot name="r"/><robot name="s"/>', "xml-syntax"),
    "entity bomb": (DOCTYPE, "xml-doctype"),
    "external entity": (
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        "xml-doctype",
    ),
    "external subset": ('<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/x.dtd"><robot name="r"/>', "xml-doctype"),
    "parameter entity": ('<!DOCTYPE r [<!ENTITY % x "y"> %x;]><robot name="r"/>', "xml-doctype"),
    "empty doctype": ('<!DOCTYPE robot><robot name="r"/>', "xml-doctype"),
    "undefined entity": ('<robot name="&nbsp;"/>', "xml-syntax"),
    "attribute twice": ('<robot name="r" name="s"/>', "xml-syntax"),
    "unquoted attribute": ("<robot name=r/>", "xml-syntax"),
    "nested 100000 deep": ("<robot>" + "<a>" * DEEP + "</a>" * DEEP + "</robot>", "xml-limit"),
    "bodies 100000 deep": ("<mujoco><worldbody>" + "<body>" * DEEP, "xml-limit"),
    "a million elements": ("<robot name='r'>" + "<a/>" * 1_000_000 + "</robot>", "xml-limit"),
    "a million attributes": (
        "<robot name='r'>" + ("<a " + " ".join(f"b{k}='1'" for k in range(100)) + "/>") * 10_000 + "</robot>",
        "xml-limit",
    ),
    "17 megabytes": ("<robot name='r'><!--" + "x" * (17 * 2**20) + "--></robot>", "xml-limit"),
    "16 megabytes of text": ("<robot name='r'>" + "x<!---->" * 1_500_000 + "</robot>", "tree-empty"),
    "a long attribute": (f"<robot name='{'x' * 10_000_000}'>{LINK.format('a')}</robot>", None),
    "unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><robot name="r"/>', "xml-encoding"),
    "multi-byte encoding": (b'<?xml version="1.0" encoding="shift_jis"?><robot name="r"/>', "xml-encoding"),
    "invalid utf-8": (b'<robot name="\xff\xfe"/>', "xml-syntax"),
    "lone surrogate": ('<robot name="\ud800"/>', "xml-syntax"),
    "utf-7": (b'<?xml version="1.0" encoding="utf-7"?>+ADw-robot name="r"/+AD4-', "xml-encoding"),
    "half utf-16": ('<robot name="r"/>'.encode("utf-16")[:11], "xml-syntax"),
    "processing instructions": ("<?php system('id') ?>" + robot(LINK.format("a")), None),
    "wrong root": ('<svg xmlns="http://www.w3.org/2000/svg"/>', "format"),
    "sdf": ('<sdf version="1.6"><model name="m"/></sdf>', "tree-empty"),
    # json
    "json of nothing": ("{", "json"),
    "json nested deep": ("{" + '"a":[' * 100_000, "json"),
    "json with nan": ('{"format": "kinetree model", "name": NaN}', "json"),
    "json of another thing": ('{"bodies": [1, 2]}', "json"),
    "json number of 5000 digits": ('{"name": ' + "9" * 5000 + "}", "json"),
    "json with wrong types": ('{"format": "kinetree model", "version": 1, "name": 3, "bodies": {}}', "json"),
    "json parents in a circle": (
        '{"name": "m", "bodies": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]}',
        "json",
    ),
    "json with 1e400": ('{"name": "m", "gravity": [0, 0, 1e400], "bodies": []}', "json"),
    # numbers
    "nan": (origin('xyz="nan 0 0"'), "number"),
    "infinity": (origin('xyz="0 inf 0"'), "number"),
    "1e400": (origin('xyz="1e400 0 0"'), "number"),
    "1e300": (origin('xyz="1e300 0 0"'), "number"),
    "decimal comma": (origin('xyz="1,5 0 0"'), "number"),
    "underscores": (origin('xyz="1_000 0 0"'), "number"),
    "hexadecimal": (origin('xyz="0x10 0 0"'), "number"),
    "arabic digits": (origin('xyz="\u0661 0 0"'), "number"),
    "two numbers": (origin('xyz="1 2"'), "number"),
    "four numbers": (origin('rpy="1 2 3 4"'), "number"),
    "no number": (origin('xyz=""'), "number"),
    "a word": (origin('xyz="one two three"'), "number"),
    "a million numbers": (origin(f'xyz="{"1 " * 1_000_000}"'), "number"),
    "xacro expression": (origin('xyz="${pi} 0 0"'), "xacro"),
    "python expression": (origin("xyz=\"__import__('os').system('id') 0 0\""), "number"),
    "mass nan": (arm(b=mass("nan")), "number"),
    "mass negative": (arm(b=mass("-1")), "mass-negative"),
    "mass of 400 digits": (arm(b=mass("1" * 400)), "number"),
    "zero axis": (arm().replace("0 0 1", "0 0 0"), "axis-zero"),
    "tiny axis": (arm().replace("0 0 1", "0 0 1e-300"), "axis-zero"),
    "axis of 1e200": (arm().replace("0 0 1", "1e200 1e200 0"), "number"),
    "negative damping": (arm('<dynamics damping="-1"/>'), "coefficient-negative"),
    # the tree
    "no link": (robot(), "tree-empty"),
    "a joint onto itself": (robot(LINK.format("a"), JOINT.format("j", "a", "a", "")), "tree-cycle"),
    "two links in a circle": (
        robot(
            LINK.format("a"),
            LINK.format("b"),
            JOINT.format("j", "a", "b", ""),
            JOINT.format("k", "b", "a", ""),
        ),
        "tree-cycle",
    ),
    "1000 links in a circle": (
        robot(
            *(LINK.format(f"l{k}") for k in range(1000)),
            *(JOINT.format(f"j{k}", f"l{k}", f"l{(k + 1) % 1000}", "") for k in range(1000)),
        ),
        "tree-cycle",
    ),
    "unknown parent": (arm().replace('parent link="a"', 'parent link="aa"'), "tree-unknown-link"),
    "unknown child": (arm().replace('child link="b"', 'child link="bb"'), "tree-unknown-link"),
    "3000 joints to nowhere": (
        robot(LINK.format("a"), *(JOINT.format(f"j{k}", f"x{k}", f"y{k}", "") for k in range(3_000))),
        "tree-unknown-link",
    ),
    "5000 links without a joint, and one without a name": (
        robot(*(f'<link name="l{k}"/>' for k in range(5_000)), "<link/>"),
        "attribute-missing",
    ),
    "5000 bad numbers": (
        robot(*(f'<link name="l{k}"><inertial><mass value="x"/></inertial></link>' for k in range(5_000))),
        "number",
    ),
    "5000 links of one name": (
        robot(*(f'<link name="a" k="{k}"/>' for k in range(5_000))),
        "name-duplicate",
    ),
    "no parent": (arm().replace('<parent link="a"/>', ""), "element-missing"),
    "no child": (arm().replace('<child link="b"/>', ""), "element-missing"),
    "no type": (arm().replace(' type="revolute"', ""), "attribute-missing"),
    "unknown type": (arm().replace("revolute", "warp drive"), "joint-type"),
    "links twice": (arm(a=LINK.format("a") + LINK.format("a").replace('"1"', '"2"')), "name-duplicate"),
    "joints twice": (
        robot(
            *(LINK.format(x) for x in "abc"), JOINT.format("j", "a", "b", ""), JOINT.format("j", "a", "c", "")
        ),
        "name-duplicate",
    ),
    "a link without name": (robot(LINK.format("a"), "<link/>"), "attribute-missing"),
    "an empty name": (robot('<link name=""/>'), "attribute-missing"),
    "a blank name": (robot('<link name="  "/>'), "name-invalid"),
    "a name with a double quote": (robot("<link name='a\"b'/>"), "name-invalid"),
    "a name with a single quote": (robot('<link name="a\'; DROP TABLE links"/>'), "name-invalid"),
    "a name with a newline": (robot('<link name="a&#10;b"/>'), "name-invalid"),
    "a name with an escape": (robot('<link name="a\x1b[2J"/>'), "xml-syntax"),
    "a name with nul": (robot('<link name="a&#0;b"/>'), "xml-syntax"),
    "a name with a backslash": (robot(r'<link name="a\b"/>'), "name-invalid"),
    "a name with a c1 control": (robot('<link name="a&#155;b"/>'), "name-invalid"),
    "a name of a megabyte": (robot(f'<link name="{"x" * 2**20}"/>'), "name-invalid"),
    # mimic
    "mimic of itself": (arm('<mimic joint="j"/>'), "mimic-cycle"),
    "mimic of nobody": (arm('<mimic joint="k"/>'), "mimic-unknown"),
    "mimic without a joint": (arm("<mimic/>"), "attribute-missing"),
    "mimic nan": (arm('<mimic joint="j" multiplier="nan"/>'), "number"),
    "mimics in a circle": (
        robot(
            *(LINK.format(x) for x in "abc"),
            JOINT.format("j", "a", "b", '<mimic joint="k"/>'),
            JOINT.format("k", "b", "c", '<mimic joint="j"/>'),
        ),
        "mimic-cycle",
    ),
    "mimic of a floating joint": (
        robot(
            *(LINK.format(x) for x in "abc"),
            JOINT.format("f", "a", "b", "").replace("revolute", "floating"),
            JOINT.format("j", "b", "c", '<mimic joint="f"/>'),
        ),
        "mimic-not-scalar",
    ),
    "a chain of 2000 mimics": (
        robot(
            *(LINK.format(f"l{k}") for k in range(2001)),
            JOINT.format("j0", "l0", "l1", ""),
            *(
                JOINT.format(f"j{k}", f"l{k}", f"l{k + 1}", f'<mimic joint="j{k - 1}"/>')
                for k in range(1, 2000)
            ),
        ),
        "xml-limit",
    ),
    # MJCF
    "mjcf without a world": ("<mujoco/>", "tree-empty"),
    "mjcf include of a text": ('<mujoco><include file="other.xml"/></mujoco>', "include"),
    "mjcf zero quaternion": (body("", 'name="b" quat="0 0 0 0"'), "quaternion"),
    "mjcf two orientations": (body("", 'name="b" euler="0 0 0" zaxis="0 0 1"'), "value"),
    "mjcf nan": (body("", 'name="b" pos="nan 0 0"'), "number"),
    "mjcf unknown joint type": (body('<joint type="screw"/>'), "value"),
    "mjcf zero axis": (body('<joint axis="0 0 0"/>'), "axis-zero"),
    "mjcf bad euler sequence": (body("", head='<compiler eulerseq="abc"/>'), "value"),
    "mjcf bad angle unit": (body("", head='<compiler angle="gon"/>'), "value"),
    "mjcf unknown class": (body('<joint class="nobody"/>'), "value"),
    "mjcf nested class without name": (body("", head="<default><default/></default>"), "attribute-missing"),
    "mjcf free joint below a body": (body('<body name="c"><freejoint/></body>'), "joint-type"),
    "mjcf two free joints": (body("<freejoint/><freejoint/>"), "joint-type"),
    "mjcf bodies twice": (body('<body name="b"/>'), "name-duplicate"),
    "mjcf joints twice": (body('<joint name="j"/><joint name="j"/>'), "name-duplicate"),
    "mjcf negative mass": (body("<joint/>").replace('mass="1"', 'mass="-1"'), "mass-negative"),
    "mjcf negative armature": (body('<joint armature="-1"/>'), "coefficient-negative"),
    "mjcf geom without size": (
        "<mujoco><worldbody><body><joint/><geom type='box'/></body></worldbody></mujoco>",
        "value",
    ),
    "mjcf billion replicas": (body('<replicate count="1000000000"><site/></replicate>'), "value"),
    "mjcf replicas of replicas": (
        body('<replicate count="9999">' * 4 + '<body name="x"/>' + "</replicate>" * 4),
        "xml-limit",
    ),
    "mjcf attach of nothing": (body('<attach model="m" body="b" prefix="p"/>'), "include"),
    "mjcf constraint on nobody": (
        body("<joint name='j'/>").replace(
            "</mujoco>", "<equality><joint joint1='x' joint2='j'/></equality></mujoco>"
        ),
        "value",
    ),
}
