"""The line above our part of a pull request's body while its evidence is about another head.

It stands outside our part, so that the signed text around the evidence stays what it was.
"""

from __future__ import annotations

import re

from app.domain.report_facts import BODY_CAP
from app.domain.report_parts import short
from app.domain.report_signed import START

_BANNER = re.compile(r"<!-- patchwarrant:stale -->.*?<!-- /patchwarrant:stale -->\n*", re.DOTALL)


def with_banner(body: str, head: str, known: str) -> str:
    """`body` with the line that its evidence is about `known` while the head is `head`; a body
    without evidence of ours stays as it is."""
    plain = without_banner(body)
    found = START.search(plain)
    line = (
        f"<!-- patchwarrant:stale -->\n⚠️ **Stale:** the head is {short(head)} now, which is not "
        f"checked yet. What stands below is about {short(known)} alone.\n"
        "<!-- /patchwarrant:stale -->\n"
    )
    if found is None or len(plain) + len(line) > BODY_CAP:
        return body
    return f"{plain[: found.start()]}{line}{plain[found.start() :]}"


def without_banner(body: str) -> str:
    """`body` without that line."""
    return _BANNER.sub("", body.replace("\r\n", "\n")) if "patchwarrant:stale" in body else body
