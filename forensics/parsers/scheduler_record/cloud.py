r"""What a cloud recorded of a training job, as its command line prints it in JSON.

    {"TrainingJobName": "vit-7", "TrainingJobStatus": "Failed", "SecondaryStatus": "Failed",
     "FailureReason": "AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage ..."}

`aws sagemaker describe-training-job`, `aws batch describe-jobs`, `az ml job show`, and
`gcloud ai custom-jobs describe`, which prints YAML unless it is asked for JSON. States are told in
Slurm's words, so that rules need no others. Sources: the API references of SageMaker
(DescribeTrainingJob), AWS Batch (JobDetail), Azure ML (JobStatus) and Vertex AI (JobState).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forensics.model import Context, Event, Value
from forensics.parsers.scheduler_record.telling import tell
from forensics.text.lazy import lazy

_MOST = 1 << 20
_WORDS = {
    "completed": "COMPLETED",
    "succeeded": "COMPLETED",
    "failed": "FAILED",
    "stopped": "CANCELLED",
    "canceled": "CANCELLED",
    "cancelled": "CANCELLED",
    "expired": "TIMEOUT",
    "inprogress": "RUNNING",
    "running": "RUNNING",
    "finalizing": "RUNNING",
    "pending": "PENDING",
    "queued": "PENDING",
    "submitted": "PENDING",
    "runnable": "PENDING",
    "notresponding": "NODE_FAIL",
}
_SECONDARY = {"MaxRuntimeExceeded": "TIMEOUT", "MaxWaitTimeExceeded": "TIMEOUT", "Interrupted": "PREEMPTED"}
"""What SageMaker says more precisely than that a job stopped."""
_VERTEX = lazy(r"\s{0,8}\"?state\"?: \"?JOB_STATE_(?P<state>[A-Z_]{4,24})\"?,?\s*$")
_EXITED = lazy(r"\bExitCode:? (?P<code>-?\d{1,3})\b|exited with a non-zero status of (?P<code2>\d{1,3})\b")
_LONGEST_REASON = 2000


def jobs(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `job-state` (job, state, reason, exit_code) for each job that a record tells the end of."""
    for at, line in enumerate(lines):
        if len(line) < 200 and (found := _VERTEX.match(line)):
            state = _WORDS.get(found["state"].lower().replace("_", ""))
            if state is not None:
                yield tell("job-state", lines, at, at, {"state": state, **_exit("\n".join(lines))}, context)
            return
    if not next((line for line in lines if line.strip()), "").lstrip().startswith(("{", "[")):
        return
    text = "\n".join(lines)
    try:
        record = json.loads(text) if len(text) <= _MOST else None
    except (ValueError, RecursionError):
        return
    if not isinstance(record, dict):
        return
    for fields, key in _told(record, text):
        at = next((number for number, line in enumerate(lines) if f'"{key}"' in line), 0)
        yield tell("job-state", lines, at, at, fields, context)


def _told(record: Mapping[str, Any], text: str) -> Iterator[tuple[Mapping[str, Value], str]]:
    """Yield the fields of each job of a record, and the key that tells its state."""
    if isinstance(listed := record.get("jobs"), list):
        yield from (job for one in listed if isinstance(one, dict) and "jobQueue" in one for job in _batch(one))
    elif isinstance(record.get("TrainingJobStatus"), str):
        reason = str(record.get("FailureReason") or "")[:_LONGEST_REASON]
        state = _SECONDARY.get(str(record.get("SecondaryStatus"))) or _state(record["TrainingJobStatus"])
        yield _fields(record.get("TrainingJobName"), state, reason), "TrainingJobStatus"
    elif isinstance(record.get("status"), str) and "display_name" in record and "azureml" in text:
        error = record.get("error")
        reason = str(error.get("message") or "") if isinstance(error, dict) else ""
        yield _fields(record.get("name"), _state(record["status"]), reason[:_LONGEST_REASON]), "status"


def _batch(job: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Value], str]]:
    held = job.get("container")
    container: Mapping[str, Any] = held if isinstance(held, dict) else {}
    reason = str(container.get("reason") or job.get("statusReason") or "")[:_LONGEST_REASON]
    state = _state(str(job.get("status")))
    if "OutOfMemory" in reason:
        state = "OUT_OF_MEMORY"
    elif reason.startswith("Host EC2") and "terminated" in reason:
        state = "NODE_FAIL"
    fields = dict(_fields(job.get("jobName"), state, reason))
    if isinstance(container.get("exitCode"), int):
        fields["exit_code"] = container["exitCode"]
    yield fields, "status"


def _state(word: str) -> str | None:
    return _WORDS.get(re.sub(r"[^a-z]", "", word.lower()))


def _fields(name: object, state: str | None, reason: str) -> Mapping[str, Value]:
    job = name if isinstance(name, str) else None
    return {"job": job, "state": state, "reason": reason or None, **_exit(reason)}


def _exit(reason: str) -> dict[str, Value]:
    found = _EXITED.search(reason)
    return {"exit_code": int(found["code"] or found["code2"])} if found else {}
