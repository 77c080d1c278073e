"""CUDA's own words for a fault, as programs print them that raise no Python exception: servers, extensions, tools.

    CUDA error: an illegal memory access was encountered                         (llama.cpp, NCCL tests)
    GPUassert: unspecified launch failure kernel.cu 41
    CUDA kernel failed : no kernel image is available for execution on the device      (PointNet++, MMCV)
    Error no kernel image is available for execution on the device at line 167 in file ops.cu   (bitsandbytes)
    ERROR (...) cudaError_t 700 : "an illegal memory access was encountered" returned from ...  (Kaldi)
    F0304 05:06:07 syncedmem.cpp:71] Check failed: error == cudaSuccess (2 vs. 0)  out of memory      (Caffe)
    [TRT] [E] 1: [runner.cpp::execute::416] Error Code 1: Cuda Runtime (an illegal memory access ...)
    cublasStatus_t 13 : "CUBLAS_STATUS_EXECUTION_FAILED" returned from ...

Events: one of the kinds of `_WORDS`, with field what (the words), or `library` with field status.
A line of a level below error is none, nor is prose about an error. Source of the words:
cudaGetErrorString and cuGetErrorString of CUDA 12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_WORDS: dict[str, tuple[str, ...]] = {
    "out-of-memory": ("out of memory",),
    "illegal-access": (
        "an illegal memory access was encountered",
        "operation not supported on global/shared address space",
        "invalid program counter",
    ),
    "launch-failure": (
        "unspecified launch failure",
        "the launch timed out and was terminated",
        "too many resources requested for launch",
        "an illegal instruction was encountered",
        "misaligned address",
        "hardware stack error",
        "unknown error",
    ),
    "no-kernel-image": (
        "no kernel image is available for execution on the device",
        "device kernel image is invalid",
        "invalid device function",
    ),
    "device-assert": ("device-side assert triggered",),
    "ecc": ("uncorrectable ECC error encountered",),
    "nvlink": ("uncorrectable NVLink error", "Invalid access of peer GPU memory over nvlink"),
    "initialization": ("initialization error",),
    "driver-mismatch": (
        "forward compatibility was attempted",
        "system has unsupported display driver",
        "system not yet initialized",
    ),
    "driver-too-old": (
        "CUDA driver version is insufficient for CUDA runtime version",
        "the provided PTX was compiled with an unsupported toolchain",
    ),
    "not-visible": (
        "no CUDA-capable device is detected",
        "no ROCm-capable device is detected",
        "CUDA-capable device(s) is/are busy or unavailable",
        "invalid device ordinal",
        "MPS client failed to connect",
        "MPS server is not ready",
        "the remote procedural call between the MPS server",
    ),
}
_NAMES = {
    "ILLEGAL_ADDRESS": "illegal-access",
    "INVALID_ADDRESS_SPACE": "illegal-access",
    "INVALID_PC": "illegal-access",
    "LAUNCH_FAILED": "launch-failure",
    "LAUNCH_TIMEOUT": "launch-failure",
    "LAUNCH_OUT_OF_RESOURCES": "launch-failure",
    "ILLEGAL_INSTRUCTION": "launch-failure",
    "MISALIGNED_ADDRESS": "launch-failure",
    "HARDWARE_STACK_ERROR": "launch-failure",
    "NO_BINARY_FOR_GPU": "no-kernel-image",
    "INVALID_IMAGE": "no-kernel-image",
    "ASSERT": "device-assert",
    "ECC_UNCORRECTABLE": "ecc",
    "NVLINK_UNCORRECTABLE": "nvlink",
    "SYSTEM_NOT_READY": "driver-mismatch",
    "SYSTEM_DRIVER_MISMATCH": "driver-mismatch",
    "COMPAT_NOT_SUPPORTED_ON_DEVICE": "driver-mismatch",
}
"""Names that TensorFlow and XLA log. No GPU and a full one are not among them: healthy runs report those too."""
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words}
_MESSAGE = f"(?P<what>{'|'.join(map(re.escape, _KINDS))})"
_MARK = (
    r"(?:\b(?:CUDA|HIP|Cuda)(?: [Kk]ernel| [Rr]untime| [Dd]river)? (?:[Ee]rror|[Ff]ailure|[Ff]ailed)(?: with error)?"
    r"(?: ?\([^()]{1,200}\)| \d{1,4})?(?: ?:|,)? "
    r"|\b[Cc](?:uda|UDA) execution failed with error \d{1,4} "
    r"|\bGPUassert: |\b(?:cuda|hip)Error\w{3,40}: |\bcudaError_t \d{1,4} : \""
    r"|\bError (?=[^\n]{4,120} at line \d{1,6} in file )"
    r"|(?:\bCheck failed: .{1,60}? == )?\bcudaSuccess(?: \|\| e == \w{1,40})?(?: \(\d{1,4} vs\. 0\))?:? {1,2}"
    r"(?:CUDA: )?"
    r"|\bcudaMalloc(?:Async|Managed|Host)? failed: |\bCuda Runtime \(|\[CUDA\] )"
)
_SAID = lazy(_MARK + _MESSAGE)
_PROSE = r"(?!.{0,200}\b(?:if|when|may|might|could|would|try|tries|caught|retry\w*|ignor\w+|skip\w*)\b)"
_LEAD = lazy(rf"\W{{0,4}}(?:{_PROSE}.{{1,300}}[:\]>)]\s{{0,3}})?")
"""What may stand before it on a line without a level: a program's or a function's name, but no sentence."""
_NAMED = lazy(r"\bCUDA_ERROR_(?P<name>[A-Z_]{3,40})\b")
_STATUS = lazy(
    r"(?:\bcu(?:blas|dnn|sparse|solver|fft|rand)Status_t \d{1,4} : \""
    r"|(?:\bCheck failed: .{1,60}? )?== CU[A-Z]{2,8}_STATUS_SUCCESS \(\d{1,4} vs\. \d\) {1,2}"
    r"|\bcuDNN Error: )(?P<status>CU[A-Z]{2,8}_STATUS_[A-Z_]{3,60})"
)
_SEVERE = frozenset({None, "error", "critical"})
_LONGEST = 2000


class CudaError:
    """See the module's text."""

    speaker = "cuda"
    triggers = (*_KINDS, *(f"CUDA_ERROR_{name}" for name in _NAMES), "Status_t ", "_STATUS_SUCCESS (", "DNN Error: ")
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a line."""
        for record in records:
            text = record.text[:_LONGEST]
            if record.level not in _SEVERE:
                continue
            if (said := _SAID.search(text)) and (record.level or _LEAD.fullmatch(text, 0, said.start())):
                yield quote("cuda", _KINDS[said["what"]], [record], context, {"what": said["what"]})
            elif (named := _NAMED.search(text)) and record.level and named["name"] in _NAMES:
                yield quote("cuda", _NAMES[named["name"]], [record], context, {"what": named["name"]})
            elif (status := _STATUS.search(text)) and (record.level or _LEAD.fullmatch(text, 0, status.start())):
                kind = "out-of-memory" if status["status"].endswith("ALLOC_FAILED") else "library"
                yield quote("cuda", kind, [record], context, {"status": status["status"]})


PARSER = CudaError()
