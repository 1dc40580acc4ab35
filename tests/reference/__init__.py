"""An independent account of rigid multibody dynamics, for the tests alone."""
