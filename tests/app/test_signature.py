"""HMAC over raw bytes: GitHub's own vector, and all that is not quite a signature."""

from __future__ import annotations

import pytest

from app import signature

# The example of GitHub's documentation.
VECTOR = b"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


def test_githubs_vector_is_genuine() -> None:
    assert signature.well_formed(VECTOR)
    assert signature.genuine(b"It's a Secret to Everybody", b"Hello, World!", VECTOR)


def test_any_other_byte_is_not() -> None:
    assert not signature.genuine(b"It's a Secret to Everybody", b"Hello, World?", VECTOR)
    assert not signature.genuine(b"It's a Secret to everybody", b"Hello, World!", VECTOR)
    other = VECTOR[:-1] + b"8"
    assert not signature.genuine(b"It's a Secret to Everybody", b"Hello, World!", other)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"sha256=",
        VECTOR[:-1],
        VECTOR + b"0",
        VECTOR + b"\n",
        VECTOR.upper(),
        b"sha256=" + VECTOR[7:].upper(),
        b"sha1=" + VECTOR[7:],
        VECTOR[7:],
        b" " + VECTOR,
        "sha256=é".encode(),
        b"sha256=" + b"g" * 64,
    ],
)
def test_what_has_not_its_shape_is_refused_before_any_reading(value: bytes) -> None:
    assert not signature.well_formed(value)
