"""What is told of hosts that a set-up did not reach."""

from __future__ import annotations

from pathlib import Path

from worker.sandbox.allow_list import PRIVATE
from worker.sandbox.setup_hosts import NOT_PUBLIC, Hosts
from worker.sandbox.setup_rules import SetupRules


def test_a_name_that_is_allowed_is_not_called_unlisted(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, (), SetupRules(), ())
    lines = ["else.example:80", f"index.example:443{PRIVATE}", "else.example:80"]
    (tmp_path / "refused").write_text("\n".join(lines) + "\n")
    assert hosts.refused() == ("else.example:80", f"index.example:443 {NOT_PUBLIC}")
    assert "PATCHWARRANT_SETUP_NETWORKS" in NOT_PUBLIC
