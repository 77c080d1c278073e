"""A server whose container is up, or whose pod is ready, is running well where its log says that it answers."""

from __future__ import annotations

import pytest

from forensics.model import Report
from tests.engine.runs import RAISED, analyse

SERVES = "".join(
    f"INFO 07-07 00:{40 + n}:44 [loggers.py:118] Engine 000: Avg prompt throughput: 307.7 tokens/s, "
    f"Avg generation throughput: 769.8 tokens/s, Running: 9 reqs, Waiting: 0 reqs, GPU KV cache usage: 54.0%\n"
    'INFO:     10.0.3.16:38146 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    for n in range(12)
)
DOCKER = """CONTAINER ID   IMAGE                     COMMAND                  CREATED        STATUS{pad}   PORTS                    NAMES
29ca70cc3ef8   vllm/vllm-openai:v0.9.2   "python3 -m vllm.ent…"   30 hours ago   {status}   0.0.0.0:8000->8000/tcp   vllm
"""
COMPOSE = """NAME     IMAGE                       STATUS{pad}   PORTS
vllm-1   vllm/vllm-openai:v0.9.2     {status}   0.0.0.0:8000->8000/tcp
"""
OLD_COMPOSE = """ Name               Command               State{pad}           Ports
-----------------------------------------------------------------------
vllm_1   python3 -m vllm.entrypoints   {status}   0.0.0.0:8000->8000/tcp
"""
PODS = """NAME                    READY   STATUS{pad}   RESTARTS      AGE
vllm-5f7c9d8b6c-x2x4z   {ready}     {status}   {restarts}   25m
"""


def table(form: str, status: str, ready: str = "1/1", restarts: str = "0          ") -> str:
    return form.format(status=status, pad=" " * (len(status) - 6), ready=ready, restarts=restarts)


def report(rows: str, log: str = SERVES) -> Report:
    return analyse(vllm_log=log, ps_txt=rows)


@pytest.mark.parametrize("form", [DOCKER, COMPOSE, OLD_COMPOSE])
@pytest.mark.parametrize(
    "status", ["Up 23 minutes (healthy)", "Up 23 minutes", "Up About an hour", "Up 2 days (healthy)"]
)
def test_a_container_that_is_up_serves(form: str, status: str) -> None:
    """As docker, compose and podman print it."""
    found = report(table(form, status))
    assert (found.verdict, found.root) == ("healthy", None)
    assert "still running: the container engine says Up" in found.reason


def test_compose_says_running_in_small_letters() -> None:
    """Its second version did so at first."""
    assert report(table(COMPOSE, "running (healthy)")).verdict == "healthy"


@pytest.mark.parametrize("form", [DOCKER, COMPOSE, OLD_COMPOSE])
@pytest.mark.parametrize(
    "status",
    [
        "Exited (1) 2 minutes ago",
        "Exited (0) 2 minutes ago",
        "Restarting (1) 5 seconds ago",
        "Up 23 minutes (unhealthy)",
        "Up 23 minutes (Paused)",
        "Up 23 minutes (health: starting)",
        "Created                 ",
        "Dead                    ",
    ],
)
def test_a_container_that_is_not_well_proves_nothing(form: str, status: str) -> None:
    """It has ended, begins anew, fails its check or is stopped."""
    assert report(table(form, status)).verdict == "unknown"


def test_a_container_that_was_started_anew_is_not_the_one_of_the_log() -> None:
    """The log is of eleven minutes, as `docker logs -t` tells, and the container is up for three."""
    dated = "".join(f"2025-07-07T00:{40 + n // 2}:44.1Z {line}\n" for n, line in enumerate(SERVES.splitlines()))
    assert report(table(COMPOSE, "Up 3 minutes (healthy)"), dated).verdict == "unknown"
    assert report(table(COMPOSE, "Up 11 minutes (healthy)"), dated).verdict == "healthy"


def test_of_several_containers_the_one_with_the_logs_name_counts() -> None:
    """Another may have ended; where none has a name in common, all must be up."""
    rows = table(COMPOSE, "Up 23 minutes (healthy)")
    other = "init-1   busybox:1.36                Exited (0) 23 minutes ago\n"
    assert report(rows + other).verdict == "healthy"
    assert analyse(server_log=SERVES, ps_txt=rows + other).verdict == "unknown"
    assert analyse(server_log=SERVES, ps_txt=rows).verdict == "healthy"


def test_an_older_container_of_the_same_image_is_another_one() -> None:
    """`docker ps -a` lists what is left of earlier tries; the one whose name is the log's counts."""
    rows = table(COMPOSE, "Up 23 minutes (healthy)")
    older = "vllm-old vllm/vllm-openai:v0.9.1     Exited (1) 2 days ago\n"
    assert report(rows + older).verdict == "healthy"
    assert report(older.join(rows.splitlines(keepends=True))).verdict == "healthy"
    assert analyse(openai_log=SERVES, ps_txt=rows + older).verdict == "unknown"


