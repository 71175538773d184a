"""Findings of the gate as lines of a report: what stands above, what to look at, what holds."""

from __future__ import annotations

from app.domain.claims import CRITERIA, NO_LEAK, NOT_RUN, RED_GREEN, TOUCHED
from app.domain.evidence import Finding, Holds
from app.domain.markdown import inline
from app.domain.report_facts import FIRST_IDS, Sizes

MARKS = {Holds.HOLDS: "✅", Holds.FAILS: "❌", Holds.UNKNOWN: "❓"}
REVOKE = "If it is a real one: revoke it, since everybody who can read the branch has it."
HELD = {Holds.HOLDS: "holds", Holds.FAILS: "**does not hold**", Holds.UNKNOWN: "**unknown**"}
PLACED = (CRITERIA, NOT_RUN, NO_LEAK)  # they have places of their own


def finding_lines(findings: tuple[Finding, ...], sizes: Sizes, top: bool = True) -> list[str]:
    """What does not hold and has something to say for itself, in the order of the tree, as points
    of a list; more than one sentence of advice are points below it.

    At the top of the tree a leaf that is unknown is advice, which the verdict does not rest on.
    Criteria are listed with what was asked. What was seen says by itself that a claim does not
    hold: the claim is told where nothing was seen."""
    lines: list[str] = []
    for finding in findings:
        if finding.claim in PLACED:
            continue
        speaks = finding.exhibits or not finding.parts
        if speaks and finding.standing is not Holds.HOLDS:
            advice = top and not finding.parts and finding.standing is Holds.UNKNOWN
            if advice:
                lines.append(f"⚠️ {_advice(finding, sizes)}")
            elif finding.exhibits:
                lines.append(f"{MARKS[finding.standing]} {' '.join(_seen(finding, sizes))}")
            else:
                mark = f"{MARKS[finding.standing]} {HELD[finding.standing]}:"
                lines.append(f"{mark} {inline(finding.claim, sizes.line)}")
        lines += finding_lines(finding.parts, sizes, top=False)
    return lines


def _advice(finding: Finding, sizes: Sizes) -> str:
    if len(finding.exhibits) < 2:
        return _said(finding, sizes, strong=True)
    points = "".join(f"\n  - {said}" for said in _seen(finding, sizes))
    return f"**{inline(finding.claim, sizes.line)}:**{points}"


def whole_above(finding: Finding) -> bool:
    """Whether the first screen tells all that this finding says."""
    return finding.claim == TOUCHED and len(finding.exhibits) <= FIRST_IDS


def passed_words(points: int, bare: int = 0) -> str:
    """What stands beside a passed verdict: it never hides what is still to be looked at. `bare`
    are criteria without evidence."""
    said = "Every required check passed on this tree, and no rule of the gate speaks against it"
    more = [f"{points:,} {'point' if points == 1 else 'points'} to look at below"] if points else []
    more += (
        [f"{bare:,} {'criterion' if bare == 1 else 'criteria'} without evidence"] if bare else []
    )
    return f"{said}; **{', '.join(more)}**." if more else f"{said}."


def first_looks(findings: tuple[Finding, ...], sizes: Sizes) -> list[str]:
    """What stands above everything else: a secret in the change, that the change touched what
    decides about it, and what was shown to be fixed."""
    lines = []
    for finding in findings:
        for part in finding.parts:
            if part.claim == NO_LEAK and part.standing is not Holds.HOLDS:
                lines.append(f"🔑 **{' '.join(_seen(part, sizes))}** {REVOKE}")
        if finding.claim == TOUCHED:
            lines.append(f"⚠️ {_said(finding, sizes, strong=True)}")
        elif finding.claim == RED_GREEN and finding.standing is Holds.HOLDS:
            said = " ".join(inline(one, sizes.line) for one in finding.exhibits[: sizes.ids])
            lines.append(f"**Red → green:** {said}")
    return lines


def not_run(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """What was not run beside the checks, with the reasons; () where nobody noted it."""
    return next((one.exhibits for one in findings if one.claim == NOT_RUN), ())


def criteria_of(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """One finding a criterion, in the criteria's order; () where nobody looked."""
    return next((one.parts for one in findings if one.claim == CRITERIA), ())


def _said(finding: Finding, sizes: Sizes, strong: bool = False) -> str:
    """The claim with its exhibits, which are sentences of the gate."""
    exhibits = _seen(finding, sizes)
    claim = inline(finding.claim, sizes.line)
    if strong:
        return f"**{claim}:** {' '.join(exhibits)}" if exhibits else f"**{claim}**"
    return f"{claim} — {' '.join(exhibits)}" if exhibits else claim


def _seen(finding: Finding, sizes: Sizes) -> list[str]:
    exhibits = [inline(one, sizes.line) for one in finding.exhibits[: sizes.ids] if one]
    if len(finding.exhibits) > sizes.ids:
        exhibits.append(f"And {len(finding.exhibits) - sizes.ids:,} more.")
    return exhibits


def holding(findings: tuple[Finding, ...], sizes: Sizes) -> list[str]:
    """The leaves that hold, in the order of the tree."""
    lines: list[str] = []
    for finding in findings:
        if finding.claim in PLACED:
            continue
        if finding.parts:
            lines += holding(finding.parts, sizes)
        elif finding.standing is Holds.HOLDS:
            lines.append(_said(finding, sizes))
    return lines
