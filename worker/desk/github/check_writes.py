"""One check run for each piece of evidence, with its annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.report_annotations import Annotation
from worker.desk.github import answers
from worker.desk.github.writes import Writes, same

ANNOTATIONS = 50  # in one call


class CheckWrites(Writes):
    """Writes of check runs."""

    def check_run(
        self,
        name: str,
        head: str,
        external_id: str,
        conclusion: str,
        title: str,
        summary: str,
        text: str,
        annotations: Sequence[Annotation] = (),
    ) -> int:
        """One completed check run for `external_id` on `head`; an earlier one is brought up to
        date instead of making another. Annotations are only ever added by GitHub, so those that
        it has already are not sent again."""
        shown = {"title": title, "summary": summary, **({"text": text} if text else {})}
        output: dict[str, Any] = {key: self._redact(value) for key, value in shown.items()}
        state = {"status": "completed", "conclusion": conclusion, "output": output}

        def find() -> int | None:
            runs = self._client.pages("check_runs", {"check_name": name}, "check_runs", sha=head)
            for one in runs:
                same = answers.part(one, "external_id") == external_id
                if same and answers.part(one, "name") == name and self._made(one, "app"):
                    return answers.number(one, "id")
            return None

        found = find()
        if found is None:
            body = {"name": name, "head_sha": head, "external_id": external_id, **state}
            data = self._looking(lambda: self._client.call("create_check", body=body).data, find)
            if isinstance(data, int):
                found = data
        if found is not None:
            known = found
            data = self._twice(
                lambda: self._client.call("update_check", body=state, check_run=known)
            ).data
        same("check run's commit", answers.text(data, "head_sha"), head)
        same("check run's conclusion", answers.part(data, "conclusion"), conclusion)
        return self._annotated(data, {"title": title, "summary": summary}, annotations)

    def _annotated(
        self, data: Any, output: Mapping[str, str], annotations: Sequence[Annotation]
    ) -> int:
        """Add what the check run does not show yet, in pieces as GitHub takes them; its id."""
        check_run = answers.number(data, "id")
        while (there := _count(data)) < len(annotations):
            piece = [_annotation(one) for one in annotations[there : there + ANNOTATIONS]]
            body = {"output": {**output, "annotations": piece}}
            # Not sent twice: a lost answer leaves some missing, never any doubled.
            data = self._client.call("update_check", body=body, check_run=check_run).data
            if _count(data) <= there:
                break  # GitHub took them without counting: better too few than without end
        return check_run


def _annotation(one: Annotation) -> dict[str, Any]:
    return {
        "path": one.path,
        "start_line": one.line,
        "end_line": one.line,
        "annotation_level": one.level,
        "title": one.title,
        "message": one.message,
    }


def _count(data: Any) -> int:
    """How many annotations a check run has, as GitHub counts them."""
    found = answers.part(answers.part(data, "output"), "annotations_count")
    return found if isinstance(found, int) else 0
