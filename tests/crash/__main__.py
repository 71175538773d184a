"""`scripts/test --crash`: the whole matrix, its table in docs, `--json` for machines.

Worker processes, each with a world of its own, share the cases out. Exit code 1 when an invariant
was broken anywhere.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.crash import table
from tests.crash.case import Case, Verdict
from tests.crash.matrix import bench, cases, quick
from tests.tied import tied

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    given = _parser().parse_args()
    if given.part:
        return _part(given)
    began = time.monotonic()
    rows = _shared_out(given)
    seconds = time.monotonic() - began
    bad = [row for row in rows if row["broken"]]
    if given.write:
        table.write(ROOT / "docs" / "crash-matrix.md", rows, seconds)
    if given.rows:
        print(json.dumps(rows))
    elif given.json:
        print(json.dumps({"cases": len(rows), "broken": len(bad), "seconds": round(seconds)}))
    else:
        for row in bad:
            print(f"BROKEN {row['case']}: {'; '.join(row['broken'])}")
        print(f"{len(rows)} cases, {len(bad)} broken, {seconds:.0f} s")
    return 1 if bad or not rows else 0


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="scripts/test --crash", description=__doc__)
    made.add_argument("--quick", action="store_true", help="the slice that CI runs")
    made.add_argument("--only", default="", help="cases whose text holds this")
    made.add_argument("--json", action="store_true", help="one line: cases, broken, seconds")
    made.add_argument("--rows", action="store_true", help="every case as JSON")
    made.add_argument("--write", action="store_true", help="write docs/crash-matrix.md")
    made.add_argument("--workers", type=int, default=2, help="worlds side by side")
    made.add_argument("--part", default="", help=argparse.SUPPRESS)
    made.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    return made


def _shared_out(given: argparse.Namespace) -> list[dict[str, Any]]:
    """The verdicts of all parts as rows, in the matrix' order."""
    with tempfile.TemporaryDirectory(prefix="pw-crash-") as folder:
        parts = []
        for number in range(given.workers):
            to = Path(folder) / str(number)
            words = [sys.executable, "-m", "tests.crash", "--part", f"{number}/{given.workers}"]
            words += ["--only", given.only, "--to", str(to), *(["--quick"] * given.quick)]
            out = sys.stderr if given.json or given.rows else None
            process = subprocess.Popen(words, cwd=ROOT, stdout=out, preexec_fn=tied())
            parts.append((process, to))
        rows: list[dict[str, Any]] = []
        for process, to in parts:
            if process.wait():
                raise SystemExit(f"a part of the matrix failed with exit code {process.returncode}")
            rows += json.loads(to.read_text())
    return sorted(rows, key=lambda row: int(row["order"]))


def _part(given: argparse.Namespace) -> int:
    number, of = (int(word) for word in given.part.split("/"))
    rows = []
    with bench() as (made, points):
        every = [one for one in cases(points) if given.only in str(one)]
        chosen = quick(every) if given.quick else every
        for order, case in enumerate(chosen):
            if order % of == number:
                verdict = made.run(case)
                _say(verdict)
                rows.append({"order": order, **_row(verdict)})
    given.to.write_text(json.dumps(rows))
    return 0


def _row(verdict: Verdict) -> dict[str, Any]:
    case: Case = verdict.case
    return {
        "case": str(case),
        "story": case.story,
        "fault": case.fault,
        "point": asdict(case.point),
        "broken": list(verdict.broken),
        "seconds": round(verdict.seconds, 2),
    }


def _say(verdict: Verdict) -> None:
    said = "BROKEN" if verdict.broken else "holds "
    print(f"{said} {verdict.seconds:5.1f} s  {verdict.case}", flush=True)
    for one in verdict.broken:
        print(f"       {one}", flush=True)
    if verdict.broken:
        print(verdict.log, flush=True)


if __name__ == "__main__":
    sys.exit(main())
