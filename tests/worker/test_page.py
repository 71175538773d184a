"""The page of a run: what the body says, uncut, and nothing that loads or runs."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given, settings

from app.domain.check import Failure
from app.domain.report import Facts, pull_body
from app.domain.run import Run
from tests.app.domain.report_world import TEST, TREE, facts, failed, passed
from tests.app.domain.test_report import SLOW, hostile
from worker.page import page

OWN = frozenset(
    {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "ul", "ol", "li"}
    | {"table", "thead", "tbody", "tr", "th", "td", "code", "pre", "strong", "em", "br", "hr"}
    | {"details", "summary", "a", "del", "blockquote", "sub"}
)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> _Tags:
    tags = _Tags()
    tags.feed(html)
    return tags


def test_the_page_says_what_the_body_says() -> None:
    read_page = read(page(passed(), facts()))
    text = " ".join(read_page.text)
    for said in (TREE, TEST, "Look at this first", "mean([]) raises ValueError", "Passed"):
        assert said in text, said
    assert "Every required check passed" in pull_body(passed(), facts())
    assert "Every required check passed" in text


def test_failures_stand_at_file_and_line() -> None:
    run = failed()
    broken = Failure(TEST, "AssertionError", "1 != 2", "tests/test_calc.py", 17)
    results = tuple(replace(one, failures=(broken,)) for one in run.attempts[-1].results)
    run = replace(run, attempts=(*run.attempts[:-1], replace(run.attempts[-1], results=results)))
    text = " ".join(read(page(run, facts())).text)
    assert "tests/test_calc.py:17" in text and "At file and line" in text


@settings(max_examples=12, **SLOW)
@given(hostile())
def test_text_from_outside_stays_text(made: tuple[Run, Facts]) -> None:
    found = read(page(*made))
    assert found.tags <= OWN, found.tags - OWN
    names = {name for name, _ in found.attributes}
    allowed = {"lang", "charset", "http-equiv", "content", "name", "href", "class", "style"}
    assert names <= allowed, names - allowed
    links = {value for name, value in found.attributes if name == "href"}
    assert all(link.startswith("https://github.com/") for link in links), links
    styles = {value for name, value in found.attributes if name == "style"}
    assert all(value.startswith("text-align:") for value in styles), styles


def test_nothing_is_loaded_and_nothing_runs() -> None:
    html = page(passed(), facts())
    assert "default-src 'none'" in html.replace("&#x27;", "'")
    assert "<script" not in html and "url(" not in html and "@import" not in html