def test_a_pod_must_be_ready_and_not_have_been_started_anew_since_the_log_began() -> None:
    """As `kubectl get pods` prints it."""
    dated = "".join(f"2025-07-07T00:{40 + n // 2}:44.1Z {line}\n" for n, line in enumerate(SERVES.splitlines()))
    assert report(table(PODS, "Running", restarts="1 (6d4h ago)"), dated).verdict == "healthy"
    assert report(table(PODS, "Running", restarts="1 (3m12s ago)"), dated).verdict == "unknown"
    found = report(table(PODS, "Running"))
    assert found.verdict == "healthy"
    assert "Kubernetes says Running" in found.reason
    assert report(table(PODS, "Running", ready="0/1")).verdict == "unknown"
    assert report(table(PODS, "Running", restarts="2 (3m ago) ")).verdict == "unknown"
    assert report(table(PODS, "CrashLoopBackOff")).verdict != "healthy"
    assert report(table(PODS, "Pending")).verdict == "unknown"


RESTARTED = """Name:             vllm-0
Namespace:        llm
Status:           Running
Containers:
  vllm:
    State:          Running
      Started:      Tue, 08 Oct 2024 11:01:55 +0000
    Last State:     Terminated
      Reason:       {reason}
      Exit Code:    {code}
    Ready:          True
    Restart Count:  {restarts}
"""


@pytest.mark.parametrize(
    ("reason", "code", "restarts", "verdict"),
    [("Completed", 0, 1, "healthy"), ("Completed", 0, 4, "unknown"), ("Error", 1, 1, "unknown")],
)
def test_a_pod_that_was_started_anew_after_a_good_end_runs_well(
    reason: str, code: int, restarts: int, verdict: str
) -> None:
    """Whichever of the two the log is of; of more restarts, and of one after a fault, nobody knows."""
    rows = RESTARTED.format(reason=reason, code=code, restarts=restarts)
    assert analyse(vllm_log=SERVES, describe_txt=rows).verdict == verdict


def test_only_a_log_that_ends_in_answers_is_of_a_server_at_work() -> None:
    """Not one of a training, which may hang, nor one in which the last answer was an error or the program raised."""
    rows = table(COMPOSE, "Up 23 minutes (healthy)")
    training = "".join(f"step {n}/100 | loss {3 - n / 100:.3f}\n" for n in range(1, 30))
    assert report(rows, training).verdict == "unknown"
    failing = SERVES + 'INFO:     10.0.3.16:38146 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error\n'
    assert report(rows, failing).verdict == "unknown"
    raised = SERVES + RAISED.format(error="RuntimeError: cancelled")
    assert report(rows, raised).verdict == "failed"


@pytest.mark.parametrize(
    "line",
    [
        '[GIN] 2025/03/01 - 10:00:00 | 200 |  1.2s |  127.0.0.1 | POST     "/api/generate"',
        'INFO:     127.0.0.1:52866 - "GET /health HTTP/1.1" 200 OK',
        '10.0.0.7 - - [01/Mar/2025:10:00:00 +0000] "POST /predict HTTP/1.1" 200 512 "-" "curl/8.5"',
    ],
)
def test_servers_answer_in_their_own_words(line: str) -> None:
    """Ollama, uvicorn and gunicorn."""
    log = "loading the model\nmodel is loaded\n" + f"{line}\n" * 5
    assert report(table(COMPOSE, "Up 23 minutes"), log).verdict == "healthy"
    assert report(table(COMPOSE, "Exited (137) 1 minute ago"), log).verdict == "unknown"


TRAINED = "".join(f"step {n}/100 | loss {3 - n / 100:.3f}\n" for n in range(1, 61))
LISTED = """CONTAINER ID   IMAGE              COMMAND                  CREATED       STATUS                      PORTS   NAMES
9c1be2d0f6aa   ml/train:1.12      "composer main.py ya…"   8 hours ago   Exited ({last}) 4 minutes ago           exp_spot2
51f0c77d42e3   ml/train:1.12      "composer main.py ya…"   2 days ago    Exited ({first}) 9 hours ago            exp_spot1
"""


@pytest.mark.parametrize(("status", "verdict"), [("0", "healthy"), ("1", "failed"), ("137", "failed")])
def test_a_training_container_that_has_ended_tells_its_status(status: str, verdict: str) -> None:
    """The one that a log is called like; another's tells nothing of it."""
    rows = LISTED.format(last=status.ljust(1), first="137")
    found = analyse(run_spot2_log=TRAINED, ps_txt=rows)
    assert (found.verdict, found.run.exit_code) == (verdict, int(status))
    assert analyse(run_other_log=TRAINED, ps_txt=rows).verdict == "unknown"
    only = rows.replace(rows.splitlines(keepends=True)[2], "")
    assert analyse(run_other_log=TRAINED, ps_txt=only).run.exit_code == int(status)
    base = (
        only.replace("composer main.py ya…", "docker-entrypoint.s…")
        .replace("ml/train:1.12", "postgres:16.2")
        .replace("exp_spot2", "db")
    )
    assert analyse(run_other_log=TRAINED, ps_txt=base).run.exit_code is None


