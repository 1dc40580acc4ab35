"""`kinetree view`: show a robot or a saved motion in the browser."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from kinetree.cli import source
from kinetree.cli.status import OK, Misuse
from kinetree.cli.text import printable

SUMMARY = "show a robot or a saved motion in the browser"
DESCRIPTION = """Show a robot in the browser, with a slider for each joint; or play a motion saved by kinetree
(.npz). Bodies are drawn with the shapes of the file, or as sticks if it has none."""
EXAMPLES = """  kinetree view panda.urdf --package-dir meshes
  kinetree view zoo:quadruped
  kinetree view arm7.npz --shapes arm7.urdf
  kinetree view walk.npz --film walk.webp"""

MOTION = ".npz"


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser)
    port = source.within(int, 1024, 65535, "a port from 1024 to 65535")
    parser.add_argument("--port", type=port, default=8080, metavar="N", help="web port (default 8080)")
    parser.add_argument("--shapes", metavar="ROBOT", help="robot file with the shapes for a saved motion")
    parser.add_argument("--film", metavar="FILE", help="write a saved motion as a film (.webp, .gif or .png)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def run(options: argparse.Namespace) -> int:
    is_motion = Path(options.file).suffix.lower() == MOTION
    if options.film is not None and not is_motion:
        raise Misuse(f"--film needs a motion saved by kinetree ({MOTION}), not a robot")
    for given in filter(None, (options.file, options.shapes)):
        source.check_file(given)
    from kinetree import Model, Trajectory
    from kinetree.extras import needed
    from kinetree.io.visuals import Looks, read_looks
    from kinetree.pictures import Viewer, film

    needed("viser", "kinetree view")
    looks = Looks()
    shown: Model | Trajectory | None = None
    if is_motion:
        shown = Trajectory.load(source.existing(options.file))
        file = options.shapes
    else:
        file = options.shapes or options.file
    if file is not None and not file.startswith(source.ZOO):
        document = source.opened(file)
        reach = source.reach(options)
        looks = read_looks(document, format=options.format, repair=options.repair, **reach)
        shown = shown or source.load(document, options)
    if options.film is not None and isinstance(shown, Trajectory):
        print(f"{printable(str(film(shown, options.film, looks=looks)))} written")
        return OK
    viewer = Viewer(shown or source.read(options), looks, options.port)
    for line in viewer.scene.missing[:20]:
        print(f"not drawn: {printable(line)}")
    with contextlib.suppress(KeyboardInterrupt):  # as soon as the page is announced
        print(f"{printable(viewer.model.name)} is at {viewer.url} (Ctrl-C to stop)", flush=True)
        if not options.no_browser:
            import webbrowser

            webbrowser.open(viewer.url)
        viewer.wait()
    viewer.close()
    return OK
