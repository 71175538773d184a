"""What the doctor looks with: an operator's settings, or those of the desk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worker.settings.desk import INTAKES, KEY_WHERE, DeskSettings, app_id
from worker.settings.door import Door, Secret, listed
from worker.settings.usual import API_URL, STATE_FOLDER


@dataclass(frozen=True)
class DoctorSettings:
    """What the doctor looks with; `owners` None where they are not set here."""

    app_id: str
    app_key: Secret
    api_url: str
    owners: tuple[str, ...] | None
    intake: str
    signing_key: Path


def doctor_settings(door: Door, *, needed: bool) -> DoctorSettings:
    """`needed`: there is nothing else to look with than the App's key."""
    state = Path(door.text("PATCHWARRANT_STATE", STATE_FOLDER))
    key = "PATCHWARRANT_APP_KEY"
    given = needed or bool(door.text("PATCHWARRANT_APP_ID", ""))
    owners = door.environment.get("PATCHWARRANT_OWNERS")
    made = DoctorSettings(
        app_id=app_id(door) if given else "",
        app_key=door.secret(key, KEY_WHERE) if given else Secret(""),
        api_url=door.url("GITHUB_API_URL", API_URL),
        owners=None if owners is None else listed(owners),
        intake=door.one_of("PATCHWARRANT_INTAKE", "webhook", INTAKES),
        signing_key=Path(
            door.text("PATCHWARRANT_SIGNING_KEY_FILE", str(state / "signing-key.pem"))
        ),
    )
    door.close()
    return made


def doctor_settings_of(held: DeskSettings) -> DoctorSettings:
    """The desk's own look, with what it holds."""
    return DoctorSettings(
        app_id=held.app_id,
        app_key=held.app_key,
        api_url=held.api_url,
        owners=held.owners,
        intake=held.intake,
        signing_key=held.signing_key,
    )
