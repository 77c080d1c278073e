"""Whole healthy logs of trainers for pictures, tables and Keras.

Each is as small as its format allows: a head, some steps, and the words with which that
trainer ends, where it has any. Values are invented, forms are those of the programs.
"""

from __future__ import annotations

from tests.healthy.forms import Trained, clock, falling, lines

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
