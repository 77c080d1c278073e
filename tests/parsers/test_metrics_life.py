"""What a program says about the run as a whole: its end, checkpoints, attempts, versions."""

from typing import Any

import pytest

from forensics.model import Context, Event, Line, Source
from forensics.parsers.metrics import LIFE
from forensics.parsers.metrics import SETTINGS as TOLD
from forensics.text.prefix import peel

CONTEXT = Context(Source("train.log", "training-log", 0), default_year=2031)


def events(*lines: str) -> list[Event]:
    records = [peel(Line(number, 0, 0, line), CONTEXT) for number, line in enumerate(lines, 1)]
    return [*LIFE.parse(records, CONTEXT), *TOLD.parse(records, CONTEXT)]


def facts(line: str) -> list[tuple[str, dict[str, Any]]]:
    return [(event.kind, dict(event.fields)) for event in events(line)]


ENDINGS = [
    ("2026-11-29 12:51:35 | INFO | Training complete", False),
    ("Training complete: 12 epochs, 12000 steps, exit 0", False),
    ("2026-11-29 13:49:03,047 [rank1] INFO train: training finished after 60 steps", False),
    ("Training completed. Do not forget to share your model on huggingface.co/models =)", False),
    ("[titan] 2031-02-03 04:05:06,789 - root - INFO - Training completed", False),
    ("Finished Training", False),
    ("Training of roberta model complete.", False),
    ("INFO: resources exited successfully with a zero exit code", False),
    ("*** Best metric: 65.6516 (epoch 7)", True),
    ("2031-02-03 04:05:06 | INFO | fairseq_cli.train | done training in 3600.1 seconds", False),
    ("{'train_runtime': '3.699', 'train_samples_per_second': '259.5', 'epoch': '0.24'}", False),
    ("***** train metrics *****", False),
    ("`Trainer.fit` stopped: `max_steps=500` reached.", False),
    ("INFO:torch.distributed.elastic.agent.server.api:[default] worker group successfully finished. Waiting", False),
    ("[after training is done] datetime: 2024-04-18 09:12:31 ", False),
    ("Training time 1:12:03", False),
    ("100 epochs completed in 1.234 hours.", False),
    ("The network is now trained and ready to evaluate.", False),
    ("I0304 05:06:07.123456  4242 caffe.cpp:259] Optimization Done.", False),
    ("Reached max_steps (500), stopping", False),
    ("2023-08-21 07:42:25,202 sagemaker-training-toolkit INFO     Reporting training SUCCESS", False),
    ("Train loop finished at step 1499.", False),
    ("INFO:tensorflow:Loss for final step: 0.0123.", False),
    ("[05/01 10:00:00 d2.engine.hooks]: Overall training speed: 899 iterations in 0:10:00 (0.66 s / it)", False),
    ("Optimization Finished!", False),
    ("Training job has succeeded", False),
    ("Training procedure finished.", False),
    ("INFO - Training ended successfully", False),
    ("All 30 epochs done.", False),
    ("I0211 09:13:34.950012 140001 train.py:261] run complete: 6000/6000 steps, best eval 2.7488, wall 1h12m", False),
    ("This is the end of training.", False),
    ("wandb: Run summary:", True),
    ("2026-02-18 14:01:05,167 - root - INFO - DONE ---- rank 0", True),
    ("All done!", True),
    ("done", True),
    ("Done in 12.5s", True),
    ("Job completed successfully.", True),
    ("Epoch 00012: early stopping", True),
    ("Early stopping, best iteration is:", True),
    (
        "Monitored metric val_loss did not improve in the last 5 records. Best score: 0.123. Signaling Trainer to stop.",
        True,
    ),
    ("[LightGBM] [Info] Did not meet early stopping. Best iteration is:", True),
    ("| End of training | test loss  4.78 | test ppl   119.34", False),
]


@pytest.mark.parametrize(("line", "weak"), ENDINGS)
def test_endings(line: str, weak: bool) -> None:  # noqa: FBT001 - a column of the table
    """Each wording of a finished training is an ending, and bare words are weak ones."""
    assert any(trigger in line for trigger in LIFE.triggers)
    [(kind, fields)] = facts(line)
    assert kind == "complete"
    assert fields["weak"] is weak


@pytest.mark.parametrize(
    "line",
    [
        "Training not complete",
        "when training is complete, the model will be saved",
        'print("Training complete")',
        "    logger.info('Training finished')",
        "Training complete: 50%",
        "run complete: 3000/6000 steps",
        "2023-08-21 07:42:25,202 sagemaker-training-toolkit ERROR    Reporting training FAILURE",
        "Training completed with errors",
        "Done (t=14.71s)",
        "make: Nothing to be done for 'default'.",
        "early_stopping_patience=5",
        "abandoned",
        "Waiting until training is done",
        "done loading vocabulary",
    ],
)
def test_no_ending(line: str) -> None:
    """Conditions, negations, source code and parts of a program that finish are no end of training."""
    assert all(kind != "complete" for kind, _ in facts(line))


