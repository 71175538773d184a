"""Evidence is signed by the desk's key and verified by a stranger, on the verified bytes only."""

from __future__ import annotations

import base64
import copy
import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from app.domain.check import Standing
from app.domain.errors import IntegrityError
from app.domain.run import Attempt
from tests.app.domain.report_world import BASE, COMMIT, FIRST, TEST, TREE, check, passed, result
from worker.attest import statement
from worker.attest.canonical import IDS, canonical, digest
from worker.attest.signing import PAYLOAD_TYPE, KeyUnusable, Signer
from worker.attest.verify import NotVerified, public_key, subjects, verify

Envelope = dict[str, Any]


@pytest.fixture
def signer() -> Signer:
    return Signer(Ed25519PrivateKey.generate())


def sign(signer: Signer, **changes: Any) -> Envelope:
    """An envelope of a statement with some of its fields changed, signed as it is then."""
    whole = json.loads(statement.build(passed(), COMMIT))
    return signer.sign(json.dumps({**whole, **changes}).encode())


def test_a_stranger_verifies_what_the_desk_signed(signer: Signer) -> None:
    payload = statement.build(passed(), COMMIT)
    envelope = json.loads(json.dumps(signer.sign(payload)))
    before = copy.deepcopy(envelope)
    told = verify(envelope, public_key(signer.public_pem))
    assert told == json.loads(payload)
    assert subjects(told) == (TREE, COMMIT)
    assert envelope == before
    assert envelope["payloadType"] == PAYLOAD_TYPE
    assert envelope["signatures"][0]["keyid"] == signer.key_id


def test_the_signature_is_plain_dsse(signer: Signer) -> None:
    """Checked by hand over the pre-authentication encoding, without the library."""
    envelope = signer.sign(b"{}")
    kind = PAYLOAD_TYPE.encode()
    encoded = b"DSSEv1 %d %b %d %b" % (len(kind), kind, 2, b"{}")
    sig = base64.b64decode(envelope["signatures"][0]["sig"], validate=True)
    public_key(signer.public_pem).verify(sig, encoded)


def test_a_key_id_is_only_a_hint_and_other_signatures_do_not_harm(signer: Signer) -> None:
    envelope = sign(signer)
    other = sign(Signer(Ed25519PrivateKey.generate()))["signatures"][0]
    renamed = {**envelope["signatures"][0], "keyid": "anything"}
    several = {**envelope, "signatures": [other, {"keyid": "", "sig": "AAAA"}, renamed]}
    assert verify(several, public_key(signer.public_pem))["subject"]


def _flip(envelope: Envelope) -> None:
    payload = bytearray(base64.b64decode(envelope["payload"]))
    payload[payload.index(b"passed")] ^= 1
    envelope["payload"] = base64.b64encode(bytes(payload)).decode()


TAMPERED: dict[str, Callable[[Envelope], object]] = {
    "payload": _flip,
    "payload type": lambda e: e.update(payloadType="text/plain"),
    "no payload type": lambda e: e.pop("payloadType"),
    "no payload": lambda e: e.pop("payload"),
    "payload of another kind": lambda e: e.update(payload=7),
    "payload that is not base64": lambda e: e.update(payload="é"),
    "no signature": lambda e: e.update(signatures=[]),
    "signatures of another kind": lambda e: e.update(signatures="x"),
    "a signature of another kind": lambda e: e.update(signatures=["x"]),
    "too many": lambda e: e.update(signatures=e["signatures"] * 17),
    "not base64": lambda e: e["signatures"][0].update(sig="*"),
    "cut signature": lambda e: e["signatures"][0].update(sig=e["signatures"][0]["sig"][:40]),
    "empty signature": lambda e: e["signatures"][0].update(sig=""),
}


@pytest.mark.parametrize("how", TAMPERED, ids=str)
def test_a_tampered_envelope_proves_nothing(signer: Signer, how: str) -> None:
    envelope = sign(signer)
    TAMPERED[how](envelope)
    with pytest.raises(NotVerified):
        verify(envelope, public_key(signer.public_pem))


