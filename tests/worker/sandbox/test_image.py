"""Which images may be used, where a mirror comes from, and when an image is made anew."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from app.domain.errors import Missing, Refused
from worker.sandbox import bootstrap, image
from worker.sandbox.bootstrap import mirror_of
from worker.sandbox.engine import Engine
from worker.sandbox.image import RECIPE, REPOSITORY, Images, ensure_default, missing, recipe_hash
from worker.sandbox.selftest import MEMORY, SEEN, failing

DEFAULT = f"{REPOSITORY}:{recipe_hash(RECIPE)}"
PINNED = "python@sha256:" + "a" * 64


@dataclass
class Store:
    """An engine's image store: names to ids; `build` fails as it does without a registry."""

    images: dict[str, str]
    pullable: dict[str, str] = field(default_factory=dict)

    def image_id(self, name: str) -> str:
        if name not in self.images:
            raise Missing(f"no {name}", 404)
        return self.images[name]

    def image_names(self, image: str) -> tuple[str, ...]:
        return tuple(name for name, held in self.images.items() if held == image)

    def pull(self, name: str) -> None:
        if name not in self.pullable:
            raise Refused("the registry says no", 502)
        self.images[name] = self.pullable[name]

    def build(self, *_: object) -> None:
        raise Refused("no registry here", 502)


def images(store: Store, *allowed: str, proved: list[str] | None = None) -> Images:
    kept: list[str] = [] if proved is None else proved
    return Images(cast(Engine, store), allowed, lambda _: None, kept.append)


def test_names_become_ids_and_each_is_proved_once() -> None:
    proved: list[str] = []
    store = Store({DEFAULT: "id-1", "mine:1": "id-2"}, {PINNED: "id-3"})
    kept = images(store, "mine:1", PINNED, proved=proved)
    assert [kept.ensure(name) for name in ("", "mine:1", PINNED, "")] == [
        "id-1",
        "id-2",
        "id-3",
        "id-1",
    ]
    assert proved == ["id-1", "id-2", "id-3"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("evil:latest", "operator's list"),
        (DEFAULT, "operator's list"),
        ("absent:1", "only pulled by digest"),
        (PINNED, "registry says no"),
    ],
)
def test_a_refusal_says_what_to_do(name: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        images(Store({DEFAULT: "id-1"}), "absent:1", PINNED).ensure(name)


def test_an_id_counts_only_by_an_allowed_name() -> None:
    store = Store({DEFAULT: "id-1", "mine:1": "id-2", "other:1": "id-3"})
    kept = images(store, "mine:1")
    kept.check("id-1")
    kept.check("id-2")
    with pytest.raises(Refused, match="not one that the operator allows"):
        kept.check("id-3")


def test_an_image_that_fails_its_proof_is_not_used() -> None:
    def prove(_: str) -> None:
        raise Refused("no python3")

    store = Store({DEFAULT: "id-1"})
    kept = Images(cast(Engine, store), (), lambda _: None, prove)
    for _ in range(2):
        with pytest.raises(Refused, match="python3"):
            kept.ensure("")
        with pytest.raises(Refused, match="python3"):
            kept.check("id-1")


def test_without_registry_and_root_both_reasons_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "possible", lambda: "not root")
    with pytest.raises(Refused, match=r"no registry here.*not root.*docker load"):
        ensure_default(cast(Engine, Store({})), lambda _: None, folder=tmp_path)


def test_what_is_allowed_and_not_there_is_named_at_the_start() -> None:
    store = cast(Engine, Store({"mine:1": "id-2"}))
    assert missing(store, ("mine:1",)) == []
    typo, pinned = missing(store, ("mine:2", "mine:1", PINNED, "mine:2"))
    assert "'mine:2' of PATCHWARRANT_IMAGES is not on this machine" in typo
    assert "docker load" in typo and "@sha256:<digest>" in typo
    assert repr(PINNED) in pinned and "pulled by its digest" in pinned


