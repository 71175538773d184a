"""Who asks and what they may: App JWTs, installation tokens, permissions."""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from tests.standins.github.refusals import Refusal, bad_credentials, failed, invalid
from tests.standins.github.state import App, Installation, Token
from tests.standins.github.world import World

Json = dict[str, Any]
LEVELS = {"read": 1, "write": 2, "admin": 3}
TOKEN_LIFE = timedelta(hours=1)
SUSPENDED = "This installation has been suspended"


def credential(header: str) -> str:
    """The secret of an Authorization header: Bearer, token, or Basic's password; "" if none."""
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() in ("bearer", "token"):
        return rest.strip()
    if scheme.lower() == "basic":
        try:
            plain = base64.b64decode(rest.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return ""
        return plain.partition(":")[2]
    return ""


def app_of(world: World, header: str) -> App:
    """The App that signed this JWT. Refuses with 401 as GitHub words it."""
    text = credential(header)
    if text.count(".") != 2:
        raise Refusal(401, "A JSON web token could not be decoded")
    try:
        told = jwt.decode(text, options={"verify_signature": False})
        app = _issuer(world, told.get("iss"))
        claims = jwt.decode(
            text,
            app.public_key,
            algorithms=["RS256"],
            options={"verify_exp": False, "verify_iat": False, "require": ["iat", "exp", "iss"]},
        )
    except jwt.PyJWTError as error:
        raise Refusal(401, "A JSON web token could not be decoded") from error
    _check_times(claims)
    return app


def _issuer(world: World, iss: object) -> App:
    for app in world.apps.values():
        if isinstance(iss, str) and iss in (str(app.id), client_id(app)):
            return app
    raise Refusal(401, "Integration not found")


def client_id(app: App) -> str:
    return f"Iv23li{app.id:014d}"


def _check_times(claims: Json) -> None:
    """GitHub: iat not in the future, exp in the future and at most ten minutes away."""
    now = datetime.now(UTC).timestamp()
    iat, exp = claims["iat"], claims["exp"]
    if not isinstance(iat, (int, float)) or iat > now + 1:
        raise Refusal(
            401,
            "'Issued at' claim ('iat') must be an Integer representing the time that the "
            "assertion was issued",
        )
    if not isinstance(exp, (int, float)) or exp <= now:
        raise Refusal(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future "
            "time at which the assertion expires",
        )
    if exp > now + 601:
        raise Refusal(401, "'Expiration time' claim ('exp') is too far in the future")


def mint(world: World, installation: Installation, body: Json) -> tuple[str, Token]:
    """A new token and its record. 422 for more than the installation holds."""
    if installation.suspended_at is not None:
        raise Refusal(403, SUSPENDED)
    permissions = _granted(installation, body.get("permissions"))
    repositories = _chosen(world, installation, body)
    if installation.extra is not None:
        permissions |= installation.extra.permissions
        repositories |= set(installation.extra.repositories)
        installation.extra = None
    text = f"ghs_{installation.app.id}_{_blob(60)}.{_blob(300)}.{_blob(128)}"
    token = Token(
        id=f"token-{len(world.tokens) + 1}",
        installation=installation,
        repositories=frozenset(repositories),
        permissions=permissions,
        expires_at=world.now() + TOKEN_LIFE,
    )
    world.tokens[hashlib.sha256(text.encode()).hexdigest()] = token
    return text, token


def _blob(characters: int) -> str:
    return secrets.token_urlsafe(characters)[:characters]


def _granted(installation: Installation, asked: object) -> dict[str, str]:
    """Nothing asked means everything; asking for more than there is means 422."""
    if asked is None or asked == {}:
        return {"metadata": "read"} | installation.permissions
    if not isinstance(asked, dict):
        raise invalid("Invalid request.\n\nFor 'properties/permissions', not an object.")
    for name, level in asked.items():
        held = LEVELS.get(installation.permissions.get(name, ""), 0)
        if name == "metadata":
            held = max(held, LEVELS["read"])
        if not isinstance(level, str) or level not in LEVELS or LEVELS[level] > held:
            raise invalid("The permissions requested are not granted to this installation.")
    return {"metadata": "read"} | {str(name): str(level) for name, level in asked.items()}


def _chosen(world: World, installation: Installation, body: Json) -> set[int]:
    ids, names = body.get("repository_ids"), body.get("repositories")
    if ids is None and names is None:
        return set(installation.repositories)
    chosen: set[int] = set()
    for value in (*_listed(ids), *_listed(names)):
        found = [
            number
            for number in installation.repositories
            if value == number or value == world.repos[number].name
        ]
        if not found:
            raise invalid(
                "There is at least one repository that does not exist or is not accessible to "
                "the parent installation."
            )
        chosen.update(found)
    return chosen


def _listed(value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > 500:
        raise failed("Installation", field="repositories", code="invalid")
    return value


def person_token(world: World, login: str) -> str:
    """A person's own token, with what the person's roles allow; rights are read alone."""
    person = world.account(login)
    seen = [repo for repo in world.repos.values() if repo.role_of(person) != "none"]
    admin = any(repo.role_of(person) == "admin" for repo in seen)
    pushes = any(repo.role_of(person) in ("write", "maintain", "admin") for repo in seen)
    rights = {"metadata": "read", "contents": "write" if pushes else "read"}
    app = App(
        0, login, login, person, person, "", None, "", {}, [], world.now(),
    )  # fmt: skip
    ids = [repo.id for repo in seen]
    installation = Installation(0, app, person, rights, ids, "all", world.now())
    text = f"github_pat_{_blob(40)}"
    world.tokens[hashlib.sha256(text.encode()).hexdigest()] = Token(
        id=f"token-{len(world.tokens) + 1}",
        installation=installation,
        repositories=frozenset(ids),
        permissions=rights | ({"administration": "read"} if admin else {}),
        expires_at=world.now() + TOKEN_LIFE,
        person=person,
    )
    return text


def token_of(world: World, header: str) -> Token:
    """The live token of this request; 401 when unknown, revoked, expired or orphaned."""
    text = credential(header)
    if not text:
        raise Refusal(401, "Requires authentication")
    token = world.token(text)
    if token is None or token.revoked or token.expires_at <= world.now():
        raise bad_credentials()
    if token.person is not None:
        return token
    if token.installation.id not in world.installations:
        raise bad_credentials()
    if token.installation.suspended_at is not None:
        raise Refusal(403, SUSPENDED)
    return token


def allows(token: Token, needs: Iterable[str]) -> bool:
    """Whether one of the alternatives ("issues:write", …) is held at that level or above."""
    for need in needs:
        name, _, level = need.partition(":")
        if LEVELS.get(token.permissions.get(name, ""), 0) >= LEVELS[level]:
            return True
    return False


def reaches(token: Token, repo_id: int) -> bool:
    """Whether the token was made for this repository (a removed one leaves its tokens too)."""
    return repo_id in token.repositories
