"""One file per speaker: each turns the lines or the file of that voice into events.

`LINE_PARSERS` stand in order of precedence: where two would claim a line, the first
has it. Progress markers come last and share lines with anyone.
"""

from forensics.model import FileParser, LineParser
from forensics.parsers import (
    c10d,
    cuda_error,
    device_assert,
    dynamo,
    exit_status,
    flight_recorder,
    host_record,
    kernel,
    launch_script,
    memory_snapshot,
    metrics,
    nccl,
    nvidia_smi,
    python_exception,
    python_warning,
    rank_times,
    reported_status,
    scheduler_record,
    shell,
    slurm,
    ssh,
    stack_dump,
    step_status,
    tmux,
    torch_trace,
    torchelastic_error,
    torchrun,
    typed,
    usage,
)

LINE_PARSERS: tuple[LineParser, ...] = (
    kernel.PARSER,
    slurm.PARSER,
    tmux.PARSER,
    ssh.PARSER,
    shell.PARSER,
    nccl.PARSER,
    c10d.PARSER,
    torchrun.PARSER,
    dynamo.PARSER,
    device_assert.PARSER,
    stack_dump.PARSER,
    usage.PARSER,
    step_status.PARSER,
    reported_status.PARSER,
    reported_status.ASKED,
    rank_times.PARSER,
    rank_times.SCORES,
    python_warning.PARSER,
    python_exception.PARSER,
    nvidia_smi.ERRORS,
    cuda_error.PARSER,
    typed.PARSER,
    metrics.LIFE,
    metrics.SETTINGS,
)

FILE_PARSERS: tuple[FileParser, ...] = (
    launch_script.PARSER,
    launch_script.RECORD,
    exit_status.PARSER,
    nvidia_smi.PARSER,
    torchelastic_error.PARSER,
    scheduler_record.PARSER,
    host_record.PARSER,
    flight_recorder.PARSER,
    memory_snapshot.PARSER,
    torch_trace.PARSER,
)
