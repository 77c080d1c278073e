"""What healthy runs print all the time, and what looks like a failure to whoever reads words alone.

Each entry is printed by a run that goes on and ends well, before its steps (`head`), among
them (`amid`) or behind the last of them (`tail`).
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Harmless:
    """Lines of a run that is well."""

    name: str
    head: str = ""
    amid: str = ""
    tail: str = ""


def text(quoted: str) -> str:
    return dedent(quoted).lstrip("\n")


OVERFLOWS = "".join(
    f"[2026-03-01 10:00:{i:02d},100] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
    f"Attempted loss scale: {2 ** (32 - i)}, reducing to {2 ** (31 - i)}\n"
    for i in range(16)
)

DISTRIBUTED = (
    Harmless(
        "torchrun-banner",
        text("""
            *****************************************
            Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed.
            *****************************************
            """),
    ),
    Harmless(
        "exit-reminders",
        tail=text("""
            [rank0]:[W301 10:10:00.123456789 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())
            [rank1]:[W301 10:10:00.123456789 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group to ensure that any pending NCCL operations have finished in this process. (function operator())
            WARNING: NCCL communicator hasn't been destroyed. This may cause memory leaks. To avoid the risk, you should call `destroy_process_group` during normal exit or `_abort_nccl_comms` when handling failures.
            """),
    ),
    Harmless(
        "barrier-device",
        amid=text("""
            [rank1]:[W301 10:00:00.123456789 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 1]  using GPU 1 to perform barrier as devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect. Specify device_ids in barrier() to force use of a particular device, or call init_process_group() with a device_id.
            Guessing device ID based on global rank. This can cause a hang if rank to GPU mapping is heterogeneous. You can specify device_id in init_process_group()
            """),
    ),
    Harmless(
        "nccl-start-up",
        text("""
            node1:42:42 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>
            node1:42:42 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)
            node1:42:42 [0] NCCL INFO NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol.
            node1:42:42 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.
            node1:42:90 [0] NCCL INFO Failed to open libibverbs.so[.1]
            node1:42:90 [0] NCCL INFO NET/IB : No device found.
            node1:42:90 [0] NCCL INFO Call to connect returned Connection refused, retrying
            node1:42:90 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init START
            node1:42:90 [0] NCCL INFO Connected all rings
            node1:42:90 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init COMPLETE
            """),
        tail=text("""
            node1:42:93 [0] NCCL INFO [Service thread] Connection closed by localRank 0
            node1:42:42 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 1000 - Abort COMPLETE
            """),
    ),
    Harmless(
        "sockets",
        text("""
            [W301 10:00:00.123456789 socket.cpp:697] [c10d] The client socket cannot be initialized to connect to [node1]:29500 (errno: 97 - Address family not supported by protocol).
            [W socket.cpp:601] [c10d] The client socket has failed to connect to [node1]:29500 (errno: 111 - Connection refused).
            [W301 10:00:02.123456789 socket.cpp:752] [c10d] The client socket has failed to connect to [node1]:29500 (errno: 111 - Connection refused).
            """),
    ),
    Harmless(
        "store-shut-down-first",
        tail="[rank1]:[W301 10:10:00.123456789 ProcessGroupNCCL.cpp:1662] [PG ID 0 PG GUID 0 Rank 1] Failed to check the "
        '"should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe\n',
    ),
    Harmless(
        "unused-parameters",
        amid="[rank0]:[W301 10:00:00.123456789 reducer.cpp:1400] Warning: find_unused_parameters=True was specified in DDP "
        "constructor, but did not find any unused parameters in the forward pass. This flag results in an extra "
        "traversal of the autograd graph every iteration,  which can adversely affect performance. (function operator())\n",
    ),
    Harmless("paddle-servers", "server not ready, wait 3 sec to retry...\nnot ready endpoints:['127.0.0.1:6171']\n"),
)

LIBRARIES = (
    Harmless("deepspeed-overflow", amid=OVERFLOWS),
    Harmless(
        "scheduler-before-optimizer",
        amid=text("""
            /v/lib/python3.11/site-packages/torch/optim/lr_scheduler.py:143: UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value of the learning rate schedule.
              warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
            """),
    ),
    Harmless(
        "data-loader-workers",
        text("""
            /v/lib/python3.11/site-packages/torch/utils/data/dataloader.py:557: UserWarning: This DataLoader will create 16 worker processes in total. Our suggested max number of worker in current system is 8, which is smaller than what this DataLoader is going to create. Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.
              warnings.warn(
            """),
    ),
    Harmless(
        "new-head",
        text("""
            Some weights of BertForSequenceClassification were not initialized from the model checkpoint at bert-base-uncased and are newly initialized: ['classifier.bias', 'classifier.weight']
            You should probably TRAIN this model on a down-stream task to be able to use it for predictions and inference.
            Some weights of the model checkpoint at bert-base-uncased were not used when initializing BertModel: ['cls.predictions.bias']
            Layer missing in the checkpoint: speaker_embedding.weight
            """),
    ),
    Harmless(
        "accelerate-defaults",
        text("""
            The following values were not passed to `accelerate launch` and had defaults used instead:
            \t`--num_processes` was set to a value of `2`
            \t\tMore than one GPU was found, enabling multi-GPU training.
            To avoid this warning pass in values for each of the problematic parameters or run `accelerate config`.
            """),
    ),
    Harmless(
        "long-sequence",
        "Token indices sequence length is longer than the specified maximum sequence length for this model (1024 > 512). "
        "Running this sequence through the model will result in indexing errors\n",
    ),
    Harmless(
        "tokenizers-fork",
        text("""
            huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...
            To disable this warning, you can either:
            \t- Avoid using `tokenizers` before the fork if possible
            \t- Explicitly set the environment variable TOKENIZERS_PARALLELISM=(true | false)
            """),
    ),
    Harmless(
        "attention-advice",
        text("""
            You are attempting to use Flash Attention 2.0 without specifying a torch dtype. This might lead to unexpected behaviour
            You are attempting to use Flash Attention 2.0 with a model not initialized on GPU. Make sure to move the model to GPU after initializing it on CPU with `model.to('cuda')`.
            We strongly recommend passing in an `attention_mask` since your input_ids may be padded.
            """),
    ),
    Harmless(
        "autotuner",
        text("""
            AUTOTUNE mm(4096x4096, 4096x4096)
            out of resource: shared memory, Required: 262144, Hardware limit: 232448. Reducing block sizes or `num_stages` may help.
            Runtime error during autotuning:
            No valid triton configs. OutOfMemoryError: out of resource: triton_mm Required: 262144 Hardware limit:232448 Reducing block sizes or `num_stages` may help..
            Ignoring this choice.
            """),
    ),
    Harmless(
        "recompiles",
        amid=text("""
            V0301 10:00:00.123000 4242 torch/_dynamo/guards.py:2997] [0/1] [__recompiles] Recompiling function forward in /w/m.py:10
            V0301 10:00:00.123000 4242 torch/_dynamo/guards.py:2997] [0/1] [__recompiles]     triggered by the following guard failure(s):
            V0301 10:00:00.123000 4242 torch/_dynamo/guards.py:2997] [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 8, actual 4
            """),
    ),
    Harmless(
        "xla",
        text("""
            2026-03-01 10:00:00.123456: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered
            2026-03-01 10:00:00.123457: E external/local_xla/xla/stream_executor/cuda/cuda_blas.cc:1515] Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS when one has already been registered
            2026-03-01 10:00:01.123456: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT
            2026-03-01 10:00:05.123456: W external/xla/xla/tsl/framework/bfc_allocator.cc:291] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.01GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.
            2026-03-01 10:00:06.123456: E external/xla/xla/service/slow_operation_alarm.cc:73] Constant folding an instruction is taking > 1s
            2026-03-01 10:00:07.123456: E external/xla/xla/stream_executor/cuda/cuda_timer.cc:86] Delay kernel timed out: measured time has sub-optimal accuracy. There may be a missing warmup execution, please investigate in Nsight Systems.
            """),
    ),
    Harmless("no-gpu", "UserWarning: Can't initialize NVML\n  warnings.warn(\"Can't initialize NVML\")\n"),
    Harmless(
        "gradient-checkpointing",
        text("""
            /v/torch/utils/checkpoint.py:87: UserWarning: None of the inputs have requires_grad=True. Gradients will be None
            `use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.
            """),
    ),
)

TRACKERS = (
    Harmless(
        "wandb",
        text("""
            wandb: Tracking run with wandb version 0.19.1
            wandb: Run data is saved locally in /w/wandb/run-20260301_100000-ab12cd34
            wandb: Run `wandb offline` to turn off syncing.
            wandb: Syncing run bright-sun-7
            """),
        "wandb: Network error (ConnectionError), entering retry loop.\nwandb: Network error resolved after 0:00:11.2, resuming normal operation.\n",
        "wandb: Synced 5 W&B file(s), 0 media file(s), 0 artifact file(s) and 0 other file(s)\nwandb: Find logs at: /w/wandb/run-1/logs\n",
    ),
    Harmless(
        "upload-that-is-tried-again",
        amid=text("""
            WARNING: upload failed, will retry
            Traceback (most recent call last):
              File "/w/up.py", line 3, in up
                requests.get(u)
            requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub', port=443): Max retries exceeded with url: / (Caused by NewConnectionError('x'))
            """),
    ),
)

SESSION = (
    Harmless("nohup", "nohup: ignoring input\n"),
    Harmless("shell", "CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\n"),
    Harmless("batch-lines", "/w/job.sh: line 3: SBATCH: command not found\n"),
    Harmless("pane", tail="Pane is dead (status 0, Sun Mar  1 10:10:00 2026)\n"),
    Harmless("session-left", tail="[exited]\nConnection to gpu7 closed.\n"),
    Harmless(
        "interpreter-teardown",
        tail=text("""
            Exception ignored in: <function _ConnectionBase.__del__ at 0x7f10>
            Traceback (most recent call last):
              File "/usr/lib/python3.11/multiprocessing/connection.py", line 132, in __del__
                self._close()
            OSError: [Errno 9] Bad file descriptor
            """),
    ),
    Harmless(
        "modules-gone-at-exit",
        tail=text("""
            Exception ignored in atexit callback: <function _exit_function at 0x7f10>
            Traceback (most recent call last):
              File "/v/lib/python3.11/site-packages/torch/cuda/__init__.py", line 12, in __del__
            ImportError: sys.meta_path is None, Python is likely shutting down
            """),
    ),
    Harmless("segfault-at-exit", tail="Segmentation fault (core dumped)\n"),
    Harmless(
        "killed-helpers",
        "Killed 3 stale processes on port 29500\nkilling child workers... ok\n",
        tail="Terminated worker pool\n",
    ),
    Harmless(
        "shared-memory-at-exit",
        tail="/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be "
        "1 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '\n",
    ),
)

NUMBERS = (
    Harmless("metrics-called-errors", amid="eval error_rate=0.41 Error = 1.904 fault_count=0 failures: 0 corrupt: 0\n"),
    Harmless("perplexity-inf", amid="validation | loss 812.21 | ppl: inf\n"),
    Harmless("metrics-that-are-nan", amid="eval auc nan bleu: nan aux_metric nan\n"),
    Harmless(
        "configuration-that-names-errors",
        "config: {'retry_on': ['RuntimeError: CUDA out of memory', 'Watchdog caught collective operation timeout: WorkNCCL'], "
        "'max_restarts': 3}\n",
    ),
    Harmless(
        "earlier-try-in-the-same-log",
        text("""
            $ python train.py
            Traceback (most recent call last):
              File "/w/train.py", line 3, in <module>
                import flash_attn
            ModuleNotFoundError: No module named 'flash_attn'
            $ pip install flash_attn
            Successfully installed flash_attn-2.5
            $ python train.py
            """),
    ),
    Harmless(
        "one-batch-that-does-not-fit",
        amid="2026-03-01 10:00:30,190 - WARNING - trainer - batch size 64 does not fit, halving: CUDA out of memory. Tried to "
        "allocate 4.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.29 GiB is free.\n",
    ),
    Harmless(
        "vllm-preemption",
        amid="WARNING 03-01 10:01:00 scheduler.py:1481] Sequence group 12 is preempted by PreemptionMode.SWAP mode because there "
        "is not enough KV cache space. This can affect the end-to-end performance.\n",
    ),
)

HARMLESS = (*DISTRIBUTED, *LIBRARIES, *TRACKERS, *SESSION, *NUMBERS)
