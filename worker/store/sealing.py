"""How a token lies in Redis: sealed under the desk's secret, or to the one-time key of who asked.

Both seals bind the name of what they hold, so that a sealed value cannot be moved to another name.
The secret is 32 random bytes, written as URL-safe base64 (`new_secret`), kept in a file of mode
0600 that only the desk reads.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.domain.errors import IntegrityError

_KEY = 32
_NONCE = 12
_SHELF = b"patchwarrant shelf 1"
_HANDOVER = b"patchwarrant hand-over 1"


def new_secret() -> str:
    """A fresh sealing secret as one line of text."""
    return base64.urlsafe_b64encode(secrets.token_bytes(_KEY)).decode()


@dataclass(frozen=True)
class Seal:
    """Seals values that come back to this role. Raises `ValueError` for a secret that is none."""

    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        if len(_decoded(self.secret)) != _KEY:
            raise ValueError(
                "The sealing secret must be 32 bytes in base64; `patchwarrant key seal FILE` "
                "writes a good one"
            )

    def close(self, name: str, value: bytes) -> bytes:
        """`value` sealed under `name`."""
        return _lock(self._key(), name, value)

    def open(self, name: str, sealed: bytes) -> bytes:
        """What was sealed under `name`. Raises `IntegrityError`."""
        return _unlock(self._key(), name, sealed)

    def _key(self) -> bytes:
        return _derived(_decoded(self.secret), _SHELF)


@dataclass(frozen=True)
class OneTimeKey:
    """The asking side of a hand-over; `public` travels, the private half never leaves."""

    private: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate, repr=False)

    @property
    def public(self) -> str:
        return base64.urlsafe_b64encode(self.private.public_key().public_bytes_raw()).decode()

    def open(self, name: str, sealed: str) -> bytes:
        """What `hand_over` sealed to this key under `name`. Raises `IntegrityError`."""
        raw = _decoded(sealed)
        if len(raw) <= _KEY:
            raise IntegrityError("A sealed answer is too short to be one; ask again")
        theirs, box = raw[:_KEY], raw[_KEY:]
        mine = self.private.public_key().public_bytes_raw()
        try:
            shared = self.private.exchange(X25519PublicKey.from_public_bytes(theirs))
        except ValueError:
            raise IntegrityError("A sealed answer names a weak key; ask again") from None
        return _unlock(_derived(shared, _HANDOVER + theirs + mine), name, box)


def hand_over(public: str, name: str, value: bytes) -> str:
    """`value` sealed under `name` to a `OneTimeKey`'s public half, as URL-safe base64.

    Raises `IntegrityError` where `public` is no usable key.
    """
    theirs = _decoded(public)
    once = X25519PrivateKey.generate()
    mine = once.public_key().public_bytes_raw()
    try:
        shared = once.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise IntegrityError("The public key of a request is none; nothing was sealed") from None
    box = _lock(_derived(shared, _HANDOVER + mine + theirs), name, value)
    return base64.urlsafe_b64encode(mine + box).decode()


def _derived(material: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=_KEY, salt=None, info=purpose).derive(material)


def _lock(key: bytes, name: str, value: bytes) -> bytes:
    nonce = secrets.token_bytes(_NONCE)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, value, name.encode())


def _unlock(key: bytes, name: str, sealed: bytes) -> bytes:
    try:
        return ChaCha20Poly1305(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], name.encode())
    except (InvalidTag, ValueError):
        raise IntegrityError(
            f"What is sealed as {name!r} does not open with this secret; "
            "it was changed, or the secret was"
        ) from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text.strip().encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return b""
