"""All seams, a file for each: what each adapter promises, and which of our errors it raises.

Every method may raise `Unavailable`; what else it raises is said beside it.
"""
