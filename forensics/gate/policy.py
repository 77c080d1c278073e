"""What a run must be to pass, as TOML: `dflash-forensics.toml`, or `[tool.dflash-forensics]` of pyproject.toml.

fail-on = "error"               # or "warning"
unknown = "fail"                # or "pass"

[levels]                        # an id or a family -> "error", "warning", "note", "ignore"
"train.loss-spike" = "error"

[require]
min-last-step = 10_000
total-steps = true              # reached; unset: asked for where nothing says that training ended early on purpose
final-loss-below = 2.5
checkpoint = true
not-degraded = true

[against]                       # with --against GOOD_RUN
slower-percent = 20             # 0 switches a comparison off
worse-loss-percent = 5
new-warnings = true

[[ignore]]
id = "setup.tracker"
reason = "the tracker is down, ticket 12"
until = 2026-12-31
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from forensics.model import Level

NAME = "dflash-forensics.toml"
TABLE = "dflash-forensics"
Setting: TypeAlias = Literal["error", "warning", "note", "ignore"]


class PolicyError(Exception):
    """A policy that cannot be used; the message names the file and the key."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The habits of every table of a policy: kebab-case, and no key that is not known."""


class Require(_Table, frozen=True):
    """Outcomes that a run must have reached. None is not asked for."""

    min_last_step: int | None = None
    total_steps: bool | None = None
    final_loss_below: float | None = None
    checkpoint: bool = False
    not_degraded: bool = False


class Against(_Table, frozen=True):
    """How much worse than a good run is bad; 0 or false switches a comparison off."""

    slower_percent: float = 20.0
    worse_loss_percent: float = 5.0
    new_warnings: bool = True


class Ignore(_Table, frozen=True):
    """A finding that may pass: an id or `family.*`, why, and until when (that day included)."""

    id: str
    reason: str
    until: date | None = None

    def covers(self, name: str) -> bool:
        """Tell whether it speaks of a cause."""
        return fnmatchcase(name, self.id)

    def expired(self, today: date) -> bool:
        """Tell whether its time is over."""
        return self.until is not None and today > self.until


class Policy(_Table, frozen=True):
    """See the module's text."""

    fail_on: Literal["error", "warning"] = "error"
    unknown: Literal["fail", "pass"] = "fail"
    levels: dict[str, Setting] = {}
    require: Require = Require()
    against: Against = Against()
    ignore: tuple[Ignore, ...] = ()
    path: str = ""

    def setting(self, name: str) -> Setting | None:
        """Return what `[levels]` says of a cause: its id before its family."""
        found = self.levels.get(name)
        return found if found is not None else self.levels.get(name.partition(".")[0] + ".*")

    def fails(self, level: Level) -> bool:
        """Tell whether a finding of this level is one to fail on."""
        return level == "error" or (level == "warning" and self.fail_on == "warning")


def find_policy(start: Path) -> Path | None:
    """Return the nearest file with a policy, from a folder upwards."""
    for folder in (start, *start.parents):
        own, project = folder / NAME, folder / "pyproject.toml"
        if own.is_file():
            return own
        if project.is_file() and TABLE in _tool(_parsed(project)):
            return project
    return None


def load_policy(path: Path) -> Policy:
    """Read a policy.

    Raises:
        PolicyError: the file cannot be read, is no TOML, has no policy, or one that is not sound.
    """
    table = _parsed(path)
    if path.name == "pyproject.toml":
        found = _tool(table).get(TABLE)
        if not isinstance(found, Mapping):
            raise PolicyError(f"{path}: there is no table [tool.{TABLE}]")
        table = dict(found)
    if "path" in table:
        raise PolicyError(f"{path}: `path` is no key of a policy")
    try:
        policy = msgspec.convert({**_kebab(table), "path": str(path)}, Policy)
    except msgspec.ValidationError as wrong:
        raise PolicyError(f"{path}: {str(wrong).replace(' - at `$', ' - at `policy')}") from wrong
    for ignored in policy.ignore:
        if not ignored.reason.strip():
            raise PolicyError(f"{path}: the ignore of {ignored.id} needs a reason")
    return policy


def _kebab(table: Mapping[str, Any]) -> dict[str, Any]:
    """Allow `min_last_step` for `min-last-step`; the ids in `levels` are left as they are."""
    return {
        key.replace("_", "-"): _kebab(value) if isinstance(value, Mapping) and key != "levels" else value
        for key, value in table.items()
    }


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as wrong:
        raise PolicyError(f"{path}: cannot be read: {wrong.strerror or wrong}") from wrong
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise PolicyError(f"{path}: {wrong}") from wrong


def _tool(table: Mapping[str, Any]) -> Mapping[str, Any]:
    tool = table.get("tool")
    return tool if isinstance(tool, Mapping) else {}
