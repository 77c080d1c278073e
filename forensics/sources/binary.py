"""Kinds of files that are not text, by their first bytes."""

from __future__ import annotations

_SAMPLE = 8192
_CHECKPOINT_NAMES = (
    ".pt",
    ".pth",
    ".ckpt",
    ".safetensors",
    ".bin",
    ".npz",
    ".distcp",
    ".pdparams",
    ".msgpack",
    ".h5",
    ".gguf",
)
_MAGICS = (
    b"\x7fELF", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x93NUMPY", b"PAR1", b"SQLite format 3\0", b"OggS", b"%PDF",
    b"RIFF", b"\xca\xfe\xba\xbe", b"MZ", b"ARROW1", b"Obj\x01", b":W&B",
)  # fmt: skip
_TORCH_LEGACY = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"
_ALLOWED = frozenset(range(32, 256)) - {127} | {7, 8, 9, 10, 12, 13, 27}


def binary_kind(name: str, head: bytes) -> str | None:
    """Tell the kind of a file that is no text, or None where its bytes do not tell."""
    if head.startswith(b"PK\x03\x04"):
        return "checkpoint" if is_checkpoint_zip(name, head) else "binary"
    if head[:2] in {b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"}:
        return _pickle_kind(name, head)
    if len(head) > 9 and head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < 1 << 32:
        return "checkpoint"  # safetensors: the length of a JSON header, and the header
    if head.startswith((b"\x89HDF", b"GGUF")):
        return "checkpoint"
    if head.startswith(_MAGICS) or name.startswith("events.out.tfevents"):
        return "binary"
    return None


def is_checkpoint_zip(name: str, head: bytes) -> bool:
    """Tell a zip that torch or numpy wrote from an archive of files."""
    length = int.from_bytes(head[26:28], "little")
    first = head[30 : 30 + length]
    return (
        name.lower().endswith((*_CHECKPOINT_NAMES, ".whl", ".jar", ".mar", ".keras", ".xlsx", ".docx"))
        or first.endswith((b"/data.pkl", b".npy", b"/version", b"/.format_version", b"/byteorder"))
        or b"/data.pkl" in head[:4096]
    )


def _pickle_kind(name: str, head: bytes) -> str:
    """A pickle by the keys in its beginning: the file itself is not loaded here."""
    if (b"pg_config" in head or b"nccl_version" in head or b"comm_lib_version" in head) and b"entries" in head:
        return "flight-recorder"
    if b"segments" in head and (b"total_size" in head or b"device_traces" in head):
        return "memory-snapshot"
    if b"device_traces" in head:
        return "memory-snapshot"
    if b"pg_config" in head or "nccl_trace" in name or "comm_lib_trace" in name:
        return "flight-recorder"
    legacy = _TORCH_LEGACY in head[:64] or b"torch._utils" in head or b"torch\n" in head
    return "checkpoint" if legacy or name.lower().endswith(_CHECKPOINT_NAMES) else "binary"


def is_text(data: bytes) -> bool:
    """Tell whether a sample is text: hardly any control bytes, and mostly valid UTF-8 or a Latin code page."""
    sample = data[:_SAMPLE].replace(b"\0", b"")
    if not sample:
        return False
    strange = len(sample.translate(None, bytes(_ALLOWED)))
    if strange * 50 > len(sample):
        return False
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    return broken * 5 < len(sample)
