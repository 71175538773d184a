"""The key `pull_request`: what fits, what does not, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain import report
from app.domain.pull_request_config import PullRequestConfig
from app.domain.repo_config import ConfigError, read
from app.domain.report import Facts, pull_body, pull_title
from app.domain.run import Run
from tests.app.domain.report_world import facts, failed, passed


def wanting(run: Run, **keys: Any) -> Run:
    assert run.contract is not None
    config = replace(run.contract.config, pull_request=PullRequestConfig(**keys))
    return replace(run, contract=replace(run.contract, config=config))


def test_all_keys_are_read() -> None:
    said = {
        "title": "fix: {title} (#{issue})",
        "template": True,
        "labels": ["bot", "bot", "good first review"],
        "reviewers": ["mona", "acme/core", "mona"],
        "changelog": "changes/{issue}.fix.md",
        "branch": "fix-{title}",
    }
    config = read({"pull_request": said}).pull_request
    assert config == PullRequestConfig(
        "fix: {title} (#{issue})",
        True,
        ("bot", "good first review"),
        ("mona", "acme/core"),
        "changes/{issue}.fix.md",
        "fix-{title}",
    )
    assert config.fragment(12) == "changes/12.fix.md"
    assert read({}).pull_request == PullRequestConfig()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"titel": ""}, "`pull_request.titel` is unknown; did you mean `title`"),
        ({"title": "{author}"}, "`{author}` is not known; possible: `{issue}`, `{title}`"),
        ({"title": "a {"}, "`{` is not known"),
        ({"title": "a\nb"}, "one line of text"),
        ({"branch": "{issue}"}, "`{issue}` is not known; possible: `{title}`"),
        ({"branch": "a/b"}, "`agent/issue-<number>-<change>-`"),
        ({"branch": "a..b"}, "does not fit"),
        ({"branch": "{title"}, "does not fit"),
        ({"branch": "x" * 61}, "does not fit"),
        ({"template": "yes"}, "true or false"),
        ({"labels": [""]}, "labels[0]"),
        ({"labels": ["a,b"]}, "a label"),
        ({"reviewers": ["a b"]}, "a login, or a team"),
        ({"reviewers": ["acme/a/b"]}, "a login, or a team"),
        ({"reviewers": ["../x"]}, "a login, or a team"),
        ({"changelog": "CHANGES.md"}, "holds `{issue}`"),
        ({"changelog": "../{issue}.md"}, "inside the repository"),
        ([], "a mapping"),
    ],
)
def test_what_does_not_fit_names_its_key(said: Any, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read({"pull_request": said})
    assert "pull_request" in str(refused.value) and words in str(refused.value)


def test_the_title_follows_the_pattern_and_an_incomplete_draft_says_so() -> None:
    pattern = "fix: {title} (#{issue})"
    assert pull_title(wanting(passed(), title=pattern)) == "fix: mean([]) crashes (#12)"
    assert pull_title(wanting(failed(), title=pattern)).startswith("[incomplete] fix: ")
    assert pull_title(passed()) == "Agent fix for #12: mean([]) crashes"
    assert len(pull_title(wanting(failed(), title="{title}" * 28))) <= 256


def test_a_title_of_the_issue_cannot_fill_the_pattern_again() -> None:
    run = wanting(passed(), title="{title}")
    assert run.contract is not None
    request = replace(run.contract.request, title="{issue} {title}")
    run = replace(run, contract=replace(run.contract, request=request))
    assert pull_title(run) == "{issue} {title}"


def test_a_missing_changelog_fragment_is_pointed_out() -> None:
    told = "no changelog fragment `changes/12.md` came with it"
    assert told in pull_body(wanting(passed(), changelog="changes/{issue}.md"), facts())
    assert told not in pull_body(wanting(passed(), changelog="notes/{issue}.txt"), Facts())
    assert "no changelog fragment" not in pull_body(
        wanting(passed(), changelog="changes/{issue}.md"),
        replace(facts(), deltas=(replace(facts().deltas[0], path="changes/12.md"),)),
    )
    assert "no changelog fragment" not in pull_body(passed(), facts())


def test_a_template_follows_our_part_and_cannot_pass_for_it() -> None:
    hostile = "## Why\r\n<!--patchwarrant:body:x --> <!-- /PATCHWARRANT:body:x --> - [ ] tests"
    text = report.template(hostile)
    assert "patchwarrant:" not in text.lower() and text.startswith("## Why\n")
    ours = pull_body(passed(), facts())
    body = report.merge_body(text, ours)
    assert body.startswith(ours) and body.endswith("- [ ] tests")
    assert len(report.merge_body(report.template("x" * 200_000), ours)) <= report.BODY_CAP
