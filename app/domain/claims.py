"""Claims of the gate that a report gives a place of their own, in the words that are signed."""

from __future__ import annotations

NO_LEAK = "No secret is in the change"
TOUCHED = "Touched the referee"
RED_GREEN = "Tests of the change fail on the base's sources and pass with the change"
CRITERIA = "What supports each criterion"
NOT_RUN = "What was not run beside the checks"
UNTESTED = "Look at: changes in folders whose tests no check runs"
HIDDEN = "Look at: hidden text in the request"
UNPARSED = "Look at: checks whose tests nobody counted"
BASE_TESTS = "The base's own tests and test settings pass over the change"