def test_the_steps_of_an_ending() -> None:
    """The number of steps that an ending counts is kept."""
    assert facts("Training complete: 12 epochs, 12,000 steps")[0][1]["steps"] == 12000


CHECKPOINTS = [
    ("2025-04-30 09:12:26 INFO saved checkpoint runs/sw5/step_000200.pt", "saved", 200, "runs/sw5/step_000200.pt"),
    ("=> saved checkpoint /data/in/ckpt/step_00250.pt", "saved", 250, "/data/in/ckpt/step_00250.pt"),
    ("saving checkpoint to out-gpt", "started", None, "out-gpt"),
    ("2026-11-29 12:44:55,531 - INFO - trainer - saving checkpoint", "started", None, None),
    (" successfully saved checkpoint at iteration   41500 to /lustre/ckpt/7b", "saved", 41500, "/lustre/ckpt/7b"),
    ("  successfully saved checkpoint from iteration     500 to /ckpt [ t 1/1, p 1/1 ]", "saved", 500, "/ckpt"),
    ("saving checkpoint at iteration     500 to /ckpt in torch_dist format", "started", 500, "/ckpt"),
    ("Saving model checkpoint to out/checkpoint-500", "started", 500, "out/checkpoint-500"),
    ("Model weights saved in out/checkpoint-500/model.safetensors", "saved", 500, "out/checkpoint-500/model.safetensors"),
    ("Saving current state to out/checkpoint-500", "started", 500, "out/checkpoint-500"),
    ("[2031-02-03 04:05:06,789] [INFO] [engine.py:21:save] [Torch] Saving /x/global_step500/mp_rank_00_model_states.pt...",
     "started", 500, "/x/global_step500/mp_rank_00_model_states.pt"),
    ("[2031-02-03 04:05:06,789] [INFO] [engine.py:23:save] [Torch] Saved /x/global_step500/mp_rank_00_model_states.pt.",
     "saved", 500, "/x/global_step500/mp_rank_00_model_states.pt"),
    ("[Torch] Checkpoint global_step500 is about to be saved!", "started", 500, None),
    ("[Torch] Checkpoint global_step500 is ready now!", "saved", 500, None),
    ("Epoch 0, global step 500: 'val_loss' reached 0.51 (best 0.51), saving model to '/x/epoch=0-step=500.ckpt' as top 1",
     "started", 500, "/x/epoch=0-step=500.ckpt"),
    ("Saving the checkpoint (or staging if async is enabled).", "started", None, None),
    ("Finished saving the checkpoint (or staging if async is enabled) in 2.12 seconds.", "saved", None, None),
    ("Model checkpoint of size 15.0 GB saved to /x/hf_model_0001_0.pt", "saved", None, "/x/hf_model_0001_0.pt"),
    ("Preparing to save checkpoint for epoch 1 @ 500 updates", "started", 500, None),
    ("Saved checkpoint checkpoints/checkpoint_1_500.pt (epoch 1 @ 500 updates, score 8.9) (writing took 3.2 seconds)",
     "saved", 500, "checkpoints/checkpoint_1_500.pt"),
    ("Epoch 00001: val_loss improved from inf to 0.9, saving model to x.h5", "started", None, "x.h5"),
    ("Saving checkpoints for 500 into /x/model.ckpt.", "started", 500, "/x/model.ckpt"),
    ("Saving checkpoint at 500 iterations", "started", 500, None),
    ("Saved checkpoint\tIteration: 500\tJob throughput: 1.0 TFLOP/s/GPU", "saved", 500, None),
    ("-rw-r--r-- 1 c c 366120004 2019-05-23 10:31 tacotron_model.ckpt-500.data-00000-of-00001", "saved", 500,
     "tacotron_model.ckpt-500.data-00000-of-00001"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "state", "step", "path"), CHECKPOINTS)
def test_checkpoints(line: str, state: str, step: int | None, path: str | None) -> None:
    """A save that was announced and one that was finished are told apart, with step and file."""
    assert any(trigger in line for trigger in LIFE.triggers)
    [(kind, fields)] = facts(line)
    assert kind == f"checkpoint-{state}"
    assert fields.get("step") == step
    assert fields.get("path") == path


