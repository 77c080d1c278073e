"""Records of schedulers: sacct, squeue, scontrol, kubectl."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Event, Source
from forensics.parsers.scheduler_record import PARSER
from forensics.parsers.scheduler_record.kubernetes import quantity


def parse(text: str) -> list[Event]:
    data = text.strip("\n").encode()
    return list(PARSER.parse(data, Context(Source("sacct.txt", "scheduler-record", len(data)))))


SACCT = """
JobID           JobName  Partition      State ExitCode    Elapsed
------------ ---------- ---------- ---------- -------- ----------
551200            vit-s        gpu CANCELLED+      0:0   01:41:22
551200.batch      batch            OUT_OF_ME+    0:125   01:41:22
551201_3          a b c        gpu  NODE_FAIL     0:15 2-16:46:05
551202            vit-s        gpu  COMPLETED      0:0   01:41:22
"""


def test_the_columns_of_sacct_are_cut_at_its_dashes() -> None:
    """Cells may be empty, hold blanks, or be cut short."""
    rows = parse(SACCT)
    assert [(e.line, e.fields["job_id"], e.fields.get("step_id"), e.fields["state"]) for e in rows] == [
        (3, 551200, None, "CANCELLED"),
        (4, 551200, "batch", "OUT_OF_MEMORY"),
        (5, 551201, None, "NODE_FAIL"),
        (6, 551202, None, "COMPLETED"),
    ]
    assert rows[2].fields["signal"] == 15
    assert rows[2].fields["elapsed_ms"] == ((2 * 24 + 16) * 3600 + 46 * 60 + 5) * 1000
    assert "signal" not in rows[1].fields


def test_what_happened_beside_the_job_is_none_of_its_steps() -> None:
    """In the step "extern" somebody who was on the node by ssh ran out of memory."""
    rows = parse(SACCT.replace("551200.batch      batch ", "551200.exte+     extern "))
    assert [e.fields["state"] for e in rows] == ["CANCELLED", "NODE_FAIL", "COMPLETED"]


def test_the_last_column_may_be_longer_than_its_dashes() -> None:
    """A list of nodes that was copied from a wider terminal."""
    head = SACCT.strip().split("\n")[:2]
    table = [
        head[0] + "   NodeList",
        head[1] + " ----------",
        "551201            a b c        gpu  NODE_FAIL     0:15   16:46:05 gpu-c[11-12,14-15]",
    ]
    (row,) = parse("\n".join(table))
    assert row.fields["node"] == "gpu-c[11-12,14-15]"


def test_the_bars_of_sacct_are_read() -> None:
    """`sacct -P`, with who cancelled and when it ended."""
    (row,) = parse(
        "JobID|State|ExitCode|Timelimit|NodeList|End\n77|CANCELLED by 1000|0:0|01:00:00|gpu-7|2024-04-20T09:09:37\n"
    )
    assert (row.fields["state"], row.fields["cancelled_by"], row.fields["node"]) == ("CANCELLED", "1000", "gpu-7")
    assert (row.time, row.fields["time_limit_ms"]) == (1713604177.0, 3_600_000)


def test_squeue_tells_what_waits_and_why() -> None:
    """Short states are spelt out; the last column is a node or a reason."""
    running, waiting = parse(
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
        "              2691    normal     task      u1  R 2-16:46:05      1 atlas-2\n"
        "              2728    normal     mn_6      u2 PD       0:00      1 (Resources)"
    )
    assert (running.fields["state"], running.fields["node"]) == ("RUNNING", "atlas-2")
    assert (waiting.fields["state"], waiting.fields["reason"]) == ("PENDING", "Resources")


def test_a_table_in_a_session_is_read() -> None:
    """Between prompts, with the place it has there."""
    (row,) = parse(
        "$ squeue -u c\n   JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n 20114 main synth c R 31:07 1 n2\n$ ls"
    )
    assert (row.line, row.fields["job_id"], row.fields["elapsed_ms"]) == (3, 20114, (31 * 60 + 7) * 1000)


def test_scontrol_tells_job_and_node() -> None:
    """A block of pairs each; the job's own end as time."""
    job, node = parse(
        "JobId=494583 JobName=gpt\n   UserId=a(1000) GroupId=a(1000)\n   JobState=TIMEOUT Reason=TimeLimit\n"
        "   Requeue=0 Restarts=0 ExitCode=0:15\n   RunTime=2-00:00:10 TimeLimit=2-00:00:00\n"
        "   StartTime=2024-04-18T09:09:00 EndTime=2024-04-20T09:09:37\n   BatchHost=gpu-c14\n   StdOut=/x/slurm-494583.out\n\n"
        "NodeName=gpu-c14 Arch=x86_64\n   State=DOWN*+DRAIN ThreadsPerCore=2\n   Reason=Not responding [slurm@2024-05-01]"
    )
    assert (job.kind, job.line, job.end_line, job.time) == ("job-state", 1, 8, 1713604177.0)
    assert (job.fields["state"], job.fields["reason"], job.fields["signal"]) == ("TIMEOUT", "TimeLimit", 15)
    assert job.fields["output_path"] == "/x/slurm-494583.out"
    assert (node.kind, node.fields["state"]) == ("node-state", "DOWN*+DRAIN")
    assert node.fields["reason"] == "Not responding [slurm@2024-05-01]"


