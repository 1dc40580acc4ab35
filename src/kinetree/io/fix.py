"""`fix`: repair what can be repaired in a robot file, and leave everything else as its author wrote it."""

from __future__ import annotations

import re

from kinetree.io.build import build
from kinetree.io.description import Description
from kinetree.io.files import Document, Source, open_document
from kinetree.io.formats import format_of
from kinetree.io.paths import Folders
from kinetree.io.report import Finding, Log, Where, refuse
from kinetree.io.splice import Splice

_OTHER = re.compile(rb"""^<\?xml[^>]*encoding\s*=\s*["'](?!utf-?8["']|us-ascii["'])""", re.IGNORECASE)


def fix(
    source: Source, *, package_dirs: Folders = (), include_dirs: Folders = ()
) -> tuple[str, list[Finding]]:
    """The repaired text of a URDF, MJCF or SDF file, and the changes.

    Only faulty parts are rewritten; comments, visuals and layout stay. Parts of a model that come from an
    included file are left alone: fix that file.

    Raises:
        FileError: the file has an error that cannot be repaired.
    """
    document = open_document(source, package_dirs, include_dirs)
    format = format_of(document, None)
    if format.repair is None:
        where = Where(document.file, 0, "document")
        refuse("format", where, "a file of this format cannot be repaired in place")
    splice = Splice(_clean(document))
    log = Log(repair=True)
    robot, original = format.read(document, log), format.read(document, Log())
    assert isinstance(robot, Description) and isinstance(original, Description)
    build(robot, log, merge=False)
    log.raise_errors()
    format.repair(splice, robot, original)
    return splice.result().removeprefix("\ufeff"), [f for f in log.findings if f.repaired]


def _clean(document: Document) -> bytes:
    """The bytes in which element spans are counted: no blanks before the declaration, UTF-8 only."""
    data = document.content.encode() if isinstance(document.content, str) else document.content
    data = data.lstrip().rstrip(b"\0")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse("xml-encoding", Where(document.file, 0, "document"), f"not UTF-8: {error.reason}")
    if isinstance(document.content, bytes) and _OTHER.match(data):
        problem = "the file declares an encoding other than UTF-8"
        refuse("xml-encoding", Where(document.file, 1, "document"), problem)
    return data
