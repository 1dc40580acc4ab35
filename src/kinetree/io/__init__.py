"""Reading and writing robot files: URDF, MJCF, SDF, USD (read only) and JSON; a linter that repairs them."""