def test_another_key_proves_nothing(signer: Signer) -> None:
    stranger = Signer(Ed25519PrivateKey.generate())
    with pytest.raises(NotVerified, match="by this key"):
        verify(sign(signer), public_key(stranger.public_pem))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"_type": "https://in-toto.io/Statement/v0.1"}, "version 1"),
        ({"predicateType": "https://slsa.dev/provenance/v1"}, "not of type"),
        ({"subject": []}, "one tree and one commit"),
        ({"subject": [{"digest": {"gitTree": TREE}}]}, "one tree and one commit"),
        ({"subject": [{"digest": {"gitTree": "zz", "gitCommit": COMMIT}}]}, "no git object id"),
        ({"subject": [{"digest": {"gitTree": 7, "gitCommit": COMMIT}}]}, "no git object id"),
        ({"predicate": None}, "no predicate"),
    ],
)
def test_a_signed_statement_of_another_kind_is_refused(
    signer: Signer, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(NotVerified, match=words):
        verify(sign(signer, **changes), public_key(signer.public_pem))


@pytest.mark.parametrize("payload", [b"", b"[]", b"not json", b'{"a":1,"a":2}', b"\xff"])
def test_signed_bytes_that_are_no_statement_are_refused(signer: Signer, payload: bytes) -> None:
    with pytest.raises(NotVerified):
        verify(signer.sign(payload), public_key(signer.public_pem))


def test_only_an_ed25519_key_is_a_trust_root() -> None:
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    pem = curve.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for text in (pem, "", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"):
        with pytest.raises(NotVerified):
            public_key(text)


# -- the statement --------------------------------------------------------------------------------


def test_the_statement_binds_tree_commit_base_and_commands() -> None:
    told = json.loads(statement.build(passed(), COMMIT))
    assert told["subject"] == [
        {"name": "acme/calc#12", "digest": {"gitTree": TREE, "gitCommit": COMMIT}}
    ]
    predicate = told["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["base"]["gitCommit"] == BASE
    (one,) = predicate["checks"]
    assert one["command"]["digest"] == check().digest()
    assert one["baseline"]["standing"] == "failed"
    assert one["baseline"]["failed"]["ids"] == [TEST]
    assert one["after"]["gitTree"] == TREE
    assert one["after"]["counts"] == {"passed": 6, "failed": 0, "skipped": 0}
    assert one["after"]["comparison"]["fixed"]["ids"] == [TEST]
    assert predicate["spend"]["microDollars"] == 31_200
    assert predicate["request"]["hiddenCharacters"] == 0
    assert [attempt["gitTree"] for attempt in predicate["attempts"]] == [FIRST, TREE]
    assert one["command"]["argv"] == list(check().argv)  # so that anybody can repeat it


def test_the_same_run_gives_the_same_bytes_in_canonical_form() -> None:
    payload = statement.build(passed(), COMMIT)
    assert payload == statement.build(passed(), COMMIT)
    assert payload == canonical(json.loads(payload))
    assert payload.isascii()


def test_a_check_that_did_not_run_on_the_tree_is_null_and_no_pass() -> None:
    run = replace(passed(), attempts=passed().attempts[:1])
    (one,) = json.loads(statement.build(run, COMMIT))["predicate"]["checks"]
    assert one["after"] is None
    unknown = replace(passed(), snapshot=None)
    (one,) = json.loads(statement.build(unknown, COMMIT))["predicate"]["checks"]
    assert one["command"] is None
    bare = replace(passed(), snapshot=None, plan=None, baseline=(), attempts=())
    assert json.loads(statement.build(bare, COMMIT))["predicate"]["checks"] == []


def test_what_the_base_s_own_tests_said_is_signed_where_they_were_run() -> None:
    back = result("e5" * 20, Standing.FAILED)
    run = replace(passed(), restored=(back,))
    (one,) = json.loads(statement.build(run, COMMIT))["predicate"]["checks"]
    assert one["after"]["standing"] == "passed"
    assert (one["baseTests"]["standing"], one["baseTests"]["exitCode"]) == ("failed", 1)
    assert one["baseTests"]["failed"]["ids"] == [TEST]
    (one,) = json.loads(statement.build(passed(), COMMIT))["predicate"]["checks"]
    assert "baseTests" not in one


def test_long_lists_become_a_count_a_digest_and_some_ids() -> None:
    after = result(TREE, Standing.FAILED)
    failures = tuple(replace(after.failures[0], test=f"t{n:04}\ud800") for n in range(999))
    run = replace(
        passed(), attempts=(Attempt(TREE, (replace(after, failures=failures, counts=None),), "x"),)
    )
    (one,) = json.loads(statement.build(run, COMMIT))["predicate"]["checks"]
    shown = one["after"]["failed"]
    assert (shown["count"], len(shown["ids"])) == (999, IDS)
    assert shown["digest"] == digest(sorted(failure.test for failure in failures))


def test_nothing_is_stated_without_a_verdict_on_the_very_candidate() -> None:
    run = passed()
    assert run.verdict is not None
    for wrong in (
        replace(run, verdict=None),
        replace(run, contract=None),
        replace(run, candidate=None),
        replace(run, verdict=replace(run.verdict, tree=FIRST)),
    ):
        with pytest.raises(IntegrityError):
            statement.build(wrong, COMMIT)
    for commit in ("", "HEAD", COMMIT.upper(), COMMIT[:39]):
        with pytest.raises(IntegrityError, match="no git object id"):
            statement.build(run, commit)


# -- the key --------------------------------------------------------------------------------------


def test_a_key_is_made_once_and_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "signing-key.pem"
    first = Signer.load(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Signer.load(path).key_id == first.key_id
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert "PRIVATE" not in repr(first)
    assert first.key_id in repr(first)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    Signer.load(path)
    path.chmod(0o640)
    with pytest.raises(KeyUnusable, match="chmod 600"):
        Signer.load(path)


def test_what_is_no_ed25519_key_is_refused_without_showing_it(tmp_path: Path) -> None:
    curve = ec.generate_private_key(ec.SECP256R1())
    pem = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for number, content in enumerate((b"", b"secret words", pem, b"x" * 99_999)):
        path = tmp_path / f"{number}.pem"
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(KeyUnusable) as refused:
            Signer.load(path)
        assert "secret words" not in str(refused.value)
        assert "move it away" in str(refused.value)


def test_a_folder_that_takes_no_key_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KeyUnusable, match="cannot be"):
        Signer.load(tmp_path / "file" / "key.pem")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "key.pem")
    for name in ("folder", "link"):
        with pytest.raises(KeyUnusable, match="cannot be"):
            Signer.load(tmp_path / name)
