"""One line of every progress format, as its program prints it, and what must be read from it."""

import math
from typing import Any

import pytest

from forensics.model import Context, Line, Source, Step
from forensics.parsers.metrics import STEP_HINT, parse_step
from forensics.text.prefix import peel

CONTEXT = Context(Source("train.log", "training-log", 0), default_year=2031)
GIB = 2**30
NAN = float("nan")


def read(line: str) -> Step | None:
    return parse_step(peel(Line(7, 0, 0, line), CONTEXT), "train.log")


BARS: list[tuple[str, str, dict[str, Any]]] = [
    ("tqdm, first record", "  0%|          | 0/120 [00:00<?, ?it/s]", {"step": 0, "total": 120, "step_time_s": None}),
    ("tqdm", " 29%|██▉       | 35/120 [00:02<00:02, 20.00it/s]", {"step": 35, "total": 120, "step_time_s": 0.05}),
    ("tqdm, slow", "  1%|          | 1/120 [00:01<03:41,  1.86s/it]", {"step": 1, "step_time_s": 1.86}),
    ("tqdm, ASCII", " 50%|#####     | 60/120 [01:02:03<1:02:03,  2.00s/it]", {"step": 60, "total": 120}),
    ("tqdm, no total", "12it [00:01, 10.00it/s]", {"step": 12, "total": None, "step_time_s": 0.1}),
    ("tqdm, postfix", "40%|████ | 40/100 [00:02<00:02, 2.0it/s, loss=5.812, lr=1e-5]", {"loss": 5.812, "lr": 1e-5}),
    ("tqdm, postfix without =", "SFT:   4%|▍| 14/350 [02:58<1:09:05, 12.34s/it, loss 5.8120]", {"step": 14, "loss": 5.812}),
    (
        "tqdm, glued by a log collector",
        "  0%|          | 0/120 [00:00<?, ?it/s]  1%|          | 1/120 [00:01<03:41,  1.86s/it]",
        {"step": 1, "total": 120},
    ),
    (
        "Lightning, tqdm",
        "Epoch 3: 100%|█████| 600/600 [02:07<00:00, 4.72it/s, v_num=6, train_loss_step=2.168, val_error_rate=0.400]",
        {"step": 600, "total": 600, "epoch": 3.0, "loss": 2.168},
    ),
    ("Lightning, nan.0", "Epoch 0: 2%|▏| 1/50 [00:00<00:01, 4.7it/s, v_num=0, train_loss=nan.0]", {"loss": NAN}),
    (
        "Lightning, rich",
        "Epoch 2/2  ━━━━━━━━━━━━━━━━ 64/64 0:00:00 • 0:00:00 400.00it/s v_num: 0 train_loss: 0.031",
        {"step": 64, "total": 64, "epoch": 2.0, "loss": 0.031, "step_time_s": 0.0025},
    ),
    (
        "NeMo 1, tqdm",
        "Epoch 0: :   5%|▌ | 5/100 [00:10<03:00, v_num=1, reduced_train_loss=9.120, global_step=4.000]",
        {"step": 5, "total": 100, "loss": 9.12},
    ),
    ("verl, Ray", "(TaskRunner pid=42) Training Progress:   0%|  | 12/9000 [13:20<166:11:02, 66.57s/it]",
     {"step": 12, "lane": "TaskRunner", "step_time_s": 66.57}),
    ("torchtune, tqdm", "1|20|Loss: 2.3113: 50%|█████     | 20/40 [00:10<00:10,  2.00it/s]",
     {"step": 20, "total": 40, "epoch": 1.0, "loss": 2.3113}),
    ("loss in the description", "train loss: 2.37:   1%|▏| 16/1287 [03:18<4:22:40, 12.40s/it]", {"step": 16, "loss": 2.37}),
    ("epochs", "Epoch:  30%|███       | 3/10 [00:30<01:10, 10.00s/it]", {"step": None, "epoch": 3.0}),
    ("Keras 2", " 37/412 [=>............................] - ETA: 12s - loss: 1.9321 - acc: 0.4120",
     {"step": 37, "total": 412, "loss": 1.9321}),
    ("Keras 2, end of an epoch", "412/412 [======] - 8s 19ms/step - loss: 1.2040 - val_loss: 0.9011",
     {"step": 412, "loss": 1.204, "step_time_s": 0.019}),
    ("Keras, backspaces between", "1/9 [>....] - ETA: 9s - loss: 2.0\b\b\b\b2/9 [=>...] - ETA: 8s - loss: 1.5", {"step": 2, "loss": 1.5}),
    ("Keras, verbose=2", "100/100 - 8s - loss: 0.5112 - 8s/epoch - 80ms/step", {"step": 100, "loss": 0.5112}),
    ("Keras 3", "  1/100 ━━━━━━━━━━━━━━ 12s 120ms/step - accuracy: 0.1012 - loss: 2.3011", {"step": 1, "total": 100, "loss": 2.3011}),
    (
        "ultralytics",
        "      1/100      4.2G     1.203     2.345     1.234        87       640: 100%|████| 120/120 [00:30<00:00,  4.0it/s]",
        {"step": 120, "epoch": 1.0, "loss": 1.203},
    ),
]  # fmt: skip

