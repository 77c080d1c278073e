"""What the numbers of NVIDIA's kernel messages (Xid) mean, as data.

Numbers, names and first actions are those of the driver's `nverror.h` and of NVIDIA's
Xid catalogue for Ampere and newer; the meanings are put in plain words. The role says
who is usually at fault, so that a number alone is never taken for a broken card.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Xid(NamedTuple):
    """One row. `role`: A application, H hardware or firmware, A/H either, C consequence or information.

    `action` is the immediate action NVIDIA publishes (empty where none is), `cause`
    the id of the finding the number belongs to. Engines that come in many copies
    (copy engines, video decoders) share one row under the name of the family.
    """

    number: int
    name: str
    meaning: str
    action: str
    role: str
    cause: str


_ROWS: tuple[tuple[tuple[int, ...], str, str, str, str, str], ...] = (
    ((8,), "RC_FIFO_ERROR_IDLE_TIMEOUT", "channel idle timeout", "RESTART_APP", "A/H", "gpu.xid-other"),
    ((11,), "RC_GR_ERROR_MISSING_HW", "bad push buffer (method)", "RESTART_APP", "A", "gpu.xid-other"),
    ((13,), "RC_GR_EXCEPTION", "SM / graphics exception", "RESTART_APP", "A", "gpu.illegal-access"),
    ((25,), "RC_GR_ILLEGAL_NOTIFY", "illegal push buffer", "RESTART_APP", "A", "gpu.xid-other"),
    ((31,), "RC_FIFO_ERROR_MMU_ERR_FLT", "MMU page fault", "RESTART_APP", "A", "gpu.mmu-fault"),
    ((32,), "RC_PBDMA_ERROR", "PBDMA: bad push buffer", "RESTART_APP", "A/H", "gpu.xid-other"),
    (
        (37,),
        "RC_FECS_ERR_UNIMP_FIRMWARE_METHOD",
        "firmware: unimplemented method",
        "IGNORE",
        "H",
        "gpu.xid-other",
    ),
    ((38,), "RC_FECS_ERR_WATCHDOG_TIMEOUT", "firmware watchdog", "IGNORE", "H", "gpu.xid-other"),
    (
        (39, 40, 41, 70, 71, 72, 75, 76, 77, 85, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135),
        "RC_CE_ERROR",
        "copy-engine exception",
        "RESTART_APP",
        "A/H",
        "gpu.xid-other",
    ),
    (
        (43,),
        "RC_RESETCHANNEL_VERIF_ERROR",
        "channel reset after a fault of this process",
        "IGNORE",
        "C",
        "gpu.xid-other",
    ),
    ((44,), "RC_GR_FAULT_DURING_CTXSW", "fault during context switch", "IGNORE", "H", "gpu.xid-other"),
    (
        (45,),
        "RC_PREEMPTIVE_REMOVAL",
        "channels removed because the process failed or was killed",
        "WORKFLOW_XID_45",
        "C",
        "gpu.xid-other",
    ),
    ((46,), "RC_GPU_TIMEOUT_ERROR", "GPU timeout", "RESET_GPU", "H", "gpu.xid-other"),
    ((48,), "RC_GPU_ECC_DBE", "double-bit ECC error", "WORKFLOW_XID_48", "H", "gpu.ecc-uncorrectable"),
    (
        (54,),
        "SILENT_RUNNING_PWR_REDUCED_CLOCKING",
        "auxiliary power missing",
        "CHECK_MECHANICALS",
        "H",
        "gpu.xid-other",
    ),
    ((60,), "RC_SEC2_ERROR", "video / SEC2 engine", "RESTART_APP", "H", "gpu.xid-other"),
    (
        (61,),
        "PMU_BREAKPOINT",
        "internal micro-controller breakpoint (older drivers)",
        "RESET_GPU",
        "H",
        "gpu.xid-other",
    ),
    ((62,), "PMU_HALT_ERROR", "PMU micro-controller halted", "RESET_GPU", "H", "gpu.xid-other"),
    (
        (63,),
        "INFOROM_DRAM_RETIREMENT_EVENT",
        "row remap / page retirement recorded",
        "IGNORE",
        "C",
        "gpu.ecc-uncorrectable",
    ),
    (
        (64,),
        "INFOROM_DRAM_RETIREMENT_FAILURE",
        "row remap / page retirement failed",
        "RESET_GPU",
        "H",
        "gpu.ecc-uncorrectable",
    ),
    (
        (66,),
        "RC_FECS_ERR_REG_ACCESS_VIOLATION",
        "firmware: register access violation",
        "IGNORE",
        "H",
        "gpu.xid-other",
    ),
    (
        (67,),
        "RC_FECS_ERR_VERIF_VIOLATION",
        "firmware: verification violation",
        "IGNORE",
        "H",
        "gpu.xid-other",
    ),
    (
        (68, 83, 84, 88, 89, 96, 97, 98),
        "RC_NVDEC_ERROR",
        "video decoder exception",
        "RESTART_APP",
        "A/H",
        "gpu.xid-other",
    ),
    ((69,), "RC_GR_CLASS_ERROR", "graphics class error", "RESTART_APP", "A", "gpu.xid-other"),
    ((74,), "NVLINK_ERROR", "NVLink error (up to Hopper)", "WORKFLOW_NVLINK_ERR", "H", "gpu.nvlink-error"),
    ((78,), "VGPU_START_ERROR", "vGPU cannot start", "UPDATE_SWFW", "H", "gpu.xid-other"),
    ((79,), "RC_GPU_HAS_FALLEN_OFF_THE_BUS", "fell off the bus", "RESTART_BM", "H", "gpu.fell-off-bus"),
    (
        (80,),
        "PBDMA_PUSHBUFFER_CRC_MISMATCH",
        "corrupted data sent to the GPU",
        "RESTART_APP",
        "A/H",
        "gpu.xid-other",
    ),
    (
        (82, 99, 100, 101, 102, 103, 104, 105),
        "RC_NVJPG_ERROR",
        "JPEG engine exception",
        "RESTART_APP",
        "A/H",
        "gpu.xid-other",
    ),
    ((86, 139), "RC_OFA_ERROR", "optical-flow engine exception", "RESTART_APP", "A/H", "gpu.xid-other"),
    ((92,), "EXCESSIVE_SBE_INTERRUPTS", "high rate of corrected ECC errors", "IGNORE", "H", "gpu.xid-other"),
    ((93,), "INFOROM_ERASE_LIMIT_EXCEEDED", "InfoROM wear limit", "IGNORE", "H", "gpu.xid-other"),
    ((94,), "RC_CONTAINED_ERROR", "contained memory error", "RESTART_APP", "H", "gpu.ecc-uncorrectable"),
    ((95,), "RC_UNCONTAINED_ERROR", "uncontained memory error", "RESET_GPU", "H", "gpu.ecc-uncorrectable"),
    ((106,), "SMBPBI_TEST_MESSAGE", "out-of-band test", "IGNORE", "C", "gpu.xid-other"),
    ((107,), "SMBPBI_TEST_MESSAGE_SILENT", "out-of-band test, silent", "IGNORE", "C", "gpu.xid-other"),
    ((109,), "RC_CTXSW_TIMEOUT_ERROR", "context-switch timeout", "RESET_GPU", "H", "gpu.xid-other"),
    ((110,), "SEC_FAULT_ERROR", "security fault", "RESET_GPU", "H", "gpu.xid-other"),
    ((119,), "GSP_RPC_TIMEOUT", "GSP RPC timed out", "RESET_GPU", "H", "gpu.gsp-timeout"),
    ((120,), "GSP_ERROR", "GSP firmware error", "RESET_GPU", "H", "gpu.gsp-timeout"),
    ((121,), "C2C_ERROR", "chip-to-chip link corrected error", "IGNORE", "H", "gpu.xid-other"),
    ((122,), "SPI_PMU_RPC_READ_FAIL", "on-board flash access failed", "", "H", "gpu.xid-other"),
    ((123,), "SPI_PMU_RPC_WRITE_FAIL", "on-board flash access failed", "", "H", "gpu.xid-other"),
    ((124,), "SPI_PMU_RPC_ERASE_FAIL", "on-board flash access failed", "", "H", "gpu.xid-other"),
    ((125,), "INFOROM_FS_ERROR", "on-board flash access failed", "", "H", "gpu.xid-other"),
    ((136,), "ALI_TRAINING_FAIL", "NVLink training failed", "RESET_GPU", "H", "gpu.nvlink-error"),
    (
        (137,),
        "NVLINK_PRIV_ERR",
        "NVLink privilege error (usually a remote fault)",
        "IGNORE",
        "C",
        "gpu.nvlink-error",
    ),
    (
        (140,),
        "UNRECOVERABLE_ECC_ERROR_ESCAPE",
        "unrecovered ECC error",
        "RESET_GPU",
        "H",
        "gpu.ecc-uncorrectable",
    ),
    ((141,), "RC_FAST_PATH_ERROR", "CUDA fast path", "IGNORE", "C", "gpu.xid-other"),
    ((142,), "RC_NVENC3_ERROR", "video encoder exception", "CONTACT_SUPPORT", "H", "gpu.xid-other"),
    ((143,), "GPU_INIT_ERROR", "GPU initialisation failed", "RESET_GPU", "H", "gpu.xid-other"),
    ((144,), "NVLINK_SAW_ERROR", "NVLink5 SAW", "WORKFLOW_NVLINK5_ERR", "H", "gpu.nvlink-error"),
    ((145,), "NVLINK_RLW_ERROR", "NVLink5 RLW", "WORKFLOW_NVLINK5_ERR", "H", "gpu.nvlink-error"),
    ((146,), "NVLINK_TLW_ERROR", "NVLink5 TLW", "WORKFLOW_NVLINK5_ERR", "H", "gpu.nvlink-error"),
    ((147,), "NVLINK_TREX_ERROR", "NVLink5 TREX", "WORKFLOW_NVLINK5_ERR", "H", "gpu.nvlink-error"),
    (
        (148,),
        "NVLINK_NVLPW_CTRL_ERROR",
        "NVLink5 NVLPW_CTRL",
        "WORKFLOW_NVLINK5_ERR",
        "H",
        "gpu.nvlink-error",
    ),
    (
        (149,),
        "NVLINK_NETIR_ERROR",
        "NVLink5 NETIR (link event)",
        "WORKFLOW_NVLINK5_ERR",
        "H",
        "gpu.nvlink-error",
    ),
    ((150,), "NVLINK_MSE_ERROR", "NVLink5 MSE (management)", "WORKFLOW_NVLINK5_ERR", "H", "gpu.nvlink-error"),
    (
        (151,),
        "RC_KEY_ROTATION_ERROR",
        "confidential computing key rotation",
        "RESTART_VM",
        "H",
        "gpu.xid-other",
    ),
    ((152,), "RC_DLA_SMMU_ERROR", "DLA SMMU error", "IGNORE", "H", "gpu.xid-other"),
    ((153,), "RC_DLA_TIMEOUT", "DLA timeout", "IGNORE", "H", "gpu.xid-other"),
    ((154,), "GPU_RECOVERY_ACTION_CHANGED", "recovery action changed", "XID_154", "C", "gpu.xid-other"),
    ((155,), "NVLINK_SW_DEFINED_ERROR", "NVLink software-defined", "RESET_GPU", "H", "gpu.nvlink-error"),
    ((156,), "RESOURCE_RETIREMENT_EVENT", "resource retired", "RESET_GPU", "C", "gpu.xid-other"),
    ((157,), "RESOURCE_RETIREMENT_FAILURE", "resource retirement failed", "IGNORE", "H", "gpu.xid-other"),
    ((158,), "GPU_FATAL_TIMEOUT", "fatal timeout", "RESET_GPU", "H", "gpu.xid-other"),
    ((159,), "RC_CHI_NON_DATA_ERROR", "CHI non-data error", "CHECK_UVM", "H", "gpu.xid-other"),
    ((160,), "CHANNEL_RETIREMENT_EVENT", "channel retired", "IGNORE", "C", "gpu.xid-other"),
    ((161,), "CHANNEL_RETIREMENT_FAILURE", "channel retirement failed", "IGNORE", "H", "gpu.xid-other"),
    ((162,), "PSHC_REENGAGED", "power smoothing re-engaged", "", "H", "gpu.xid-other"),
    ((163,), "PSHC_DISENGAGED", "power smoothing disengaged", "", "H", "gpu.xid-other"),
    ((164,), "PSHC_LOW_LIFETIME", "power smoothing: low lifetime", "", "H", "gpu.xid-other"),
    ((165,), "PSHC_ZERO_LIFETIME", "power smoothing: lifetime used up", "", "H", "gpu.xid-other"),
    ((166,), "NVLINK_SECURE_CRYPTO_ERR", "secure NVLink traffic before set-up", "", "H", "gpu.nvlink-error"),
    ((167,), "PCIE_FATAL_TIMEOUT", "PCIe fatal timeout", "", "H", "gpu.xid-other"),
    (
        (168,),
        "REDUCED_GPU_MEMORY_CAPACITY",
        "reduced memory capacity (protected region)",
        "",
        "H",
        "gpu.xid-other",
    ),
    ((169,), "SEC2_HALT_ERROR", "SEC2 micro-controller halted", "", "H", "gpu.xid-other"),
    ((170,), "NVLINK_SECURE_OTHER", "secure NVLink interrupt", "", "H", "gpu.nvlink-error"),
    ((171,), "UNCORRECTABLE_DRAM_ERROR", "detail to Xid 48: DRAM", "", "C", "gpu.ecc-uncorrectable"),
    ((172,), "UNCORRECTABLE_SRAM_ERROR", "detail to Xid 48: SRAM", "", "C", "gpu.ecc-uncorrectable"),
    ((173,), "C2C_FATAL_LINK_FAILURE", "chip-to-chip link failed", "", "H", "gpu.xid-other"),
    (
        (174,),
        "RC_RESETCHANNEL_KILL_PROCESS_SILENT",
        "channel reset together with its process",
        "",
        "H",
        "gpu.xid-other",
    ),
    ((175,), "MEMORY_SUBSYSTEM_ERROR", "memory subsystem error", "", "H", "gpu.xid-other"),
    ((176,), "PCIE_CORRECTABLE_ERROR_FAULT", "corrected PCIe error", "", "H", "gpu.xid-other"),
)

XIDS: Mapping[int, Xid] = MappingProxyType(
    {number: Xid(number, *rest) for numbers, *rest in _ROWS for number in numbers}
)
"""Every number the drivers 515 to 595 define and print, by number."""
