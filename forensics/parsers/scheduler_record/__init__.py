"""What a scheduler recorded of a job, a pod or a service: sacct, scontrol, squeue, sinfo -R, seff; kubectl; systemctl.

Or a container engine of its containers: docker, podman, compose; or a cloud of its jobs.

    JobID           JobName      State ExitCode    Elapsed
    ------------ ---------- ---------- -------- ----------
    551200            vit-s     FAILED      1:0   01:41:22

Events: `job-state` (job_id, step_id, state, exit_code, signal, reason, node, elapsed_ms,
time_limit_ms), `earlier-state` (the same, of an earlier try of that job), `node-state`,
`pod-state` (pod, container, state, reason, exit_code, signal, message, node, limit_bytes),
`pod-event` (warnings), `pod-listed` (pod, phase, ready, restarts), `unit-state` (unit, state, pid), `container-listed`
(container, image, state, up_s). States are the long words whatever the command prints. Formats: Slurm 17 to 26,
Kubernetes 1.2x, Docker 20 to 28, Compose 1 and 2, Podman 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from forensics.model import Context, Event
from forensics.parsers.scheduler_record import cloud, containers, kubernetes, slurm, systemd
from forensics.sources.sniff import SHOWN_KINDS

_MOST_LINES = 100_000


class SchedulerRecord:
    """See the module's text."""

    speaker = "scheduler"
    kinds = SHOWN_KINDS | {"scheduler-record"}

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")[:_MOST_LINES]
        found = [
            *slurm.tables(lines, context),
            *slurm.records(lines, context),
            *slurm.efficiency(lines, context),
            *slurm.reasons(lines, context),
            *kubernetes.describe(lines, context),
            *kubernetes.tables(lines, context),
            *systemd.status(lines, context),
            *containers.tables(lines, context),
            *cloud.jobs(lines, context),
        ]
        yield from sorted(found, key=lambda event: event.line)


PARSER = SchedulerRecord()