RECORDS: list[tuple[str, str, dict[str, Any]]] = [
    ("Hugging Face", "{'loss': 2.3456, 'grad_norm': 1.234567, 'learning_rate': 4.9e-05, 'epoch': 0.01}",
     {"step": None, "loss": 2.3456, "grad_norm": 1.234567, "lr": 4.9e-5, "epoch": 0.01}),
    ("Hugging Face 5, quoted", "{'loss': '10.42', 'grad_norm': '0.6531', 'learning_rate': '4.833e-05', 'epoch': '0.01'}",
     {"loss": 10.42, "grad_norm": 0.6531, "lr": 4.833e-5}),
    ("Hugging Face, filtered NaN", "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.1}",
     {"loss": 0.0, "grad_norm": NAN}),
    ("Hugging Face, evaluation", "{'eval_loss': 2.1, 'eval_runtime': 3.2, 'eval_steps_per_second': 5.0, 'epoch': 1.0}",
     {"series": "eval", "loss": 2.1}),
    ("Hugging Face, end", "{'train_runtime': 3.7, 'train_samples_per_second': 259.5, 'train_loss': 10.42, 'epoch': 0.24}",
     {"series": "final", "loss": 10.42}),
    ("TRL GRPO", "{'loss': 0.0, 'grad_norm': 0.31, 'reward': 0.2, 'rewards/acc/mean': 0.1, 'kl': 0.0, 'epoch': 0.1}",
     {"loss": 0.0, "grad_norm": 0.31}),
    ("TRL DPO", "{'loss': 0.6931, 'rewards/chosen': 0.0, 'rewards/accuracies': 0.5, 'logps/chosen': -120.1, 'epoch': 0.01}",
     {"loss": 0.6931}),
    ("axolotl", "{'loss': 1.2, 'memory/max_mem_active(gib)': 14.25, 'tokens_per_second_per_gpu': 3120.5, 'epoch': 0.02}",
     {"memory_bytes": 14.25 * GIB, "tokens_per_s": 3120.5}),
    ("ms-swift", "{'loss': 1.24, 'memory(GiB)': 14.0, 'train_speed(iter/s)': 0.5, 'global_step/max_steps': '10/500'}",
     {"step": 10, "total": 500, "step_time_s": 2.0}),
    ("JSON lines", '{"step": 5, "loss": 3.1, "lr": 0.0003}', {"step": 5, "loss": 3.1, "lr": 0.0003}),
    ("JSON lines, NaN", '{"step": 5, "loss": NaN}', {"step": 5, "loss": NAN}),
    ("LLaMA-Factory", '{"current_steps": 10, "total_steps": 500, "loss": 1.2, "lr": 1e-05, "epoch": 0.02}',
     {"step": 10, "total": 500}),
    ("fairseq, JSON", '{"epoch": 1, "update": 0.002, "loss": "9.121", "num_updates": "100", "gnorm": "2.3"}',
     {"step": 100, "loss": 9.121, "grad_norm": 2.3}),
    ("a dict behind a step", "2026-02-18 11:04:00,296 - root - INFO - Step 37000: {'batch_loss': 0.26518}",
     {"step": 37000, "loss": 0.26518}),
]  # fmt: skip

