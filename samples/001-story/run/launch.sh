#!/bin/bash
# third relaunch: the warm-up now runs with gradients and a backward pass
cd /workspace
tmux new-session -d -s dflash "bash /root/start_training.sh 2>&1 | tee /workspace/train_stdout_flex3.log"
