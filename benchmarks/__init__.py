"""Timings of kinetree on this computer, beside Pinocchio and MuJoCo where they are installed."""
