"""A GitHub that lives on loopback: REST, a little GraphQL, git smart HTTP, webhooks and pages."""

from tests.standins.github.client import AppKeys, GitHubStandin, StandinRefused

__all__ = ["AppKeys", "GitHubStandin", "StandinRefused"]
