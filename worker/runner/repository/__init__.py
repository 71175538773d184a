"""One repository's bare object store: never a work tree, never a git program."""

from worker.runner.repository.mirror import Store

__all__ = ["Store"]
