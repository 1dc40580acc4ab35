"""`show`: a robot or a motion in the browser, with sliders for its joints or for time."""

from __future__ import annotations

import math
import re
import sys
import threading
import time
import webbrowser
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError, AssemblyError
from kinetree.extras import needed
from kinetree.io.visuals import Looks, read_looks
from kinetree.model import Model
from kinetree.motion import Trajectory
from kinetree.motion.files import coordinate_names
from kinetree.pictures.scene import Scene
from kinetree.pictures.sticks import sticks

HOST = "127.0.0.1"  # this computer only
SPEEDS = ("0.1x", "0.25x", "0.5x", "1x", "2x", "5x")
FRAMES = 30  # frames per second while playing
OPEN = 30  # with more sliders, their folder starts closed


def show(
    shown: Model | Trajectory,
    *,
    looks: Looks | None = None,
    package_dirs: Any = (),
    port: int = 8080,
    browser: bool = True,
    block: bool | None = None,
) -> Viewer:
    """Show a robot, or its motion, in the browser.

    Args:
        shown: a model, which gets a slider for each velocity; or a trajectory, to play and scrub.
        looks: shapes of the bodies; None takes those of the file that the model was loaded from.
        package_dirs: further directories in which the meshes of that file are looked up.
        port: local port of the page; the next free one if it is taken.
        browser: open the page in the browser.
        block: wait for Ctrl-C; None waits in a script, but not in an interactive session.

    Returns:
        The viewer: `.url`, `.close()`.
    """
    if not isinstance(shown, Model | Trajectory):
        raise ArgumentError(
            f"show: give a model or a trajectory, not {_a(type(shown).__name__)}: show(model) or show(run)"
        )
    model = shown if isinstance(shown, Model) else shown.model
    viewer = Viewer(shown, looks_of(model, package_dirs) if looks is None else looks, port)
    if browser:
        webbrowser.open(viewer.url)
    if _waits(block):
        print(f"{model.name} at {viewer.url}; Ctrl-C to stop")
        viewer.wait()
    return viewer


def _a(word: str) -> str:
    return f"an {word}" if word[:1].lower() in "aeiou" else f"a {word}"


def _waits(block: bool | None) -> bool:
    interactive = hasattr(sys, "ps1") or sys.flags.interactive or "ipykernel" in sys.modules
    return not interactive if block is None else block


def looks_of(model: Model, package_dirs: Any = ()) -> Looks:
    """The shapes in the file that a model was loaded from; none if it no longer exists."""
    source = None if model.report is None else Path(model.report.source)
    if source is None or not source.is_file():
        return Looks()
    return read_looks(source, package_dirs=package_dirs)


