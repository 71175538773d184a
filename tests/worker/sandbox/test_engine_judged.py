"""Versions, addresses, disks and images as an operator may have them: each told in a sentence."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from docker.errors import DockerException

from app.domain.errors import Refused, Unavailable
from tests.worker.sandbox.certificates import Authority
from worker.sandbox.away import advised, sentence
from worker.sandbox.disk import Disk
from worker.sandbox.doors import Remote
from worker.sandbox.engine import Engine, Facts, Held, faults
from worker.sandbox.leftover import DAY, Keep, Uses, collect, needless
from worker.sandbox.service import Ceilings
from worker.sandbox.setup_rules import SetupRules
from worker.sandbox.tunnel import reached, words
from worker.sandbox.validity import valid
from worker.sandbox.versions import api, judge, numbers
from worker.sandbox.wiring import Choices, choices_of, judged, opened, sized
from worker.settings.door import Door
from worker.settings.sandbox import sandbox_settings

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.1.5+ds1", (1, 1, 5)),
        ("29.5.1", (29, 5, 1)),
        ("v1.3.3-rc1", (1, 3, 3)),
        ("", ()),
        ("dev", ()),
    ],
)
def test_versions_are_read(text: str, version: tuple[int, ...]) -> None:
    assert numbers(text) == version


@pytest.mark.parametrize(
    ("engine", "runc", "runtime", "told"),
    [
        ("29.5.1", "1.3.3", "runc", []),
        ("29.5.1", "1.2.8", "runc", []),
        ("30.0.0", "1.4.0", "runc", []),
        ("29.5.0", "1.3.3", "runc", ["Docker engine 29.5.0 is older than 29.5.1"]),
        ("29.5.1", "1.3.2", "runc", ["runc 1.3.2 is older than 1.2.8 or 1.3.3"]),
        ("29.5.1", "1.2.7", "runc", ["runc 1.2.7"]),
        ("29.5.1", "1.1.12", "runc", ["runc 1.1.12"]),
        ("29.5.1", "", "runc", ["does not say which runc"]),
        ("29.5.1", "1.1.5", "runsc", []),
        ("20.10.24+dfsg1", "1.1.5+ds1", "runc", ["Docker engine 20.10.24+dfsg1", "runc 1.1.5"]),
    ],
)
def test_l5_old_versions_are_told(engine: str, runc: str, runtime: str, told: list[str]) -> None:
    said = judge(engine, runc, runtime)
    assert len(said) == len(told)
    assert all(part in one for part, one in zip(told, said, strict=True))


FACTS = Facts("20.10.24", "1.41", True, (), "1.1.5", ("runc", "runsc"), 16 * GIB, 4)


def test_l5_strict_refuses_what_is_only_told_otherwise() -> None:
    said: list[str] = []
    judged(FACTS, Choices(), said.append)
    assert sum(one.startswith("engine: ") for one in said) == 2
    with pytest.raises(Refused, match=r"--strict refuses.*20\.10\.24.*runc 1\.1\.5"):
        judged(FACTS, Choices(strict=True), said.append)


def test_a_runtime_that_the_engine_does_not_have_is_refused() -> None:
    judged(FACTS, Choices(runtime="runsc"), lambda _: None)
    judged(FACTS, Choices(runtime="io.containerd.kata.v2"), lambda _: None)
    with pytest.raises(Refused, match="no runtime 'kata', only runc, runsc"):
        judged(FACTS, Choices(runtime="kata"), lambda _: None)
    builders = SetupRules(runtime="sysbox-runc")
    with pytest.raises(Refused, match="no runtime 'sysbox-runc'"):
        judged(FACTS, Choices(runtime="runsc", setup=builders), lambda _: None)
    said: list[str] = []
    judged(FACTS, Choices(runtime="runsc", setup=SetupRules(runtime="runc")), said.append)
    assert any("runc 1.1.5" in one for one in said)  # builders meet it


def test_p71_the_api_version_is_negotiated_and_both_are_named_when_they_do_not_meet() -> None:
    assert api("1.12", "1.41") == "1.41"
    assert api("1.24", "1.47") == "1.47"
    assert api("1.44", "1.99") == "1.52"
    with pytest.raises(ValueError, match=r"1\.60 to 1\.99.*1\.41 to 1\.52"):
        api("1.60", "1.99")
    with pytest.raises(ValueError, match=r"1\.12 to 1\.30.*1\.41 to 1\.52"):
        api("1.12", "1.30")
    with pytest.raises(ValueError, match=r"to \?"):
        api("", "")


def test_what_was_left_open_comes_from_the_machine() -> None:
    made = sized(Ceilings(concurrency=0), FACTS)
    assert (made.concurrency, made.total) == (8, int(16 * GIB * 0.8))
    kept = sized(Ceilings(concurrency=3, total=GIB), FACTS)
    assert (kept.concurrency, kept.total, kept.largest, kept.box_largest) == (3, GIB, GIB, GIB)
    with pytest.raises(Refused, match=r"32 MiB .* 256 are the least .*SANDBOX_TOTAL_MIB"):
        sized(Ceilings(total=32 << 20), FACTS)
    with pytest.raises(Refused, match=r"it has 200\)"):
        sized(Ceilings(), replace(FACTS, memory=200 << 20))


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("tcp://192.0.2.1:2375", "without TLS"),
        ("http://192.0.2.1:2375", "is no address of an engine"),  # both would be without TLS
        ("192.0.2.1:2375", "is no address of an engine"),
        ("garbage", "is no address of an engine"),
        ("/var/run/docker.sock", "unix:///path/of/docker.sock"),
        ("fd://", "is no address of an engine"),
        ("tcp://", "no machine and port"),
        ("tcp://host:port", "no machine and port"),
        ("tcp://me:secret@host:2376", "no machine and port"),
        ("ssh://", "should read ssh://"),
        ("ssh://-oProxyCommand=x", "should read ssh://"),
        ("ssh://me:secret@host", "should read ssh://"),
        ("ssh://host:port", "no address"),
    ],
)
def test_an_address_that_would_be_unsafe_is_refused(host: str, told: str) -> None:
    with pytest.raises(Refused, match=told), reached(host) as near:
        Engine(near)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("(Caused by SSLError(1, 'certificate verify failed: certificate has expired'))", "renew"),
        ("CERTIFICATE_VERIFY_FAILED: IP address mismatch, certificate is not", "another address"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", "the right machine"),
        ("[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] ssl/tls alert", "cert.pem .* has expired"),
        ("[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED]", "wants a certificate"),
        ("[SSL: TLSV1_ALERT_UNKNOWN_CA]", "who signed cert.pem"),
        ("SSLEOFError(8, 'EOF occurred in violation of protocol')", "broke TLS off"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "speaks no TLS"),
        ("[SSL] PEM lib (_ssl.c:4105)", "in PEM form"),
        ("Failed to resolve 'x' ([Errno -2] Name or service not known)", "spelled right"),
        ("[Errno 113] No route to host", "is it on"),
        ("something else", r"is it running\? \(something else\)"),
    ],
)
def test_each_way_not_to_reach_an_engine_is_a_sentence(said: str, told: str) -> None:
    assert re.search(told, sentence(said))
    with pytest.raises(Unavailable, match=told), faults("asking"):
        raise DockerException(said)


def test_a_runtime_that_the_engine_cannot_find_is_told_with_what_to_do() -> None:
    assert advised("no such image") == "no such image"
    assert "daemon.json" in advised("Unknown runtime specified io.containerd.kata.v2")


def test_certificates_out_of_their_time_are_refused_before_they_are_used(tmp_path: Path) -> None:
    folder, now = Authority.made().folder(tmp_path / "certs"), time.time()
    valid(str(folder), "X", now)
    valid(str(tmp_path / "none"), "X", now)  # what is missing is told elsewhere
    for setting, choices in (
        ("DOCKER_CERT_PATH", Choices("tcp://127.0.0.1:1", certs=str(folder))),
        ("PATCHWARRANT_SANDBOX_TLS", Choices(remote=Remote("127.0.0.1:0", str(folder)))),
    ):
        for moment, told in ((now + 2 * DAY, "has expired on"), (now - 2 * DAY, "clock of this")):
            with (
                pytest.raises(Refused, match=f"{setting}: .*cert.pem .*{told}"),
                opened(choices, lambda _: None, moment),
            ):
                pass
    (folder / "cert.pem").write_text("nonsense")
    with pytest.raises(Refused, match="in PEM form"):
        valid(str(folder), "X", now)


def test_missing_certificates_are_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    with pytest.raises(Refused, match=r"lacks cert\.pem, key\.pem"):
        Engine("tcp://192.0.2.1:2376", certs=str(tmp_path))


def test_the_words_of_ssh() -> None:
    made = words("ssh://me@far:2222/run/other.sock", Path("/near.sock"))
    assert made[:2] == ["ssh", "-nNT"]
    assert made[made.index("-p") : made.index("-p") + 2] == ["-p", "2222"]
    assert made[made.index("-l") : made.index("-l") + 2] == ["-l", "me"]
    assert made[-4:] == ["-L", "/near.sock:/run/other.sock", "--", "far"]
    assert "BatchMode=yes" in made
    assert words("ssh://far", Path("/n"))[-4:] == ["-L", "/n:/var/run/docker.sock", "--", "far"]


def test_words_that_the_role_does_not_know_are_refused() -> None:
    read = sandbox_settings(
        Door({"PATCHWARRANT_SANDBOX_LISTEN": "127.0.0.1:1", "DOCKER_HOST": "ssh://x"})
    )
    chosen = choices_of(read, ["--strict"])
    assert chosen.strict
    assert chosen.remote is not None
    assert chosen.docker_host == "ssh://x"
    with pytest.raises(Refused, match="'--loose' is not known"):
        choices_of(read, ["--loose"])


# -- disk and images ------------------------------------------------------------------------------


def room(free: int) -> os.statvfs_result:
    return cast(os.statvfs_result, SimpleNamespace(f_bavail=free, f_frsize=1))


def test_f22_a_full_disk_stops_before_the_start() -> None:
    Disk("/root", 100, measure=lambda _: room(100)).check()
    with pytest.raises(Unavailable, match="PATCHWARRANT_SANDBOX_DISK_FLOOR_MIB") as caught:
        Disk("/root", 100, measure=lambda _: room(99)).check()
    assert caught.value.retry_after == 60


def test_f22_a_far_disk_is_known_from_the_last_container() -> None:
    disk = Disk("", 100)
    disk.check()
    disk.tell(99)
    with pytest.raises(Unavailable):
        disk.check()
    disk.tell(100)
    disk.check()


def held(name: str, size: int, *names: str) -> Held:
    return Held(name, names or (f"patchwarrant-setup:{name}",), size)


def test_images_go_by_age_and_by_size_and_never_those_of_others() -> None:
    images = [held("a", 10), held("b", 10), held("c", 10), held("x", 99, "debian:12")]
    seen = {"a": 0.0, "b": 50.0, "c": 90.0, "x": 0.0}
    none: frozenset[str] = frozenset()
    assert needless(images, seen, 100, Keep(age=100, size=30), none) == []
    assert needless(images, seen, 100, Keep(age=60, size=30), none) == ["a"]
    assert needless(images, seen, 100, Keep(age=100, size=15), none) == ["a", "b"]
    assert needless(images, seen, 100, Keep(age=9, size=0), frozenset({"a", "b"})) == ["c"]
    assert needless(images, {}, 1e9, Keep(age=1, size=30), none) == []  # never seen: used now


class Store:
    """An engine that holds images; one of them is in use."""

    def __init__(self) -> None:
        self.held = [held("old", 1), held("used", 1), held("other", 1, "debian:12")]
        self.removed: list[str] = []

    def images(self) -> list[Held]:
        return self.held

    def remove_image(self, image: str) -> None:
        if image == "used":
            raise Refused("it is in use", 409)
        self.removed.append(image)


def test_an_image_in_use_stays_and_uses_outlive_the_process(tmp_path: Path) -> None:
    store, path = Store(), tmp_path / "images.json"
    keep = Keep(age=DAY, size=GIB)
    assert collect(cast(Engine, store), Uses.read(path), 0, keep, frozenset()) == 0
    again = Uses.read(path)
    assert set(again.seen) == {"old", "used"}
    assert collect(cast(Engine, store), again, 2 * DAY, keep, frozenset()) == 1
    assert store.removed == ["old"]
    path.write_text("nonsense", encoding="utf-8")
    assert Uses.read(path).seen == {}
