"""What the doctor says of a repository is kept with each run; a look that fails stops none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from app.domain import doctor
from app.domain.record import JournalEntry, Kept
from app.domain.report import check_output, pull_body
from app.domain.report_facts import kept_facts
from app.domain.state import Kind
from tests.app.domain.report_world import COMMIT, facts, passed
from tests.worker.desk.made import Office, new_run, office
from worker.attest.attestation import statements
from worker.desk.stages.admit import admit

TOLD: dict[str, Any] = {
    "digest": "d" * 64,
    "points": 20,
    "fails": ["fence-branches"],
    "unseen": ["actions-token"],
}
ENTRY = JournalEntry("5-0", Kept.NOTE, {doctor.NOTE: TOLD})


def looking(told: dict[str, Any]) -> tuple[Office, list[str]]:
    desk, asked = office(), []

    def settings_of(run: Any) -> dict[str, Any]:
        asked.append(run.id)
        return told

    desk.settings_of = settings_of
    return desk, asked


def test_admission_keeps_it_once() -> None:
    desk, asked = looking(TOLD)
    for _ in range(2):
        admit(desk.kit())(new_run())
    assert doctor.noted(desk.hold.entries()) == TOLD
    assert asked == ["abc"]


def test_a_look_that_failed_leaves_no_trace_and_stops_nothing() -> None:
    desk, asked = looking({})
    assert admit(desk.kit())(new_run()).contract is not None
    assert asked == ["abc"] and doctor.noted(desk.hold.entries()) is None


def test_an_explanation_signs_nothing_so_nothing_is_looked_at() -> None:
    desk, asked = looking(TOLD)
    admit(desk.kit())(replace(new_run(), kind=Kind.EXPLAIN, word="explain"))
    assert asked == []


def test_the_statement_says_what_does_not_hold() -> None:
    told = json.loads(statements(passed(), COMMIT, [ENTRY])[0])["predicate"]
    assert told["settings"] == TOLD
    bare = json.loads(statements(passed(), COMMIT)[0])["predicate"]
    assert bare["settings"] == {"points": 0}  # not looked at, never to be read as fine


def test_the_page_says_it_too() -> None:
    run = passed()
    shown = kept_facts(run, [ENTRY], {}, lambda _digest: b"", lambda _data: "").settings
    assert shown == TOLD
    body = pull_body(run, replace(facts(), settings=shown))
    words = "of 20 settings of the repository these fail: `fence-branches`; not seen by the App"
    assert words in body
    assert words in "".join(check_output(run, replace(facts(), settings=shown)))
    fine = pull_body(run, replace(facts(), settings={**TOLD, "fails": [], "unseen": []}))
    assert "of 20 settings of the repository none fails" in fine
    assert "settings of the repository" not in pull_body(run, facts())
