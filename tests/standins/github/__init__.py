"""A GitHub that lives on loopback: REST, a little GraphQL, git smart HTTP, webhooks and pages."""

from tests.standins.github.client import AppKeys, StandinRefused
from tests.standins.github.process import GitHubStandin

__all__ = ["AppKeys", "GitHubStandin", "StandinRefused"]
