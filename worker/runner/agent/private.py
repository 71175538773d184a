"""Files whose contents never go to the model, however they came into the repository."""

from __future__ import annotations

import re

_NAMES = frozenset(
    {
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".git-credentials",
        ".htpasswd",
        ".dockercfg",
        "credentials",
        "credentials.json",
        "service-account.json",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
    }
)
_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc", ".gpg")
_ENV = re.compile(r"\.env(rc)?(\..+)?|.+\.env")
_SAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")


def private(path: str) -> bool:
    """Whether `path` is kept from the model. Letter case does not matter; samples are free."""
    parts = path.casefold().split("/")
    name = parts[-1]
    if name.endswith(_SAMPLES):
        return False
    if name in _NAMES or name.endswith(_ENDINGS) or _ENV.fullmatch(name):
        return True
    return ".aws" in parts[:-1] or ".ssh" in parts[:-1] or ".gnupg" in parts[:-1]


REFUSAL = "its kind holds secrets, so it is kept from the model; work without its contents"
