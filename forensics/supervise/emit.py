"""A plan as a script for the engine that is there: sbatch, torchrun, a Kubernetes Job, tmux."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from forensics.supervise.relaunch import Plan

FORMS = ("sbatch", "torchrun", "k8s", "tmux")
_GPUS = "nvidia.com/gpu"
_IN_FRONT = frozenset(
    {"timeout", "env", "nice", "ionice", "numactl", "taskset", "stdbuf", "nohup", "time", "catchsegv"}
)
"""Commands that run one other command, whatever it is."""


def emit(plan: Plan, form: str, original: str = "") -> str:
    """Return the script.

    Args:
        plan: the next try; its secrets are redacted, so a script with them has to be completed by hand.
        form: one of `FORMS`.
        original: the sbatch script of the run, whose directives are kept.
    """
    match form:
        case "sbatch":
            return _sbatch(plan, original)
        case "torchrun":
            return _torchrun(plan)
        case "k8s":
            return _kubernetes(plan)
        case "tmux":
            return _tmux(plan)
    raise ValueError(f"no such form: {form}")


def _head(plan: Plan, mark: str = "#") -> list[str]:
    root = plan.report.root
    cause = f"{root.id}: {root.title}" if root else plan.report.reason
    lines = [f"{mark} The next try after: {cause}"]
    lines += [f"{mark} {c.name}: {c.before or 'not set'} -> {c.after} ({c.reason})" for c in plan.changes]
    if plan.checkpoints.chosen:
        lines.append(f"{mark} goes on from {plan.checkpoints.chosen.path}")
    if plan.withheld:
        lines.append(f"{mark} [redacted] stands for a secret that was not kept: fill it in")
    return [line.replace("\n", " ") for line in lines]


def _exports(environment: Mapping[str, str]) -> list[str]:
    return [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]


def _supervised(plan: Plan, folder: str) -> str:
    return shlex.join(["dflash-forensics", "run", "--run-dir", folder, "--", *plan.command])


def _run_folder(plan: Plan) -> str:
    return str(plan.folder.absolute())


def _sbatch(plan: Plan, original: str) -> str:
    """Keep the directives of the job that was, with those that the plan changes."""
    asked = {c.name: c.after for c in plan.changes if c.kind == "scheduler"}
    kept = [line for line in original.splitlines() if line.startswith("#SBATCH")]
    kept = [line for line in kept if not any(re.match(rf"#SBATCH\s+{re.escape(n)}(?:[= ]|$)", line) for n in asked)]
    if not kept:
        kept = ["#SBATCH --job-name=relaunch", "#SBATCH --nodes=1", "#SBATCH --ntasks-per-node=1"]
    if not any("--signal" in line for line in kept):
        kept.append("#SBATCH --signal=B:TERM@120")
    lines = ["#!/bin/bash", *kept, *(f"#SBATCH {name}={value}" for name, value in asked.items()), "", *_head(plan)]
    lines += ["set -euo pipefail", *_exports(plan.environment)]
    if plan.cwd is not None:
        lines.append(f"cd {shlex.quote(str(plan.cwd))}")
    # exec: the signal before the time limit goes to the supervisor, which passes it on.
    return "\n".join([*lines, f"exec {_supervised(plan, _run_folder(plan))}", ""])


def _torchrun(plan: Plan) -> str:
    """Return one line: a torchrun command as it is, else the Python script under torchrun."""
    words = list(plan.command)
    at = next((i for i, word in enumerate(words) if Path(word).name.startswith("python")), len(words))
    # `timeout 8h python train.py`: what is in front stays in front, unless it starts processes itself.
    if at + 1 < len(words) and Path(words[0]).name in {Path(words[at]).name, *_IN_FRONT}:
        rest = [w for w in words[at + 1 :] if w != "-u"]
        words = [*words[:at], "torchrun", "--standalone", "--nproc-per-node=gpu", *rest]
    assignments = [f"{name}={shlex.quote(value)}" for name, value in plan.environment.items()]
    command = shlex.join(["dflash-forensics", "run", "--run-dir", _run_folder(plan), "--", *words])
    where = f"cd {shlex.quote(str(plan.cwd))} && " if plan.cwd is not None else ""
    return "\n".join([*_head(plan), f"{where}{' '.join([*assignments, command])}", ""])


def _kubernetes(plan: Plan) -> str:
    """Return a Job that is not started again blindly: backoffLimit 0, restartPolicy Never."""
    node = next((c.after for c in plan.changes if c.kind == "scheduler" and c.name == "--exclude"), None)
    visible = plan.environment.get("CUDA_VISIBLE_DEVICES")
    count = len(visible.split(",")) if visible else 1
    lines = [*_head(plan), "apiVersion: batch/v1", "kind: Job", "metadata:", f"  generateName: {_name(plan)}-", "spec:"]
    lines += ["  backoffLimit: 0", "  template:", "    spec:", "      restartPolicy: Never"]
    lines += ["      terminationGracePeriodSeconds: 120"]
    if node:
        lines += [
            "      affinity:",
            "        nodeAffinity:",
            "          requiredDuringSchedulingIgnoredDuringExecution:",
            "            nodeSelectorTerms:",
            "              - matchExpressions:",
            f"                  - {{key: kubernetes.io/hostname, operator: NotIn, values: [{_text(node)}]}}",
        ]
    lines += ["      containers:", "        - name: train", "          image: IMAGE  # the image of the run"]
    if plan.cwd is not None:
        lines.append(f"          workingDir: {_text(str(plan.cwd))}")
    supervised = ["dflash-forensics", "run", "--run-dir", _run_folder(plan), "--", *plan.command]
    lines += ["          command:", *(f"            - {_text(word)}" for word in supervised)]
    # The numbers of the machine's GPUs mean nothing inside a pod, which sees those it was given.
    environment = {n: v for n, v in plan.environment.items() if n != "CUDA_VISIBLE_DEVICES"}
    if environment:
        lines.append("          env:")
        for name, value in environment.items():
            lines += [f"            - name: {_text(name)}", f"              value: {_text(value)}"]
    lines += ["          resources:", "            limits:", f"              {_GPUS}: {count}"]
    lines += ["          volumeMounts:", "            - {name: shm, mountPath: /dev/shm}"]
    lines += ["      volumes:", "        - {name: shm, emptyDir: {medium: Memory}}"]
    return "\n".join([*lines, ""])


def _tmux(plan: Plan) -> str:
    """Return a script: name checked, pane kept, start looked after; the supervisor has the log and the status."""
    session = _name(plan)
    inner = [*_exports(plan.environment)]
    if plan.cwd is not None:
        inner.append(f"cd {shlex.quote(str(plan.cwd))}")
    inner.append(f"exec {_supervised(plan, _run_folder(plan))}")
    script = shlex.quote("; ".join(inner))
    looked = f"sleep 5; tmux list-panes -t {session} -F '#{{pane_dead}}' | grep -q 0"
    return "\n".join([
        "#!/bin/bash", *_head(plan), "set -euo pipefail",
        f"tmux has-session -t {session} 2>/dev/null && {{ echo 'session {session} exists already' >&2; exit 1; }}",
        f"tmux new-session -d -s {session} -x 200 -y 50 bash -c {script} \\; set-option -w remain-on-exit on",
        f"{looked} || {{ echo '{session} died at once' >&2; exit 1; }}",
        "",
    ])  # fmt: skip


def _name(plan: Plan) -> str:
    """Return a name that every engine takes, from the folder of the run."""
    base = re.sub(r"[^a-z0-9]+", "-", plan.folder.absolute().name.lower()).strip("-") or "run"
    return base[:40].strip("-")


def _text(value: str) -> str:
    """Return a string as YAML and JSON both spell it."""
    import json

    return json.dumps(value)


def launch_lines(command: Sequence[str], environment: Mapping[str, str], cwd: Path | None) -> list[str]:
    """Return a launch as lines for a diff: a variable, the folder, or an option on each."""
    lines = _exports(environment)
    if cwd is not None:
        lines.append(f"cd {shlex.quote(str(cwd))}")
    rows: list[list[str]] = [[]]
    for word in command:
        if word.startswith("--") and rows[-1]:
            rows.append([])
        rows[-1].append(word)
    told = [("  " if at else "") + shlex.join(row) for at, row in enumerate(rows)]
    return [*lines, *(f"{line} \\" for line in told[:-1]), told[-1]]
