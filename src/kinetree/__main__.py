"""`python -m kinetree` is the command `kinetree`."""

import sys

from kinetree.cli import main

sys.exit(main())
