"""What SageMaker, AWS Batch, Azure ML and Vertex AI record of a job, in the words that schedulers have."""

from __future__ import annotations

import json

import pytest

from forensics.model import Context, Event, Source
from forensics.parsers.scheduler_record import PARSER
from forensics.sources.sniff import sniff
from tests.engine.runs import analyse, root, steps

USER_ERROR = 'AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage "RuntimeError: x"\nCommand "/opt/conda/bin/python3.10 train.py"'


def sagemaker(status: str, secondary: str, reason: str | None = None) -> str:
    record = {"TrainingJobName": "vit-7", "TrainingJobStatus": status, "SecondaryStatus": secondary}
    return json.dumps({**record, **({"FailureReason": reason} if reason else {})}, indent=4)


def batch(status: str, reason: str, exit_code: int | None = None, why: str | None = None) -> str:
    container = {
        "image": "ml:1",
        **({} if exit_code is None else {"exitCode": exit_code}),
        **({"reason": why} if why else {}),
    }
    job = {
        "jobName": "vit-7",
        "jobQueue": "arn:aws:batch:x",
        "status": status,
        "statusReason": reason,
        "container": container,
    }
    return json.dumps({"jobs": [job]}, indent=2)


def azure(status: str, error: str | None = None) -> str:
    told = None if error is None else {"code": "UserError", "message": error}
    paths = {"ProcessStatusFile": "azureml-logs/process_status.json"}
    return json.dumps(
        {"name": "jovial_parsnip", "display_name": "vit", "status": status, "error": told, "properties": paths},
        indent=2,
    )


VERTEX = """displayName: vit-7
error:
  code: 3
  message: 'The replica workerpool0-0 exited with a non-zero status of 139. Termination reason: Error.'
name: projects/1/locations/europe-west4/customJobs/77
state: JOB_STATE_FAILED
"""

RECORDS = [
    (sagemaker("Completed", "Completed"), "COMPLETED", None),
    (sagemaker("Failed", "Failed", USER_ERROR), "FAILED", 1),
    (sagemaker("Stopped", "MaxRuntimeExceeded"), "TIMEOUT", None),
    (sagemaker("Stopped", "Interrupted"), "PREEMPTED", None),
    (sagemaker("Stopped", "Stopped"), "CANCELLED", None),
    (sagemaker("InProgress", "Training"), "RUNNING", None),
    (batch("SUCCEEDED", "Essential container in task exited", 0), "COMPLETED", 0),
    (batch("FAILED", "Essential container in task exited", 1), "FAILED", 1),
    (batch("FAILED", "Essential container in task exited", 137, "OutOfMemoryError: Container killed due to memory usage"), "OUT_OF_MEMORY", 137),
    (batch("FAILED", "Host EC2 (instance i-0abc) terminated."), "NODE_FAIL", None),
    (azure("Completed"), "COMPLETED", None),
    (azure("Failed", "Execution failed. User process exited with a non-zero status of 1"), "FAILED", 1),
    (azure("Canceled"), "CANCELLED", None),
    (azure("NotResponding"), "NODE_FAIL", None),
    (VERTEX, "FAILED", 139),
    (json.dumps({"displayName": "vit-7", "state": "JOB_STATE_SUCCEEDED"}, indent=2), "COMPLETED", None),
    (VERTEX.replace("FAILED", "EXPIRED").replace("139", "0"), "TIMEOUT", 0),
]  # fmt: skip


def events(text: str) -> list[Event]:
    data = text.encode()
    return list(PARSER.parse(data, Context(Source("job.json", "scheduler-record", len(data)))))


@pytest.mark.parametrize(("text", "state", "exit_code"), RECORDS)
def test_each_cloud_tells_the_state_of_a_job(text: str, state: str, exit_code: int | None) -> None:
    """With the status of its program, where that is told, at the line that tells the state."""
    assert sniff("job.json" if text[0] == "{" else "job.yaml", text.encode()) == "scheduler-record"
    [event] = events(text)
    assert (event.kind, event.fields["state"], event.fields.get("exit_code")) == ("job-state", state, exit_code)
    assert any(word in event.text for word in ('"status"', '"TrainingJobStatus"', "JOB_STATE_"))


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "Completed", "name": "a", "display_name": "b"}',
        '{"jobs": [{"name": "train", "status": "completed"}]}',
        '{"TrainingJobStatus": 3}',
        '{"TrainingJobName": "a", "FailureReason": null}',
        sagemaker("Failed", "Failed")[:-9],
        "state: running\nJOB_STATE_FAILED is what the API says\n",
    ],
)
def test_other_records_and_torn_ones_say_nothing(text: str) -> None:
    """A key alone is no description of a job."""
    assert events(text) == []


CUT = steps(1, 40)


@pytest.mark.parametrize(
    ("record", "verdict", "cause"),
    [
        (sagemaker("Completed", "Completed"), "healthy", None),
        (sagemaker("Stopped", "MaxRuntimeExceeded"), "failed", "scheduler.time-limit"),
        (sagemaker("Stopped", "Interrupted"), "failed", "scheduler.preempted"),
        (sagemaker("Stopped", "Stopped"), "failed", "scheduler.cancelled"),
        (batch("FAILED", "Essential container in task exited", 137, "OutOfMemoryError: Container killed"), "failed", "memory.host-oom-kill"),
        (batch("FAILED", "Host EC2 (instance i-0abc) terminated."), "failed", "scheduler.node-fail"),
    ],
)  # fmt: skip
def test_the_record_says_how_a_log_without_an_end_ended(record: str, verdict: str, cause: str | None) -> None:
    """The log stops after a step, and nothing in it says why."""
    report = analyse(train_log=CUT, job_txt=record)
    assert (report.verdict, root(report)) == (verdict, cause)
