"""The Anthropic Messages API on loopback: scripted, acting out a diff, or replaying a recording."""

from tests.standins.anthropic.client import AnthropicStandin, Recorded, StandinRefused

__all__ = ["AnthropicStandin", "Recorded", "StandinRefused"]