POD = """
Name:             trainer-0
Namespace:        ml
Node:             gpu-7/10.0.0.7
Status:           Failed
Reason:           Evicted
Message:          The node was low on resource: memory.
Containers:
  trainer:
    Container ID:  containerd://abc
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Tue, 02 Jan 2024 09:00:00 +0000
      Finished:     Tue, 02 Jan 2024 10:00:00 +0000
    Limits:
      memory:          64Gi
    Requests:
      memory:          32Gi
  sidecar:
    State:          Running
      Started:      Tue, 02 Jan 2024 09:00:00 +0000
Events:
  Type     Reason     Age                 From     Message
  ----     ------     ----                ----     -------
  Warning  BackOff    2m (x5 over 10m)    kubelet  Back-off restarting failed container
  Normal   Pulled     2m                  kubelet  ok
"""


def test_a_described_pod_tells_how_it_and_its_containers_ended() -> None:
    """The pod's own reason, each container that ended or waits with its limit, and warnings."""
    pod, waiting, ended, warning = parse(POD)
    assert (pod.fields["reason"], pod.fields["status"], pod.line, pod.end_line) == ("Evicted", "Failed", 5, 6)
    assert (waiting.fields["container"], waiting.fields["reason"]) == ("trainer", "CrashLoopBackOff")
    assert (ended.fields["reason"], ended.fields["exit_code"], ended.fields["signal"]) == ("OOMKilled", 137, 9)
    assert (ended.fields["limit_bytes"], ended.time) == (64 << 30, 1704189600.0)
    assert (warning.kind, warning.fields["reason"]) == ("pod-event", "BackOff")


def test_the_yaml_of_a_pod_tells_the_same() -> None:
    """Keys in another spelling, the name of the container after its state."""
    ended, pod = parse(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: trainer-0\nspec:\n  nodeName: gpu-7\nstatus:\n  containerStatuses:\n"
        "  - containerID: containerd://abc\n    lastState:\n      terminated:\n        exitCode: 137\n"
        '        finishedAt: "2024-01-02T10:00:00Z"\n        reason: OOMKilled\n    name: trainer\n'
        "  phase: Failed\n  reason: Evicted"
    )
    assert (ended.fields["reason"], ended.fields["exit_code"], ended.time) == ("OOMKilled", 137, 1704189600.0)
    assert (pod.fields["reason"], pod.fields["node"], pod.fields["status"]) == ("Evicted", "gpu-7", "Failed")


def test_lists_of_pods_and_events_tell_what_is_not_well() -> None:
    """Running pods are only listed, and normal events are left out."""
    pod, well = parse(
        "NAME        READY   STATUS      RESTARTS      AGE\ntrainer-0   0/1     OOMKilled   3 (2m ago)    10m\n"
        "trainer-1   1/1     Running     0             10m"
    )
    assert (pod.fields["pod"], pod.fields["reason"], pod.fields["restarts"]) == ("trainer-0", "OOMKilled", 3)
    assert (well.kind, well.fields["pod"]) == ("pod-listed", "trainer-1")
    (event,) = parse(
        "LAST SEEN   TYPE      REASON      OBJECT          MESSAGE\n"
        "2m          Warning   Evicted     pod/trainer-0   The node was low on resource: memory.\n"
        "2m          Normal    Pulled      pod/trainer-0   ok"
    )
    assert (event.fields["object"], event.fields["message"]) == (
        "pod/trainer-0",
        "The node was low on resource: memory.",
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64Gi", 64 << 30),
        ("512Mi", 512 << 20),
        ("1G", 10**9),
        ("1500m", 1),
        ("1024", 1024),
        ("1.5Gi", 3 << 29),
        ("x", None),
    ],
)
def test_quantities_count_as_kubernetes_counts(text: str, value: int | None) -> None:
    """`Gi` is a power of 1024, `G` one of 1000."""
    assert quantity(text) == value


