"""The only code that writes to GitHub: `ports.GitHubWriter`, each write read back and compared.

A write whose answer was lost is looked for before anything is sent again: blobs, trees and commits
are named by their content or harmless when twice; comments and check runs are found by their
marker; branch and pull request are found by name, and the caller decides whether they are ours.
"""

from __future__ import annotations

from worker.desk.github.check_writes import CheckWrites
from worker.desk.github.pull_writes import PullWrites
from worker.desk.github.talk_writes import TalkWrites


class Publisher(PullWrites, CheckWrites, TalkWrites):
    """`ports.GitHubWriter`: all writes of one client, a file for each kind of thing written."""
