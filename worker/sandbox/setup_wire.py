"""The set-up request's strict shapes, and the way from them to a plan.

POST /setups: header (run, image, tenant, plan), u64 length, tar of the files that set-up sees; the
answer is the environment's head and the log as its body.
"""

from __future__ import annotations

import tarfile
from typing import IO, Annotated

import msgspec

from app.domain.environment_config import ServiceConfig
from app.domain.errors import Refused
from app.domain.setup import VIEW_CAP, SetupOutcome, SetupPlan, Step, Tool
from worker.sandbox.wire import EnvName, Head, ImageId, RunId, Tenant, Word, inside

Short = Annotated[str, msgspec.Meta(max_length=256, pattern=r"^[^\x00-\x1f]*\Z")]
Package = Annotated[str, msgspec.Meta(max_length=170, pattern=r"^[a-z0-9][A-Za-z0-9+.=:~-]+\Z")]
Host = Annotated[str, msgspec.Meta(max_length=255, pattern=r"^(\*\.)?[a-z0-9][a-z0-9.-]*\Z")]
Variables = Annotated[dict[EnvName, Word], msgspec.Meta(max_length=100)]


class ToolAsk(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    name: Short
    probe: Short
    packages: Annotated[list[Package], msgspec.Meta(max_length=20)]
    install: Annotated[str, msgspec.Meta(max_length=2000)]


class StepAsk(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    title: Short
    run: Word
    folder: Annotated[str, msgspec.Meta(max_length=4096)]


class ServiceAsk(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,30}\Z")]
    image: Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    env: Variables
    ready: Annotated[list[Word], msgspec.Meta(max_length=100)]
    timeout: Annotated[int, msgspec.Meta(ge=1, le=300)]


class PlanAsk(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    tools: Annotated[list[ToolAsk], msgspec.Meta(max_length=20)]
    packages: Annotated[list[Package], msgspec.Meta(max_length=100)]
    steps: Annotated[list[StepAsk], msgspec.Meta(max_length=100)]
    links: Annotated[list[str], msgspec.Meta(max_length=200)]
    env: Variables
    ecosystems: Annotated[list[Short], msgspec.Meta(max_length=20)]
    hosts: Annotated[list[Host], msgspec.Meta(max_length=50)]
    services: Annotated[list[ServiceAsk], msgspec.Meta(max_length=5)]
    timeout: Annotated[int, msgspec.Meta(ge=1)]


class SetupHeader(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    run: RunId
    image: ImageId
    tenant: Tenant
    plan: PlanAsk


def plan_of(ask: PlanAsk, tar: IO[bytes]) -> SetupPlan:
    """The plan with its files. Raises `Refused` for a path that leaves or bytes over the cap."""
    links = tuple(inside(one) for one in ask.links)
    if "" in links:
        raise Refused("a link needs a place inside the workspace", 422)
    return SetupPlan(
        tools=tuple(Tool(t.name, t.probe, tuple(t.packages), t.install) for t in ask.tools),
        packages=tuple(ask.packages),
        steps=tuple(Step(s.title, s.run, inside(s.folder)) for s in ask.steps),
        files=_files(tar),
        links=links,
        env=ask.env,
        ecosystems=tuple(ask.ecosystems),
        hosts=tuple(ask.hosts),
        services=tuple(
            ServiceConfig(s.name, s.image, s.port, s.env, tuple(s.ready), s.timeout)
            for s in ask.services
        ),
        timeout=ask.timeout,
    )


def _files(tar: IO[bytes]) -> tuple[tuple[str, bytes], ...]:
    """The regular files of a tar, sorted; anything else in it is an error."""
    found: dict[str, bytes] = {}
    room = VIEW_CAP
    tar.seek(0)
    try:
        with tarfile.open(fileobj=tar, mode="r:") as opened:
            for member in opened:
                path = inside(member.name)
                data = opened.extractfile(member) if member.isreg() else None
                if data is None or not path:
                    raise Refused(f"{member.name!r} is no plain file of a set-up", 422)
                room -= member.size
                if room < 0:
                    raise Refused(f"a set-up sees at most {VIEW_CAP} bytes", 413)
                found[path] = data.read()
    except tarfile.TarError as error:
        raise Refused(f"the set-up's files cannot be read: {error}", 400) from None
    return tuple(sorted(found.items()))


def setup_head(made: SetupOutcome, profile: str) -> Head:
    told = {
        "image": made.image,
        "profile": profile,
        "key": made.key,
        "ms": made.ms,
        "reused": made.reused,
        "error": made.error,
        "refused": list(made.refused),
    }
    return {"setup": told, "sizes": [len(made.log)]}, [made.log]
