"""Sealed values open only under their own name, secret and key."""

from __future__ import annotations

import base64

import pytest

from app.domain.errors import IntegrityError
from worker.store.sealing import OneTimeKey, Seal, hand_over, new_secret

TOKEN = b"ghs_12345_" + b"x" * 500


def test_what_was_sealed_opens_and_hides() -> None:
    seal = Seal(new_secret())
    sealed = seal.close("run:git:1", TOKEN)
    assert seal.open("run:git:1", sealed) == TOKEN
    assert TOKEN not in sealed and b"ghs_" not in sealed
    assert sealed != seal.close("run:git:1", TOKEN)


def test_another_name_secret_or_byte_does_not_open() -> None:
    seal = Seal(new_secret())
    sealed = seal.close("a", TOKEN)
    for opener, name, value in (
        (seal, "b", sealed),
        (Seal(new_secret()), "a", sealed),
        (seal, "a", sealed[:-1] + bytes([sealed[-1] ^ 1])),
        (seal, "a", b""),
        (seal, "a", sealed[:5]),
    ):
        with pytest.raises(IntegrityError, match="does not open"):
            opener.open(name, value)


@pytest.mark.parametrize("secret", ["", "short", base64.b64encode(b"x" * 31).decode(), "ä" * 44])
def test_a_weak_secret_is_refused_with_what_to_do(secret: str) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Seal(secret)


def test_no_secret_is_shown() -> None:
    secret = new_secret()
    assert secret not in repr(Seal(secret))
    assert "private" not in repr(OneTimeKey())


def test_a_hand_over_opens_for_who_asked_alone() -> None:
    asking, other = OneTimeKey(), OneTimeKey()
    sealed = hand_over(asking.public, "run:fetch:1", TOKEN)
    assert asking.open("run:fetch:1", sealed) == TOKEN
    assert "ghs_" not in sealed
    for key, name, text in (
        (other, "run:fetch:1", sealed),
        (asking, "run:fetch:2", sealed),
        (asking, "run:fetch:1", sealed[:40]),
        (asking, "run:fetch:1", "not base64 at all!"),
        (asking, "run:fetch:1", base64.urlsafe_b64encode(b"\0" * 80).decode()),
    ):
        with pytest.raises(IntegrityError):
            key.open(name, text)


@pytest.mark.parametrize("public", ["", "zz", "é", base64.urlsafe_b64encode(b"\0" * 32).decode()])
def test_nothing_is_sealed_to_a_key_that_is_none(public: str) -> None:
    with pytest.raises(IntegrityError):
        hand_over(public, "name", TOKEN)
