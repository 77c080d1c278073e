"""Many services write one log: a fault that ended one of them is not outlived by the work of another."""

from __future__ import annotations

import pytest

from tests.engine.runs import RAISED, analyse, root, steps

BOUND = """INFO:     Started server process [1]
INFO:     Application startup complete.
ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use
INFO:     Waiting for application shutdown.
INFO:     Application shutdown complete.
"""
SERVED = "INFO 09-19 08:5{n}:13 metrics.py:351] Avg prompt throughput: 349.8 tokens/s, Avg generation throughput: 206.{n} tokens/s\n"
WORK = "".join(SERVED.format(n=n) for n in range(8))
EXITED = "{name} exited with code {code}\n"


def named(name: str, text: str) -> str:
    return "".join(f"{name} | {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("one", "other", "container"),
    [
        ("eb_1  ", "chat_1", "llm_eb_1"),
        ("eb-1  ", "chat-1", "eb-1"),
        ("vllm-embed_1", "chat_1      ", "llm_vllm-embed_1"),
    ],
    ids=["compose 1", "compose 2", "the longest name"],
)
@pytest.mark.parametrize("code", [0, 1])
def test_a_server_that_could_not_bind_ended_of_it_whatever_its_status(
    one: str, other: str, container: str, code: int
) -> None:
    """The other service has the port, and serves on."""
    log = named(other, WORK) + named(one, BOUND) + EXITED.format(name=container, code=code) + named(other, WORK)
    report = analyse(compose_log=log)
    assert (root(report), report.verdict) == ("comm.port-in-use", "failed")


def test_a_service_that_raised_and_left_with_a_status_failed() -> None:
    """Only its own words below would tell that it went on."""
    log = named("prep-1  ", RAISED.format(error="ValueError: odd")) + EXITED.format(name="prep-1", code=1)
    assert root(analyse(compose_log=log + named("chat-1", WORK))) == "setup.python-exception"


@pytest.mark.parametrize(
    "log",
    [
        named("eb-1  ", BOUND)
        + EXITED.format(name="eb-1", code=1)
        + named("eb-1  ", "vLLM API server version 0.6.1\n" + WORK),
        named("eb-1  ", RAISED.format(error="ValueError: odd") + WORK) + EXITED.format(name="eb-1", code=0),
        named("eb-1  ", BOUND.splitlines()[2] + "\n" + WORK + BOUND.splitlines()[4])
        + EXITED.format(name="eb-1", code=0),
        named("eb-1  ", RAISED.format(error="ValueError: odd"))
        + EXITED.format(name="chat-1", code=1)
        + named("eb-1", WORK),
    ],
    ids=["started anew", "handled, and ended well", "served, and was stopped later", "another one ended"],
)
def test_a_service_that_worked_after_it_recovered(log: str) -> None:
    """Its own restart, its own work, and the end of another one."""
    assert root(analyse(compose_log=log + named("other-1", WORK))) is None


def test_a_training_that_came_to_its_end_outlived_whatever_ended_a_service_beside_it() -> None:
    """A helper may fail: what the run was for is there."""
    log = named("prep-1  ", RAISED.format(error="ValueError: odd")) + EXITED.format(name="prep-1", code=1)
    done = named("trainer-1", steps(1, 100) + "Training complete\n")
    assert analyse(compose_log=log + done.replace("trainer-1", "trainer-1 ")).verdict == "healthy"
