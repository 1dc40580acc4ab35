"""Robots in and out: URDF, MJCF and kinetree's own JSON; a linter for robot files that can repair them."""
