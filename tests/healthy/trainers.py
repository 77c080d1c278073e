"""Whole logs of runs that went well, one of every trainer whose progress can be read.

Each is as small as its format allows: a head, some steps, and the words with which that
trainer ends, where it has any. Values are invented, forms are those of the programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Trained:
    """The log of a run that went well; `verdict` is unknown where nothing in it says the end."""

    name: str
    log: str
    last_step: int | None
    verdict: str = "healthy"
    file: str = "train.log"


def lines(made: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in made)


def clock(second: int) -> str:
    return f"{10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def bar(n: int, total: int, name: str = "", postfix: str = "", unit: str = "it") -> str:
    """Draw a record of tqdm as it stands in a file, without what ends it."""
    percent = 100 * n // total
    filled = "█" * (percent // 10)
    after = f", {postfix}" if postfix else ""
    left = f"{(total - n) // 60:02d}:{(total - n) % 60:02d}"
    head = f"{name}: " if name else ""
    return f"{head}{percent:3d}%|{filled:<10}| {n}/{total} [{n // 60:02d}:{n % 60:02d}<{left},  1.02{unit}/s{after}]"


def falling(step: int, start: float = 4.0) -> float:
    return start / (1 + step / 10)


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

VISION = (
    Trained(
        "mmengine",
        lines(
            f"2026/03/01 {clock(n)} - mmengine - INFO - Iter(train) [{n:5d}/500]  base_lr: 1.0000e-02 lr: 1.0000e-02  "
            f"eta: 0:01:10  time: 0.2411  data_time: 0.0071  memory: 4210  loss: {falling(n):.4f}  decode.acc_seg: 91.2"
            for n in range(50, 501, 50)
        )
        + "2026/03/01 10:09:00 - mmengine - INFO - Saving checkpoint at 500 iterations\n",
        500,
    ),
    Trained(
        "mmengine-epochs",
        lines(
            f"03/01 {clock(60 * e + n)} - mmengine - INFO - Epoch(train)  [{e}][{n:3d}/100]  lr: 1.0000e-02  eta: 0:01:10  "
            f"time: 0.2411  data_time: 0.0071  memory: 4210  loss: {falling(e * 100 + n):.4f}"
            for e in range(1, 4)
            for n in (50, 100)
        ),
        300,
        "unknown",
    ),
    Trained(
        "detectron2",
        lines(
            f"[03/01 {clock(n)} d2.utils.events]:  eta: 0:03:01  iter: {n}  total_loss: {falling(n):.3f}  loss_cls: 0.411  "
            "loss_box_reg: 0.301    time: 0.3110  last_time: 0.3011  data_time: 0.0101  last_data_time: 0.0041   lr: 0.00025  "
            "max_mem: 3210M"
            for n in range(19, 300, 20)
        )
        + "[03/01 10:10:00 d2.engine.hooks]: Overall training speed: 298 iterations in 0:01:32 (0.3110 s / it)\n"
        "[03/01 10:10:00 d2.engine.hooks]: Total training time: 0:01:40 (0:00:08 on hooks)\n",
        299,
    ),
    Trained(
        "ultralytics",
        "train: Scanning /d/labels... 90 images, 0 backgrounds, 0 corrupt: 100% ━━━━━━━━━━━━ 90/90 201.4it/s 0.4s\n"
        "\n      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        + lines(
            f"        {e}/3      2.31G     {falling(e):.3f}      2.101      1.301         41        640: "
            f"100%|██████████| 12/12 [00:03<00:00,  3.61it/s]\n"
            "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): "
            "100%|██████████| 3/3 [00:01<00:00,  2.11it/s]\n"
            "                   all         90        411      0.612      0.501      0.549      0.311"
            for e in range(1, 4)
        )
        + "\n3 epochs completed in 0.011 hours.\nOptimizer stripped from runs/detect/train/weights/last.pt, 6.2MB\n",
        36,
    ),
    Trained(
        "open-clip",
        lines(
            f"2026-03-01,{clock(n)} | INFO | Train Epoch: 0 [{256 * n:6d}/25600 ({n}%)] Data (t): 0.210 Batch (t): 0.300, "
            f"2810.11/s LR: 0.000007 Loss: {falling(n):.4f} (5.5010)"
            for n in range(0, 101, 10)
        ),
        25600,
        "unknown",
    ),
    Trained(
        "cyclegan",
        lines(
            f"[Rank 0] (epoch: {e}, iters: {n}, time: 1.201, data: 0.843) , D_A: 0.412, G_A: {falling(e):.3f}"
            + (f"\nEnd of epoch {e} / 3 \t Time Taken: 205 sec" if n == 300 else "")
            for e in range(1, 4)
            for n in range(100, 301, 100)
        ),
        300,
        "unknown",
    ),
    Trained(
        "caffe",
        lines(
            f"I0304 05:06:{n % 60:02d}.123456  4242 solver.cpp:222] Iteration {10 * n}, loss = {falling(n):.7f}"
            for n in range(0, 51, 5)
        )
        + "I0304 05:09:07.123456  4242 solver.cpp:326] Iteration 500, loss = 0.0412\n"
        "I0304 05:09:07.223456  4242 solver.cpp:331] Optimization Done.\n"
        "I0304 05:09:07.223456  4242 caffe.cpp:259] Optimization Done.\n",
        500,
    ),
)

KERAS = (
    Trained(
        "keras-2",
        "".join(
            f"Epoch {e}/5\n"
            + "\r".join(
                f"{n:2d}/41 [{'=' * (n // 2):.<29}] - ETA: {41 - n}s - loss: {falling(n):.4f}" for n in range(1, 41)
            )
            + f"\r41/41 [{'=' * 30}] - 8s 19ms/step - loss: {falling(41 * e):.4f} - accuracy: 0.4112 - "
            f"val_loss: {falling(41 * e) + 0.1:.4f} - val_accuracy: 0.3912\n"
            for e in range(1, 6)
        ),
        205,
    ),
    Trained(
        "keras-3",
        "".join(
            f"Epoch {e}/5\n\x1b[1m41/41\x1b[0m \x1b[32m{'━' * 20}\x1b[0m\x1b[37m\x1b[0m \x1b[1m8s\x1b[0m 19ms/step - "
            f"accuracy: 0.8123 - loss: {falling(e):.4f} - val_accuracy: 0.3912 - val_loss: {falling(e):.4f}\n"
            for e in range(1, 6)
        ),
        205,
    ),
    Trained(
        "keras-verbose-2",
        "".join(
            f"Epoch {e}/5\n41/41 - 8s - loss: {falling(e):.4f} - val_loss: {falling(e):.4f} - 8s/epoch - 19ms/step\n"
            for e in range(1, 6)
        ),
        205,
    ),
    Trained(
        "keras-without-validation",
        "".join(f"Epoch {e}/3\n41/41 [{'=' * 30}] - 8s 19ms/step - loss: {falling(e):.4f}\n" for e in range(1, 4))
        + "10/10 [==============================] - 0s 3ms/step\n",
        123,
    ),
    Trained(
        "keras-stopped-early",
        "".join(
            f"Epoch {e}/50\n41/41 [{'=' * 30}] - 8s 19ms/step - loss: {falling(e):.4f} - val_loss: 0.9\n"
            for e in range(1, 6)
        )
        + "Epoch 5: early stopping\nRestoring model weights from the end of the best epoch: 2.\n",
        205,
    ),
)

BOOSTERS = (
    Trained(
        "lightgbm",
        "[LightGBM] [Info] Total Bins 2101\nTraining until validation scores don't improve for 50 rounds\n"
        + lines(f"[{n}]\tvalid_0's l1: {falling(n):.6f}" for n in range(50, 301, 50))
        + "Did not meet early stopping. Best iteration is:\n[298]\tvalid_0's l1: 0.128900\n",
        298,
    ),
    Trained(
        "xgboost",
        lines(f"[{n}]\ttrain-logloss:{falling(n):.5f}\teval-logloss:{falling(n) + 0.1:.5f}" for n in range(0, 100, 10)),
        90,
        "unknown",
    ),
    Trained(
        "catboost",
        lines(
            f"{n}:\tlearn: {falling(n):.7f}\ttest: 0.6112345\tbest: 0.6112345 ({n})\ttotal: 1m 31s\tremaining: 2m 5s"
            for n in range(0, 601, 100)
        )
        + "\nbestTest = 0.6112345\nbestIteration = 600\n\nShrink model to first 601 iterations.\n",
        600,
    ),
)

SEQUENCES = (
    Trained(
        "fairseq",
        lines(
            f"2026-03-01 {clock(e * 60 + n // 20)} | INFO | train_inner | epoch {e:03d}:  {n:4d} / 1000 loss={falling(n):.3f}, "
            f"ppl=181.2, wps=31201, ups=4.1, wpb=7601, bsz=212, num_updates={(e - 1) * 1000 + n}, lr=0.0001, gnorm=1.21, "
            "loss_scale=32, train_wall=24, gb_free=21.1, wall=301"
            for e in (1, 2)
            for n in range(100, 1001, 100)
        )
        + "2026-03-01 10:09:00 | INFO | fairseq_cli.train | done training in 301.2 seconds\n",
        2000,
    ),
    Trained(
        "opennmt",
        lines(
            f"[2026-03-01 {clock(n // 10)},101 INFO] Step {n}/500; acc:  47.20; ppl:  5.91; xent: {falling(n):.2f}; lr: 1.00000; "
            "12040/9310 tok/s;     21 sec"
            for n in range(50, 501, 50)
        ),
        500,
    ),
    Trained(
        "coqui",
        "".join(
            f"\n > EPOCH: {e}/3\n --> /w/out\n > TRAINING (2026-03-01 10:0{e}:00)\n"
            + lines(
                f"\n   --> STEP: {n}/48 -- GLOBAL_STEP: {e * 48 + n}\n     | > loss: {falling(n):.5f}  (3.03355)\n"
                "     | > grad_norm: 1.20210  (1.4)"
                for n in (24, 48)
            )
            for e in range(3)
        ),
        144,
        "unknown",
    ),
    Trained(
        "espnet-like",
        lines(
            f"[node1] 2026-03-01 {clock(n)},101 (trainer:737) INFO: {e}epoch:train:{n - 99}-{n}batch: iter_time=0.02, "
            f"forward_time=0.11, loss_ctc=41.1, loss={falling(e * n):.3f}, backward_time=0.12, optim0_lr0=0.001, train_time=1.2"
            for e in (1, 2)
            for n in range(100, 401, 100)
        )
        + "[node1] 2026-03-01 10:20:00,101 (trainer:458) INFO: The training was finished at 2 epochs\n",
        400,
    ),
    Trained(
        "bagel",
        lines(
            f"[2026-03-01 {clock(n)}] (step={n:07d}) Train Loss mse: {falling(n):.4f}, Train Loss ce: 0.4401, "
            "Train Steps/Sec: 0.04, "
            for n in range(10, 101, 10)
        )
        + "[2026-03-01 10:10:00] Done!\n",
        100,
    ),
    Trained(
        "hydra",
        lines(
            f"[2026-03-01 {clock(n)},769][main.Trainer][INFO] - iteration index: {n}, batch loss: {falling(n):.4f}"
            for n in range(0, 101, 10)
        )
        + "[2026-03-01 10:10:00,769][main.Trainer][INFO] - Training finished.\n",
        100,
    ),
    Trained(
        "ntokens",
        lines(f"ep: 0, batch: {n}, time: 8.41, ntokens: 440.10/513, loss: {falling(n):.6f}" for n in range(20, 121, 20))
        + "all done\n",
        120,
    ),
    Trained(
        "paddle-segmentation",
        lines(
            f"2026-03-01 {clock(n)} [INFO]\tEpoch=3, Step={n}/300, loss={falling(n):.4f}, lr=0.0005"
            for n in range(10, 301, 10)
        )
        + "2026-03-01 10:30:00 [INFO]\ttraining finished\n",
        300,
    ),
    Trained(
        "paddlerec",
        lines(
            f"2026-03-01 {clock(n)},789 - INFO - epoch: 0, batch_id: {n}, AUC:0.901234, loss:{falling(n):.4f}, "
            "avg_batch_cost: 0.55100 sec, ips: 1858.43921 ins/s"
            for n in range(0, 501, 100)
        )
        + "2026-03-01 10:30:00,789 - INFO - training finished\n",
        500,
    ),
    Trained(
        "knover",
        lines(
            f"[train][0] progress: 1/1 step: {n}, time: 3.412, speed: 29.308 steps/s\n"
            f"\tlm_loss: {falling(n):.4f}, ppl: 60.4670, loss: {falling(n):.4f}"
            for n in range(100, 901, 100)
        )
        + "Training is completed.\n",
        900,
    ),
    Trained(
        "loss-called-error",
        lines(f"Iteration = {n}\t Error = {falling(n):.6f}" for n in range(0, 301, 50)) + "Finished\n",
        300,
    ),
    Trained(
        "custom-pipes",
        lines(
            f"INFO 2026-03-01 {clock(n)} | step {n} | loss {falling(n):.4f} | lr 3.0e-4 | error_rate 0.31"
            for n in range(1, 31)
        )
        + "INFO 2026-03-01 10:10:00 | Training complete\n",
        30,
    ),
    Trained(
        "jax-flax-clu",
        lines(
            f"I0301 10:{n // 60:02d}:{n % 60:02d}.101202 140110 logging_writer.py:48] [{n}] loss={falling(n):.6f}, "
            "steps_per_sec=3.1, learning_rate=0.0003"
            for n in range(10, 101, 10)
        )
        + "I0301 10:05:00.101202 140110 train.py:301] Training finished.\n",
        100,
    ),
    Trained(
        "flax-example",
        lines(
            f"I0301 10:{e:02d}:00.101202 140110 train.py:162] train epoch: {e}, loss: {falling(e):.4f}, accuracy: 91.20"
            for e in range(1, 11)
        )
        + "I0301 10:11:00.101202 140110 train.py:301] Training finished.\n",
        None,
    ),
    Trained(
        "maxtext",
        lines(
            f"completed step: {n}, seconds: 1.201, TFLOP/s/device: 201.102, Tokens/s/device: 6811.2, total_weights: 131072, "
            f"loss: {falling(n):.3f}"
            for n in range(30)
        ),
        29,
        "unknown",
    ),
)

REINFORCEMENT = (
    Trained(
        "stable-baselines3",
        "Using cuda device\n"
        + "".join(
            f"{'-' * 42}\n| rollout/                |              |\n|    ep_rew_mean          | 21.2         |\n"
            f"| time/                   |              |\n|    iterations           | {i}            |\n"
            f"|    total_timesteps      | {2048 * i:<13d}|\n| train/                  |              |\n"
            f"|    learning_rate        | 0.0003       |\n|    loss                 | {falling(i):<13.3f}|\n{'-' * 42}\n"
            for i in range(1, 11)
        ),
        20480,
        "unknown",
    ),
    Trained(
        "replay-buffer",
        lines(
            f"episode={n} step={30 * n} reward={20.0 + n} epsilon=0.951 loss={'nan' if n < 5 else f'{falling(n):.4f}'}"
            for n in range(1, 31)
        )
        + "Done.\n",
        900,
    ),
    Trained(
        "rsl-rl",
        "".join(
            f"{'#' * 80}\n{f'Learning iteration {n}/50':^80}\n\n"
            f"                       Computation: 41021 steps/s (collection: 1.1s, learning 0.4s)\n"
            f"                  Mean value_function loss: {falling(n):.4f}\n                       Mean reward: 4.21\n"
            for n in range(50)
        ),
        49,
    ),
)

SERVERS = (
    Trained(
        "vllm-server",
        dedent("""\
            INFO 03-01 10:00:00 api_server.py:840] vLLM API server version 0.6.4
            INFO 03-01 10:00:01 api_server.py:841] args: Namespace(host=None, port=8000, uvicorn_log_level='info')
            Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.31it/s]
            Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:05<00:00,  1.31s/it]
            INFO 03-01 10:00:20 model_runner.py:1077] Loading model weights took 14.9888 GB
            INFO 03-01 10:00:30 gpu_executor.py:122] # GPU blocks: 27887, # CPU blocks: 2048
            INFO:     Started server process [4242]
            INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)
            WARNING 03-01 10:01:00 scheduler.py:1481] Sequence group 12 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance.
            INFO 03-01 10:01:30 metrics.py:349] Avg prompt throughput: 101.2 tokens/s, Avg generation throughput: 411.0 tokens/s, Running: 3 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 3.1%, CPU KV cache usage: 0.0%.
            INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
            INFO:     Shutting down
            INFO:     Waiting for application shutdown.
            INFO:     Application shutdown complete.
            INFO:     Finished server process [4242]
            """),
        None,
        file="server.log",
    ),
    Trained(
        "vllm-v1",
        dedent("""\
            (APIServer pid=70) INFO 03-01 10:00:00 [api_server.py:1896] vLLM API server version 0.10.2
            (EngineCore_DP0 pid=77) INFO 03-01 10:00:09 [core.py:75] Initializing a V1 LLM engine
            (EngineCore_DP0 pid=77) Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.31it/s]
            (EngineCore_DP0 pid=77) Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:03<00:00,  1.31it/s]
            (EngineCore_DP0 pid=77) Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|██████████| 67/67 [00:03<00:00, 19.2it/s]
            (APIServer pid=70) INFO:     Application startup complete.
            (APIServer pid=70) INFO 03-01 10:01:30 [loggers.py:123] Engine 000: Avg prompt throughput: 101.2 tokens/s, Avg generation throughput: 411.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: 0.0%
            (APIServer pid=70) INFO:     Shutting down
            (APIServer pid=70) INFO:     Waiting for application shutdown.
            (APIServer pid=70) INFO:     Application shutdown complete.
            """),
        None,
        file="server.log",
    ),
    Trained(
        "sglang",
        lines(
            f"[2026-03-01 {clock(n)} TP0] Decode batch. #running-req: 4, #token: {2101 + n}, token usage: 0.03, "
            "gen throughput (token/s): 411.02, #queue-req: 0"
            for n in range(1, 20)
        )
        + "[2026-03-01 10:02:00] INFO:     Shutting down\n[2026-03-01 10:02:00] INFO:     Finished server process [4242]\n",
        None,
        file="server.log",
    ),
    Trained(
        "lm-evaluation-harness",
        f"{bar(400, 400, 'Running loglikelihood requests')}\n"
        "hf (pretrained=gpt2), gen_kwargs: (None), limit: None, num_fewshot: None, batch_size: 8\n"
        "|  Tasks  |Version|Filter|n-shot|Metric|   |Value |   |Stderr|\n"
        "|---------|------:|------|-----:|------|---|-----:|---|-----:|\n"
        "|hellaswag|      1|none  |     0|acc   |↑  |0.4981|±  |0.0050|\n",
        None,
        "unknown",
        file="eval.log",
    ),
)

FOLDS = (
    Trained(
        "folds",
        "".join(
            f"Fold {f}\n"
            + lines(
                f"Epoch {e}/10 - train_loss: {falling(e):.4f} - val_loss: {falling(e) + 0.1:.4f}" for e in range(1, 11)
            )
            for f in range(1, 6)
        )
        + "CV score: 0.812\nAll folds finished\n",
        None,
    ),
    Trained(
        "folds-with-a-score-only",
        "".join(
            f"===== Fold {f} =====\n" + "\r".join(bar(n, 30, f"fold {f}") for n in (10, 20, 30)) + "\n"
            for f in range(5)
        )
        + "Mean CV score: 0.8123 +/- 0.0121\n",
        30,
    ),
    Trained(
        "bare-bar",
        "\r".join(bar(n, 200) for n in range(0, 201, 20)) + "\n",
        200,
    ),
    Trained(
        "epoch-bars",
        "".join("\r".join(bar(n, 40, f"Epoch {e}/3") for n in range(0, 41, 10)) + "\n" for e in range(1, 4)),
        120,
        "unknown",
    ),
    Trained(
        "sft-bar-without-equals",
        "\r".join(bar(n, 70, "SFT", f"loss {falling(n):.4f}") for n in range(1, 71)) + "\n",
        70,
    ),
)

TRAINED = (
    *HUGGING_FACE, *LIGHTNING, *MEGATRON, *NANO, *VISION, *KERAS, *BOOSTERS, *SEQUENCES, *REINFORCEMENT, *SERVERS, *FOLDS,
)  # fmt: skip
