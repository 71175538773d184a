"""Benchmarks: ratios of things measured in one run, never a timed test."""