RESUMED = [
    ("2026-02-18 11:00:00,350 - root - INFO - Resuming from /results/ckpt.tar", {"path": "/results/ckpt.tar"}),
    ("restored: 3 complete epochs, 36738 additional batches (369000 total)", {"batches": 369000}),
    (
        "=> loading checkpoint /data/in/ckpt/step_01250.pt (step 1250)",
        {"step": 1250, "path": "/data/in/ckpt/step_01250.pt"},
    ),
    ("  successfully loaded checkpoint from /ckpt [ t 0, p 0 ] at iteration 500", {"step": 500, "path": "/ckpt"}),
    ("  Continuing training from global step 500", {"step": 500}),
    ("Restored all states from the checkpoint at /x/last.ckpt", {"path": "/x/last.ckpt"}),
    ("Restoring parameters from /x/model.ckpt-500", {"step": 500}),
    ("Loading the checkpoint at step 500.", {"step": 500}),
    ("Loading checkpoint from /models/base", {"weak": True}),
]


@pytest.mark.parametrize(("line", "expected"), RESUMED)
def test_resumed(line: str, expected: dict[str, Any]) -> None:
    """Where training goes on from is told, and a bare load is only a weak sign of it."""
    [(kind, fields)] = facts(line)
    assert kind == "resumed"
    assert expected.items() <= fields.items()


@pytest.mark.parametrize(
    "line",
    [
        "=> no checkpoint found, starting from step 0",
        "Configuration saved in out/checkpoint-500/config.json",
        "Deleting older checkpoint [out/checkpoint-400] due to args.save_total_limit",
        "09/23 16:40:04 - mmengine - INFO - Checkpoints will be saved to /data/pose/work_dirs",
        "Failed to save checkpoint",
        "    save_checkpoint(model=model, path=cfg.output_directory, cfg=cfg)",
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:11<00:00,  5.71s/it]",
        "Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 22.13it/s]",
        ">>> Load weights from pretrained checkpoint",
        "Some weights of the model checkpoint at x were not used when initializing LlamaForCausalLM: []",
        "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.",
        "ValueError: The model's max seq len (8) is larger than the maximum number of tokens that can be saved in KV cache",
        "there is a high likelihood that your checkpoint file is corrupted.",
    ],
)
def test_talk_of_checkpoints(line: str) -> None:
    """Advice, failures, plans, bars and source that mention a checkpoint neither save nor load one."""
    assert facts(line) == []


def test_attempts() -> None:
    """A launcher's rendezvous, its count of restarts and a restart are attempts."""
    seen = events(
        "INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:",
        "  restart_count=1",
        "[default] Worker group FAILED. 5/5 attempts left; will restart worker group",
        "=== attempt 2 ===",
    )
    assert [(e.kind, e.fields["marker"]) for e in seen] == [
        ("attempt", "rendezvous"),
        ("attempt", "restart_count"),
        ("attempt", "restart"),
        ("attempt", "attempt"),
    ]
    assert seen[1].fields["attempt"] == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("INFO | torch 2.11.0+cu130 cuda 13.0 device NVIDIA H200 x1", [("torch", "2.11.0+cu130"), ("cuda", "13.0")]),
        ("NCCL version 2.28.9+cuda13.0", [("nccl", "2.28.9+cuda13.0")]),
        ("INFO 02-03 04:05:06 api_server.py:585] vLLM API server version 0.6.3.post1", [("vllm", "0.6.3.post1")]),
        ("[    0.430540] Block layer SCSI generic (bsg) driver version 0.4 loaded (major 248)", []),
        ("| NVIDIA-SMI 515.86.01    Driver Version: 515.86.01    CUDA Version: 11.7     |", [("driver", "515.86.01"), ("cuda", "11.7")]),
        ("PyTorch version 2.0.1+cu118 available.", [("torch", "2.0.1+cu118")]),
        ("The CUDA version on the system (11.7) does not match with the version (11.6) torch was compiled with.", []),
        ("FutureWarning: torch.load with weights_only=False; in PyTorch 2.6 this will change", []),
        ('  File "/opt/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1779', []),
    ],
)  # fmt: skip
def test_programs(line: str, expected: list[tuple[str, str]]) -> None:
    """Versions that programs print are told; advice about versions and paths are not versions."""
    assert [(f["name"], f["version"]) for kind, f in facts(line) if kind == "program"] == expected


def test_a_version_is_told_once() -> None:
    """Many ranks print the same version; it is one fact."""
    assert len(events(*["NCCL version 2.28.9+cuda13.0"] * 8)) == 1


def test_events_stand_where_they_were_said() -> None:
    """An event carries the place, words, rank and time of its record."""
    [event] = events("2026-11-29 13:49:03,047 [rank1] INFO train: training finished after 60 steps")
    assert (event.path, event.line, event.rank) == ("train.log", 1, 1)
    assert event.text.startswith("2026-11-29 13:49:03,047 [rank1]")
    assert event.time is not None
