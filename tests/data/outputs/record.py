"""Records what a real tool prints: `python record.py SAMPLE... [--hide OLD=NEW]`.

Copies `SAMPLE/src` into an empty folder called `/workspace`, runs `SAMPLE/cmd` there and keeps
stdout, stderr, the exit code and a report `junit.xml`. `--hide` replaces where a tool is installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKSPACE = Path("/workspace")
KEPT = ("PATH", "GOCACHE", "GOFLAGS", "GO111MODULE", "CARGO_HOME", "RUSTUP_HOME", "NODE_PATH")


def record(sample: Path, hidden: list[tuple[bytes, bytes]]) -> None:
    """Run one sample; its four files are replaced."""
    for old in WORKSPACE.iterdir():
        shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    shutil.copytree(sample / "src", WORKSPACE, dirs_exist_ok=True)
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env |= {"CI": "true", "LANG": "C.UTF-8", "HOME": "/root", "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        ["bash", "-c", (sample / "cmd").read_text()],
        cwd=WORKSPACE,
        env=env,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    report = WORKSPACE / "junit.xml"
    told = {"stdout": ran.stdout, "stderr": ran.stderr}
    if report.exists():
        told["junit.xml"] = report.read_bytes()
    for name, data in told.items():
        for old_text, new_text in hidden:
            data = data.replace(old_text, new_text)
        (sample / name).write_bytes(data)
    code = ran.returncode if ran.returncode >= 0 else 128 - ran.returncode
    (sample / "exit").write_text(f"{code}\n")


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("samples", nargs="+")
    words.add_argument("--hide", action="append", default=[])
    asked = words.parse_args()
    pairs = [one.split("=", 1) for one in asked.hide]
    for name in asked.samples:
        record(HERE / name, [(old.encode(), new.encode()) for old, new in pairs])
