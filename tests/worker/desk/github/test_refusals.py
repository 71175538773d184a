"""What is said of an answer without words of its own, and of a limit."""

from __future__ import annotations

from app.domain.errors import Limited
from worker.desk.github.refusals import fault, limit_words, message_of
from worker.desk.github.wire import Answer

SPENT = {
    "x-ratelimit-limit": "5000",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": "1796077500",
}


def test_a_limit_without_a_message_is_told_with_its_number_and_its_end() -> None:
    for status in (403, 429):
        found = fault(Answer(status, None, SPENT), writes=False, what="GET /x")
        assert isinstance(found, Limited)
        assert "all 5,000 requests of this hour are used up until 22:25 UTC" in str(found)


def test_a_good_answer_that_was_the_last_one_is_not_quoted() -> None:
    commit = Answer(200, {"message": "Fix the sum"}, SPENT)
    assert limit_words(commit) == "all 5,000 requests of this hour are used up until 22:25 UTC"
    assert limit_words(Answer(403, {"message": "slow down"}, SPENT)) == "slow down"


def test_headers_that_say_nothing_useful_are_left_out() -> None:
    odd = SPENT | {"x-ratelimit-limit": "many", "x-ratelimit-reset": "9" * 30}
    assert message_of(Answer(403, None, odd)) == "all requests of this hour are used up"
    assert message_of(Answer(500, None, {})) == "it gave no reason"
