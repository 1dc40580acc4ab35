"""`film`: a motion as an animation, rendered by the viewer in a headless browser."""

from __future__ import annotations

import logging
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError, KinetreeError
from kinetree.extras import needed
from kinetree.io.visuals import Looks
from kinetree.motion import Trajectory
from kinetree.pictures.shapes import wxyz
from kinetree.pictures.sticks import poses
from kinetree.pictures.viewer import HOST, Viewer, looks_of

KINDS = (".webp", ".gif", ".png")  # PNG files can be animated, too
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --enable-unsafe-swiftshader --no-first-run "
    "--disable-background-networking --hide-scrollbars"
)
PATIENCE = 60.0  # s: timeout for opening the page and for each picture
MOST = 3000  # pictures
FIELD = 0.6  # rad: vertical field of view


def film(
    run: Trajectory,
    path: str | Path,
    *,
    looks: Looks | None = None,
    package_dirs: Any = (),
    rate: float = 20.0,
    speed: float = 1.0,
    size: tuple[int, int] = (640, 360),
    view: Sequence[float] = (0.5, -1.0, 0.35),
    distance: float | None = None,
    state: int = 0,
    browser: str | None = None,
) -> Path:
    """Make a film of a motion; the camera follows the robot.

    Args:
        run: the motion.
        path: output file: `.webp`, `.gif` or `.png` (animated).
        looks, package_dirs: as for `show`.
        rate: frames per second.
        speed: 0.5 shows the motion at half speed.
        size: width and height in pixels.
        view: direction from the robot to the camera, in world axes.
        distance: of the camera, m; None chooses it from the size of the robot.
        state: index into a batch.
        browser: Chromium or a derivative; None uses the first one found.

    Returns:
        The path.
    """
    path, pillow = Path(path), needed("PIL.Image", "pictures.film")
    if path.suffix.lower() not in KINDS:
        raise ArgumentError(f"film: {path.name} must end with {', '.join(KINDS)}")
    if not path.parent.is_dir():
        raise ArgumentError(f"film: there is no folder '{path.parent}' for {path.name}")
    if not isinstance(run, Trajectory):
        raise ArgumentError(f"film: give a trajectory, not a {type(run).__name__}: film(run, path)")
    for name, value in (("rate", rate), ("speed", speed), ("distance", distance)):
        if value is not None and not 0 < value < np.inf:
            raise ArgumentError(f"film: {name} must be a positive number, got {value!r}")
    one = run[list(np.ndindex(run.batch))[state]]
    times = np.arange(one.t[0], one.t[-1] + 1e-9, speed / rate)
    if len(times) > MOST:
        raise ArgumentError(
            f"film: {len(times)} frames are more than {MOST}: lower the rate, or film a part of the motion"
        )
    looks = looks_of(run.model, package_dirs) if looks is None else looks
    width, height = size
    with _page(one, looks, browser) as (viewer, client):

        def drawn(k: int, position: np.ndarray, way: np.ndarray) -> np.ndarray:
            viewer.scene.pose(one.q[k])
            seen = {"position": position, "wxyz": way, "fov": FIELD, "timeout": PATIENCE}
            return _on_white(client.get_render(height, width, transport_format="png", **seen))

        shots = list(_camera(viewer, one, times, np.array(view, float), distance))
        _warm(lambda: drawn(*shots[0]))
        pictures = [drawn(*shot) for shot in shots]
    frames = [pillow.fromarray(p) for p in pictures]
    options: dict[str, Any] = {"quality": 60, "method": 3} if path.suffix.lower() == ".webp" else {}
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=1000 / rate, loop=0, **options)
    return path


def _warm(draw: Callable[[], np.ndarray]) -> None:
    """Wait until the page has loaded light and shadows: until the picture stops changing."""
    before, same = draw(), 0
    for _ in range(20):
        time.sleep(0.2)
        now = draw()
        same = same + 1 if np.array_equal(now, before) else 0
        if same == 3:
            return
        before = now


def _on_white(picture: np.ndarray) -> np.ndarray:
    """A picture without transparency, on a white background."""
    if picture.shape[-1] == 3:
        return picture
    cover = picture[..., 3:].astype(float) / 255
    return (picture[..., :3] * cover + 255 * (1 - cover)).round().astype(np.uint8)


def _camera(
    viewer: Viewer, run: Trajectory, times: np.ndarray, view: np.ndarray, distance: float | None
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """For each frame, the record and the camera pose; the camera does not follow the bobbing of a gait."""
    records = np.minimum(np.searchsorted(run.t, times - 1e-9), len(run.t) - 1)
    centres = np.array([poses(run.model, run.q[k])[1:, :3, 3].mean(0) for k in records])
    calm = max(1, len(times) // 10)
    weights = np.ones(2 * calm + 1) / (2 * calm + 1)
    ends = np.concatenate([np.repeat(centres[:1], calm, 0), centres, np.repeat(centres[-1:], calm, 0)])
    slow = np.stack([np.convolve(ends[:, i], weights, "valid") for i in range(3)], -1)
    back = view / np.linalg.norm(view) * (distance or 2.4 * viewer.scene.size)
    forward = -back / np.linalg.norm(back)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    way = wxyz(np.stack([right, np.cross(forward, right), forward], -1))
    for k, centre in zip(records, slow, strict=True):
        yield int(k), centre + back, np.asarray(way)


@contextmanager
def _page(run: Trajectory, looks: Looks, browser: str | None) -> Iterator[tuple[Viewer, Any]]:
    """The viewer, and its page in the headless browser."""
    found = browser or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None or shutil.which(found) is None:
        missing = f"there is no browser {browser!r}" if browser else f"found none of {', '.join(BROWSERS)}"
        raise KinetreeError(f"film: {missing}: install Chromium, or give its path as browser=")
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    viewer = Viewer(run, looks, port)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [found, *FLAGS.split(), f"--user-data-dir={profile}", viewer.url]
        page = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        noise = logging.getLogger("websockets.server")  # logs unused connections of the browser
        before = noise.level
        noise.setLevel(logging.CRITICAL)
        try:
            yield viewer, _client(viewer, page)
        finally:
            noise.setLevel(before)
            page.terminate()
            page.wait(PATIENCE)
            viewer.close()


def _client(viewer: Viewer, page: subprocess.Popen) -> Any:
    """The page, once it has opened."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and page.poll() is None:
        clients = list(viewer.server.get_clients().values())
        if clients:
            return clients[0]
        time.sleep(0.1)
    raise KinetreeError(
        "film: the browser did not open the page: is it a Chromium that can run headless?"
    )


__all__ = ["film"]
