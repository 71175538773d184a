"""Documentation is tested against code: reasons, waits, settings, permissions, scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from app.domain.commands import Word
from app.domain.contract import Request
from app.domain.errors import Reason, Waiting
from app.domain.intake import criteria_of, listed_files
from app.domain.permissions import EVENTS, registration
from tests.shared_data import REPOSITORY
from worker.settings.desk import CAPS

NAME = re.compile(r"\"((?:PATCHWARRANT|GITHUB|ANTHROPIC|DOCKER)_[A-Z_]+)\"")
TEXTS = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/endings.md",
    "docs/commands.md",
    "docs/approval.md",
]


def text(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def _python(folder: str) -> list[str]:
    return [str(p.relative_to(REPOSITORY)) for p in sorted((REPOSITORY / folder).glob("*.py"))]


def settings_in_code() -> set[str]:
    found: set[str] = set()
    for path in ("app/settings.py", *_python("worker/settings")):
        for name in NAME.findall(text(path)):
            if not name.endswith("_") and name not in {"PATCHWARRANT_WEBHOOK_SECRET"}:
                found.add(name)
    secrets = {
        "PATCHWARRANT_APP_KEY",
        "PATCHWARRANT_SEAL",
        "ANTHROPIC_API_KEY",
        "PATCHWARRANT_GITHUB_TOKEN",
    }
    return {f"{name}_FILE" if name in secrets else name for name in found}


def test_every_reason_and_every_wait_is_explained() -> None:
    page = text("docs/endings.md")
    assert [r for r in Reason if f"`{r}`" not in page] == []
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("app", "worker")
        for path in (REPOSITORY / folder).rglob("*.py")
        if path.name != "errors.py"
    )
    assert [r for r in Reason if f"Reason.{r.name}" not in code] == []  # each one happens
    assert [w for w in Waiting if f"Waiting.{w.name}" not in code] == []
    assert [w for w in Waiting if f"`{w}`" not in page] == []


def test_the_page_of_endings_names_no_reason_that_does_not_exist() -> None:
    slugs = set(re.findall(r"^\| (`[^|]+`)", text("docs/endings.md"), re.MULTILINE))
    named = {part.strip("` ") for row in slugs for part in row.split(",")}
    assert named <= {*map(str, Reason), *map(str, Waiting)}


def test_every_setting_is_documented_and_no_other() -> None:
    page = set(
        re.findall(
            r"`((?:PATCHWARRANT|GITHUB|ANTHROPIC|DOCKER)_[A-Z_]+)`", text("docs/settings.md")
        )
    )
    assert page == settings_in_code() | {"PATCHWARRANT_WEBHOOK_SECRET_FILE"}


def test_every_permission_and_event_is_documented() -> None:
    page = text("docs/settings.md")
    for name, level in registration().items():
        assert f"`{name}: {level}`" in page
    for event in EVENTS:
        assert f"`{event}`" in page


def test_compose_gives_each_role_only_known_settings_and_its_own_secrets() -> None:
    services = yaml.safe_load(text("manifests/compose.yaml"))["services"]
    known = settings_in_code() | {"PATCHWARRANT_WEBHOOK_SECRET_FILE"}
    for role in ("receiver", "desk", "runner", "sandbox"):
        assert set(services[role]["environment"]) <= known
    secrets = {role: set(services[role].get("secrets", ())) for role in services}
    assert secrets["receiver"] == {"webhook-secret"}
    assert secrets["desk"] == {"app-key", "seal", "signing-key"}
    assert secrets["runner"] == {"model-key"}
    assert secrets["sandbox"] == secrets["redis"] == set()
    sockets = [
        r for r in services if any("docker.sock" in v for v in services[r].get("volumes", ()))
    ]
    assert sockets == ["sandbox"]


def test_every_command_and_cap_is_on_its_page() -> None:
    page = text("docs/commands.md")
    assert [w for w in Word if f"`/agent {w}" not in page and f"`{w}`" not in page] == []
    for scope, runs in CAPS.items():
        assert f"| `{scope}` | {runs} |" in page
    shown = ",".join(f"{scope}={runs}" for scope, runs in CAPS.items())
    assert f"`{shown}`" in text("docs/settings.md")


def test_the_issue_form_asks_for_what_the_intake_finds() -> None:
    fields = yaml.safe_load(text("manifests/issue-form.yml"))["body"]
    filled = {"criteria": "- [ ] it gives 4", "files": "- src/sums.py"}
    body = "\n\n".join(
        f"### {one['attributes']['label']}\n\n{filled.get(one['id'], '_No response_')}"
        for one in fields
        if one["type"] == "textarea"
    )
    request = Request("Sums", body, "", 0, "bob", "alice", "")
    assert [one.text for one in criteria_of(request)] == ["it gives 4"]
    assert listed_files(request) == ("src/sums.py",)


def test_every_script_has_its_line() -> None:
    page = text("scripts/README.md")
    scripts = [p.name for p in (REPOSITORY / "scripts").iterdir() if p.suffix == ""]
    assert [name for name in scripts if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    folder = (REPOSITORY / name).parent
    for target in re.findall(r"\]\(([^)#]+)\)", text(name)):
        if "://" not in target:
            assert (folder / target).exists(), target


def test_the_top_level_is_that_of_the_design() -> None:
    allowed = {"app", "worker", "tests", "manifests", "scripts", "docs", "pyproject.toml"}
    allowed |= {"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
    found = {p.name for p in Path(REPOSITORY).iterdir() if not p.name.startswith(".")}
    assert found - allowed - {"LICENSE"} == {n for n in found if n.endswith(".egg-info")}


def test_every_fault_has_its_row_and_every_test_named_there_exists() -> None:
    page = text("docs/faults.md")
    rows = re.findall(r"^\| (F\d+) \|", page, re.MULTILINE)
    assert rows == [f"F{number}" for number in range(1, 45)]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert named
    for path, name in named:
        assert f"def {name}(" in text(path), f"{path}::{name}"
    without = [row for row in page.splitlines() if re.match(r"\| F\d+ ", row) and "`" not in row]
    assert without == []
