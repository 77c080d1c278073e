"""Whole healthy logs of trainers of language models, and of those that nearly everybody uses.

Each is as small as its format allows: a head, some steps, and the words with which that
trainer ends, where it has any. Values are invented, forms are those of the programs.
"""

from __future__ import annotations

from textwrap import dedent

from tests.healthy.forms import Trained, bar, clock, falling, lines


def hugging_face(extra: str = "", *, quoted: bool = False, bars: bool = True) -> str:
    """Write the dicts of transformers' trainer, with its bar between them, and its summary."""
    quote = "'" if quoted else ""
    text = ""
    for n in range(10, 101, 10):
        loss, rate = round(falling(n), 4), round(5e-5 * (1 - n / 100), 8)
        shown = f"{{'loss': {quote}{loss}{quote}, 'grad_norm': {quote}{1.2 + n / 997:.6f}{quote}, "
        shown += f"'learning_rate': {quote}{rate}{quote}{extra}, 'epoch': {quote}{n / 100}{quote}}}"
        text += f"{shown}\n" + (f"\r{bar(n, 100)}" if bars else "")
        if n == 50:
            text += "{'eval_loss': 1.1, 'eval_runtime': 3.2, 'eval_samples_per_second': 31.1, 'eval_steps_per_second': 3.9, 'epoch': 0.5}\n"
    return text + (
        "{'train_runtime': 102.41, 'train_samples_per_second': 7.81, 'train_steps_per_second': 0.976, "
        "'train_loss': 1.0123, 'epoch': 1.0}\n"
    )


HF_HEAD = dedent("""\
    ***** Running training *****
      Num examples = 800
      Num Epochs = 1
      Instantaneous batch size per device = 8
      Total train batch size (w. parallel, distributed & accumulation) = 8
      Gradient Accumulation steps = 1
      Total optimization steps = 100
      Number of trainable parameters = 124,439,808
    """)

HUGGING_FACE = (
    Trained("transformers-4", HF_HEAD + hugging_face(), 100),
    Trained("transformers-5-quoted", HF_HEAD + hugging_face(quoted=True), 100),
    Trained("trl-sft", hugging_face(", 'mean_token_accuracy': 0.71, 'num_tokens': 81920.0"), 100),
    Trained(
        "trl-grpo",
        hugging_face(
            ", 'num_tokens': 8192.0, 'completions/mean_length': 211.5, 'completions/clipped_ratio': 0.125, "
            "'rewards/accuracy/mean': 0.25, 'reward': 0.25, 'reward_std': 0.43, 'kl': 0.0, 'clip_ratio/low_mean': 0.0"
        ).replace("'loss': 2.0,", "'loss': 0.0,"),
        100,
    ),
    Trained(
        "trl-dpo",
        hugging_face(
            ", 'rewards/chosen': 0.012, 'rewards/rejected': -0.034, 'rewards/accuracies': 0.625, "
            "'rewards/margins': 0.046, 'logps/chosen': -212.1, 'logits/rejected': -1.9"
        ),
        100,
    ),
    Trained(
        "axolotl",
        "[2026-03-01 10:00:01,101] [INFO] [axolotl.train.train:172] [PID:411] [RANK:0] Starting trainer...\n"
        + hugging_face(", 'memory/max_mem_active(gib)': 31.2, 'memory/device_mem_reserved(gib)': 40.1")
        + "[2026-03-01 10:02:01,101] [INFO] [axolotl.train.train:241] [PID:411] [RANK:0] "
        "Training Completed!!! Saving pre-trained model to ./outputs/out\n",
        100,
    ),
    Trained(
        "accelerate-diffusers",
        "The following values were not passed to `accelerate launch` and had defaults used instead:\n"
        "\t`--num_processes` was set to a value of `1`\n"
        "\t`--dynamo_backend` was set to a value of `'no'`\n"
        "To avoid this warning pass in values for each of the problematic parameters or run `accelerate config`.\n"
        "03/01/2026 10:00:00 - INFO - __main__ - ***** Running training *****\n"
        + "\r".join(bar(n, 60, "Steps", f"lr=1e-5, step_loss={falling(n, 0.3):.4f}") for n in range(1, 61))
        + "\n",
        60,
    ),
    Trained(
        "kohya",
        "running training / 学習開始\n  num train images * repeats / 学習画像の数×繰り返し回数: 200\n"
        "  num epochs / epoch数: 2\n  total optimization steps / 学習ステップ数: 40\n"
        + "\r".join(bar(n, 40, "steps", f"avr_loss={falling(n, 0.12):.3f}") for n in range(41))
        + "\n\nsaving checkpoint: /w/out/lora.safetensors\nmodel saved.\n",
        40,
    ),
    Trained(
        "verl-on-ray",
        lines(f"(TaskRunner pid=4242) {bar(n, 30, 'Training Progress')}" for n in range(1, 31))
        + "(TaskRunner pid=4242) ('Final validation metrics: '\n",
        30,
    ),
)

