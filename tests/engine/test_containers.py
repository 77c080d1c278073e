"""A container that Kubernetes started anew: where its successor comes to nothing, the log of the failed one tells."""

from __future__ import annotations

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from tests.engine.runs import OOM, root, rulebook, steps

MISMATCH = """{at}Traceback (most recent call last):
{at}  File "/w/train.py", line 12, in main
{at}    model.load_state_dict(state)
{at}RuntimeError: Error(s) in loading state_dict for Net:
{at}	size mismatch for head.weight: copying a param with shape torch.Size([5, 2]) from checkpoint, the shape in current model is torch.Size([6, 2]).
"""
PREVIOUS = "2024-02-12T07:41:05.00Z Seed set to 1337\n" + MISMATCH.format(at="2024-02-12T07:41:19.20Z ")
STARTING = "2024-02-12T07:41:36.00Z Seed set to 1337\n2024-02-12T07:41:37.00Z Loading model\n"
PARTNER = """2024-02-12T07:41:03.00Z Seed set to 1337
2024-02-12T07:41:14.76Z m-0:71:220 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.2.9.31<54922> failed : Software caused connection abort
"""
LOOPING = """Name:             {pod}
Namespace:        ml
Status:           Running
Containers:
  pytorch:
    State:          {state}
    Last State:     Terminated
      Reason:       Error
      Exit Code:    1
      Finished:     Mon, 12 Feb 2024 07:41:20 +0000
    Restart Count:  2
"""
WAITING = LOOPING.format(pod="net-worker-0", state="Waiting\n      Reason:       CrashLoopBackOff")
RUNNING = LOOPING.format(pod="net-worker-0", state="Running")
EVENTS = """LAST SEEN   TYPE      REASON    OBJECT             MESSAGE
12s         Warning   BackOff   pod/net-worker-0   Back-off restarting failed container pytorch in pod net-worker-0_ml(6c2d)
"""


def analyse(files: dict[str, str]) -> Report:
    return analyze_files({name: text.encode() for name, text in files.items()}, rulebook())


@pytest.mark.parametrize("record", [WAITING, EVENTS], ids=["CrashLoopBackOff", "the event"])
@pytest.mark.parametrize(
    ("previous", "current"),
    [
        ("net-worker-0.previous.log", "net-worker-0.log"),
        ("net-worker-0-prev.log", "net-worker-0.log"),
        ("logs/previous_worker.log", "logs/worker.log"),
        ("leader.previous.log", "leader.current.log"),
        ("kubectl-logs-previous.txt", "kubectl-logs.txt"),
    ],
)
def test_what_ended_the_container_before_is_the_root_while_the_pod_gets_nowhere(
    record: str, previous: str, current: str
) -> None:
    """However the two are named: nobody started another try between them."""
    report = analyse({"describe.txt": record, previous: PREVIOUS, current: STARTING})
    assert (root(report), report.verdict) == ("train.state-dict-mismatch", "failed")


def test_a_successor_that_fails_of_something_else_fails_later() -> None:
    """What an old session leaves to the second start is no cause of the first one's end."""
    later = "2024-02-12T07:41:36.00Z Seed set to 1337\n" + OOM
    files = {"describe.txt": RUNNING, "w.previous.log": PREVIOUS, "w.log": later}
    assert root(analyse(files)) == "train.state-dict-mismatch"


def test_the_partners_of_that_time_are_heard_too_and_explained_by_it() -> None:
    """The other pod saw the connection go a few seconds before the traceback was printed, and is no cause."""
    files = {"describe.txt": WAITING, "net-worker-0.previous.log": PREVIOUS, "net-worker-0.log": STARTING}
    report = analyse({**files, "net-master-0.log": PARTNER})
    assert root(report) == "train.state-dict-mismatch"
    lost = next(f for f in report.findings if f.id == "comm.network-interface")
    assert lost.because == ("train.state-dict-mismatch",)


@pytest.mark.parametrize(
    "files",
    [
        {"describe.txt": RUNNING, "w.previous.log": PREVIOUS, "w.log": steps(1, 100) + "Training complete\n"},
        {"describe.txt": WAITING, "w.previous.log": PREVIOUS, "w.log": steps(1, 50)},
        {"w.previous.log": PREVIOUS, "w.log": STARTING},
        {"describe.txt": WAITING, "old/w.log": PREVIOUS, "w.log": STARTING},
        {"describe.txt": RUNNING, "w.previous.log": PREVIOUS, "w.log": STARTING},
        {
            "describe.txt": EVENTS,
            "w.previous.log": PREVIOUS,
            "w.log": STARTING + "2024-02-12T08:41:37.00Z GET /v1 200\n",
        },
    ],
    ids=["it then ended well", "it trains", "no word of Kubernetes", "put aside", "it has just begun", "it serves"],
)
def test_an_earlier_container_is_an_earlier_try_where_the_next_one_works_or_may(files: dict[str, str]) -> None:
    """A restart that helped, or that may still, and tries that somebody made by hand."""
    assert root(analyse(files)) is None


def test_each_of_several_described_pods_has_its_own_containers() -> None:
    """`kubectl describe pods` prints one below the other."""
    text = LOOPING.format(pod="net-master-0", state="Running") + "\n\n" + WAITING.replace("Error", "OOMKilled")
    report = analyse({"describe.txt": text, "net-worker-0.log": STARTING})
    assert root(report) == "memory.host-oom-kill"
    assert report.root is not None
    assert report.root.evidence[0].line > text.count("\n") // 2


@pytest.mark.parametrize(
    ("second", "expected"), [("19", "train.state-dict-mismatch"), ("55", "comm.network-interface")]
)
def test_a_traceback_explains_what_partners_saw_seconds_before_it_not_long_before(second: str, expected: str) -> None:
    """Threads are ended before the traceback is printed; but that does not take most of a minute."""
    own = MISMATCH.format(at=f"2024-02-12T07:41:{second}.20Z ")
    assert root(analyse({"net-master-0.log": PARTNER, "net-worker-0.log": own})) == expected
