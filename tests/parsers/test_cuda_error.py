"""CUDA's own words, as programs print them that raise no exception."""

from __future__ import annotations

import pytest

from forensics.parsers.cuda_error import PARSER
from tests.cutting import check_hostile_lines, check_laws, one, parse

SAID = [
    ("CUDA error: an illegal memory access was encountered", "illegal-access"),
    ("CUDA Error: out of memory", "out-of-memory"),
    ("CUDA error (/src/ops.cu:88): no kernel image is available for execution on the device", "no-kernel-image"),
    ("GPUassert: unspecified launch failure kernel.cu 41", "launch-failure"),
    ("CUDA kernel failed : no kernel image is available for execution on the device", "no-kernel-image"),
    ("Error invalid device function at line 167 in file D:\\src\\ops.cu", "no-kernel-image"),
    ('ERROR (train[5.5]:Mul():m.cc:1) cudaError_t 700 : "an illegal memory access was encountered" returned', "illegal-access"),
    ("F0304 05:06:07.123456  4242 m.cpp:71] Check failed: error == cudaSuccess (2 vs. 0)  out of memory", "out-of-memory"),
    ("Check failed: e == cudaSuccess: CUDA: misaligned address", "launch-failure"),
    ("Faiss assertion 'err__ == cudaSuccess' failed in f() at n.cu:257; details: CUDA error 209 device kernel image is invalid",
     "no-kernel-image"),
    ("[TRT] [E] 1: [runner.cpp::execute::416] Error Code 1: Cuda Runtime (an illegal memory access was encountered)",
     "illegal-access"),
    ("[LightGBM] [Fatal] [CUDA] out of memory /tmp/cuda_utils.cu 77", "out-of-memory"),
    ("alloc_buffer: allocating 3584.00 MiB on device 0: cudaMalloc failed: out of memory", "out-of-memory"),
    ("2026-11-29 12:00:01.1: E cuda_driver.cc:1018] failed to synchronize the stop event: CUDA_ERROR_LAUNCH_FAILED: x",
     "launch-failure"),
    ("2018-09-18 15:21:34.70: E cuda_event.cc:48] failed to query event: CUDA_ERROR_LAUNCH_FAILED", "launch-failure"),
    ("2018-09-18 15:21:34.70: E T:\\src\\tensorflow\\cuda_event.cc:48] failed to query event: CUDA_ERROR_LAUNCH_FAILED",
     "launch-failure"),
    ('ERROR (t[5.5]:A():m.cc:1) cublasStatus_t 13 : "CUBLAS_STATUS_EXECUTION_FAILED" returned from', "library"),
    ('ERROR (t[5.5]:A():m.cc:1) cublasStatus_t 3 : "CUBLAS_STATUS_ALLOC_FAILED" returned from', "out-of-memory"),
    ("cuDNN Error: CUDNN_STATUS_BAD_PARAM", "library"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "kind"), SAID)
def test_each_program_has_its_own_way_of_saying_it(line: str, kind: str) -> None:
    """The words are those of CUDA; what stands before them is the program's."""
    event = one(PARSER, line)
    assert (event.speaker, event.kind) == ("cuda", kind)
    assert any(trigger in line for trigger in PARSER.triggers)


@pytest.mark.parametrize(
    "line",
    [
        "If you see CUDA error: out of memory, lower the batch size",
        "2026-11-29 12:00:02 | WARNING | config 7 failed: CUDA error: an illegal memory access was encountered; skipped",
        "2026-11-29 12:00:02 | INFO | caught CUDA error: out of memory",
        "note: caught CUDA error: out of memory, retrying with batch 8",
        "cpu_allocator: cudaMalloc is not used, out of memory handling is off",
        "2026-11-29 12:00:01.1: E cuda_driver.cc:265] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no device",
        "Error in the header at line 167 in file data/train.csv",
        "cublasStatus_t 0 : CUBLAS_STATUS_SUCCESS",
        "out of memory",
    ],
)
def test_prose_and_what_is_survived_stay_silent(line: str) -> None:
    """A hint, a warning, a retry, the machine without a GPU, and the words alone."""
    assert parse(PARSER, line) == []


def test_the_laws_hold() -> None:
    """Cutting shortens the last event and alters no other; no line costs more than its reading."""
    check_laws(PARSER, [line for line, _ in SAID])
    check_hostile_lines(PARSER)