LIGHTNING_HEAD = dedent("""\
    GPU available: True (cuda), used: True
    TPU available: False, using: 0 TPU cores
    LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]

      | Name  | Type   | Params | Mode
    -----------------------------------------
    0 | model | ResNet | 11.2 M | train
    """)

LIGHTNING = (
    Trained(
        "lightning",
        LIGHTNING_HEAD
        + f"{bar(2, 2, 'Sanity Checking DataLoader 0')}\n"
        + "\r".join(
            bar(n, 50, f"Epoch {e}", f"v_num=3, train_loss={falling(e * 50 + n):.3f}")
            for e in range(3)
            for n in range(5, 51, 5)
        )
        + "\n`Trainer.fit` stopped: `max_epochs=3` reached.\n",
        150,
    ),
    Trained(
        "lightning-rich",
        LIGHTNING_HEAD
        + lines(
            f"Epoch {e}/2  {'━' * 20} {n}/20 0:00:0{n // 10} • 0:00:00 9.81it/s v_num: 0.000 train_loss: {falling(e * 20 + n):.3f}"
            for e in range(3)
            for n in (10, 20)
        )
        + "`Trainer.fit` stopped: `max_epochs=3` reached.\n",
        60,
    ),
    Trained(
        "lightning-early-stopping",
        LIGHTNING_HEAD
        + lines(bar(20, 20, f"Epoch {e}", f"v_num=3, train_loss={falling(e * 20):.3f}") for e in range(5))
        + "Monitored metric val_loss did not improve in the last 3 records. Best score: 0.412. Signaling Trainer to stop.\n",
        100,
    ),
    Trained(
        "nemo-2",
        lines(
            f"Training epoch 0, iteration {n}/49 | lr: 0.0003 | global_batch_size: 32 | global_step: {n} | "
            f"reduced_train_loss: {falling(n):.4} | train_step_timing in s: 0.4102 | consumed_samples: {32 * (n + 1)}"
            for n in range(50)
        )
        + "[NeMo I 2026-03-01 10:30:00 nemo_logging:393] `Trainer.fit` stopped: `max_steps=50` reached.\n",
        49,
    ),
)

MEGATRON_HEAD = "using world size: 8, data-parallel size: 8\n[after dataloaders are built] datetime: 2026-03-01 09:59:50\ntraining ...\n"
MEGATRON = (
    Trained(
        "megatron",
        MEGATRON_HEAD
        + lines(
            f" [2026-03-01 {clock(n)}.123456] iteration {n:8d}/{60:8d} | consumed samples: {512 * n:12d} | "
            f"elapsed time per iteration (ms): 1021.4 | throughput per GPU (TFLOP/s/GPU): 402.1 | learning rate: "
            f"1.200000E-04 | global batch size:   512 | lm loss: {falling(n):.6E} | loss scale: 1.0 | grad norm: 1.180 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |"
            for n in range(1, 61)
        )
        + "[after training is done] datetime: 2026-03-01 10:01:01\n",
        60,
    ),
    Trained(
        "gpt-neox",
        lines(
            f" samples/sec: 41.203 | iteration {n:8d}/{60:8d} | elapsed time per iteration (ms): 1021.4 | "
            f"learning rate: 1.200E-04 | approx flops per GPU: 91.2TFLOPS | lm_loss: {falling(n):.6E} | loss scale: "
            "65536.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
            for n in range(10, 61, 10)
        ),
        60,
    ),
    Trained(
        "deepspeed",
        lines(
            f"[2026-03-01 {clock(2 * n)},101] [INFO] [logging.py:96:log_dist] [Rank 0] step={n}, skipped=1, lr=[0.0001], "
            "mom=[(0.9, 0.999)]\n"
            f"[2026-03-01 {clock(2 * n + 1)},101] [INFO] [timer.py:199:stop] epoch=0/micro_step={n}/global_step={n}, "
            "RunningAvgSamplesPerSec=31.2, CurrSamplesPerSec=31.0, MemAllocated=12.1GB, MaxMemAllocated=31.4GB"
            for n in range(10, 101, 10)
        )
        + "[2026-03-01 10:10:00,101] [INFO] [launch.py:351:main] Process 4242 exits successfully.\n",
        100,
    ),
    Trained(
        "torchtitan",
        "[titan] 2026-03-01 10:00:00,101 - root - INFO - Training starts at step 1\n"
        + lines(
            f"[titan] 2026-03-01 {clock(n)},101 - root - INFO - \x1b[31mstep: {n:2}  \x1b[32mloss: {falling(n):7.4f}  "
            "\x1b[33mgrad_norm:  1.2031  \x1b[34mmemory: 31.20GiB(40.11%)  \x1b[36mtps: 7,301  \x1b[35mtflops: 412.11  "
            "mfu: 41.67%\x1b[39m"
            for n in range(1, 41)
        )
        + "[titan] 2026-03-01 10:05:00,101 - root - INFO - Training completed\n",
        40,
    ),
    Trained(
        "torchtitan-0.1",
        lines(
            f"[rank0]:2026-03-01 {clock(n)},101 - root - INFO - step: {n:2}  loss: {falling(n):7.4f}  memory: "
            "31.20GiB(40.11%)  tps: 7,301  mfu: 41.67%"
            for n in range(1, 41)
        )
        + "[rank0]:2026-03-01 10:05:00,101 - root - INFO - Training completed\n",
        40,
    ),
    Trained(
        "torchtune",
        "\r".join(f"1|{n}|Loss: {falling(n):.6f}: {bar(n, 40)}" for n in range(1, 41))
        + "\nINFO:torchtune.utils._logging:Model checkpoint of size 15.0 GB saved to /w/out\n",
        40,
        "unknown",
    ),
    Trained(
        "torchtune-disk",
        lines(
            f"Step {n} | loss:{falling(n)} lr:2e-05 tokens_per_second_per_gpu:2101.2 peak_memory_active:31.2 "
            "peak_memory_alloc:31.1 peak_memory_reserved:40.1 grad_norm:1.1"
            for n in range(1, 41)
        ),
        40,
        "unknown",
    ),
    Trained(
        "composer",
        lines(
            f"[batch={n}/48]:\n\t Train time/batch: {n - 1}\n\t Train loss/train/total: {falling(n):.4f}\n"
            "\t Train throughput/batches_per_sec: 1.1"
            for n in range(1, 49)
        ),
        48,
    ),
)

