"""What a check printed is kept, shown and compared without secrets, wherever they stood."""

from __future__ import annotations

from app.domain.check import Check, Outcome
from tests.fakes.hold import FakeHold
from worker.runner.checks.run import read_outcome

KEY = "AKIA" + "QRSTUVWXYZ234567"
TOKEN = "ghp_" + "a1B2c3" * 7
REPORT = f"""<testsuite tests="1" failures="1">
<testcase classname="tests.test_a" name="test_it[{TOKEN}]" file="tests/test_a.py" line="2">
<failure message="assert '{KEY}' == 1">tests/test_a.py:3: AssertionError {KEY}</failure>
</testcase></testsuite>"""


def test_no_secret_of_output_report_or_source_is_kept() -> None:
    hold = FakeHold()
    printed = f"\x1b[31m{TOKEN}\x1b[0m {KEY}\n".encode() + KEY.encode("utf-16-le")
    outcome = Outcome(
        exit_code=1,
        limit="",
        ms=5,
        stdout=printed,
        stderr=printed,
        report=REPORT.encode(),
        seen=(len(printed), len(printed)),
    )
    result = read_outcome(
        Check("tests", ("pytest",), report="report.xml"),
        "t" * 40,
        "image",
        outcome,
        frozenset({"tests/test_a.py"}),
        hold,
        lambda _path: f"def test_it():\n    key = '{KEY}'\n    assert key == 1\n".encode(),
    )
    kept = repr(result) + "".join(blob.decode() for blob in hold.blobs.values())
    assert result.failures and result.failures[0].context
    assert "[redacted]" in result.tail and "[redacted]" in repr(result.failures)
    for secret in (KEY, TOKEN):
        assert secret not in kept
        assert secret not in repr(result).replace("\\x00", "")
