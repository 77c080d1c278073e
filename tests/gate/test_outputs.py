"""What the gate writes for machines: valid by the published schemas, whatever a log holds."""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema

from forensics.gate import Policy, decide
from forensics.gate.baseline import Baseline, load_baseline
from forensics.model import Decision
from forensics.render import gate_json, gate_text, github, gitlab, junit, sarif
from tests.gate.runs import DONE, RUNS, examined, steps

PUBLISHED = Path(__file__).parent / "published"
SARIF = jsonschema.Draft7Validator(json.loads((PUBLISHED / "sarif-2.1.0.schema.json").read_bytes()))
TODAY = date(2026, 11, 29)
HOSTILE = (
    steps(5, 20) + "Traceback (most recent call last):\n"
    '  File "/w/t.py", line 3, in f\n    g()\n'
    "ValueError: \x1b[31m]]><x>&amp; %0A::error::owned, \u202e `a` | <b> \x00\x0b\n::error file=a::owned\n"
)


@cache
def schema() -> xmlschema.XMLSchema:
    """Return Jenkins' schema of JUnit XML."""
    return xmlschema.XMLSchema(str(PUBLISHED / "junit-10.xsd"))


def decided(name: str, policy: Policy | None = None) -> Decision:
    """Return the decision on one of the runs, or on one whose log is hostile."""
    files = {"train.log": HOSTILE.encode(), "exit_code": b"1\n"} if name == "hostile" else RUNS[name]
    return decide(examined(files), policy or Policy(), TODAY)


NAMES = [*RUNS, "hostile"]


@pytest.mark.parametrize("name", NAMES)
def test_sarif_is_valid_by_the_official_schema(name: str) -> None:
    """Every run gives a log that viewers accept, with the line that proves each result."""
    decision = decided(name)
    log = json.loads(sarif.render(decision, "out/run dir"))
    assert list(SARIF.iter_errors(log)) == []
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert rules[result["ruleIndex"]]["help"]["text"]
        assert result["locations"], "a viewer drops what has no place"
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("out/run%20dir/")
    roots = [r for r in run["results"] if r.get("properties", {}).get("role") == "root" and r["level"] == "error"]
    root = decision.report.root
    assert bool(roots) == any(c.finding is root and c.standing == "fail" for c in decision.checks if root)


def test_sarif_names_the_line_and_the_fingerprint() -> None:
    """A finding is shown at its line, and recognised in the next run."""
    log = json.loads(sarif.render(decided("raised"), "run"))
    root = next(r for r in log["runs"][0]["results"] if r["ruleId"] == "setup.python-exception")
    region = root["locations"][0]["physicalLocation"]["region"]
    lines = RUNS["raised"]["train.log"].decode().splitlines()
    assert lines[region["endLine"] - 1] == "KeyError: 'labels'"
    assert len(root["partialFingerprints"]["dflashForensics/v1"]) == 32


def test_sarif_marks_what_is_known_as_suppressed() -> None:
    """A known finding is in the log, and no alert."""
    first = decided("raised")
    known = Baseline().with_these(first.of("fail"))
    again = decide(examined(RUNS["raised"]), Policy(), TODAY, known=known)
    assert again.status == "pass"
    results = json.loads(sarif.render(again))["runs"][0]["results"]
    assert [r["suppressions"][0]["kind"] for r in results if r["ruleId"].startswith("setup.")] == ["external"]


@pytest.mark.parametrize("name", NAMES)
def test_junit_is_valid_by_the_published_schema(name: str) -> None:
    """CI servers read it, and count what fails, what is open and what is skipped."""
    decision = decided(name)
    text = junit.render(decision, "run")
    schema().validate(ET.ElementTree(ET.fromstring(text)))  # noqa: S314 - our own output
    suite = ET.fromstring(text).find("testsuite")  # noqa: S314
    assert suite is not None
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure")) == len(decision.of("fail"))
    assert int(suite.get("errors", "")) == len(suite.findall("testcase/error"))
    assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
    names = [(case.get("classname"), case.get("name")) for case in suite.findall("testcase")]
    assert len(set(names)) == len(names), "a server keeps one of two cases of the same name"


