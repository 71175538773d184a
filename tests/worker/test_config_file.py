"""YAML that is more than plain values is refused with its line."""

from __future__ import annotations

import re
import time

import pytest

from app.domain.repo_config import ConfigError
from tests.shared_data import REPOSITORY
from worker.config_file import DEPTH_CAP, SIZE_CAP, config_of, load

BOMB = b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BOMB, "line 1: anchors (`&`) and aliases (`*`) are not possible"),
        (b"a: 1\nb: *a", "line 2: anchors"),
        (b"a: 1\nb: 2\na: 3", "line 3: the key `a` stands here for a second time"),
        (b"x:\n  a: 1\n  a: 2", "line 3: the key `a`"),
        (b"- 1", "line 1: `key: value` lines are wanted"),
        (b"words", "line 1: `key: value` lines are wanted"),
        (b"a: !!python/object/apply:os.system [x]", "line 1: tags (`!`) are not possible"),
        (b"a: ! x", "line 1: tags"),
        (b"a: 1\nb: \xff", "line 2: it is not UTF-8"),
        (b"a: \x00", "it cannot be read: unacceptable character #x0000"),
        (b"1: a", "line 1: a key must be text; quote it"),
        (b"null: a", "line 1: a key must be text"),
        (b"? {a: 1}\n: x", "line 1: a key must be text"),
        (b"--- {}\n--- {}", "line 2: a second document begins"),
        (b'a: "', "line 1: found unexpected end of stream"),
        (b"a:\n\t- x", "line 2: found character '\\t'"),
        (b"a: [1, 2", "line 1: "),
        (b"a: " + b"[" * (DEPTH_CAP + 1), f"line 1: values are nested more than {DEPTH_CAP} deep"),
        (b"a: " + b"[" * 30_000, "nested more than"),
        (b"#" * (SIZE_CAP + 1), f"at most {SIZE_CAP} are read"),
    ],
)
def test_what_plain_values_do_not_need_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(data)
    assert said in str(caught.value)
    assert str(caught.value).startswith(".github/agent.yml")


def test_an_empty_file_says_nothing() -> None:
    assert load(b"") == load(b"# later\n") == load(b"\xef\xbb\xbf") == load(b"~") == {}


def test_words_that_old_readers_turn_into_something_else_stay_words() -> None:
    data = b"a: on\nb: yes\nc: 1:30\nd: 2026-11-30\ne: 010\nf: 0x1f\ng: .inf\nh: =\ni: 1_000\nj: <<"
    assert set(map(type, load(data).values())) == {str}


def test_plain_values_have_their_types() -> None:
    data = b"a: true\nb: 12\nc: -2.50\nd:\ne: [x, {f: '1'}]\nh: |\n  two\n  lines\n"
    assert load(data) == {
        "a": True,
        "b": 12,
        "c": -2.5,
        "d": None,
        "e": ["x", {"f": "1"}],
        "h": "two\nlines\n",
    }


def test_a_file_of_the_largest_size_is_read_quickly() -> None:
    lines = b"".join(b"k%d: {a: [x, y], b: z}\n" % n for n in range(2_500))
    start = time.thread_time()
    assert len(load(lines[:SIZE_CAP].rpartition(b"\n")[0])) > 2_000
    assert time.thread_time() - start < 20


def test_the_page_shows_a_file_that_is_read() -> None:
    page = (REPOSITORY / "docs" / "configuration.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    assert [config_of(example.encode()).checks[0].name for example in examples] == ["tests"]


def test_a_wrong_key_is_named_through_both_readers() -> None:
    with pytest.raises(ConfigError, match="did you mean `checks`"):
        config_of(b"check: []")
