"""Which image a check runs in: the default one made here, or one that the operator allowed.

Images are always handed on by id (`sha256:…`); a name is never used at run time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.errors import Missing, Refused, Unavailable
from worker.sandbox import bootstrap
from worker.sandbox.engine import Engine

REPOSITORY = "patchwarrant-sandbox"
RECIPE = Path(__file__).with_name("recipe")  # in the package, so that a wheel has it, too
FILES = ("Dockerfile", "packages.txt")
PULLED = "@sha256:"  # in a name that may be pulled

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
def alone(folder: Path, name: str) -> Iterator[None]:
    """One maker of an image at a time on this machine. Its lock file goes with it: whoever waited
    for a file that is gone, or another by now, begins again with the one that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.lock"
    while True:
        lock = _opened(path)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is(lock, path):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)  # while it is held: nobody else holds this file
                return
        finally:
            os.close(lock)


def _opened(path: Path) -> int:
    """A lock file; no link is followed, since other users may write to the folder."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except OSError as no:
        raise Refused(
            f"the lock file {path} cannot be opened ({no.strerror}), so the sandbox's image is not "
            "made; remove it if it is another user's or a link, or set TMPDIR to a folder of your "
            "own"
        ) from no


def _is(lock: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


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
    with alone(place, f"{REPOSITORY}-{tag}"):
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


def missing(engine: Engine, allowed: Sequence[str]) -> list[str]:
    """A sentence for each image that the operator allows and that is not on this machine: the
    first check that asks for it would be the one to learn that. Raises `Unavailable`."""
    said = []
    for name in dict.fromkeys(allowed):
        try:
            engine.image_id(name)
        except Missing:
            if PULLED in name:
                said.append(
                    f"the image {name!r} of PATCHWARRANT_IMAGES is not on this machine; it is "
                    "pulled by its digest when it is asked for first (docker pull does it now)"
                )
            else:
                said.append(
                    f"the image {name!r} of PATCHWARRANT_IMAGES is not on this machine and is "
                    "only pulled by digest, so what asks for it is refused: docker pull or docker "
                    "load it here, correct its name, or allow it as name@sha256:<digest>"
                )
        except Refused as refused:
            said.append(f"{name!r} of PATCHWARRANT_IMAGES is no image: {refused}")
    return said


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
            if PULLED not in name:
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