def test_one_maker_at_a_time_and_no_lock_file_is_left(tmp_path: Path) -> None:
    inside, most, rounds = [0], [0], 40

    def make() -> None:
        for _ in range(rounds):
            with image.alone(tmp_path, "one"):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                os.sched_yield()
                inside[0] -= 1

    makers = [threading.Thread(target=make) for _ in range(6)]
    for one in makers:
        one.start()
    for one in makers:
        one.join()
    assert most == [1] and list(tmp_path.iterdir()) == []


def test_a_maker_that_waited_for_a_file_that_is_gone_takes_the_one_that_is_there(
    tmp_path: Path,
) -> None:
    """The one before removes what it holds; a third has made a new one meanwhile and holds that."""
    gone = image._opened(tmp_path / "one.lock")
    (tmp_path / "one.lock").unlink()
    assert not image._is(gone, tmp_path / "one.lock")
    there = image._opened(tmp_path / "one.lock")
    assert not image._is(gone, tmp_path / "one.lock") and image._is(there, tmp_path / "one.lock")
    os.close(gone)
    os.close(there)


def test_a_failed_making_leaves_no_lock_and_a_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "possible", lambda: "not root")
    with pytest.raises(Refused, match="no registry here"):
        ensure_default(cast(Engine, Store({})), lambda _: None, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
    mine = tmp_path / "mine"
    mine.write_text("kept", encoding="utf-8")
    (tmp_path / "one.lock").symlink_to(mine)
    with pytest.raises(Refused, match="lock file"), image.alone(tmp_path, "one"):
        raise AssertionError("unreachable")
    assert mine.read_text(encoding="utf-8") == "kept"


def test_the_recipe_names_the_image(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe"
    shutil.copytree(RECIPE, recipe)
    assert recipe_hash(recipe) == recipe_hash(RECIPE)
    (recipe / "packages.txt").write_text("python3\n", encoding="utf-8")
    assert recipe_hash(recipe) != recipe_hash(RECIPE)


def test_both_ways_read_the_same_packages() -> None:
    packages = (RECIPE / "packages.txt").read_text(encoding="utf-8").split()
    assert packages == sorted(packages)
    assert {"python3", "python3-pytest", "gcc", "make"} <= set(packages)
    assert "packages.txt" in (RECIPE / "Dockerfile").read_text(encoding="utf-8")


TARGETS = """
Sources|http://one.invalid/debian/|bookworm|main
Packages|http://one.invalid/debian/|bookworm-updates|main
Packages|http://two.invalid/debian/|bookworm|contrib
Packages|mirror+file:/etc/list|bookworm|main
Packages|http://three.invalid/ubuntu/|noble|main
"""


def test_the_mirror_is_the_one_of_apt() -> None:
    more = TARGETS + "Packages|http://four.invalid/debian/|bookworm|main\nbroken\n"
    assert mirror_of(more, "noble") == ("bookworm", "http://four.invalid/debian/")
    assert mirror_of(TARGETS, "noble") == ("noble", "http://three.invalid/ubuntu/")
    with pytest.raises(Refused, match="no mirror"):
        mirror_of(TARGETS, "trixie")


ROOMS = {"/workspace": MEMORY // 2, "/tmp": MEMORY // 8}
FLAGS = ["rw", "nosuid", "nodev", "relatime"]
HOLDS: dict[str, Any] = {
    "nets": ["lo"],
    "routes": 0,
    "outside": 101,
    "metadata": 101,
    "datagram": 101,
    "dns": 3,
    "raw": 1,
    "sockets": [],
    "abstract": 0,
    **{f"Cap{kind}": ["0000000000000000"] for kind in ("Eff", "Bnd", "Prm", "Inh", "Amb")},
    "NoNewPrivs": ["1"],
    "Seccomp": ["2"],
    "Uid": ["60600"] * 4,
    "Gid": ["65534"] * 4,
    "root": 1,
    "mount": 1,
    "io_uring": 1,
    "limits_of_1": 1,
    "unshare": {"user": 1, "mount": 1, "network": 1},
    "forge": 13,
    "memory_of_1": 13,
    "ptrace": 1,
    "root_read_only": True,
    "etc": 30,
    "kernel": 30,
    "writable": ["/dev", "/dev/shm", "/tmp", "/workspace"],
    "options": dict.fromkeys(ROOMS, FLAGS),
    "sizes": {**{k: [v, 100_000] for k, v in ROOMS.items()}, "/dev/shm": [MEMORY // 32, 9]},
    "work": 0,
    "place": "/workspace",
    "devices": ["null", "zero"],
    "python_owner": 0,
    "environment": ["HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE"],
    "limits": {"nofile": 1024, "core": 0, "fsize": 256 << 20, "memlock": 65536, "msgqueue": 0},
    "counters": {
        "pids": "256",
        "memory": str(MEMORY),
        "quota": "200000",
        "period": "100000",
        "shares": "512",
        "swap": "",
    },
    "badness": "500",
    "cgroups": ["/"],
    "processes": 2,
    "shared_memory": 0,
    "hostname": "sandbox",
    "tty": False,
    "leftovers": [],
}
NEWER_CGROUPS = {  # what a newer kernel shows
    "pids": "256",
    "memory": str(MEMORY),
    "quota": "200000 100000",
    "period": "",
    "shares": "20",
    "swap": "0",
}
WORSE: list[dict[str, Any]] = [
    {"outside": 0},
    {"nets": ["eth0", "lo"]},
    {"routes": 1},
    {"datagram": 0},
    {"dns": 0},
    {"metadata": 0},
    {"raw": 0},
    {"sockets": ["/run/docker.sock"]},
    {"abstract": 3},
    {"CapInh": ["0000000000000001"]},
    {"NoNewPrivs": ["0"]},
    {"Seccomp": ["0"]},
    {"Gid": ["65534", "65534", "0", "0"]},
    {"Uid": ["65534"] * 4},
    {"Uid": ["60600", "60600", "60601", "60600"]},
    {"io_uring": 0},
    {"limits_of_1": 0},
    {"root": 0},
    {"mount": 0},
    {"unshare": {**HOLDS["unshare"], "user": 0}},
    {"unshare": {**HOLDS["unshare"], "network": 0}},
    {"ptrace": 0},
    {"etc": 0},
    {"kernel": 0},
    {"writable": ["/data"]},
    {"work": 30},
    {"options": {**HOLDS["options"], "/workspace": ["rw"]}},
    {"sizes": {**HOLDS["sizes"], "/tmp": [0, 0]}},
    {"sizes": {**HOLDS["sizes"], "/dev/shm": [0, 0]}},
    {"devices": ["kmsg"]},
    {"python_owner": 65534},
    {"environment": ["PATH"]},
    {"limits": {}},
    *(
        {"counters": {**HOLDS["counters"], key: "max"}}
        for key in ("pids", "memory", "quota", "shares", "swap")
    ),
    {"badness": "0"},
    {"cgroups": ["/", "/docker/ab"]},
    {"processes": 90},
    {"shared_memory": 1},
    {"hostname": "host"},
    {"tty": True},
    {"leftovers": ["/tmp/patchwarrant-mark"]},
]


def test_a_sound_sandbox_has_nothing_to_say_against_it() -> None:
    assert failing(HOLDS) == []
    assert failing({**HOLDS, "counters": NEWER_CGROUPS}) == []


def test_every_property_of_the_self_test_can_fail_alone() -> None:
    said = [failing({**HOLDS, **change}) for change in WORSE]
    assert [len(one) for one in said] == [1] * len(WORSE)
    assert {sentence for one in said for sentence in one} == set(SEEN)


@pytest.mark.parametrize("key", HOLDS)
def test_what_the_probe_leaves_out_does_not_hold(key: str) -> None:
    assert failing({name: value for name, value in HOLDS.items() if name != key})
