"""One probe container that shows, from inside and as hostile code would, that the profile holds."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from app.domain.errors import Refused
from app.domain.ports import Job
from worker.sandbox.cell import Maker, Tree, certify
from worker.sandbox.profile import PIDS, USER

MEMORY = 256 << 20
EMPTY_TAR = bytes(10240)

PROBE = """
import json, os, socket
def read(*paths):
    for path in paths:
        try:
            with open(path) as source: return source.read().strip()
        except OSError: pass
    return ""
def refused(act):
    try: act()
    except OSError as error: return error.errno
    return 0
facts = {}
for line in open("/proc/self/status"):
    key, _, value = line.partition(":")
    if key[:3] == "Cap" or key in ("NoNewPrivs", "Seccomp", "Uid", "Gid"):
        facts[key] = value.split()
facts["nets"] = sorted(os.listdir("/sys/class/net"))
facts["root_read_only"] = bool(os.statvfs("/").f_flag & os.ST_RDONLY)
facts["forge"] = refused(lambda: open("/proc/1/fd/1", "wb"))
facts["memory_of_1"] = refused(lambda: open("/proc/1/mem", "rb"))
facts["connect"] = refused(lambda: socket.create_connection(("192.0.2.1", 80), 1))
facts["pids"] = read("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
facts["memory"] = read("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
facts["work"] = refused(lambda: open("/workspace/probe", "w"))
facts["python_owner"] = os.stat(os.path.realpath("/proc/self/exe")).st_uid
print(json.dumps(facts))
"""


def failing(facts: Mapping[str, Any]) -> list[str]:
    """The properties that do not hold, a sentence each."""
    zero = {"0000000000000000"}
    caps = ("CapEff", "CapBnd", "CapPrm", "CapInh", "CapAmb")
    uid = USER.partition(":")[0]
    checks = {
        "the network is not off": facts.get("nets") == ["lo"] and bool(facts.get("connect")),
        "a capability is left": all(set(facts.get(cap, ())) == zero for cap in caps),
        "new privileges are possible (NoNewPrivs)": facts.get("NoNewPrivs") == ["1"],
        "no seccomp filter is active": facts.get("Seccomp") == ["2"],
        f"the user is not {uid}": set(facts.get("Uid", ())) == {uid},
        f"the group is not {uid}": set(facts.get("Gid", ())) == {uid},
        "the root file system can be written": facts.get("root_read_only") is True,
        "PID 1 can be touched by a check": bool(facts.get("forge") and facts.get("memory_of_1")),
        f"the process limit is not {PIDS}": facts.get("pids") == str(PIDS),
        f"the memory limit is not {MEMORY}": facts.get("memory") == str(MEMORY),
        "the workspace cannot be written": facts.get("work") == 0,
        "python3 does not belong to root": facts.get("python_owner") == 0,
    }
    return [sentence for sentence, holds in checks.items() if not holds]


def probe(maker: Maker, image: str) -> None:
    """Run the probe in `image`. Raises `Refused` that names every property that fails."""
    job = Job(("python3", "-I", "-S", "-c", PROBE), {}, "", "", 30, memory=MEMORY)
    tree = Tree(io.BytesIO(EMPTY_TAR), len(EMPTY_TAR))
    outcome = certify(maker, "selftest", image, job, tree, lambda: False)
    try:
        facts = json.loads(outcome.stdout)
    except ValueError:
        words = outcome.error or outcome.stderr.decode("utf-8", "replace").strip()
        raise Refused(
            f"the sandbox's self-test gave no answer (exit {outcome.exit_code}): {words[-500:]}"
        ) from None
    if wrong := failing(facts):
        raise Refused("the sandbox's self-test failed: " + "; ".join(wrong))
