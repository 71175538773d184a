"""Readers of what tools write: reports and traces are claims of untrusted code."""
