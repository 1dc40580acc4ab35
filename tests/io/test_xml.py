"""The XML reader: what it keeps, and where it says things are."""

from __future__ import annotations

import pytest

from kinetree.errors import FileError
from kinetree.io.xml import Limits, read_xml

TEXT = """<?xml version="1.0"?>
<robot name="r"> <!-- a > comment -->
  <link name="a"
        note="x > y"/>
  <gazebo:plugin file='p'>text<b/></gazebo:plugin>
</robot>
"""


def test_elements_know_their_lines_and_spans():
    root = read_xml(TEXT, "r.urdf")
    data = TEXT.encode()
    link, plugin = root.children
    assert (root.line, link.line, plugin.line) == (2, 3, 5)
    assert data[link.start : link.end] == b'<link name="a"\n        note="x > y"/>'
    assert data[plugin.start : plugin.end] == b"<gazebo:plugin file='p'>text<b/></gazebo:plugin>"
    assert data[root.start : root.end] == data.strip()[len('<?xml version="1.0"?>\n') :]
    assert plugin.text == "text" and plugin.find("b") is not None
    assert str(link.where) == "r.urdf:3: link 'a'"


def test_lines_count_blank_lines_before_the_declaration():
    assert read_xml("\n\n" + TEXT, "f").line == 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_encodings(encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="Z\u00fcrich"/>'
    assert read_xml(text.encode(encoding), "f").get("name") == "Z\u00fcrich"


def test_a_text_is_unicode_whatever_it_declares():
    assert (
        read_xml('<?xml version="1.0" encoding="latin-1"?><robot name="Z\u00fcrich"/>', "f").get("name")
        == "Z\u00fcrich"
    )


@pytest.mark.parametrize(
    "limits, text",
    [
        (Limits(size=10), "<robot name='r'/>"),
        (Limits(depth=2), "<a><b><c/></b></a>"),
        (Limits(elements=2), "<a><b/><b/></a>"),
        (Limits(attributes=1), "<a b='1' c='2'/>"),
    ],
)
def test_limits(limits, text):
    with pytest.raises(FileError) as caught:
        read_xml(text, "f", limits)
    assert caught.value.finding.rule == "xml-limit"
    read_xml(text, "f")


def test_walk_visits_everything_in_document_order():
    root = read_xml("<a><b><c/></b><d/></a>", "f")
    assert [e.tag for e in root.walk()] == ["a", "b", "c", "d"]


def test_errors_can_be_pickled():
    import pickle

    with pytest.raises(FileError) as caught:
        read_xml("<a>", "f")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.finding == caught.value.finding
