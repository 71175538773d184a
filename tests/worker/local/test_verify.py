"""A stranger verifies a bundle against a repository; whatever is touched is found and named."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.evidence import Finding, Holds, Result
from app.domain.state import Kind
from tests.worker.local.world import (
    AFTER,
    BEFORE,
    CONFIG,
    LINE,
    SIGNER,
    STRANGER,
    Scene,
    about,
    commit,
    git,
    scene,
)
from tests.worker.local.world import made as bundled
from worker.attest.bundle import NotABundle
from worker.attest.canonical import canonical
from worker.attest.examine import FRESH, PASSED, SIGNED, Signed
from worker.local import evidence, table, trust, verify
from worker.local.outcome import Outcome, code_of
from worker.local.outcome import outcome as outcome_of
from worker.local.repository import Repository
from worker.local.rerun import again
from worker.local.told import told
from worker.settings.door import Door

STEP = 11  # every so many bytes of a bundle one is flipped


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def run(*words: str) -> int:
    return verify.main(Door({}), list(words))


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def leaves(found: tuple[Finding, ...]) -> list[Finding]:
    return [leaf for one in found for leaf in ([*leaves(one.parts)] if one.parts else [one])]


def test_evidence_verifies_offline_with_the_key_of_the_base(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(made.file), "--repo", str(made.place)) == 0
    words = said(capsys)
    assert "Verified: the evidence is genuine, fresh, and says passed." in words
    assert f"from .github/agent.yml at base {made.base[:12]} on refs/heads/main" in words
    assert f"commit {made.base[:12]} by Mona on 20" in words  # who set the key line, and when
    assert "claude-sonnet-5-5" in words and "6 passed, 0 failed, 0 skipped" in words


def test_a_key_file_is_the_trust_root_where_it_is_given(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(made.file), "--repo", str(made.place), "--key", made.key_file()) == 0
    capsys.readouterr()
    assert run(str(made.file), "--repo", str(made.place), "--key", made.key_file(STRANGER)) == 2
    words = said(capsys)
    assert "No signature of the envelope is by this key." in words
    assert "NOT verified: what is marked ✘ above does not hold" in words


def test_a_file_alone_proves_nothing_about_a_repository(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(made.file)) == 2
    assert "name the operator's key with --key FILE" in said(capsys)
    assert run(str(made.file), "--key", made.key_file()) == 2
    assert "no repository was named (--repo PATH)" in said(capsys)


def test_evidence_beside_the_repository_is_found(made: Scene) -> None:
    kept = made.place / ".git" / "patchwarrant" / f"{made.head}.json"
    assert run("--repo", str(made.place)) == 2  # there is none
    kept.parent.mkdir()
    kept.write_bytes(made.file.read_bytes())
    assert run("--repo", str(made.place)) == 0


def test_a_head_that_moved_makes_the_evidence_stale(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(made.place, {"calc.py": AFTER + "\n"}, "One byte more")
    assert run(str(made.file), "--repo", str(made.place)) == 1
    words = said(capsys)
    assert "Stale: the head is" in words
    assert "Genuine: the evidence is what was signed. But it is about another commit" in words


def test_a_failed_verdict_is_genuine_and_is_no_pass(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made.run.verdict
    worse = replace(made.run.verdict, result=Result.FAILED, wall="the check `tests` failed")
    made.file.write_bytes(made.bundle(replace(made.run, verdict=worse)))
    assert run(str(made.file), "--repo", str(made.place)) == 1
    words = said(capsys)
    assert "It is failed: the check `tests` failed" in words
    assert "✔ Both statements are signed" in words
    assert "Genuine: the evidence is what was signed. But it says that the change did not" in words
    assert "NOT verified" not in words


def test_json_for_machines(made: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(made.file), "--repo", str(made.place), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["code"], told["outcome"]) == (0, "verified")
    assert {one["standing"] for one in told["findings"]} == {"holds"}
    made.file.write_bytes(b"{")
    assert run(str(made.file), "--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["code"], told["outcome"]) == (2, "unusable")
    assert "no JSON at byte" in told["error"] and "`patchwarrant evidence RUN" in told["error"]


@pytest.mark.parametrize(
    ("standings", "came", "code"),
    [
        ({}, Outcome.VERIFIED, 0),
        ({FRESH: Holds.FAILS}, Outcome.STALE, 1),
        ({PASSED: Holds.FAILS}, Outcome.NOT_PASSED, 1),
        ({FRESH: Holds.FAILS, PASSED: Holds.FAILS}, Outcome.STALE, 1),
        ({PASSED: Holds.FAILS, "tree": Holds.UNKNOWN}, Outcome.UNKNOWN, 2),
        ({FRESH: Holds.UNKNOWN}, Outcome.UNKNOWN, 2),
        ({PASSED: Holds.FAILS, "tree": Holds.FAILS}, Outcome.NOT_VERIFIED, 2),
        ({"tree": Holds.FAILS, "head": Holds.UNKNOWN}, Outcome.NOT_VERIFIED, 2),
        ({SIGNED: Holds.FAILS}, Outcome.UNSIGNED, 2),
    ],
)
def test_doubt_weighs_more_than_not_knowing_and_that_more_than_a_verdict(
    standings: dict[str, Holds], came: Outcome, code: int
) -> None:
    whole = {"tree": Holds.HOLDS, FRESH: Holds.HOLDS, PASSED: Holds.HOLDS, **standings}
    found = outcome_of([Finding(claim, standing) for claim, standing in whole.items()])
    assert (found, code_of(found)) == (came, code)


def test_evidence_without_a_signature_is_said_to_be_that(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `check` without --key leaves; the words say what makes it worth something."""

    def bare(whole: dict[str, Any]) -> None:
        for envelope in whole["envelopes"]:
            envelope["signatures"] = []

    made.file.write_bytes(touch(made.file.read_bytes(), bare))
    for key in ([], ["--key", made.key_file()]):
        assert run(str(made.file), "--repo", str(made.place), *key) == 2
        words = said(capsys)
        assert "NOT signed: nobody vouches for this evidence." in words
        assert "`patchwarrant check --key FILE`" in words and "NOT verified" not in words


