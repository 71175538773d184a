"""The world around the runs: Redis, both stand-ins, the sandbox's stub, one repository a case."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from app.domain.event import Event, EventKind, Person, Repository
from app.domain.triggers import digest_of, event_of
from tests.crash.office import Place
from tests.crash.stub_sandbox import StubSandbox
from tests.e2e.conftest import FILES, FIX, ISSUE, WRONG, diff, tree
from tests.redis_server import Server, redis_server
from tests.stack import PERMISSIONS
from tests.standins.anthropic import AnthropicStandin
from tests.standins.github import AppKeys, GitHubStandin
from worker.attest.signing import Signer
from worker.store.connect import connect
from worker.store.ledger import Ledger
from worker.store.sealing import new_secret

OWNER, PERSON = "acme", "mona"
ADDED = {"sums.py": 'def add(a, b):\n    """The sum."""\n    return a + b\n'}


@dataclass
class Town:
    """Everything that stays up between the cases."""

    folder: Path
    redis: Server
    hub: GitHubStandin
    model: AnthropicStandin
    boxes: StubSandbox
    app: AppKeys
    place: Place
    installation: int
    source: Path
    patches: tuple[str, str]
    drafted: Path  # the fixture's files as a draft that passed has them
    revision: str  # and the patch that a review of it asks for
    cases: int = 0
    person: int = 0
    told: int = 0  # webhooks that GitHub has sent so far
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def ledger(self) -> Ledger:
        return Ledger(connect(self.redis.url))

    def quiet(self) -> None:
        """Nothing is left of the case before."""
        self.hub.clear_faults()
        self.hub.clear_log()
        self.model.faults()
        self.model.reset()
        self.boxes.reset()
        with self.redis.client() as client:
            client.flushall()
        (self.folder / "ledger.json").unlink(missing_ok=True)  # or the desk would refuse
        self.hear()

    def echo(self) -> None:
        """What GitHub tells of meanwhile, our own acts above all, as its events in the ledger."""
        for one in self.hear():
            body = json.loads(one["payload"])
            event = event_of(one["event"], body, partial(digest_of, body))
            if isinstance(event, Event):
                self.ledger.add_event(event)

    def hear(self) -> list[dict[str, Any]]:
        """The webhooks that were not asked for before."""
        new = self.hub.deliveries(self.told)
        self.told += len(new)
        return new

    def repository(self) -> tuple[str, Repository]:
        """A new repository with the fixture's files, installed; its full name and the value."""
        self.cases += 1
        name = f"{OWNER}/sums-{self.cases:05}"  # of one length: the model pays by it
        made = self.hub.create_repo(name, source=self.source)
        self.hub.set_role(name, PERSON, "write")
        self.hub.change_installation(self.installation, add=[name])
        return name, Repository(int(made["id"]), OWNER, name.partition("/")[2])

    def labelled(self, name: str, repository: Repository, body: str = ISSUE) -> Event:
        """The event that an issue labelled `agent:fix` is told by."""
        number = self.hub.open_issue(name, PERSON, "Wrong", body)
        self.hub.add_label(name, number, PERSON, "agent:fix")
        issue = self.hub.issue(name, number)
        label = next(one for one in issue["labels"] if one["name"] == "agent:fix")
        person = Person(self.person, PERSON)
        return Event(
            key=f"issue:{repository.id}:{number}:{label['id']}:{issue['updated_at']}",
            kind=EventKind.ISSUE_LABELED,
            installation=self.installation,
            repository=repository,
            issue=number,
            sender=person,
            label="agent:fix",
            title="Wrong",
            body=body,
            author=person,
            updated_at=issue["updated_at"],
        )


@contextmanager
def town(files: Mapping[str, str] = FILES) -> Iterator[Town]:
    """Bring the world up, and down again."""
    with ExitStack() as exits:
        inside = "/dev/shm" if Path("/dev/shm").is_dir() else "/tmp"  # fsync costs nothing there
        held = tempfile.TemporaryDirectory(prefix="pw-crash-", dir=inside)
        folder = Path(exits.enter_context(held))
        redis = exits.enter_context(redis_server(inside=inside))
        hub = exits.enter_context(GitHubStandin(root=folder / "github"))
        key = f"sk-ant-standin-{secrets.token_hex(8)}"
        model = exits.enter_context(AnthropicStandin(key=key))
        boxes = exits.enter_context(StubSandbox())
        hub.create_organisation(OWNER)
        app = hub.create_app("patchwarrant", permissions=PERMISSIONS)
        installation = hub.install("patchwarrant", OWNER, [])
        person = hub.create_user(PERSON)
        source = tree(folder / "source", files)
        patches = (diff(source, WRONG), diff(source, FIX))
        model.patch(patches, source)
        signing = folder / "signing-key.pem"
        Signer.load(signing)
        place = Place(
            redis=redis.url,
            hub=hub.url,
            app_id=str(app.app_id),
            app_key=app.private_key,
            seal=new_secret(),
            signing_key=signing,
            model=model.url,
            model_key=key,
            sandbox=boxes.socket,
            stores=folder / "stores",
        )
        drafted = tree(folder / "drafted", {**files, **FIX})
        made = Town(
            folder, redis, hub, model, boxes, app, place, installation, source, patches,
            drafted, diff(drafted, ADDED),
        )  # fmt: skip
        made.person = person
        made.secrets = (key, place.seal, *app.private_key.splitlines()[1:-1])
        yield made
