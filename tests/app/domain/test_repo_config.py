"""The configuration is strict, says what is wrong, and agrees with its schema and its page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from app.domain.budget import LARGE, Limits
from app.domain.check import Tier
from app.domain.environment_config import FIXER_KEYS, SERVICE_KEYS, SETUP_KEYS
from app.domain.pull_request_config import PULL_REQUEST_KEYS
from app.domain.repo_config import (
    CAPS_KEYS,
    CHECK_KEYS,
    EVIDENCE_KEYS,
    KEYS,
    LIMIT_RANGES,
    NOT_YET,
    PATHS_KEYS,
    ROLES_KEYS,
    ConfigError,
    OnStop,
    PathRules,
    RepoConfig,
    checks_of,
    large_limits_of,
    limits_of,
    read,
)
from tests.shared_data import REPOSITORY

SCHEMA = json.loads((REPOSITORY / "manifests" / "agent.schema.json").read_text())
PAGE = (REPOSITORY / "docs" / "configuration.md").read_text()

FULL: dict[str, Any] = {
    "version": 1,
    "base": "release/2.x",
    "image": "registry.example/py@sha256:0123",
    "interpreter": "python3 -I",
    "checks": [
        {
            "name": "unit tests",
            "run": "python3 -m pytest -q --junitxml=../r.xml",
            "env": {"PYTHONPATH": "src"},
            "workdir": "./packages/a",
            "selector": "python3 -m pytest -k 'not slow' {tests}",
            "report": "../r.xml",
            "paths": ["packages/**"],
            "timeout": 60,
        },
        {"name": "style", "run": ["make", "style"], "tier": "quick", "selector": ["a", "{tests}"]},
    ],
    "paths": {"allow": ["src/**"], "unlock": ["db/migrations/**"]},
    "limits": {"turns": 5, "dollars": 1.25, "changed_lines": 90},
    "on_stop": "patch",
    "evidence": {"key": "ed25519:JkG1RMOQZwNsrLcQQD0JSRisEBYGrLiy2FKh2wYsV70="},
    "setup": {
        "run": ["pip install -r extra.txt"],
        "packages": ["libpq-dev"],
        "files": ["extra.txt"],
        "env": {"A": "b"},
        "timeout": 60,
        "again": True,
    },
    "services": [
        {"name": "cache", "image": "redis@sha256:01", "port": 6379, "ready": "redis-cli ping"}
    ],
    "fixers": [{"name": "format", "run": "ruff format .", "paths": ["**/*.py"]}],
    "egress": ["files.example.org", "*.example.com"],
}


def _check(**keys: Any) -> dict[str, Any]:
    return {"checks": [{"name": "a", "run": "true", **keys}]}


GOOD: list[dict[str, Any]] = [
    {},
    FULL,
    {"interpreter": ["python3", "-I"]},
    {"limits": {"dollars": 3}},
    {"limits": {}},
    _check(selector=[]),
    _check(selector=""),
    _check(report="", workdir="."),
    _check(env={}),
    {"checks": []},
    {"setup": []},
    {"setup": ["make deps"]},
    {"setup": {}},
    {"services": [], "fixers": [], "egress": []},
    {"caps": {"issue": 1, "user": 0, "repository": 5}},
    {"bots": [41898282, 7]},
    {"approval": "strict", "approval_on_all": True, "publish": "after-approval"},
]

BAD: list[tuple[dict[str, Any], str]] = [
    ({"chekcs": []}, "`chekcs` is unknown; did you mean `checks`?"),
    ({"zzz": 1}, "`zzz` is unknown. Known are: version, base"),
    ({"mode": "x"}, "`mode` is not supported yet"),
    ({"caps": []}, "`caps`: a mapping"),
    ({"caps": {"installation": 5}}, "`caps.installation` is unknown"),
    ({"caps": {"user": -1}}, "`caps.user`: from 0 to 10000 is possible"),
    ({"bots": 5}, "`bots`: a list"),
    ({"bots": ["dependabot[bot]"]}, "`bots[0]`: a whole number is wanted"),
    ({"bots": [True]}, "`bots[0]`: a whole number is wanted"),
    ({"bots": list(range(1, 23))}, "at most 20"),
    ({"approval": "anybody"}, "`approval`"),
    ({"approval_on_all": "yes"}, "true or false"),
    ({"publish": True}, "`publish`"),
    ({"pull_reqest": {}}, "did you mean `pull_request`?"),
    ({"setup": "make"}, "`setup`: a mapping"),
    ({"setup": [""]}, "a command is wanted"),
    ({"setup": {"packages": ["a b"]}}, "`a b` is no name of a distribution package"),
    ({"setup": {"env": {"https_proxy": "x"}}}, "`https_proxy` belongs to the sandbox"),
    ({"setup": {"again": "yes"}}, "true or false"),
    ({"services": [{"name": "a", "port": 1}]}, "`image` is missing"),
    ({"services": [{"name": "a", "image": "", "port": 1}]}, "an image name"),
    (
        {
            "services": [
                {"name": "a", "image": "x", "port": 1},
                {"name": "b", "image": "x", "port": 1},
            ]
        },
        "two use the port 1",
    ),
    ({"fixers": [{"name": "a", "run": " "}]}, "a command is wanted"),
    ({"fixers": [{"name": "a", "run": "x"}, {"name": "A", "run": "x"}]}, "names must differ"),
    ({"egress": ["127.0.0.1"]}, "is no host name"),
    ({"egress": ["https://example.org/"]}, "is no host name"),
    ({"version": 2}, "`version`: only 1 is possible, not 2"),
    ({"version": True}, "`version`: a whole number is wanted, not true or false"),
    ({"version": "1"}, "not text"),
    ({"version": 1.0}, "not 1.0"),
    ({"base": "a b"}, "`base`: `a b` does not fit; wanted: a branch name"),
    ({"base": "a..b"}, "`base`: `a..b` is no branch name"),
    ({"base": "a.lock"}, "is no branch name"),
    ({"base": 3}, "`base`: text is wanted, not a number; quote it"),
    ({"base": None}, "not nothing"),
    ({"base": "a\x00"}, "control character"),
    ({"base": "b" * 500}, "at most 400 characters"),
    ({"image": "-x"}, "`image`: `-x` does not fit"),
    ({"interpreter": [""]}, "`interpreter`: its first word, the program, is empty"),
    ({"interpreter": [1]}, "`interpreter[0]`: text is wanted"),
    ({"interpreter": {"a": "b"}}, "a list of texts is wanted, not a mapping"),
    ({"checks": "tests"}, "`checks`: a list of checks is wanted"),
    ({"checks": {}}, "`checks`: a list of checks is wanted"),
    ({"checks": [{"name": f"c{n}", "run": "x"} for n in range(21)]}, "at most 20"),
    ({"checks": ["tests"]}, "`checks[0]`: a mapping"),
    ({"checks": [{"name": "a"}]}, "`checks[0]`: `run` is missing"),
    ({"checks": [{"run": "a"}]}, "`checks[0]`: `name` is missing"),
    ({"checks": [{"name": "a", "run": "x"}, {"name": "A", "run": "y"}]}, "two are called `A`"),
    (_check(tier="quick"), "none has `tier: required`"),
    (_check(tier="fast"), "`checks[0].tier`: one of quick, required is wanted, not `fast`"),
    (_check(tier=1), "one of quick, required is wanted, not `1`"),
    (_check(name=""), "`checks[0].name`"),
    (_check(name="a/b"), "`checks[0].name`: `a/b` does not fit"),
    (_check(run=" "), "`checks[0].run`: a command is wanted, this is empty"),
    (_check(run=[]), "`checks[0].run`: a command is wanted, this is empty"),
    (_check(run=5), "`checks[0].run`: a list of texts is wanted, not a number"),
    (_check(run="x" * 5000), "at most 4000 characters"),
    (_check(run=["x"] * 101), "at most 100 items"),
    (_check(env=[]), "`checks[0].env`: a mapping"),
    (_check(env={"A-B": "1"}), "`A-B` is no name of a variable"),
    (_check(env={"A": 1}), "`checks[0].env.A`: text is wanted, not a number; quote it"),
    (_check(env={1: "a"}), "the key `1` is no text"),
    (_check(env={f"A{n}": "" for n in range(51)}), "at most 50 variables"),
    (_check(workdir="/etc"), "`checks[0].workdir`: a relative path inside the repository"),
    (_check(workdir="a/../.."), "a relative path inside the repository"),
    (_check(workdir="a\\b"), "a relative path inside the repository"),
    (_check(report="../r.xml"), "`checks[0].report`: a relative path inside"),
    (_check(selector="pytest"), "the word `{tests}` must stand in it once"),
    (_check(selector="pytest {tests} {tests}"), "must stand in it once"),
    (_check(selector="pytest x{tests}"), "on its own"),
    (_check(selector="pytest '{tests}"), "`checks[0].selector`: no closing quotation"),
    (_check(selector="A=1 pytest {tests}"), "variables belong under `env`"),
    (_check(selector=["{tests}"]), "its first word must be a program"),
    (_check(paths=["/a"]), "`/a` is no glob"),
    (_check(paths=["a/../b"]), "is no glob"),
    (_check(paths=[""]), "is no glob"),
    (_check(paths="src/**"), "`checks[0].paths`: a list of texts is wanted, not text"),
    (_check(timeout=0), "`checks[0].timeout`: from 1 to 3600 is possible, not 0"),
    (_check(comand="x"), "`checks[0].comand` is unknown"),
    ({"paths": []}, "`paths`: a mapping"),
    ({"paths": {"deny": []}}, "`paths.deny` is unknown"),
    ({"limits": {"turn": 3}}, "`limits.turn` is unknown; did you mean `turns`?"),
    ({"limits": {"turns": 0}}, "`limits.turns`: from 1 to 100"),
    ({"limits": {"dollars": "2"}}, "`limits.dollars`: a number of dollars is wanted"),
    ({"limits": {"dollars": 0}}, "from 0.01 to 1000.00 is possible, not 0"),
    ({"limits": {"dollars": float("inf")}}, "`limits.dollars`"),
    ({"limits": {"dollars": float("nan")}}, "`limits.dollars`"),
    ({"limits": None}, "`limits`: a mapping"),
    ({"on_stop": "stop"}, "one of draft, patch, nothing is wanted"),
]


def test_every_key_arrives_as_a_value() -> None:
    config = read(FULL)
    assert config.base == "release/2.x"
    assert config.interpreter == ("python3", "-I")
    assert config.paths == PathRules(("src/**",), ("db/migrations/**",))
    assert config.limits == {"turns": 5, "dollars": 1_250_000, "changed_lines": 90}
    assert config.on_stop is OnStop.PATCH
    assert [one.name for one in config.checks] == ["unit tests", "style"]


def test_checks_become_argv_with_paths_from_the_root() -> None:
    tests, style = checks_of(read(FULL))
    assert tests.argv == ("sh", "-euc", "python3 -m pytest -q --junitxml=../r.xml")
    assert tests.workdir == "packages/a"
    assert tests.report == "packages/r.xml"
    assert tests.selector == ("python3", "-m", "pytest", "-k", "not slow", "{tests}")
    assert (tests.env, tests.timeout, tests.paths) == (
        {"PYTHONPATH": "src"},
        60,
        ("packages/**",),
    )
    assert (style.argv, style.tier, style.report) == (("make", "style"), Tier.QUICK, "")
    assert style.selector == ("a", "{tests}")


def test_an_empty_mapping_gives_the_defaults() -> None:
    assert read({}) == RepoConfig()
    assert checks_of(RepoConfig()) == ()


@pytest.mark.parametrize(("mapping", "said"), BAD)
def test_what_does_not_fit_is_an_error_that_names_it(mapping: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(mapping)
    assert said in str(caught.value)


@pytest.mark.parametrize("key", NOT_YET)
def test_a_key_of_later_is_refused_not_ignored(key: str) -> None:
    with pytest.raises(ConfigError, match="not supported yet"):
        read({key: True})


def test_limits_are_the_defaults_where_nothing_is_asked() -> None:
    assert limits_of(RepoConfig(), Limits()) == Limits()


def test_limits_are_raised_and_lowered_within_the_ceiling() -> None:
    ceiling = Limits(turns=20, dollars=5_000_000, repairs=1)
    asked = RepoConfig(limits={"turns": 30, "dollars": 4_000_000, "calls": 10})
    limits = limits_of(asked, ceiling)
    assert (limits.turns, limits.dollars, limits.calls, limits.repairs) == (20, 4_000_000, 10, 1)


CEILING = replace(LARGE, turns=100, dollars=20_000_000, wall=14_400)


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ({}, {}),
        ({"large": {"turns": 9, "dollars": 3}}, {"turns": 9, "dollars": 3_000_000}),
        ({"large": {"dollars": 900, "wall": 86_400}}, {"dollars": 20_000_000, "wall": 14_400}),
        ({"limits": {"turns": 5, "dollars": 0.5}}, {}),  # lower ones are of ordinary runs
        ({"limits": {"turns": 35, "dollars": 12}}, {"turns": 35, "dollars": 12_000_000}),
        ({"limits": {"turns": 35}, "large": {"turns": 8}}, {"turns": 8}),
        ({"limits": {"changed_lines": 90}}, {"changed_lines": 90}),
    ],
)
def test_limits_of_class_large(said: dict[str, Any], changed: dict[str, int]) -> None:
    assert large_limits_of(read(said), CEILING) == replace(LARGE, **changed)


@pytest.mark.parametrize(
    ("asked", "most", "held"), [(0, 0, 0), (90, 0, 90), (0, 50, 50), (90, 50, 50), (20, 50, 20)]
)
def test_a_ceiling_of_zero_changed_lines_is_none(asked: int, most: int, held: int) -> None:
    config = RepoConfig(limits={"changed_lines": asked} if asked else {})
    assert limits_of(config, Limits(changed_lines=most)).changed_lines == held


@pytest.mark.parametrize("mapping", GOOD)
def test_the_schema_takes_what_is_read(mapping: dict[str, Any]) -> None:
    read(mapping)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(mapping, SCHEMA, cls=jsonschema.Draft202012Validator)


# What the schema language cannot say, or says less exactly: relations between values, quoting.
BEYOND = {
    "names must differ",
    "two use the port 1",
    "`base`: `a..b` is no branch name",
    "`checks[0].report`: a relative path inside",
    "`checks[0].selector`: no closing quotation",
    "`interpreter`: its first word, the program, is empty",
    "`limits.dollars`",
    "a relative path inside the repository",
    "is no branch name",
    "its first word must be a program",
    "must stand in it once",
    "none has `tier: required`",
    "not 1.0",
    "the key `1` is no text",
    "two are called `A`",
    "variables belong under `env`",
}


def test_the_schema_refuses_all_else_that_is_refused() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert {said for mapping, said in BAD if validator.is_valid(mapping)} == BEYOND


def test_the_schema_has_exactly_the_keys_that_are_read() -> None:
    properties = SCHEMA["properties"]
    assert tuple(properties) == KEYS
    assert tuple(properties["checks"]["items"]["properties"]) == CHECK_KEYS
    assert tuple(properties["paths"]["properties"]) == PATHS_KEYS
    assert tuple(properties["evidence"]["properties"]) == EVIDENCE_KEYS
    assert tuple(properties["roles"]["properties"]) == ROLES_KEYS
    assert tuple(properties["pull_request"]["properties"]) == PULL_REQUEST_KEYS
    assert tuple(properties["caps"]["properties"]) == CAPS_KEYS
    assert tuple(properties["limits"]["properties"]) == tuple(LIMIT_RANGES)
    assert tuple(properties["large"]["properties"]) == tuple(LIMIT_RANGES)
    assert tuple(properties["setup"]["oneOf"][1]["properties"]) == SETUP_KEYS
    assert tuple(sorted(properties["services"]["items"]["properties"])) == tuple(
        sorted(SERVICE_KEYS)
    )
    assert tuple(sorted(properties["fixers"]["items"]["properties"])) == tuple(sorted(FIXER_KEYS))


def test_the_schema_tells_the_defaults_and_ranges_that_hold() -> None:
    for key, default in (("limits", Limits()), ("large", LARGE)):
        limits = SCHEMA["properties"][key]["properties"]
        for name, (low, high) in LIMIT_RANGES.items():
            scale = 1_000_000 if name == "dollars" else 1
            assert (limits[name]["minimum"] * scale, limits[name]["maximum"] * scale) == (low, high)
            if name != "changed_lines":
                assert limits[name]["default"] * scale == getattr(default, name)
                assert f"| `{key}.{name}` |" in PAGE


def test_every_key_stands_on_the_page() -> None:
    keys = PAGE.partition("## Keys that are refused for now")[0]
    rows = set(re.findall(r"^\| `([^`]+)` \|", keys, flags=re.MULTILINE))
    assert rows == {
        *KEYS,
        *(f"checks[].{key}" for key in CHECK_KEYS),
        *(f"paths.{key}" for key in PATHS_KEYS),
        *(f"evidence.{key}" for key in EVIDENCE_KEYS),
        *(f"roles.{key}" for key in ROLES_KEYS),
        *(f"pull_request.{key}" for key in PULL_REQUEST_KEYS),
        *(f"caps.{key}" for key in CAPS_KEYS),
        *(f"limits.{key}" for key in LIMIT_RANGES),
        *(f"large.{key}" for key in LIMIT_RANGES),
        *(f"setup.{key}" for key in SETUP_KEYS),
        *(f"services[].{key}" for key in SERVICE_KEYS),
        *(f"fixers[].{key}" for key in FIXER_KEYS),
    }
    refused = PAGE.partition("## Keys that are refused for now")[2].partition("## ")[0]
    assert set(re.findall(r"`([^`]+)`", refused)) == set(NOT_YET)


@pytest.mark.parametrize(
    "key", ["ed25519:", "rsa:AAAA", "ed25519:" + "A" * 44, "-----BEGIN PUBLIC KEY-----", "x\ny"]
)
def test_a_key_for_evidence_is_one_line_of_one_form(key: str) -> None:
    with pytest.raises(ConfigError, match=r"evidence\.key"):
        read({"evidence": {"key": key}})
    assert read({"evidence": {"key": ""}}).evidence_key == ""
    assert read({}).evidence_key == ""
