"""The files that docs/gate.md tells people to copy: valid, and they do what they say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.program import ROOT, environment
from tests.gate.runs import RUNS

CI = ROOT / "docs" / "ci"
SCHEMAS = {
    CI / "github.yml": "vendor.github-workflows",
    CI / "gitlab.yml": "vendor.gitlab-ci",
    ROOT / "action.yml": "vendor.github-actions",
}


@pytest.fixture
def job(tmp_path: Path) -> dict[str, str]:
    """An environment in which the program is installed, and a folder to work in."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "dflash-forensics"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forensics "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    return environment(PATH=path, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))


def shell(text: str, folder: Path, job: dict[str, str], **more: str) -> subprocess.CompletedProcess[bytes]:
    """Run lines as CI runners do: one bash that stops at the first failure."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
    return subprocess.run(command, cwd=folder, env={**job, **more}, capture_output=True, check=False)


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.name)
def test_the_files_are_valid_by_their_servers_schemas(file: Path) -> None:
    """A key that is misspelt would be ignored in silence, and the gate with it."""
    checked = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[file], str(file)]
    done = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def training(folder: Path, name: str) -> None:
    """Put a launch script in a folder that prints the log of a run and leaves with its status."""
    (folder / "log").write_bytes(RUNS[name]["train.log"])
    status = RUNS[name]["exit_code"].decode().strip()
    (folder / "start_training.sh").write_text(f"cat log\nexit {status}\n")


@pytest.mark.parametrize(("name", "status"), [("healthy", 0), ("raised", 1), ("nan", 1)])
def test_the_workflow_fails_with_the_run(name: str, status: int, tmp_path: Path, job: dict[str, str]) -> None:
    """The steps of the workflow, as they stand: the training's own status never decides."""
    training(tmp_path, name)
    steps = yaml.safe_load((CI / "github.yml").read_text())["jobs"]["train"]["steps"]
    train, gate = (next(s["run"] for s in steps if s.get("name") == step) for step in ("train", "gate"))
    assert shell(train, tmp_path, job).returncode == 0
    done = shell(gate, tmp_path, job)
    assert done.returncode == status, done.stderr
    assert (b"::error " in done.stdout) == bool(status)
    assert (tmp_path / "gate.sarif").is_file()
    assert (tmp_path / "summary.md").is_file()


@pytest.mark.parametrize(("name", "status"), [("healthy", 0), ("raised", 1), ("half", 1)])
def test_the_gitlab_job_fails_with_the_run(name: str, status: int, tmp_path: Path, job: dict[str, str]) -> None:
    """Each line of the job's script, in one shell."""
    training(tmp_path, name)
    script = yaml.safe_load((CI / "gitlab.yml").read_text())["train"]["script"]
    done = shell("\n".join(script), tmp_path, job)
    assert done.returncode == status, done.stderr
    assert (tmp_path / "junit.xml").is_file()
    assert (tmp_path / "gl-code-quality-report.json").is_file()


@pytest.mark.parametrize(("name", "status"), [("healthy", 0), ("raised", 1), ("broken", 3)])
def test_the_epilog_writes_why_and_passes_the_status_on(
    name: str, status: int, tmp_path: Path, job: dict[str, str]
) -> None:
    """At the end of a batch script the status is the gate's; as an epilog it must not drain the node."""
    for file, data in RUNS[name].items():
        (tmp_path / file).write_bytes(data)
    script = f"bash {CI / 'epilog.sh'}"
    where = {"SLURM_JOB_ID": "4711", "SLURM_SUBMIT_DIR": str(tmp_path)}
    assert shell(script, tmp_path, job, **where).returncode == status
    assert (tmp_path / "gate-4711.txt").read_text().split()[0] in {"PASS", "FAIL", "CANNOT"}
    assert shell(script, tmp_path, job, GATE_STATUS="ignore", **where).returncode == 0


def test_the_action_runs_the_gate(tmp_path: Path, job: dict[str, str]) -> None:
    """Its last step, with what its inputs hand over."""
    training(tmp_path, "raised")
    (tmp_path / "run").mkdir()
    for file, data in RUNS["raised"].items():
        (tmp_path / "run" / file).write_bytes(data)
    tools = tmp_path / "tools" / "dflash" / "bin"
    tools.mkdir(parents=True)
    shutil.copy(tmp_path / "bin" / "dflash-forensics", tools)
    (step,) = [s for s in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"] if s["name"] == "gate"]
    given = {"RUNNER_TEMP": str(tmp_path / "tools"), "RUN": "run", "ARGUMENTS": "-o gate.sarif --fail-on warning"}
    done = shell(step["run"], tmp_path, job, **given)
    assert done.returncode == 1
    assert b"::error title=setup.python-exception" in done.stdout
    assert (tmp_path / "gate.sarif").is_file()


def test_the_hook_refuses_a_script_that_would_lose_its_status(tmp_path: Path, job: dict[str, str]) -> None:
    """pre-commit calls the entry with all files at once; one bad script is enough."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    used = yaml.safe_load((CI / "pre-commit.yml").read_text())["repos"][0]["hooks"][0]
    assert used["id"] == hook["id"]
    (tmp_path / "good.sh").write_text("#!/bin/bash\necho hello\n")
    (tmp_path / "bad.sh").write_text("#!/bin/bash\npython train.py 2>&1 | tee train.log\n")
    assert shell(f"{hook['entry']} good.sh", tmp_path, job).returncode == 0
    done = shell(f"{hook['entry']} good.sh bad.sh", tmp_path, job)
    assert done.returncode == 1
    assert b"bad.sh:2" in done.stdout
    assert b"good.sh: no hazard found" in done.stdout
