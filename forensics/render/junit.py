"""A gate's decision as JUnit XML, one test case a check, as CI servers read it.

Form: the schema that Jenkins' xUnit plug-in publishes (junit-10.xsd). `unknown` is an
error and not a failure: the run could not be judged.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from forensics.model import Check, Decision, Evidence
from forensics.render import places
from forensics.text.ansi import visible

MOST_TEXT = 20_000
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
"""What XML 1.0 cannot hold."""


def render(decision: Decision, base: str = "") -> bytes:
    """Return the XML; `base` is the folder that evidence paths are relative to."""
    checks = [c for c in decision.checks if c.finding is None or c.finding.role != "note" or c.standing != "pass"]
    counts = {
        "tests": len(checks),
        "failures": sum(c.standing == "fail" for c in checks),
        "errors": sum(c.standing == "unknown" for c in checks),
    }
    skipped = sum(c.standing in {"known", "ignored"} for c in checks)
    numbers = {name: str(value) for name, value in counts.items()}
    root = ET.Element("testsuites", {"name": "dflash-forensics", "time": "0", **numbers})
    name = _clean(decision.report.run.path or "run")
    suite = ET.SubElement(root, "testsuite", {"name": name, "time": "0", "skipped": str(skipped), **numbers})
    seen: dict[str, int] = {}
    for check in checks:
        seen[check.name] = seen.get(check.name, 0) + 1
        repeated = f" ({seen[check.name]})" if seen[check.name] > 1 else ""
        _case(suite, check, base, repeated)
    ET.indent(root)
    body: bytes = ET.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + body + b"\n"


def _case(suite: ET.Element, check: Check, base: str, repeated: str) -> None:
    family, _, rest = check.name.partition(".")
    case = ET.SubElement(suite, "testcase", name=f"{rest}{repeated}", classname=f"dflash-forensics.{family}", time="0")
    text = _clean(check.text)
    if check.standing == "fail":
        ET.SubElement(case, "failure", message=text, type=check.level).text = _body(check, base)
    elif check.standing == "unknown":
        ET.SubElement(case, "error", message=text, type="unknown").text = _body(check, base)
    elif check.standing in {"known", "ignored"}:
        ET.SubElement(case, "skipped", message=_clean(check.reason)).text = _body(check, base)
    else:
        ET.SubElement(case, "system-out").text = _body(check, base)


def _body(check: Check, base: str) -> str:
    parts = [check.text, *(_quoted(place, base) for place in check.evidence)]
    if check.finding is not None:
        parts += [check.finding.explanation, *(f"{fix.title}\n{fix.detail}" for fix in check.finding.fixes)]
    return _clean("\n\n".join(part.strip() for part in parts if part.strip()), keep="\n")[:MOST_TEXT]


def _quoted(place: Evidence, base: str) -> str:
    where = places.path(base, place)
    return f"{where}:{place.line}\n{place.text}" if place.line else where


def _clean(text: str, keep: str = "") -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", visible(text, keep=keep))
