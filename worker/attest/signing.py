"""The desk's signing key, an Ed25519 key in a PEM file, and the DSSE envelopes that it makes."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

PAYLOAD_TYPE = "application/vnd.in-toto+json"
KEY_CAP = 16_384  # bytes of a key file; a larger one is no key


class KeyUnusable(ValueError):
    """The key file cannot be used; the text says why and what to do, and shows nothing of it."""


def key_id(key: Ed25519PublicKey) -> str:
    """`sha256:` and the SHA-256 in hex of the key's SubjectPublicKeyInfo."""
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(spki).hexdigest()}"


def key_of(key: Ed25519PublicKey) -> SSlibKey:
    """The library's form of a public key under our own key id, which it compares."""
    return SSlibKey.from_crypto(key, keyid=key_id(key))


class Signer:
    """Signs statements. Its repr names the public key only."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._public = key.public_key()
        self._signer = CryptoSigner(key, key_of(self._public))

    def __repr__(self) -> str:
        return f"Signer({self.key_id})"

    @classmethod
    def load(cls, path: Path) -> Self:
        """The key in `path`; a file that is not there is created with a new key, readable by its
        owner alone. Raises `KeyUnusable`."""
        try:
            return cls(_read(path))
        except FileNotFoundError:
            return cls(_created(path))

    @property
    def key_id(self) -> str:
        return key_id(self._public)

    @property
    def public_pem(self) -> str:
        """What a stranger needs to verify, as PEM."""
        return self._public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def sign(self, statement: bytes) -> dict[str, Any]:
        """The DSSE envelope of one statement, ready for JSON."""
        envelope = Envelope(statement, PAYLOAD_TYPE, {})
        envelope.sign(self._signer)
        made: dict[str, Any] = envelope.to_dict()
        return made


def _read(path: Path) -> Ed25519PrivateKey:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb", closefd=True) as file:  # noqa: PTH123 - it is open already
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(KEY_CAP + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise KeyUnusable(
            f"The signing key {path} cannot be read: {error.strerror}. Name the file that "
            "`patchwarrant key signing FILE` made."
        ) from None
    if b"PUBLIC KEY-----" in data or data.lstrip().startswith(b"ed25519:"):
        raise KeyUnusable(
            f"{path} holds a public key, which cannot sign. Name the private one's file, which "
            "`patchwarrant key signing FILE` made; the public one is for `patchwarrant verify`."
        )
    if stat.S_IMODE(mode) & 0o077:
        raise KeyUnusable(
            f"The signing key {path} can be read by others (mode {stat.S_IMODE(mode):04o}): run "
            f"`chmod 600 {path}`, and replace the key if others may have read it."
        )
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError):  # cryptography's words could quote what it read
        raise KeyUnusable(
            f"{path} holds no PEM private key without a passphrase: name another file, or move it "
            "away, and a new key is made at the next start or by `patchwarrant key signing FILE`."
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusable(
            f"{path} holds a key of another kind than Ed25519: name another file, or move it "
            "away, and a new key is made at the next start or by `patchwarrant key signing FILE`."
        )
    return key


def _created(path: Path) -> Ed25519PrivateKey:
    """A new key in a new file; another process that was faster wins."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(part, path)  # fails where the file is there by now, unlike a rename
        except FileExistsError:
            return _read(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise KeyUnusable(
            f"The signing key {path} is not there and cannot be made: {error.strerror}. Name a "
            "place that this user may write."
        ) from None
    return key