@pytest.mark.parametrize("name", NAMES)
def test_gitlab_gets_one_fingerprint_a_finding(name: str) -> None:
    """GitLab drops what shares a fingerprint, and what lacks one of the keys."""
    issues = json.loads(gitlab.render(decided(name), "run"))
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["location"]["lines"]["begin"] >= 1
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
    assert len({i["fingerprint"] for i in issues}) == len(issues)
    assert bool([i for i in issues if i["severity"] == "blocker"]) == bool(decided(name).of("fail"))


@pytest.mark.parametrize("name", NAMES)
def test_github_obeys_our_commands_only(name: str) -> None:
    """What a log says never starts a line, so none of it can be a workflow command."""
    decision = decided(name)
    told = [line for line in github.commands(decision, "run").splitlines() if line.lstrip().startswith(("::", "##["))]
    assert len(told) <= 10
    for line in told:
        properties, _, message = line.removeprefix("::").partition("::")
        assert properties.partition(" ")[0] in {"error", "warning", "notice"}
        assert "\n" not in message
        assert message
    shown = gate_text.render(decision, "run") + github.summary(decision, "run")
    assert not [line for line in shown.splitlines() if line.lstrip().startswith(("::", "##["))]
    assert bool(told) == bool(decision.of("fail", "unknown")) or decision.report.verdict == "degraded"


def test_github_annotates_the_line_that_decides() -> None:
    """A reader clicks on the annotation and stands at the exception."""
    told = github.commands(decided("raised"), "out/run").splitlines()[0]
    assert told.startswith("::error title=setup.python-exception,file=out/run/train.log,line=11,endLine=11::")


def test_at_most_ten_annotations_and_the_worst_are_among_them() -> None:
    """GitHub shows ten; the eleventh is counted in words."""
    noise = "".join(
        f'Traceback (most recent call last):\n  File "/w/t.py", line {n}, in f\n    g()\n{words}\n'
        for n, words in enumerate(
            (
                "KeyError: 'labels'",
                "ModuleNotFoundError: No module named 'apex'",
                "OSError: [Errno 28] No space left on device: 'x.bin'",
                "PermissionError: [Errno 13] Permission denied: '/w/x'",
            )
        )
    )
    ignores = "".join(f"[[ignore]]\nid = 'a.b{n}'\nreason = 'x'\nuntil = 2020-01-01\n" for n in range(20))
    policy = policy_of(ignores)
    decision = decide(examined({"train.log": (steps(5, 20) + noise).encode(), "exit_code": b"1\n"}), policy, TODAY)
    lines = github.commands(decision).splitlines()
    assert len([line for line in lines if line.startswith("::")]) == 10
    assert "10 annotated" in lines[-1]
    assert any("title=" + str(decision.report.root and decision.report.root.id) in line for line in lines)


def policy_of(text: str) -> Policy:
    """Return the policy that a text is."""
    import tomllib

    import msgspec

    return msgspec.convert(tomllib.loads(text), Policy)


@pytest.mark.parametrize("name", NAMES)
def test_the_decision_carries_the_report_as_it_is(name: str) -> None:
    """Programs get the decision, its reasons, and the frozen report inside."""
    from forensics.render import json_v1

    decision = decided(name)
    answer = json.loads(gate_json.render(decision))
    assert answer["report"] == json.loads(json_v1.to_json(decision.report))
    assert answer["exit_status"] == {"pass": 0, "fail": 1, "unknown": 3}[decision.status]
    assert [c["name"] for c in answer["checks"]] == [c.name for c in decision.checks]


def test_a_baseline_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """It lives in a repository: stable order, one finding a line, and nothing lost."""
    made = Baseline().with_these(decided("masked").of("fail"))
    file = tmp_path / "known.json"
    file.write_bytes(made.dump())
    assert load_baseline(file).known == made.known
    assert file.read_text().count('"fingerprint"') == len(made.known) > 0
    file.write_bytes(Baseline().dump())
    assert load_baseline(file).known == ()


def test_a_baseline_does_not_hide_another_failure() -> None:
    """What was accepted is one finding, not a family of them."""
    known = Baseline().with_these(decided("raised").of("fail"))
    other = RUNS["raised"]["train.log"].replace(b"'labels'", b"'input_ids'")
    assert decide(examined({"train.log": other, "exit_code": b"1\n"}), Policy(), TODAY, known=known).status == "fail"
    assert (
        decide(examined({"train.log": (steps(20, 20) + DONE).encode()}), Policy(), TODAY, known=known).status == "pass"
    )