LOOK = """{at}
| NVIDIA-SMI 580.159.03   Driver Version: 580.159.03   CUDA Version: 13.0 |
|=======================+======================+======================|
|   0  NVIDIA H200   On  |   00000000:0F:00.0 Off |   0 |
| N/A   51C    P0   576W /  700W | 71713MiB / 143771MiB |     {load}%      Default |
"""
TRAINS = "".join(f"2025-07-07 00:{n:02}:44,000 INFO train: step {n}/900 loss {3 - n / 100:.2f}\n" for n in range(50))


@pytest.mark.parametrize(
    "log", [TRAINS, "".join(SERVES.replace("INFO 07-07", "INFO 2025-07-07"))], ids=["trains", "serves"]
)
@pytest.mark.parametrize(
    ("at", "load", "looks", "verdict"),
    [
        ("Mon Jul  7 00:52:30 2025", 97, 1, "healthy"),
        ("Mon Jul  7 00:52:30 2025", 0, 1, "unknown"),
        ("Mon Jul  7 09:12:30 2025", 97, 1, "unknown"),
        ("Mon Jul  7 00:20:30 2025", 97, 1, "unknown"),
        ("Mon Jul  7 00:52:30 2025", 97, 9, "unknown"),
    ],
    ids=["just after", "idle", "long after", "before", "a series"],
)
def test_busy_gpus_just_after_the_last_words(log: str, at: str, load: int, looks: int, verdict: str) -> None:
    """Somebody looked, and it worked. A series of looks may have ended with the machine, and a hang spins for long."""
    found = analyse(vllm_log=log, nvidia_smi_txt=LOOK.format(at=at, load=load) * looks)
    assert found.verdict == verdict


DESCRIBED = """Name:             mistral-vllm-6d8f7c9b5d-x2k4q
Namespace:        serving
Status:           Running
Containers:
  vllm:
    State:          Running
      Started:      Wed, 20 Nov 2024 08:59:58 +0000
    Ready:          {ready}
    Restart Count:  {restarts}
Events:           <none>
"""


@pytest.mark.parametrize(
    ("ready", "restarts", "verdict"), [("True", 0, "healthy"), ("False", 0, "unknown"), ("True", 3, "unknown")]
)
def test_a_pod_as_describe_shows_it(ready: str, restarts: int, verdict: str) -> None:
    """Its description tells what its row in a list does."""
    assert report(DESCRIBED.format(ready=ready, restarts=restarts)).verdict == verdict


BARS = "2025-07-07 18:00:09,000 INFO train: start\n" + "".join(
    f" {n // 10}%|█   | {n}/1000 [{n // 60}:{n % 60:02}:12<9:59:59, 60.00s/it]\n{{'loss': 2.{n}, 'epoch': 0.{n}}}\n"
    for n in range(100, 190)
)


@pytest.mark.parametrize(
    ("at", "verdict"),
    [
        ("Mon Jul  7 21:10:30 2025", "healthy"),
        ("Mon Jul  7 18:01:30 2025", "unknown"),
        ("Tue Jul  8 21:10:30 2025", "unknown"),
    ],
    ids=["just after", "before", "a day later"],
)
def test_a_bar_tells_when_it_was_last_drawn(at: str, verdict: str) -> None:
    """The log has one time at its beginning, and ends inside a bar, as the log of a run that is at work does."""
    log = BARS + " 19%|█   | 190/1000 [3:10:12<9:59:59, 60.00s/it]"
    assert analyse(train_log=log, nvidia_smi_txt=LOOK.format(at=at, load=97)).verdict == verdict


DONE = """NAME                 READY   STATUS      RESTARTS   AGE
mt-llama7b-0-x2v9q   0/1     {first:<9}   0          101m
mt-llama7b-1-7kqlm   0/1     {second:<9}   0          101m
"""


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [("Completed", "Completed", "healthy"), ("Completed", "Running", "unknown"), ("Completed", "Error", "unknown")],
)
def test_a_job_is_done_when_all_its_pods_are(first: str, second: str, verdict: str) -> None:
    """A log that has no word of an end, and a list of the job's pods."""
    log = "".join(f"completed step: {n}, seconds: 3.315, loss: 2.1{n}\n" for n in range(40))
    assert analyse(maxtext_node0_log=log, kubectl_txt=DONE.format(first=first, second=second)).verdict == verdict
