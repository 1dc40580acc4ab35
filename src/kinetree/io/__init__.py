"""Robots in and out: URDF, MJCF and kinetree's own JSON; a linter and a mender for robot files."""
