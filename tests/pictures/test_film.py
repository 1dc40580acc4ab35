"""A film: what the pictures show, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.pictures import browser

import kinetree as kt
from kinetree.errors import ArgumentError, KinetreeError

pytest.importorskip("viser")
image = pytest.importorskip("PIL.Image")

ROBOT = kt.zoo.quadruped()


def walk() -> kt.Trajectory:
    """A robot that is carried along x, 2 m in 0.3 s."""
    q = np.tile(ROBOT.neutral(), (4, 1))
    q[:, 4], q[:, 6] = np.linspace(0, 2, 4), 0.4
    return kt.Trajectory(ROBOT, 0.1 * np.arange(4), q, np.zeros((4, ROBOT.nv)))


@pytest.mark.skipif(browser.CHROMIUM is None, reason="there is no browser")
def test_the_camera_goes_along(tmp_path):
    path = kt.pictures.film(walk(), tmp_path / "walk.png", rate=10, size=(160, 120), view=(0.0, -1.0, 0.3))
    film = image.open(path)
    assert film.n_frames == 4 and film.size == (160, 120)
    for k in (0, 3):
        film.seek(k)
        picture = np.asarray(film.convert("RGB"), int)
        blue = (picture[..., 2] - picture[..., 0]) > 60  # the sticks of the robot
        assert blue.sum() > 50
        x = np.nonzero(blue)[1]
        assert 30 < x.mean() < 130


def test_what_does_not_fit_is_refused(tmp_path):
    run = walk()
    for options, message in (
        ({"path": "walk.mp4"}, "must end with .webp, .gif, .png"),
        ({"path": "nowhere/walk.gif"}, "there is no folder .*nowhere"),
        ({"rate": 0}, "rate must be a positive number"),
        ({"rate": 1e6}, "frames are more than"),
        ({"browser": "no-such-browser"}, "there is no browser 'no-such-browser'"),
    ):
        given = {"path": "walk.gif"} | options
        with pytest.raises(KinetreeError, match=message):
            kt.pictures.film(run, tmp_path / given.pop("path"), **given)
    with pytest.raises(ArgumentError, match="give a trajectory"):
        kt.pictures.film(ROBOT, tmp_path / "walk.gif")
