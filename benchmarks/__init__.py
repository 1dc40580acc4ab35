"""Timings of kinetree on this computer, with Pinocchio and MuJoCo for comparison where installed."""
