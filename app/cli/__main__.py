"""`python -m app.cli`: the command where it is not installed."""

import sys

from app.cli import main

sys.exit(main())
