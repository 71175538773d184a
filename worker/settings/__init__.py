"""Each role's settings, read once at its door; secrets by file, without a repr.

All missing names are reported together, each with where to get it.
"""
