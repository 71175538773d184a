"""The effects that crash tests can reach: nobody opens a connection past the watched methods."""

from __future__ import annotations

import re
from pathlib import Path

from tests.shared_data import REPOSITORY

# What talks to the outside -> the only files that may, each of which `tests/crash/points.py` wraps
# or names a reason not to.
HOMES = {
    r"\bexecute_command\(|Redis\.from_url\(": {
        "worker/store/calls.py",  # wrapped: every command of the ledger
        "worker/store/connect.py",  # opens; `check_server` only reads
        "app/inbox.py",  # the receiver: tests/crash/test_receiver.py
        "app/feeder.py",  # the receiver
    },
    r"from rq import": {"worker/queue.py", "app/feeder.py"},  # wrapped: Bell.ring
    r"import .*\bGitHub\b.*\n": {"worker/desk/github/wire.py"},  # wrapped: Wire.send
    r"anthropic\.Anthropic\(": {"worker/runner/model/client.py"},  # wrapped: AnthropicModel._once
    r"remote\.fetch\(|\.fetch\(\s*\[": {"worker/runner/repository/fetching.py"},  # wrapped: fetch
    r"httpx\.Client\(": {"worker/runner/boxes.py"},  # wrapped: SandboxClient.ask, stop, forget
}


def test_every_way_out_is_one_that_crash_tests_watch() -> None:
    sources = {
        str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8")
        for folder in ("app", "worker")
        for path in (Path(REPOSITORY) / folder).rglob("*.py")
        if path.parent.name not in ("local", "cli")  # a person's own commands carry no run
    }
    for pattern, homes in HOMES.items():
        found = {name for name, text in sources.items() if re.search(pattern, text)}
        assert found, pattern
        assert found <= homes, (pattern, found - homes)