class Viewer:
    """A page in the browser that shows one robot."""

    def __init__(self, shown: Model | Trajectory, looks: Looks, port: int = 8080):
        viser = needed("viser", "the viewer")
        needed("trimesh", "the viewer")
        self.run = None if isinstance(shown, Model) else shown
        self._states = [] if self.run is None else list(np.ndindex(self.run.batch))
        self._shown: tuple[int, Trajectory | None] = (-1, None)  # the displayed state of the batch
        self.model = shown if isinstance(shown, Model) else shown.model
        with redirect_stdout(StringIO()):  # suppress viser's own announcement
            label = f"kinetree: {self.model.name}"
            self.server = viser.ViserServer(host=HOST, port=port, label=label, verbose=False)
        self.url = f"http://{HOST}:{self.server.get_port()}"
        self.playing = False
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.scene = Scene(self.server, self.model, looks)
        self.q = self.model.neutral()
        self._furnish()
        self.texts: list[str] = []
        self._write(f"**{_harmless(self.model.name)}**  \n{self._summary()}")
        if self.run is None:
            self._add_joints()
        else:
            self._add_time(self.run)
        self._add_layers()
        self.update()

    # -- public methods

    def wait(self) -> None:
        """Wait for Ctrl-C."""
        try:
            while not self._closed.wait(1.0):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Shut down the page."""
        if not self._closed.is_set():
            self._closed.set()
            with redirect_stdout(StringIO()):
                self.server.stop()

    def update(self) -> None:
        """Draw the robot as set by the sliders."""
        with self._lock:
            wrenches = None
            if self.run is None:
                values = np.array([s.value for s in self.sliders])
                with suppress(AssemblyError):  # a loop that cannot reach this position stays where it is
                    self.q = self.model.integrate(self.model.neutral(), values)
                if self.scene.visible["joint wrenches"]:
                    wrenches = self.scene.holding(self.q)
            else:
                run = self._part()
                k = min(int(np.searchsorted(run.t, self.time.value)), len(run.t) - 1)
                self.q = run.q[k]
                if self.scene.visible["joint wrenches"]:
                    wrenches = run[k : k + 1].joint_wrenches[0]
            self.scene.pose(self.q, wrenches)

    def play_or_pause(self) -> None:
        """Play or pause the motion."""
        self.playing = not self.playing
        self.play.label = "pause" if self.playing else "play"

    # -- its parts

    def _part(self) -> Trajectory:
        """The displayed state of the batch."""
        number = int(self.state.value) if self.state else 0
        kept, part = self._shown
        if part is None or kept != number:
            assert self.run is not None
            part = self.run[self._states[number]]
            self._shown = (number, part)
        return part

    def _write(self, markdown: str) -> None:
        self.texts.append(markdown)
        self.server.gui.add_markdown(markdown)

    def _summary(self) -> str:
        model = self.model
        text = f"{model.nbodies} bodies, {model.nv} degrees of freedom, {float(model.total_mass):.4g} kg"
        lost = len(self.scene.missing)
        return text + (f"; {lost} shapes could not be drawn" if lost else "")

    def _furnish(self) -> None:
        """The floor, the light and the camera."""
        scene, unit = self.server.scene, self.scene.size
        scene.set_up_direction("+z")
        low, high = self._extent()
        floor = (0.0, 0.0, min(0.0, float(low[2])))
        grid = {"cell_size": unit / 4, "section_size": unit, "fade_distance": 16 * unit}
        scene.add_grid("/floor", infinite_grid=True, position=floor, **grid)
        scene.add_frame("/world", axes_length=0.15 * unit, axes_radius=0.005 * unit)
        middle, reach = (low + high) / 2, max(unit, float((high - low).max()))
        self.server.initial_camera.position = tuple(middle + reach * np.array([0.95, -0.95, 0.45]))
        self.server.initial_camera.look_at = tuple(middle)

    def _extent(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of a box around the stick figure in its first posture."""
        q = self.model.neutral() if self.run is None else self.run.q[self._states[0]][0]
        found = sticks(self.model, q)
        points = np.concatenate([found.lines.reshape(-1, 3), found.joints, np.zeros((1, 3))])
        return points.min(0), points.max(0)

    def _add_joints(self) -> None:
        gui, model = self.server.gui, self.model
        limits, reach = model.limits, self.scene.size
        (places, _), rest = model.coordinate_places, model.neutral()
        shift = np.zeros(model.nv)  # sliders are relative to the neutral position, which is not 0 in a loop
        shift[places["v"]] = rest[places["q"]]
        lower, upper = limits.lower - shift, limits.upper - shift
        turning = {i for name, body in zip(model.joint_names, model.bodies)
                   for i in _angles(body.joint, model.coordinate_index(name))}  # fmt: skip
        self.sliders = []
        with gui.add_folder("joints", expand_by_default=model.nv <= OPEN):
            for k, label in enumerate(coordinate_names(model)["v"]):
                far = np.pi if k in turning else reach
                low, high = max(float(lower[k]), -far), min(float(upper[k]), far)
                if not low < high:  # limits outside the slider range, or a joint that cannot move
                    low, high = float(lower[k]) - 0.001, float(lower[k]) + far
                low, high = math.ceil(low * 1000) / 1000, math.floor(high * 1000) / 1000
                slider = gui.add_slider(label, low, high, 0.001, min(max(0.0, low), high))
                slider.on_update(lambda _: self.update())
                self.sliders.append(slider)
            back = gui.add_button("neutral")
            back.on_click(lambda _: self._set(np.zeros(model.nv)))
            other = gui.add_button("random")
            other.on_click(lambda _: self._set(model.difference(model.neutral(), model.random_state()[0])))

    def _set(self, values: np.ndarray) -> None:
        for slider, value in zip(self.sliders, values):
            slider.value = float(min(max(value, slider.min), slider.max))
        self.update()

    def _add_time(self, run: Trajectory) -> None:
        gui = self.server.gui
        begin, end = float(run.t[0]), float(run.t[-1])
        with gui.add_folder("motion"):
            self.play = gui.add_button("play")
            step = max((end - begin) / 2000, 1e-6)
            self.time = gui.add_slider("time, s", begin, max(end, begin + step), step, begin)
            self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1x")
            count = len(self._states)
            self.state = gui.add_slider("state", 0, count - 1, 1, 0) if count > 1 else None
        self.time.on_update(lambda _: self.update())
        if self.state:
            self.state.on_update(lambda _: self.update())
        self.play.on_click(lambda _: self.play_or_pause())
        threading.Thread(target=self._advance, args=(begin, end), daemon=True).start()

    def _advance(self, begin: float, end: float) -> None:
        """Advance the time while playing; restart at the end."""
        last = time.monotonic()
        while not self._closed.wait(1 / FRAMES):
            now = time.monotonic()
            if self.playing:
                after = self.time.value + (now - last) * float(self.speed.value[:-1])
                self.time.value = begin if after > end else after
                self.update()
            last = now

    def _add_layers(self) -> None:
        gui = self.server.gui
        self.boxes: dict[str, Any] = {}
        with gui.add_folder("show"):
            for name in self.scene.offered:
                box = gui.add_checkbox(name, self.scene.visible[name])
                box.on_update(lambda event, name=name: self._switch(name, event.target.value))
                self.boxes[name] = box
        if self.scene.missing:
            with gui.add_folder("not drawn", expand_by_default=False):
                self._write("  \n".join(map(_harmless, self.scene.missing[:20])))

    def reveal(self, layer: str, visible: bool = True) -> None:
        """Show or hide a layer: one of `viewer.boxes`."""
        if layer not in self.boxes:
            raise ArgumentError(f"reveal: there is no {layer!r} here; choose from {', '.join(self.boxes)}")
        self.boxes[layer].value = visible
        self._switch(layer, visible)

    def _switch(self, layer: str, visible: bool) -> None:
        self.scene.show(layer, visible)
        self.update()


def _angles(joint: Any, place: slice) -> list[int]:
    """The velocities of a joint that rotate it, according to its motion subspace in the neutral position."""
    columns = joint.subspace(joint.neutral()).columns
    return [k for k, S in zip(range(place.start, place.stop), columns) if any(S.angular)]


def _harmless(text: str) -> str:
    """A name from a file as text without Markdown markup."""
    return re.sub(r"[^\w .,:/'()-]", "_", text)


__all__ = ["Viewer", "looks_of", "show"]
