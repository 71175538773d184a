"""Runs checks in the sandbox and reads what they testify."""