def test_seff_and_sinfo_tell_job_and_node() -> None:
    """The state stands a few lines below the job; the reason of a node is all before the user."""
    job, node = parse(
        "Job ID: 7\nCluster: hpc\nState: TIMEOUT (exit code 0)\n\n"
        "REASON               USER      TIMESTAMP           NODELIST\n"
        "Not responding       slurm     2025-01-22T20:11:07 cn0416"
    )
    assert (job.kind, job.fields["job_id"], job.fields["state"], job.end_line) == ("job-state", 7, "TIMEOUT", 3)
    assert (node.kind, node.fields["node"], node.fields["reason"]) == ("node-state", "cn0416", "Not responding")


def test_events_filed_as_normal_are_told_where_they_end_a_pod() -> None:
    """A preemption is no warning to Kubernetes; a wait that a start answered is none to us."""
    (event,) = parse(
        "LAST SEEN   TYPE      REASON             OBJECT          MESSAGE\n"
        "9m          Warning   FailedScheduling   pod/trainer-0   0/12 nodes are available: 12 Insufficient nvidia.com/gpu.\n"
        "8m          Normal    Scheduled          pod/trainer-0   Successfully assigned ml/trainer-0 to gpu-7\n"
        "2m          Normal    Preempted          pod/trainer-0   Preempted by pod 12 on node gpu-7"
    )
    assert (event.kind, event.fields["reason"], event.line) == ("pod-event", "Preempted", 4)


def test_the_condition_of_a_disrupted_pod_is_told() -> None:
    """Who ended it stands only in YAML and JSON."""
    told = parse(
        "apiVersion: v1\nstatus:\n  conditions:\n  - type: DisruptionTarget\n    reason: EvictionByEvictionAPI"
    )
    assert [(e.kind, e.fields["reason"]) for e in told] == [("pod-event", "EvictionByEvictionAPI")]


@pytest.mark.parametrize(
    "text", ["", "hello", "JobID|State\n", "Name: x", "JobId=7 JobState=", "key: value\nreason: none"]
)
def test_other_texts_give_nothing(text: str) -> None:
    """A header without rows, a pair without a state."""
    assert parse(text) == []


@given(
    lines=st.lists(
        st.sampled_from([*SACCT.split("\n"), *POD.split("\n"), "JobId=7 JobState=FAILED"]) | st.text(max_size=60)
    )
)
def test_any_text_gives_events_in_order(lines: list[str]) -> None:
    """Whatever the lines are, nothing raises and the numbers of lines do not fall."""
    events = parse("\n".join(lines))
    assert [e.line for e in events] == sorted(e.line for e in events)


@pytest.mark.parametrize(
    "table",
    [
        "NAME                       READY   STATUS    RESTARTS   AGE\nllama8b-6f9b7c5d9c-m2ll4   1/1     Running   0          21m\n",
        'CONTAINER ID   IMAGE     COMMAND   CREATED       STATUS       PORTS     NAMES\n0123456789ab   vllm:1    "serve"   2 hours ago   Up 2 hours             vllm\n',
        "JobID           JobName      State ExitCode\n------------ ---------- ---------- --------\n77                  sft  COMPLETED      0:0\n",
    ],
    ids=["kubectl", "docker", "sacct"],
)
@pytest.mark.parametrize("prompt", ["$ ", "user@host:~$ ", "[user@host ~]$ ", "(base) user@host:~$ "])
def test_a_table_ends_where_somebody_typed_the_next_command(table: str, prompt: str) -> None:
    """What that one prints is no row of the table."""
    after = f"{prompt}curl -s -o /dev/null -w '%{{http_code}} FAILED Error' http://llama8b:8000/health of a service\n200 FAILED\n"
    alone = parse(table)
    assert len(alone) == 1
    assert parse(table + after) == alone
