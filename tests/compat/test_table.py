"""The page of real packages names exactly the pinned ones, in enough ecosystems."""

from __future__ import annotations

import re

from tests.compat.packages import PACKAGES
from tests.shared_data import REPOSITORY


def test_the_page_lists_every_package_with_its_version() -> None:
    page = (REPOSITORY / "docs" / "compatibility.md").read_text()
    rows = re.findall(r"^\| (\w+) \| (\S+) (\S+) \|", page, flags=re.MULTILINE)
    assert sorted(rows) == sorted((p.ecosystem, p.name, p.version) for p in PACKAGES)


def test_there_are_twelve_packages_in_five_ecosystems_and_a_slice_for_each_run() -> None:
    assert len(PACKAGES) >= 12
    assert len({package.ecosystem for package in PACKAGES}) >= 5
    assert sum(package.quick for package in PACKAGES) >= 2
    assert all(re.fullmatch(r"[0-9a-f]{64}", package.sha256) for package in PACKAGES)