NANO = (
    Trained(
        "nanogpt",
        "step 0: train loss 10.9881, val loss 10.9872\n"
        + lines(
            f"iter {n}: loss {falling(n):.4f}, time {212 + n % 7}.10ms, mfu {'-100.00' if n < 5 else '32.10'}%"
            for n in range(51)
        )
        + "step 50: train loss 0.6701, val loss 0.7011\nsaving checkpoint to out\n",
        50,
        "unknown",
    ),
    Trained(
        "build-nanogpt",
        lines(
            f"step {n:5d} | loss: {falling(n):.6f} | lr 6.0000e-04 | norm: 1.0210 | dt: 341.10ms | tok/sec: 1537101.20"
            for n in range(40)
        ),
        39,
        "unknown",
    ),
    Trained(
        "modded-nanogpt",
        lines(f"step:{n}/50 train_loss:{falling(n):.4f} train_time:{141 * n}ms step_avg:141.10ms" for n in range(51))
        + "peak memory allocated: 31001 MiB reserved: 40002 MiB\n",
        50,
    ),
    Trained(
        "minimind",
        lines(
            f"Epoch:[{e}/2]({n}/400) loss:{falling(e * 400 + n):.3f} lr:0.0001998 epoch_Time:5.0min:"
            for e in range(1, 3)
            for n in range(100, 401, 100)
        ),
        800,
        "unknown",
    ),
    Trained(
        "pytorch-word-language-model",
        lines(
            f"| epoch {e:3d} | {n:5d}/  600 batches | lr 20.00 | ms/batch 12.11 | loss {falling(e * n):5.2f} | ppl   141.22"
            for e in range(1, 4)
            for n in range(200, 601, 200)
        )
        + "=" * 89
        + "\n| End of training | test loss  4.71 | test ppl   111.02\n"
        + "=" * 89
        + "\n",
        1800,
    ),
    Trained(
        "pytorch-imagenet",
        lines(
            f"Epoch: [{e}][{n:4d}/391]\tTime  0.113 ( 0.233)\tData  0.001 ( 0.041)\tLoss {falling(e * 391 + n):.4e} (6.9411e+00)\t"
            "Acc@1   1.17 (  0.61)\tAcc@5   5.86 (  2.11)"
            for e in range(3)
            for n in range(0, 391, 30)
        )
        + " *   Acc@1 10.112 Acc@5 31.209\n",
        1172,
        "unknown",
    ),
    Trained(
        "pytorch-mnist",
        lines(
            f"Train Epoch: {e} [{n}/60000 ({n / 600:.0f}%)]\tLoss: {falling(e * n):.6f}"
            for e in (1, 2)
            for n in range(0, 60000, 6400)
        )
        + "\nTest set: Average loss: 0.0301, Accuracy: 9901/10000 (99%)\n\n",
        117600,
        "unknown",
    ),
    Trained(
        "deit",
        lines(
            f"Epoch: [{e}]  [{n:3d}/625]  eta: 0:05:01  lr: 0.000100  loss: {falling(e * 625 + n):.4f} (6.9110)  time: 0.4100  "
            "data: 0.0021  max mem: 9101"
            for e in range(2)
            for n in [*range(0, 625, 100), 624]
        )
        + "Training time 0:08:31\n",
        1249,
    ),
)