MEGATRON = (
    " [2031-02-03 04:05:06] iteration      100/  150000 | consumed samples:        51200 | "
    "elapsed time per iteration (ms): 4112.0 | throughput per GPU (TFLOP/s/GPU): 396.8 | learning rate: 7.500000E-06 | "
    "global batch size:   512 |{loss} loss scale: 1.0 | grad norm: {norm} | number of skipped iterations:   0 | "
    "number of nan iterations:   {nan} |"
)

LINES: list[tuple[str, str, dict[str, Any]]] = [
    ("Megatron-LM", MEGATRON.format(loss=" lm loss: 1.049111E+01 |", norm="0.358", nan=0),
     {"step": 100, "total": 150000, "loss": 10.49111, "grad_norm": 0.358, "lr": 7.5e-6, "step_time_s": 4.112}),
    ("Megatron-LM, the loss left out", MEGATRON.format(loss="", norm="0.358", nan=0), {"step": 100, "loss": None}),
    ("Megatron-LM, NaN counted", MEGATRON.format(loss="", norm="nan", nan=1),
     {"series": "train", "loss": NAN, "grad_norm": NAN}),
    ("GPT-NeoX", " samples/sec: 112.331 | iteration      100/  320000 | elapsed time per iteration (ms): 1142.0 | "
     "learning rate: 7.500E-06 | lm loss: 1.049E+01 | loss scale: 65536.0 |", {"step": 100, "loss": 10.49}),
    ("DeepSpeed-NeoX", " steps: 10 loss: 10.2011 iter time (s): 1.234 samples/sec: 12.301", {"step": 10, "loss": 10.2011}),
    ("Megatron-LM, validation", " validation loss at iteration 1000 | lm loss value: 2.105100E+00 | lm loss PPL: 8.21E+00 | ",
     {"series": "eval", "step": 1000, "loss": 2.1051}),
    ("Megatron-LM, memory", "[Rank 0] (after 100 iterations) memory (MB) | allocated: 21000.5 | max allocated: 41000.25 | "
     "reserved: 42000.0 | max reserved: 42010.0", {"series": "other", "memory_bytes": 42010 * 2**20}),
    ("DeepSpeed", "[2031-02-03 04:05:06,789] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=2, "
     "lr=[0.001, 0.001], mom=[(0.9, 0.95), (0.9, 0.95)]", {"step": 10, "lr": 0.001}),
    ("DeepSpeed, timer", "[2031-02-03 04:05:06,789] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, "
     "RunningAvgSamplesPerSec=12.5, CurrSamplesPerSec=12.7, MemAllocated=1.25GB, MaxMemAllocated=20.5GB", {"step": 10}),
    ("DeepSpeed, old timer", "[2031-02-03 04:05:06,789] [INFO] [timer.py:197:stop] 0/40, RunningAvgSamplesPerSec=12.5, "
     "CurrSamplesPerSec=12.7, MemAllocated=1.25GB, MaxMemAllocated=20.5GB",
     {"series": "other", "step": None, "memory_bytes": 20.5 * GIB}),
    ("torchtitan", "\x1b[32m[titan] 2031-02-03 04:05:06,789 - root - INFO - \x1b[31mstep:  5  \x1b[32mloss:  7.1234  "
     "grad_norm:  1.2345  memory: 40.25GiB(50.12%)  tps: 3,456  tflops: 120.12  mfu: 12.34%\x1b[39m",
     {"step": 5, "loss": 7.1234, "grad_norm": 1.2345, "memory_bytes": 40.25 * GIB, "tokens_per_s": 3456.0}),
    ("torchtitan, old", "[rank3]:2031-02-03 04:05:06,789 - root - INFO - step:  5  loss:  7.1234  memory: 40.25GiB(50.1%)  "
     "tps: 3,456  mfu: 12.34%", {"step": 5, "rank": 3}),
    ("nanoGPT", "iter 10: loss 10.8901, time 616.50ms, mfu -100.00%", {"step": 10, "loss": 10.8901, "step_time_s": 0.6165}),
    ("nanoGPT, evaluation", "step 250: train loss 10.8841, val loss 10.9303", {"step": 250, "loss": 10.8841}),
    ("build-nanogpt", "step     5 | loss: 9.123456 | lr 6.0000e-04 | norm: 1.2345 | dt: 338.00ms | tok/sec: 1552000.11",
     {"step": 5, "lr": 6e-4, "grad_norm": 1.2345, "step_time_s": 0.338, "tokens_per_s": 1552000.11}),
    ("llm.c", "step    1/37 | loss 11.009 (+nanz)| norm 15.33 (+nanz)| lr 3.00e-07 | 210.1 ms | 249000 tok/s",
     {"step": 1, "total": 37, "loss": 11.009, "tokens_per_s": 249000.0}),
    ("modded-nanogpt", "step:100/5100 train_loss:3.4123 train_time:1012ms step_avg:10.00ms",
     {"step": 100, "total": 5100, "loss": 3.4123, "step_time_s": 0.01}),
    ("modded-nanogpt, evaluation", "step:125/5100 val_loss:3.2811 train_time:12120ms step_avg:96.1ms",
     {"series": "eval", "loss": 3.2811}),
    ("torchtune, log", "Step 20 | loss:2.3113 lr:1.2e-05 tokens_per_second_per_gpu:1232.1 peak_memory_active:12.5 "
     "peak_memory_alloc:12.5 peak_memory_reserved:14.0 grad_norm:1.2",
     {"step": 20, "loss": 2.3113, "tokens_per_s": 1232.1, "memory_bytes": 12.5 * GIB, "grad_norm": 1.2}),
    ("NeMo 2", "[NeMo I 2031-02-03 04:05:06 megatron:22] Training epoch 0, iteration 5/99 | lr: 3.0e-05 | "
     "global_batch_size: 8 | global_step: 5 | reduced_train_loss: 9.123 | train_step_timing in s: 0.5",
     {"step": 5, "total": 100, "epoch": 0.0, "loss": 9.123, "step_time_s": 0.5}),
    ("NeMo 2, validation", "Validation: iteration 3/8", {"series": "eval", "step": 3, "total": 8}),
    ("PyTorch language model example", "| epoch   3 |   200/ 2983 batches | lr 05.00 | ms/batch 51.00 | loss  5.12 | ppl   167.33",
     {"step": 200, "total": 2983, "epoch": 3.0, "loss": 5.12, "step_time_s": 0.051}),
    ("torchvision", "Epoch: [0][ 10/391]\tTime  0.113 ( 0.233)\tData  0.001 ( 0.041)\tLoss 6.9072e+00 (6.9391e+00)\tAcc@1   0.00",
     {"step": 10, "total": 391, "epoch": 0.0, "loss": 6.9072, "step_time_s": 0.113, "data_time_s": 0.001}),
    ("torchvision, test", "Test: [  0/196]\tTime  4.113 ( 4.113)\tLoss 7.9e-01 (7.9e-01)\tAcc@1  80.47", {"series": "eval"}),
    ("DeiT", "Epoch: [2]  [ 100/1251]  eta: 0:10:12  lr: 0.000500  loss: 6.8123 (6.8921)  time: 0.5123  data: 0.0002  max mem: 15234",
     {"step": 100, "total": 1251, "epoch": 2.0, "loss": 6.8123, "memory_bytes": 15234 * 2**20, "data_time_s": 0.0002}),
    ("timm", "Train: 0 [  50/1251 (  4%)]  Loss: 6.93 (6.94)  Time: 0.512s,  250.1/s  LR: 1.000e-05  Data: 0.011 (0.021)",
     {"step": 50, "total": 1251, "epoch": 0.0, "loss": 6.93, "lr": 1e-5}),
    ("fairseq", "2031-02-03 04:05:06 | INFO | train_inner | epoch 001:    100 / 500 loss=9.121, ppl=556.8, wps=31000.1, ups=4.12, "
     "num_updates=100, lr=1.25e-05, gnorm=2.311, loss_scale=128", {"step": 100, "epoch": 1.0, "loss": 9.121, "grad_norm": 2.311}),
    ("fairseq, valid", "2031-02-03 04:05:06 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 8.912 | ppl 478 | num_updates 500",
     {"series": "eval", "step": 500, "loss": 8.912}),
    ("custom, bars between", "INFO 2031-02-03 04:05:06 | step 500 | loss 2.312 | tok/s 41000", {"step": 500, "loss": 2.312}),
    ("PyTorch MNIST", "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.301123", {"step": 640, "total": 60000, "epoch": 1.0, "loss": 2.301123}),
    ("vLLM", "INFO 02-03 04:05:06 metrics.py:455] Avg prompt throughput: 120.5 tokens/s, Avg generation throughput: 340.1 tokens/s, "
     "Running: 12 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 12.1%, CPU KV cache usage: 0.0%.",
     {"series": "other", "step": None, "tokens_per_s": 340.1}),
    ("SGLang", "[2031-02-03 04:05:06 TP0] Decode batch. #running-req: 4, #token: 1200, token usage: 0.02, "
     "gen throughput (token/s): 310.11, #queue-req: 0", {"series": "other", "tokens_per_s": 310.11}),
    ("OpenNMT", "[2031-02-03 04:05:06,789 INFO] Step 350/90000; acc:  47.20; ppl:  5.91; xent: 1.78; lr: 1.00000; "
     "12040/9310 tok/s;     21 sec", {"step": 350, "total": 90000, "loss": 1.78, "tokens_per_s": 9310.0}),
    ("Caffe", "I0304 05:06:07.123456  4242 solver.cpp:222] Iteration 700, loss = 0.0412345", {"step": 700, "loss": 0.0412345}),
    ("open_clip", "2031-02-03,04:05:06 | INFO | Train Epoch: 0 [ 25600/120000 (21%)] Data (t): 0.210 Batch (t): 0.300, "
     "2810.11/s LR: 0.000007 Loss: 5.4101 (5.5010)",
     {"step": 25600, "total": 120000, "loss": 5.4101, "data_time_s": 0.21, "step_time_s": 0.3, "lr": 7e-6}),
    ("BAGEL", "[2031-02-03 04:05:06] (step=0000412) Train Loss mse: 0.1712, Train Loss ce: 0.4401, Train Steps/Sec: 0.04, ",
     {"step": 412, "loss": 0.1712, "step_time_s": 25.0}),
    ("Paddle segmentation", "2031-02-03 04:05:06 [INFO]\tEpoch=3, Step=410/52000, loss=0.0431, lr=0.0005",
     {"step": 410, "total": 52000, "epoch": 3.0}),
    ("PaddleRec", "2031-02-03 04:05:06,789 - INFO - epoch: 2, batch_id: 500, AUC:0.901234, loss:0.1201, "
     "avg_batch_cost: 0.55100 sec, ips: 1858.43921 ins/s", {"step": 500, "epoch": 2.0, "step_time_s": 0.551}),
    ("Knover", "[train][2] progress: 1/1 step: 900, time: 3.412, speed: 25.000 steps/s", {"step": 900, "step_time_s": 0.04}),
    ("MiniMind", "Epoch:[0/12](4200/39000) loss:2.611 lr:0.0001998 epoch_Time:52.0min:", {"step": 4200, "total": 39000, "loss": 2.611}),
    ("CycleGAN", "[Rank 0] (epoch: 3, iters: 100, time: 1.201, data: 0.843) , D_A: 0.412, G_A: 0.533",
     {"step": 100, "epoch": 3.0, "step_time_s": 1.201, "data_time_s": 0.843}),
    ("CycleGAN, end of an epoch", "End of epoch 3 / 150 \t Time Taken: 205 sec", {"step": None, "epoch": 3.0}),
    ("reinforcement learning", "episode=12 step=431 reward=212.0 epsilon=0.951 loss=nan", {"step": 431, "loss": NAN}),
    ("hydra", "[2031-02-03 04:05:06,769][main.Trainer][INFO] - iteration index: 100, batch loss: 61.2045", {"step": 100, "loss": 61.2045}),
    ("seq2seq", "ep: 0, batch: 120, time: 8.41, ntokens: 440.10/513, loss: 9.912500", {"step": 120, "loss": 9.9125}),
    ("the loss is called Error", "Iteration = 300\t Error = 1.904410", {"step": 300, "loss": 1.90441}),
    ("mmengine", "09/23 16:40:04 - mmengine - INFO - Epoch(train)  [1][  50/1000]  lr: 1.0000e-03  eta: 1:00:00  time: 0.312  "
     "data_time: 0.010  memory: 4512  grad_norm: 2.3  loss: 0.0212", {"step": 50, "total": 1000, "epoch": 1.0, "memory_bytes": 4512 * 2**20}),
    ("mmengine, by iteration", "09/23 16:40:04 - mmengine - INFO - Iter(train) [   50/80000]  lr: 1.0e-02  time: 0.3  loss: 1.2",
     {"step": 50, "total": 80000, "loss": 1.2}),
    ("mmdetection", "2020-01-17 03:11:31,800 - mmdet - INFO - Epoch [1][10/58633]\tlr: 0.00086, eta: 6 days, 9:49:33, time: 0.756, "
     "data_time: 0.026, memory: 4512, loss_rpn_cls: 0.5833, acc: 91.7098, loss: 2.5427", {"step": 10, "loss": 2.5427}),
    ("detectron2", "[10/02 10:00:00 d2.utils.events]:  eta: 1:02:03  iter: 1999  total_loss: 0.512  loss_cls: 0.121  time: 0.3123  "
     "lr: 0.02  max_mem: 4512M", {"step": 1999, "loss": 0.512, "memory_bytes": 4512 * 2**20}),
    ("drafter", "2031-02-03 04:05:06 | INFO | [drafter 2] step 12/30 | loss 9.1898 | lr 6.00e-04 | grad_norm 0.672 | ctx 2048 | "
     "4.7k tok/s | mem 0.50 GiB", {"step": 12, "total": 30, "lane": "drafter 2", "tokens_per_s": 4700.0, "memory_bytes": GIB // 2}),
    ("key=value", "2031-02-03 04:05:06 INFO step=5 loss=1.3124 val_error=0.407 lr=3.00e-04 step_time=0.112s max_mem=1.25GiB",
     {"step": 5, "loss": 1.3124, "step_time_s": 0.112, "memory_bytes": 1.25 * GIB, "series": "train"}),
    ("sentence", " step 57 is completed and loss is 1.176076", {"step": 57, "loss": 1.176076}),
    ("used of total", "step     66 | loss 8.8360 | lr 2.51e-04 | tok/s 48277 | mem 71.25/96.0 GiB", {"memory_bytes": 71.25 * GIB}),
    ("epoch and place", "[epoch  1/12  100/1000] loss=2.0194 error@1=55.77 error_rate=0.560 timeouts=0", {"step": 100, "total": 1000}),
    ("epoch, it", "2021-04-25 09:00:40 ep 11 it 50 loss 1.1987", {"step": 50, "epoch": 11.0}),
    ("DCGAN", "[3/25][100/1583]\tLoss_D: 0.5112\tLoss_G: nan", {"step": 100, "total": 1583, "loss": NAN}),
    ("epoch of epochs, it of its", "[02/40] it   50/710  mae_months 28.251  lr 2.86e-04  0.325s/it",
     {"step": 50, "total": 710, "epoch": 2.0, "epochs": 40}),
    ("CIFAR tutorial", "[1,  2000] loss: 2.172", {"step": 2000, "epoch": 1.0, "loss": 2.172}),
    ("ESPnet", "[host] 2031-02-03 04:05:06,789 (trainer:762) INFO: 1epoch:train:1-100batch: iter_time=0.021, loss=98.2", {"step": 100}),
    ("TensorFlow estimator", "INFO:tensorflow:loss = 2.3111, step = 100 (0.512 sec)", {"step": 100, "loss": 2.3111}),
    ("MaxText", "completed step: 5, seconds: 1.25, TFLOP/s/device: 123.4, Tokens/s/device: 1234.5, loss: 10.211",
     {"step": 5, "step_time_s": 1.25, "tokens_per_s": 1234.5, "loss": 10.211}),
    ("epoch only", "Epoch 3: loss 0.5123 val_loss 0.6120", {"step": None, "epoch": 3.0, "loss": 0.5123}),
    ("best losses, before there are any", "2024-09-06 10:03:05,114 INFO [train.py:1043] (0/4) {'best_train_loss': inf, 'best_valid_loss': inf, "
     "'batch_idx_train': 0}", {"series": "eval"}),
    ("minus nan", "step 5 | loss -nan | grad_norm -inf", {"loss": NAN, "grad_norm": -math.inf}),
    ("epoch validation", "validation epoch 1: cer_error 0.2900 (best 0.2900), failed_samples=0", {"series": "eval", "epoch": 1.0}),
]  # fmt: skip

ROWS: list[tuple[str, str, dict[str, Any]]] = [
    ("Composer, heading", "[batch=16/4800]:", {"step": 16, "total": 4800}),
    ("Composer, loss", "\t Train loss/train/total: 10.7538", {"step": None, "loss": 10.7538}),
    ("Composer, gradient", "\t Train l2_norm/grad/global: 0.4511", {"grad_norm": 0.4511}),
    ("Coqui, heading", "   --> STEP: 7/48 -- GLOBAL_STEP: 2000150", {"step": 2000150}),
    ("Coqui 0.22, heading", "   --> TIME: 2024-09-03 21:16:10 -- STEP: 150/746 -- GLOBAL_STEP: 150", {"step": 150}),
    ("Coqui, loss", "     | > loss_mel: 17.40210  (18.03355)", {"loss": 17.4021, "keys": ("loss_mel",)}),
    ("Stable-Baselines3", "|    total_timesteps      | 57344      |", {"step": 57344}),
    ("Stable-Baselines3, loss", "|    loss                 | 0.0412     |", {"loss": 0.0412}),
    ("Stable-Baselines3, stamped by a collector", "2031-02-03T04:05:06.789Z |    loss                 | 0.0412     |",
     {"loss": 0.0412}),
    ("CatBoost", "600:\tlearn: 0.5912345\ttest: 0.6112345\tbest: 0.6112345 (600)\ttotal: 1m 31s\tremaining: 2m 5s",
     {"step": 600, "loss": 0.5912345}),
    ("LightGBM", "[300]\tvalid_0's l1: 0.557712", {"step": 300, "loss": None}),
    ("XGBoost", "[5]\ttrain-rmse:0.51123\teval-rmse:0.61123", {"step": 5, "loss": 0.51123}),
    ("Knover, losses", "\tlm_loss: 4.1021, ppl: 60.4670, loss: 4.1021", {"step": None, "loss": 4.1021}),
    ("nnU-Net", "train_loss nan", {"loss": NAN}),
    ("rsl_rl", "  Learning iteration 5/1500  ", {"step": 5, "total": 1500}),
    ("NeMo RL", "========================= Step 63/400 =========================", {"step": 63, "total": 400}),
    ("a loop of one's own", "--- Iteration 7 of 1500 ---", {"step": 7, "total": 1500}),
    ("TensorFlow tutorial", "Average loss at step 500: 2.31", {"step": 500, "loss": 2.31}),
]  # fmt: skip

PREFIXES = [
    "[rank3]:", "[default3]:", "3: ", "(Worker pid=12, ip=10.0.0.1) ", "gpu-node-17: ", "[trainer3]:", "worker-0  | ",
    "2031-02-03T04:05:06.789Z ", "[pod/x-0/pytorch] ", "Feb  3 04:05:06 node1 python[412]: ",
]  # fmt: skip

NOT_TRAINING: list[tuple[str, str, str]] = [
    ("checkpoint shards", "Loading checkpoint shards: 100%|██████████| 2/2 [00:11<00:00,  5.71s/it]", "other"),
    ("vLLM shards", "(EngineCore_DP0 pid=7) Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.31it/s]", "other"),
    ("tokenizer", "Running tokenizer on dataset:  20%|██ | 1373000/6811963 [12:59<51:29, 1760.56 examples/s]", "other"),
    ("map", "Map (num_proc=8):  20%|██ | 100/500 [00:01<00:04, 99.1 examples/s]", "other"),
    ("download", "model.safetensors: 100%|██████████| 4.98G/4.98G [01:02<00:00, 80.1MB/s]", "other"),
    ("sanity check", "Sanity Checking DataLoader 0:   0%|          | 0/2 [00:00<?, ?it/s]", "other"),
    ("validation", "Validation DataLoader 0:  50%|█████     | 1/2 [00:00<00:00, 3.61it/s]", "eval"),
    ("YOLO validation", "                 Class     Images  Instances      Box(P          R: 100%|████| 5/5 [00:01<00:00,  3.9it/s]", "eval"),
    ("YOLO scan", "train: Scanning /d/labels... 90 images, 0 backgrounds, 0 corrupt: 20% ━━────────── 90/450 201.4it/s 0.3s<1.8s", "other"),
    ("model shards", "Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 22.13it/s]", "other"),
    ("prediction", "32/32 ━━━━━━━━━━━━━━ 0s 2ms/step", "other"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "expected"), [pytest.param(line, want, id=name) for name, line, want in [*BARS, *RECORDS, *LINES, *ROWS]]
)
def test_every_format_is_read(line: str, expected: dict[str, Any]) -> None:
    """A line of each known format gives its numbers, in bytes and seconds, NaN as NaN."""
    step = read(line)
    assert step is not None
    for name, want in expected.items():
        got = getattr(step, name)
        if isinstance(want, float):
            assert got == pytest.approx(want, nan_ok=True), name
        else:
            assert got == want, name


@pytest.mark.parametrize("prefix", PREFIXES)
def test_no_launcher_hides_progress(prefix: str) -> None:
    """What a launcher, a container or a collector writes in front of a line takes nothing away from it."""
    for name, line, _ in [*BARS, *RECORDS, *LINES, *ROWS]:
        alone, behind = read(line), read(prefix + line)
        assert alone is not None
        assert behind is not None, name
        assert (behind.step, behind.total, behind.epoch, behind.series) == (
            alone.step, alone.total, alone.epoch, alone.series
        ), name  # fmt: skip
        assert str(behind.loss) == str(alone.loss), name


@pytest.mark.parametrize(
    ("line", "series"), [pytest.param(line, series, id=name) for name, line, series in NOT_TRAINING]
)
def test_loading_and_evaluation_are_no_training(line: str, series: str) -> None:
    """Bars of loading, tokenizing and evaluation are told from those of training."""
    step = read(line)
    assert step is not None
    assert step.series == series


@pytest.mark.parametrize("line", [line for _, line, *_ in [*BARS, *RECORDS, *LINES, *ROWS, *NOT_TRAINING]])
def test_the_hint_hits_every_progress_line(line: str) -> None:
    """What can be read as progress is also found in bytes, and found once a line."""
    data = b"nothing here\n" + line.encode() + b"\nnothing here either\n"
    hits = [data.count(b"\n", 0, found.start()) for found in STEP_HINT.finditer(data)]
    assert hits == [1]
