"""Both statements fit into a check run, whatever the run was, and claim only what was shown."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.domain.check import Check, CheckResult, Comparison, Failure, Standing
from app.domain.evidence import Finding, Holds, Result, Verdict
from app.domain.record import JournalEntry, Kept
from app.domain.report_facts import ENVELOPES
from app.domain.report_signed import key_of_line
from app.domain.run import Attempt, Run, Snapshot
from tests.app.domain.report_world import (
    BASE,
    BASE_TREE,
    COMMIT,
    IMAGE,
    PROFILE,
    TEST,
    TREE,
    check,
    failed,
    passed,
    result,
)
from worker.attest import bundle, parts, statement, testresult
from worker.attest.attestation import statements
from worker.attest.bundle import NotABundle
from worker.attest.canonical import canonical, digest
from worker.attest.keys import key_from, line_of
from worker.attest.signing import Signer
from worker.attest.verify import NotVerified, public_key

SIGNER = Signer(Ed25519PrivateKey.generate())


def predicate(run: Run, number: int = 0) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(statements(run, COMMIT)[number])["predicate"]
    return told


def huge() -> Run:
    """Twenty checks with long commands and thousands of failing tests each."""
    checks = tuple(
        Check(name=f"suite {n} {'x' * 50}", argv=("sh", "-euc", "true; " * 600)) for n in range(20)
    )
    ids = tuple(f"tests/test_{n}.py::{'long' * 20}_{n}" for n in range(2_000))
    failures = tuple(Failure(one, "E", "m") for one in ids[:12])

    def of(one: Check, tree: str) -> CheckResult:
        found = result(tree, Standing.FAILED, Comparison(newly_failing=ids, gone=ids), one.name)
        return replace(found, digest=one.digest(), failures=failures, reason="exit 1 " * 30)

    attempt = Attempt(TREE, tuple(of(one, TREE) for one in checks), "s" * 64)
    leaf = Finding("claim " * 40, Holds.FAILS, ids[:40])
    findings = tuple(replace(leaf, parts=(leaf,) * 20) for _ in range(20))
    return replace(
        failed(),
        snapshot=Snapshot(BASE_TREE, IMAGE, PROFILE, checks, ("assumed " * 200,) * 50),
        baseline=tuple(of(one, BASE_TREE) for one in checks),
        attempts=(attempt,) * 6,
        restored=tuple(of(one, TREE) for one in checks),
        verdict=Verdict(TREE, BASE, Result.FAILED, "wall " * 5_000, findings),
    )


def test_the_largest_run_still_fits_into_a_check_run() -> None:
    made = statements(huge(), COMMIT)
    assert len(made[0]) <= statement.ROOM and len(made[1]) <= testresult.ROOM
    lines = [canonical(SIGNER.sign(one)) for one in made]
    assert sum(map(len, lines)) + 200 < ENVELOPES
    told = json.loads(made[0])["predicate"]
    assert told["findings"]["standings"]["fails"] == 400
    assert {one["after"]["standing"] for one in told["checks"]} == {"failed"}


def test_what_is_left_out_stays_named_by_its_digest() -> None:
    run = huge()
    told = predicate(run)
    whole = parts.parts(run)
    assert told["parts"] == {name: digest(part) for name, part in whole.items()}
    assert told["findings"]["digest"] == digest(whole["findings"])
    first = run.attempts[-1].results[0]
    (one,) = [one for one in told["checks"] if one["name"] == first.check]
    assert one["after"]["record"] == digest(whole["attempts"][-1]["results"][0])
    assert "argv" not in one["command"] and one["command"]["digest"] == first.digest


def test_a_usual_run_says_all_of_it_itself() -> None:
    told = predicate(passed())
    assert told["findings"]["tree"][0]["claim"] == "every required check passed on this tree"
    assert told["checks"][0]["command"]["argv"] == list(check().argv)
    assert told["journal"]["entries"] == 0
    assert told["parts"].keys() == {
        "contract", "plan", "checks", "findings", "baseline", "attempts",
    }  # fmt: skip


def test_flaky_and_other_kinds_of_difference_are_told_where_there_are_any() -> None:
    after = result(TREE, comparison=Comparison(flaky=(TEST,), new=("a", "b")))
    run = replace(passed(), attempts=(Attempt(TREE, (after,), "x"),))
    compared = predicate(run)["checks"][0]["after"]["comparison"]
    assert compared["flaky"]["ids"] == [TEST]
    assert compared["new"] == {"count": 2, "digest": digest(["a", "b"]), "ids": []}
    assert "gone" not in compared


def test_in_toto_s_own_words_are_strict() -> None:
    good = predicate(passed(), 1)
    assert good["result"] == "PASSED" and good["passedTests"] == ["tests"]
    assert good["failedTests"] == good["warnedTests"] == []
    assert {"name": "check tests", "digest": {"sha256": check().digest()}} in good["configuration"]
    bad = predicate(failed(), 1)
    assert bad["result"] == "FAILED"
    assert bad["failedTests"] == ["tests", f"tests: {TEST}"]
    run = passed()
    assert run.verdict
    partial = replace(run, verdict=replace(run.verdict, result=Result.PARTIAL, wall="x"))
    assert predicate(partial, 1)["result"] == "FAILED"  # WARNED could be taken for good enough
    nothing = replace(partial, attempts=())
    assert predicate(nothing, 1)["warnedTests"] == ["tests"]  # required, and did not run


def test_a_key_can_be_written_as_one_line() -> None:
    key = public_key(SIGNER.public_pem)
    line = line_of(key)
    assert key_from(f" {line}\n").public_bytes_raw() == key.public_bytes_raw()
    assert key_from(SIGNER.public_pem).public_bytes_raw() == key.public_bytes_raw()
    loose = line[:-2] + chr(ord(line[-2]) + 1) + "="
    assert key_of_line(line) == SIGNER.key_id and key_of_line("") == ""
    for wrong in ("ed25519:", "ed25519:AAAA", "ed25519:*", loose, "", "x"):
        with pytest.raises(NotVerified):
            key_from(wrong)


# -- the bundle ------------------------------------------------------------------------------------


def entries(count: int, size: int = 1) -> list[JournalEntry]:
    return [JournalEntry(f"{n}-0", Kept.CHECK, {"tail": "x" * size}) for n in range(count)]


def bundled(run: Run, journal: list[JournalEntry]) -> bytes:
    envelopes = [SIGNER.sign(one) for one in statements(run, COMMIT, journal)]
    return bundle.make(run, envelopes, journal)


def test_a_bundle_comes_back_as_it_was_made() -> None:
    journal = entries(3)
    found = bundle.read(bundled(passed(), journal))
    assert found.run == passed().id
    assert found.parts == json.loads(canonical(parts.parts(passed())))
    assert [link.id for link in found.journal] == ["0-0", "1-0", "2-0"]
    assert found.records[2] == ("2-0", {"tail": "x"})
    assert (
        base64.b64decode(found.envelopes[0]["payload"]) == statements(passed(), COMMIT, journal)[0]
    )


def test_records_that_would_be_too_many_are_left_to_their_digests() -> None:
    found = bundle.read(bundled(passed(), entries(10, 1 << 20)))
    assert found.records == () and len(found.journal) == 10


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no JSON at byte 0"),
        (b"[]", "no JSON object"),
        (b"{}", "not of the form"),
        (b'{"a":1,"a":2}', "each key once"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_bundle_is_said(data: bytes, words: str) -> None:
    with pytest.raises(NotABundle, match=words):
        bundle.read(data)


def test_a_bundle_has_one_spelling() -> None:
    good = bundled(passed(), entries(1))
    whole = json.loads(good)
    odd: dict[str, Any] = {
        "at byte": json.dumps(whole).encode(),
        "a number that is none": good.replace(b'"exit_code":1', b'"exit_code":NaN', 1),
        "odd shape": canonical({**whole, "journal": [["1"]]}),
        "odd shape: ": canonical({**whole, "envelopes": 7}),
    }
    for words, data in odd.items():
        with pytest.raises(NotABundle, match=words.strip()):
            bundle.read(data)


def test_a_bundle_is_attached_as_text_and_comes_back() -> None:
    good = bundled(passed(), entries(3))
    text = bundle.packed(good)
    assert text == bundle.packed(good) and max(map(len, text.split("\n"))) <= 120
    assert bundle.unpacked(text) == good
    bomb = bundle.packed(b"0" * (bundle.SIZE + 1))
    for odd in ("", "*", text[:-8], text + "AAAA", "AAAA", bomb):
        with pytest.raises(NotABundle, match="attached bundle"):
            bundle.unpacked(odd)
