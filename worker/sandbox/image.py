"""Which image a check runs in: the default one made here, or one that the operator allowed.

Images are always handed on by id (`sha256:…`); a name is never used at run time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.errors import Missing, Refused, Unavailable
from worker.sandbox import bootstrap
from worker.sandbox.engine import Engine

REPOSITORY = "patchwarrant-sandbox"
RECIPE = Path(__file__).with_name("recipe")  # in the package, so that a wheel has it, too
FILES = ("Dockerfile", "packages.txt")

Say = Callable[[str], None]


def recipe_hash(recipe: Path) -> str:
    """Names the default image: SHA-256 over all that decides its content, 16 hex digits."""
    total = hashlib.sha256()
    for name in FILES:
        data = (recipe / name).read_bytes()
        total.update(f"{name} {len(data)}\n".encode() + data)
    total.update("\n".join(bootstrap.LEFT_OUT).encode() + bootstrap.names().encode())
    return total.hexdigest()[:16]


@contextlib.contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    """One maker of an image at a time on this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _context(recipe: Path) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in FILES:
            tar.add(recipe / name, arcname=name)
    made.seek(0)
    return made


def ensure_default(
    engine: Engine, say: Say, recipe: Path = RECIPE, folder: Path | None = None
) -> str:
    """The id of the default image, made now if it is not there (about a minute).

    First from the Dockerfile; where its base cannot be pulled, through debootstrap. `folder` is
    for work and lock files and needs to allow devices. Raises `Refused` with both reasons.
    """
    tag = recipe_hash(recipe)
    name = f"{REPOSITORY}:{tag}"
    with contextlib.suppress(Missing):
        return engine.image_id(name)
    place = folder or Path(tempfile.gettempdir())
    with _alone(place, f"{REPOSITORY}-{tag}"):
        with contextlib.suppress(Missing):  # another process made it while we waited
            return engine.image_id(name)
        say("building the sandbox's image from its Dockerfile")
        try:
            engine.build(_context(recipe), name, say)
        except (Refused, Unavailable) as error:
            first = str(error)
        else:
            return engine.image_id(name)
        say(f"not possible here ({first[:200]}); making it with debootstrap instead")
        if why := bootstrap.possible():
            raise Refused(
                f"the sandbox's image cannot be made: {first}; and not with debootstrap: {why}. "
                f"Make it where images can be pulled (docker build -t {name} {recipe.name}/) and "
                "load it here with docker load, or start once as root with debootstrap installed."
            )
        packages = (recipe / "packages.txt").read_text(encoding="utf-8").split()
        with bootstrap.root_tar(packages, place, say) as pieces:
            engine.load_root(pieces, REPOSITORY, tag, bootstrap.CHANGES)
        return engine.image_id(name)


@dataclass
class Images:
    """Names to ids, within the operator's allow-list. `prove` runs the self-test in an image."""

    engine: Engine
    allowed: tuple[str, ...]
    say: Say
    prove: Callable[[str], None]
    recipe: Path = RECIPE
    folder: Path | None = None
    known: set[str] = field(default_factory=set)
    used: Callable[[str], None] = lambda _: None
    scope: Callable[[str], str | None] = lambda _: (
        None
    )  # whose a set-up's image is, "*" everybody's
    scopes: dict[str, str | None] = field(default_factory=dict)

    def ensure(self, name: str) -> str:
        """The id of an image by configured name, "" for the default one. Raises `Refused`."""
        if not name:
            image = ensure_default(self.engine, self.say, self.recipe, self.folder)
        elif name in self.allowed:
            image = self._named(name)
        else:
            raise Refused(
                f"the image {name!r} is not on the operator's list of sandbox images; "
                "leave `image` out for the default one, or have it allowed in PATCHWARRANT_IMAGES",
                403,
            )
        self._prove(image)
        self.used(image)
        return image

    def _prove(self, image: str) -> None:
        if image in self.known:
            return
        try:
            self.prove(image)
        except Refused as error:
            raise Refused(f"the image {image} cannot be used: {error}", 422) from error
        self.known.add(image)

    def service_image(self, name: str) -> str:
        """The id of a service's image within the operator's list. Raises `Refused`."""
        if name not in self.allowed:
            raise Refused(
                f"the image {name!r} of a service is not on the operator's list of images; "
                "PATCHWARRANT_IMAGES of the sandbox would allow it",
                403,
            )
        return self._named(name)

    def _named(self, name: str) -> str:
        try:
            return self.engine.image_id(name)
        except Missing:
            if "@sha256:" not in name:
                raise Refused(
                    f"the image {name!r} is not on this machine and is only pulled by digest; "
                    "load it, or allow it as name@sha256:<digest>",
                    422,
                ) from None
        self.engine.pull(name)
        return self.engine.image_id(name)

    def check(self, image: str, tenant: str = "") -> None:
        """Raises `Refused` for an id that no allowed name stands for, and alike for one that a
        set-up made for somebody else than `tenant`."""
        if image not in self.known or image in self.scopes:
            names = self.engine.image_names(image)
            ours = f"{REPOSITORY}:{recipe_hash(self.recipe)}" in names
            if any(name.startswith("patchwarrant-setup:") for name in names):
                if image not in self.scopes:
                    self.scopes[image] = self.scope(image)
                ours = ours or self.scopes[image] in ("*", tenant)
            if not ours and not set(names) & set(self.allowed) and image not in self.allowed:
                raise Refused(f"the image {image} is not one that the operator allows", 403)
            self._prove(image)
        self.used(image)
