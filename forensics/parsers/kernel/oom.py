"""The out-of-memory killer's report: one event per process it killed.

    python invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
    memory: usage 67108864kB, limit 67108864kB, failcnt 812
    oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/slurm/job_7,task_memcg=/slurm/job_7/step_0,task=python,pid=41,uid=0
    Memory cgroup out of memory: Killed process 41 (python) total-vm:90kB, anon-rss:80kB, file-rss:0kB, ...

The lines stand up to a few hundred lines apart (stacks and a table of all tasks lie
between them). Wordings: mm/oom_kill.c and mm/memcontrol.c, Linux 2.6.32 to 6.x, the
enterprise kernels' variant with `UID` in the middle, systemd-oomd and earlyoom.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from forensics.model import Context, Event, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import place, quote

TRIGGERS = (
    "invoked oom-killer",
    "oom-kill:constraint=",
    "Killed process ",
    "Kill process ",
    "memory: usage ",
    " killed as a result of limit of ",
    "due to memory.oom.group set",
    "killed by the OOM killer",
    "systemd-oomd",
    "earlyoom",
)
_KIB = 1024
_MAX_LINES = 20_000  # a report of a machine with many tasks is long; beyond this it is another one
_MOST_SAID = 8  # lines that go with a kill
_INVOKED = lazy(r"(?P<invoked_by>.{1,64}?) invoked oom-killer:")
_USAGE = lazy(r"memory: usage (?P<usage>\d{1,18})kB, limit (?P<limit>\d{1,18})kB")
_LIMITED = lazy(r"Task in (?P<task_memcg>\S{1,512}) killed as a result of limit of (?P<oom_memcg>\S{1,512})")
_GROUP = lazy(r"Tasks in (?P<task_memcg>\S{1,512}) are going to be killed due to memory\.oom\.group set")
_CONSTRAINT = lazy(r"oom-kill:constraint=CONSTRAINT_(?P<constraint>\w{1,32})")
_PAIR = lazy(r"(?:^|,)(?P<key>oom_memcg|task_memcg|task|pid|uid)=(?P<value>[^,]{1,512})")
_CHOSEN = lazy(
    r"(?P<why>[^:]{1,64}): Kill process (?P<pid>\d{1,9}) \((?P<comm>.{1,64}?)\) score \d+ or sacrifice child"
)
_KILLED = lazy(
    r"(?:(?P<why>[^:]{1,64}): )?Killed process (?P<pid>\d{1,9}) \((?P<comm>.{1,64}?)\)"
    r"(?:,? UID:? ?(?P<uid>\d{1,9}),?)? (?:total-vm|vsz):(?P<vm>\d{1,18})kB, anon-rss:(?P<rss>\d{1,18})kB"
    r"(?:, file-rss:(?P<file>\d{1,18})kB)?(?:, shmem-rss:(?P<shmem>\d{1,18})kB)?"
)
_OTHERS = (
    (
        "oom-kill",
        lazy(
            r"(?:systemd-oomd\[\d+\]: )?Killed (?P<task_memcg>/\S{1,512}) due to (?:memory|swap)"
            r"|(?:earlyoom(?:\[\d+\])?: )?sending SIG\w+ to process (?P<pid>\d{1,9}) uid \d+ \"(?P<comm>[^\"]{1,64})\""
        ),
    ),
    (
        "oom-unit",
        lazy(r"(?:systemd\[\d+\]: )?(?P<unit>\S{1,256}): A process of this unit has been killed by the OOM killer"),
    ),
)
_CONSTRAINTS = {"NONE": "global", "MEMCG": "memcg", "CPUSET": "cpuset", "MEMORY_POLICY": "mempolicy"}
_JOB = lazy(r"/job_(?P<job_id>\d{1,18})(?:/|$)")


class Report:
    """What has been said of one out-of-memory situation on one machine."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._begin()

    def _begin(self, first: int = 0) -> None:
        self._first = first
        self._facts: dict[str, Value] = {}
        self._said: list[Record] = []  # lines that belong to every kill of this report
        self._victim: dict[str, Value] = {}
        self._announced: Record | None = None  # the line that names a victim not killed yet

    def overtake(self) -> None:
        """Forget a victim named but not killed yet: something else was said meanwhile.

        Otherwise the same lines would give the victim's event before or after others,
        depending on where the file ends.
        """
        self._announced = None

    def hear(self, text: str, record: Record) -> Iterator[Event]:
        """Take one line of the kernel; yield the kills that it completes."""
        if record.line.number - self._first > _MAX_LINES:
            yield from self.close()
        if match := _INVOKED.match(text):
            yield from self.close()
            self._begin(record.line.number)
            self._facts["invoked_by"] = match["invoked_by"]
        elif match := _KILLED.match(text):
            yield self._killed(match, record)
        elif match := _CHOSEN.match(text):
            yield from self._announce(record, {"pid": int(match["pid"]), "comm": match["comm"]})
            self._facts.setdefault("constraint", _why(match["why"]))
        elif match := _CONSTRAINT.match(text):
            self._facts["constraint"] = _CONSTRAINTS.get(match["constraint"], match["constraint"].lower())
            named = {m["key"]: m["value"] for m in _PAIR.finditer(text)}
            self._facts.update({k: v for k, v in named.items() if k.endswith("memcg")})
            pid = named.get("pid", "")
            victim: dict[str, Value] = {"comm": named.get("task")}
            yield from self._announce(record, {**victim, "pid": int(pid) if pid.isdecimal() else None})
        elif match := _USAGE.match(text):
            self._context_line(record)
            self._facts["usage_bytes"] = int(match["usage"]) * _KIB
            self._facts["limit_bytes"] = int(match["limit"]) * _KIB
        elif match := _LIMITED.match(text):
            self._context_line(record)
            self._facts.update(match.groupdict())
        elif match := _GROUP.match(text):
            self._context_line(record)
            self._facts.update(task_memcg=match["task_memcg"], group=True)
            yield from self._announce(record, {})
        else:
            for kind, pattern in _OTHERS:
                if match := pattern.match(text):
                    fields: Mapping[str, Value] = match.groupdict()
                    pid = match.groupdict().get("pid") or ""
                    yield quote(
                        "kernel", kind, [record], self._context, {**fields, "pid": int(pid) if pid else None}, text
                    )

    def close(self) -> Iterator[Event]:
        """Yield the victim that was named but whose death is not in the log, if any."""
        if self._announced is not None:
            yield self._event(self._announced, self._announced.text, self._victim)
        self._begin()

    def _context_line(self, record: Record) -> None:
        self._first = self._first or record.line.number
        self._said.append(record)
        del self._said[:-_MOST_SAID]

    def _announce(self, record: Record, victim: dict[str, Value]) -> Iterator[Event]:
        if self._announced is not None and self._victim.get("pid") not in {None, victim.get("pid")}:
            yield self._event(self._announced, self._announced.text, self._victim)
        self._first = self._first or record.line.number
        self._announced, self._victim = record, victim

    def _killed(self, match: re.Match[str], record: Record) -> Event:
        if match["why"]:
            self._facts.setdefault("constraint", _why(match["why"]))
        if self._announced is not None and self._announced not in self._said:
            self._said.append(self._announced)
        event = self._event(
            record,
            "\n".join(r.text for r in (*self._said, record)),
            {
                "pid": int(match["pid"]),
                "comm": match["comm"],
                "total_vm_bytes": int(match["vm"]) * _KIB,
                "anon_rss_bytes": int(match["rss"]) * _KIB,
                "file_rss_bytes": int(match["file"]) * _KIB if match["file"] else None,
                "shmem_rss_bytes": int(match["shmem"]) * _KIB if match["shmem"] else None,
            },
        )
        self._said = [r for r in self._said if r is not self._announced]
        self._announced = None
        return event

    def _event(self, record: Record, message: str, victim: Mapping[str, Value]) -> Event:
        facts = self._facts
        if facts.get("constraint") != "memcg" and not facts.get("group"):
            facts = {k: v for k, v in facts.items() if k not in {"limit_bytes", "usage_bytes", "oom_memcg"}}
        job = _JOB.search(str(facts.get("task_memcg", "")))
        return quote(
            "kernel",
            "oom-kill",
            [record],
            self._context,
            {**facts, **victim, "job_id": int(job["job_id"]) if job else None},
            message,
            also=tuple(place(r, self._context) for r in self._said if r is not record),
        )


def _why(words: str) -> str:
    return "memcg" if "cgroup" in words.lower() else "global"