@pytest.mark.parametrize("what", ["none.json", "."])
def test_a_bundle_that_cannot_be_read_is_one_sentence(
    made: Scene, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made.place.parent / what
    assert run(str(path), "--repo", str(made.place)) == 2
    words = said(capsys)
    assert str(path) in words and "Errno" not in words
    assert "name a bundle's file" in words or "name the file in it" in words


def test_a_repository_or_key_that_is_not_there_is_one_sentence(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = str(made.place.parent / "nowhere")
    assert run(str(made.file), "--repo", nowhere) == 2
    assert "is not inside a git repository" in said(capsys)
    for odd, why in ((nowhere, "There is no key"), (str(made.place), "is a folder, not a key")):
        assert run(str(made.file), "--repo", str(made.place), "--key", odd) == 2
        words = said(capsys)
        assert why in words and "Errno" not in words


def test_a_bundle_may_be_named_by_its_option(made: Scene) -> None:
    assert run("--bundle", str(made.file), "--repo", str(made.place)) == 0
    with pytest.raises(SystemExit, match="2"):
        run(str(made.file), "--bundle", str(made.file))


# -- who may be trusted ---------------------------------------------------------------------------


def test_a_key_line_counts_only_in_the_history_of_the_branch_that_changes_go_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody commits a key of his own below the change and signs with it."""
    made = scene(tmp_path, CONFIG.replace("evidence:", "limits: {}\nevidence:"))
    theirs = commit(made.place, {".github/agent.yml": CONFIG}, "Another key")
    head = commit(made.place, {"calc.py": AFTER + "\n"}, "More")
    made.file.write_bytes(bundled(about(made.place, theirs, head), head, STRANGER))
    assert run(str(made.file), "--repo", str(made.place)) == 2
    assert f"The base {theirs[:12]} is not in the history of refs/heads/main" in said(capsys)


def test_without_a_key_line_nobody_is_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (config, words) in enumerate(
        (
            ("version: 1\n", "has no line"),
            (f'evidence: {{key: "{LINE[:-3]}A=="}}', "is no key"),
            ("evidence: [\n", "line 2"),
        )
    ):
        made = scene(tmp_path / str(number), config)
        assert run(str(made.file), "--repo", str(made.place)) == 2
        assert words in said(capsys)


# -- one flipped byte -----------------------------------------------------------------------------


def outcome(data: bytes, made: Scene, repository: Repository) -> tuple[int, str]:
    """(exit code, where it stops to hold) as the command has them."""
    made.file.write_bytes(data)
    try:
        shown = evidence.of_file(made.file, repository, "")
    except NotABundle as wrong:
        return 2, str(wrong)
    root = trust.of_file(Path(made.key_file()))
    found, _ = verify.examined(shown, root)
    faults = [text for one in leaves(found) if one.standing is Holds.FAILS for text in one.exhibits]
    return code_of(outcome_of(found)), " ".join(faults)


def test_one_flipped_bit_anywhere_in_the_bundle_is_found_and_named(made: Scene) -> None:
    good, repository = made.file.read_bytes(), Repository(made.place)
    assert outcome(good, made, repository) == (0, "")
    random_bits = random.Random(7)
    for at in range(0, len(good), STEP):
        touched = bytearray(good)
        touched[at] ^= 1 << random_bits.randrange(8)
        code, where = outcome(bytes(touched), made, repository)
        assert code == 2, f"byte {at} may be {touched[at : at + 1]!r}"
        assert where, f"byte {at}: nobody said where"


def touch(data: bytes, change: Any) -> bytes:
    whole = json.loads(data)
    change(whole)
    return canonical(whole)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda b: b["parts"]["contract"].update(base_branch="evil"), "`contract`"),
        (lambda b: b["parts"]["plan"].update(summary="x"), "`plan`"),
        (lambda b: b["parts"]["checks"][0].update(timeout=1), "`checks`"),
        (lambda b: b["parts"]["findings"][0].update(standing="fails"), "`findings`"),
        (lambda b: b["parts"]["baseline"][0].update(exit_code=0), "`baseline` (check 'tests')"),
        (lambda b: b["parts"]["attempts"][0].update(tree="0" * 40), "`attempts`"),
        (lambda b: b["parts"].pop("plan"), "other parts"),
        (lambda b: b["journal"].pop(), "lists 3 entries; signed were 4"),
        (lambda b: b["journal"].reverse(), "changed, moved or replaced"),
        (lambda b: b["journal"][1].__setitem__(2, "0" * 64), "changed, moved or replaced"),
        (lambda b: b["records"].pop(), "1 records of 2 checks"),
        (
            lambda b: b["records"].__setitem__(1, b["records"][0]),
            "The record 2-0 is there more than once",
        ),
        (lambda b: b["records"][0][1].update(phase="verify"), "The record 2-0 ('tests')"),
        (lambda b: b.update(run="another"), "names the run 'another'"),
        (lambda b: b["envelopes"].pop(), "1 signed statements, not 2"),
        (lambda b: b["envelopes"][0].update(payloadType="x"), "payload type"),
        (lambda b: b["envelopes"][1]["signatures"][0].update(keyid="x"), "names another key"),
        (lambda b: b["envelopes"].reverse(), ""),  # their order says nothing
    ],
)
def test_every_part_says_itself_that_it_was_touched(made: Scene, change: Any, where: str) -> None:
    code, said_there = outcome(touch(made.file.read_bytes(), change), made, Repository(made.place))
    assert where in said_there
    assert code == (2 if where else 0)


def test_records_that_were_taken_out_are_said_to_be_missing(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    made.file.write_bytes(touch(made.file.read_bytes(), lambda b: b.update(records=[])))
    assert run(str(made.file), "--repo", str(made.place)) == 2
    assert "The records of 2 checks that ran are not in the bundle." in said(capsys)


def test_a_file_that_is_no_key_says_nothing_about_the_evidence(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("not a key", "ed25519:AAAA"):
        path = made.place.parent / "odd.pem"
        path.write_text(text)
        assert run(str(made.file), "--repo", str(made.place), "--key", str(path)) == 2
        assert "odd.pem" in said(capsys)


def test_two_good_statements_about_different_things_are_no_pair(made: Scene) -> None:
    """Each envelope is genuine; together they lie."""
    assert made.run.verdict
    worse = replace(made.run.verdict, result=Result.FAILED, wall="it failed")
    other = json.loads(made.bundle(replace(made.run, verdict=worse)))
    mixed = touch(
        made.file.read_bytes(), lambda b: b["envelopes"].__setitem__(1, other["envelopes"][1])
    )
    code, where = outcome(mixed, made, Repository(made.place))
    assert code == 2 and "The evidence says PASSED, the test result FAILED." in where


def test_another_tree_under_the_same_commit_is_found(made: Scene) -> None:
    shown = evidence.of_file(made.file, Repository(made.place), "")

    class Elsewhere(Repository):
        def tree_of(self, commit: str) -> str:
            tree = super().tree_of(commit)
            return f"{int(tree[0], 16) ^ 1:x}{tree[1:]}"

    odd = replace(shown, place=Elsewhere(made.place))
    found, _ = verify.examined(odd, trust.of_file(Path(made.key_file())))
    (fault,) = [one for one in found if one.standing is Holds.FAILS]
    assert "checked was" in fault.exhibits[0]


def test_a_flipped_byte_in_an_object_of_the_repository_is_found(made: Scene) -> None:
    oid = git(made.place, "rev-parse", f"{made.head}:calc.py")
    path = made.place / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    import zlib

    data = bytearray(zlib.decompress(path.read_bytes()))
    data[-3] ^= 1
    path.write_bytes(zlib.compress(bytes(data)))
    found, _ = verify.examined(
        evidence.of_file(made.file, Repository(made.place), ""),
        trust.of_file(Path(made.key_file())),
    )
    (fault,) = [one for one in found if one.standing is Holds.FAILS]
    assert "An object of the tree is not whole" in fault.exhibits[0]
    assert "calc.py" in fault.exhibits[0]


@pytest.mark.parametrize("odd", [None, 7, "x", [], [None, 7, "x", []], {}, {"tree": [3]}])
def test_signed_values_of_another_shape_are_shown_as_far_as_they_go(odd: Any) -> None:
    names = ("checks", "findings", "run", "model", "requester", "request", "wall", "result")
    signed = Signed("a" * 40, "b" * 40, dict.fromkeys(names, odd), {})
    console = table.console()
    for line in told(signed):
        console.print(line)
    assert again(signed, evidence.Evidence((), "x")) == ([], ())


def test_no_text_of_evidence_moves_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\x1b]0;title\x07[red]\u202e\n"
    finding = {"claim": evil, "standing": evil, "exhibits": [evil], "parts": []}
    check = {"name": evil, "baseline": None, "after": {"standing": evil, "exitCode": evil}}
    said_there = {"findings": {"tree": [finding]}, "checks": [check], "wall": evil, "result": evil}
    for line in told(Signed("a" * 40, "b" * 40, said_there, {})):
        table.console().print(line)
    shown = capsys.readouterr().out
    assert "[red]" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


# -- under whose rules ----------------------------------------------------------------------------


def looked(place: Path, base: str, head: str, kind: Kind = Kind.VERIFY) -> bytes:
    """Evidence of `kind` about `head`, compared with `base`."""
    return bundled(replace(about(place, base, head), kind=kind), head, SIGNER)


def test_evidence_under_the_rules_of_another_branch_does_not_hold(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """`release` is older than main: whoever names it as the base chooses looser rules."""
    git(made.place, "branch", "release", "main")
    git(made.place, "checkout", "-q", "main")
    newer = commit(made.place, {"stricter.py": "STRICT = True\n"}, "Stricter")
    git(made.place, "checkout", "-q", "-b", "topic")
    head = commit(made.place, {"calc.py": AFTER}, "Fix")
    made.file.write_bytes(looked(made.place, made.base, head))
    words = (str(made.file), "--repo", str(made.place), "--key", made.key_file())
    assert run(*words) == 2
    assert f"the head parted from refs/heads/main at {newer[:12]}" in said(capsys)
    assert run(*words, "--base", "release") == 0, said(capsys)
    assert run(*words, "--base", "nowhere") == 2
    made.file.write_bytes(looked(made.place, newer, head))
    assert run(*words) == 0, said(capsys)


def test_what_ours_was_made_under_lies_in_the_history_of_the_branch(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    aside = commit(made.place, {"calc.py": BEFORE}, "Looser rules")
    head = commit(made.place, {"calc.py": AFTER}, "Fix")
    made.file.write_bytes(looked(made.place, aside, head, Kind.FIX))
    assert run(str(made.file), "--repo", str(made.place), "--key", made.key_file()) == 2
    assert "is not in the history of refs/heads/main: other rules" in said(capsys)


@pytest.mark.parametrize(("how", "code"), [("--no-ff", 0), ("--ff-only", 2)])
def test_evidence_about_a_change_that_was_merged_since(
    made: Scene, how: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    git(made.place, "checkout", "-q", "main")
    git(made.place, "merge", "-q", how, "-m", "Merge", "fix")
    git(made.place, "checkout", "-q", "fix")
    made.file.write_bytes(looked(made.place, made.base, made.head))
    words = (str(made.file), "--repo", str(made.place), "--key", made.key_file())
    assert run(*words) == code, said(capsys)
