"""Whole healthy logs of trainers for speech and agents, of servers, and of runs in folds.

Each is as small as its format allows: a head, some steps, and the words with which that
trainer ends, where it has any. Values are invented, forms are those of the programs.
"""

from __future__ import annotations

from textwrap import dedent

from tests.healthy.forms import Trained, bar, clock, falling, lines

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
        "ray-tune",
        dedent("""\
            2026-03-01 10:00:00,120\tINFO worker.py:1821 -- Started a local Ray instance.
            == Status ==
            Current time: 2026-03-01 10:34:49 (running for 00:34:49.10)
            Using AsyncHyperBand: num_stopped=4
            Number of trials: 2/2 (2 TERMINATED)
            | train_fn_8d1a2_00000 | TERMINATED | 192.168.4.20:41498 | 0.01  |     20 |
            | train_fn_8d1a2_00001 | TERMINATED | 192.168.4.20:41026 | 0.001 |      4 |

            2026-03-01 10:34:50,520\tINFO tune.py:1041 -- Total run time: 2089.88 seconds (2089.10 seconds for the tuning loop).
            """),
        None,
    ),
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
