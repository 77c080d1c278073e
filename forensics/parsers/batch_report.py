"""Which job a report of a batch system is about, and where it ran: LSF's, PBS's and what a prologue prints.

    Subject: Job 88120: <ldif24> in cluster <hpc> Exited
    Job was executed on host(s) <16*gpu-sxm-09>, in queue <gpu_long>, as user <me> in cluster <bio>.
    PBS Job Id: 48211.pbs01

Event `job-report` (fields job_id, node). What ended the job is said in words of its own. Sources:
IBM Spectrum LSF, the report of bsub; PBS Pro and Torque, the mail of qsub.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_FORMS = (
    lazy(r"Subject: Job (?P<job_id>\d{1,18})(?:\[\d{1,9}\])?: <"),
    lazy(r"Job was executed on host\(s\) <(?:\d{1,6}\*)?(?P<node>[\w.-]{1,100})>"),
    lazy(
        r"(?:PBS Job Id|PBS JOBID|PBS_JOBID|Job ID)[:=] {0,12}"
        r"(?P<job_id>\d{1,18})(?:\[\d{0,9}\])?(?:\.[\w.-]{1,80})?\s*$"
    ),
    lazy(r"Subject: PBS JOB (?P<job_id>\d{1,18})\b"),
)


class BatchReport:
    """See the module's text."""

    speaker = "scheduler"
    triggers = ("Subject: Job ", "Job was executed on host(s) <", "PBS Job Id", "PBS JOB", "PBS_JOBID", "Job ID")
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a line."""
        for record in records:
            found = next((match for form in _FORMS if (match := form.match(record.text))), None)
            if found is None:
                continue
            told = found.groupdict()
            fields: dict[str, Value] = {"node": told.get("node")}
            if job := told.get("job_id"):
                fields["job_id"] = int(job)
            yield quote("scheduler", "job-report", [record], context, fields)


PARSER = BatchReport()
