"""GitHub's description of its REST API, and whether a call and its answer are as it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openapi_schema_validator import OAS30Validator, oas30_format_checker
from referencing import Registry
from referencing.jsonschema import DRAFT4

Json = dict[str, Any]
# The description knows one path for a folder's root and for everything in it.
SPELT = {"/repos/{owner}/{repo}/contents/": "/repos/{owner}/{repo}/contents/{path}"}
READY = ("application/json", "application/vnd.github+json")


def pattern(path: str) -> list[str]:
    return ["*" if "{" in part else part for part in SPELT.get(path, path).split("/")]


@dataclass
class Description:
    """One description. `seen` are the calls that were found to be as it says."""

    spec: Json
    seen: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        mend(self.spec)
        resource = DRAFT4.create_resource(self.spec)
        self._registry: Registry[Any] = Registry().with_resource("urn:spec", resource)
        self._paths = {
            (method.upper(), *pattern(path)): path
            for path, methods in self.spec["paths"].items()
            for method in methods
        }

    def known(self, method: str, path: str) -> str | None:
        """The description's own path of an operation; None where it has none."""
        return self._paths.get((method, *pattern(path)))

    def askable(self, method: str, path: str) -> dict[str, Json]:
        """The query's parameters by name, with their schemas."""
        every = [self._of(one) for one in self._operation(method, path)[1].get("parameters", [])]
        return {one["name"]: one["schema"] for one in every if one["in"] == "query"}

    def sendable(self, method: str, path: str) -> set[str]:
        """Every key that the JSON body may have."""
        body = self._of(self._operation(method, path)[1].get("requestBody", {}))
        schema = body.get("content", {}).get("application/json", {}).get("schema", {})
        return self._properties(schema)

    def _properties(self, schema: Json) -> set[str]:
        """The keys of an object of this schema, or of any of its alternatives."""
        schema = self._of(schema)
        found = set(schema.get("properties", {}))
        for key in ("oneOf", "anyOf", "allOf"):
            for one in schema.get(key, []):
                found |= self._properties(one)
        return found

    def check_request(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str]
    ) -> None:
        """What is sent: only what GitHub knows, each as GitHub wants it."""
        own, operation = self._operation(method, path)
        askable = self.askable(method, path)
        said = [f"unknown in the query: {one}" for one in sorted(set(query) - set(askable))]
        for name, schema in askable.items():
            if name in query:
                said += self._errors(schema, read(query[name], schema))
        content = self._of(operation.get("requestBody", {})).get("content", {})
        at = ("paths", own, method.lower(), "requestBody", "content", "application/json", "schema")
        if body and not content:
            said.append(f"a body, where GitHub takes none: {sorted(body)}")
        elif content and (body or operation["requestBody"].get("required")):
            said += self._errors(pointer(*at), body or {})
            unknown = set(body or {}) - self.sendable(method, path)
            said += [f"unknown in the body: {one}" for one in sorted(unknown)]
        assert not said, f"{method} {own} is sent otherwise than GitHub takes it: {said}"

    def check_answer(self, method: str, path: str, status: int, answer: Any) -> None:
        """What is answered: a status and a body that GitHub describes."""
        own, operation = self._operation(method, path)
        code = str(status)
        assert code in operation["responses"], f"{method} {own}: {code} {answer}"
        self.seen.add((method, path))
        response = self._of(operation["responses"][code])
        content = response.get("content", {})
        if not content:
            return
        media = next((one for one in READY if one in content), next(iter(content)))
        said = self._errors(content[media]["schema"], answer)
        assert not said, f"{method} {own}: {code}: {said}"

    def _operation(self, method: str, path: str) -> tuple[str, Json]:
        own = self.known(method, path)
        assert own is not None, f"GitHub describes no {method} {path}"
        return own, self.spec["paths"][own][method.lower()]

    def _of(self, one: Json) -> Json:
        """What a reference names, or the thing itself."""
        while "$ref" in one:
            found: Any = self.spec
            for part in one["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            one = found
        return one

    def _errors(self, schema: Json, value: Any) -> list[str]:
        """What breaks `schema`, whose references are into this description."""
        validator = OAS30Validator(
            rooted(schema), registry=self._registry, format_checker=oas30_format_checker
        )
        errors = sorted(validator.iter_errors(value), key=lambda one: list(one.path))
        return [f"{list(one.absolute_path)}: {one.message[:300]}" for one in errors]


def pointer(*parts: str) -> Json:
    where = "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)
    return {"$ref": f"#/{where}"}


def rooted(schema: Any) -> Any:
    """The same schema with references that can be followed from outside the description."""
    if isinstance(schema, dict):
        return {
            key: f"urn:spec{value}"
            if key == "$ref" and str(value).startswith("#")
            else rooted(value)
            for key, value in schema.items()
        }
    return [rooted(one) for one in schema] if isinstance(schema, list) else schema


def read(text: str, schema: Json) -> Any:
    """A value of a query as its schema means it."""
    if schema.get("type") == "integer" and text.isdecimal():
        return int(text)
    if schema.get("type") == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


def mend(spec: Any) -> None:
    """Where the description differs from GitHub's own examples, which are the practice."""
    if isinstance(spec, list):
        for one in spec:
            mend(one)
    if not isinstance(spec, dict):
        return
    # A nullable enumeration means null too.
    if spec.get("nullable") is True and isinstance(spec.get("enum"), list):
        spec["enum"] = [*spec["enum"], None]
    # A discriminator only hints at one of the alternatives, and cannot be read from a list.
    if isinstance(spec.get("discriminator"), dict):
        del spec["discriminator"]
    # An account that is a user *and* an enterprise is either.
    account = spec.get("account")
    if isinstance(account, dict) and len(account.get("allOf", ())) == 2:
        account["anyOf"] = account.pop("allOf")
    for value in spec.values():
        mend(value)
