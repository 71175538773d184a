"""GitHub's JSON for each thing that the stand-in remembers."""
