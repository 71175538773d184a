import pytest

from duration import parse, show


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("2h", 7200)],
)
def test_plain(text, seconds):
    assert parse(text) == seconds


def test_blanks_between_the_parts():
    assert parse("1h 30m") == 5400


@pytest.mark.parametrize("text", ["", "abc", "1h, 30m", "1h30"])
def test_garbage_is_refused(text):
    with pytest.raises(ValueError):
        parse(text)


def test_show_and_parse_agree():
    assert parse(show(5400)) == 5400
