"""Secrets taken out of what is written down: arguments, environment, addresses with passwords.

What a program prints itself stays as it is, raw; here it is about what the journal and the
plan add. Better one harmless value too many withheld than one token kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

WITHHELD = "[redacted]"

_NAME = re.compile(
    r"(?:^|[_.-])(?:token|secret|passw(?:or)?d|passphrase|passwd|pwd|pw|api[_-]?key|apikey|access[_-]?key|private[_-]?key|"
    r"secret[_-]?key|auth|authorization|credentials?|cookie|session[_-]?id|bearer|jwt|dsn|webhook|"
    r"connection[_-]?string|signature|license[_-]?key|key)s?(?:$|[_.-](?:id|b64|base64|value|hex|config|json|\d+)$)",
    re.IGNORECASE,
)
_GLUED = re.compile(r"(?:token|secret|password|passwd|apikey)s?$", re.IGNORECASE)
_HARMLESS = re.compile(
    r"(?:^|[_-])(?:max|min|num|n|pad|eos|bos|unk|mask|sep|cls|batch|total|budget|per|sort|special|add|skip|image|of)"
    r"(?:[_-]\w+)*[_-]tokens?(?:[_-]ids?)?$|^-{0,2}tokens?[_-](?:budget|per|id|ids|count|len|length|dropout|type)|"
    r"^PWD$|^OLDPWD$|(?:^|[_-])(?:sort|primary|group|cache|dict|target|label|feature|column)[_-]key$|"
    r"^TOKENIZERS_PARALLELISM$|^(?:\w+[_-])?tokens$",
    re.IGNORECASE,
)
_VALUES = re.compile(
    r"\b(?:hf_|api_org_)[A-Za-z0-9]{16,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|"
    r"\bsk-[A-Za-z0-9_-]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bxox[abeprs]-[\w-]{10,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.?[\w-]*|"
    r"\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w-]{20,}|\bAIza[\w-]{20,}|\bdop_v1_\w{20,}|\bnvapi-[\w-]{16,}|"
    r"\bwandb_v1_\w{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
    re.DOTALL,
)
_LOGIN = re.compile(r"(?P<scheme>\b[A-Za-z][\w+.-]{0,30}://)[^\s/@'\"]{1,300}@")
_QUERY = re.compile(
    r"(?P<name>[?&;][\w.-]{0,60}?(?:token|key|secret|password|signature|sig|auth|credential)=)[^&\s'\"#]+",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?P<name>\b(?:bearer|basic|token)\s+)[A-Za-z0-9+/=._~-]{12,}", re.IGNORECASE)
_HEADER = re.compile(
    r"(?P<name>\b(?:authorization|x-api-key|cookie)\s*[:=]\s*)[^\s'\"]+(?:\s+[^\s'\"-][^\s'\"]*)?", re.IGNORECASE
)
_PAIR = re.compile(
    r"(?P<name>(?<![\w-])-{0,2}[A-Za-z][\w.-]{0,80})(?P<mark>=)(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\";&|]+)"
)
_OPTION = re.compile(
    r"(?P<name>(?<![\w-])--?[A-Za-z][\w.-]{0,80})(?P<mark>\s+)(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\";&|-]\S*)"
)
_MEMBER = re.compile(r"(?P<name>[\"']?[A-Za-z][\w.-]{0,80}[\"']?)(?P<mark>\s*:\s*)(?P<value>\"[^\"]*\"|'[^']*')")
_OPAQUE = re.compile(r"(?=[A-Za-z0-9+/_=-]*\d)(?=[A-Za-z0-9+/_=-]*[A-Za-z])[A-Za-z0-9+_=-]{32,}")
_PLAIN_HEX = re.compile(r"(?:GPU-|MIG-)?[0-9a-f]{8}-[0-9a-f-]{20,}(?:,(?:GPU-|MIG-)?[0-9a-f-]+)*|[\d.,:-]+")
_TOOLS = re.compile(
    r"(?:CUDA|NCCL|TORCH|PYTORCH|TRITON|PYTHON|OMP|MKL|OPENBLAS|GLOO|UCX|FI|SLURM|PBS|LSB|OMPI|PMI|NVIDIA|LD|XLA|JAX|TF|"
    r"MASTER|WANDB|HF|TRANSFORMERS|DS|DEEPSPEED|ACCELERATE|DFLASH|TMPDIR|VIRTUAL_ENV|CONDA)(?:_|$)"
)


def is_secret_name(name: str) -> bool:
    """Tell whether a variable or an option of that name holds a secret."""
    bare = name.lstrip("-")
    if _HARMLESS.search(bare):
        return False
    return _NAME.search(bare) is not None or _GLUED.search(bare) is not None


def redact_text(text: str) -> str:
    """Return a text, such as a quoted script, without the secrets in it."""
    text = _VALUES.sub(WITHHELD, text)
    text = _LOGIN.sub(rf"\g<scheme>{WITHHELD}@", text)
    for pattern in (_HEADER, _QUERY, _BEARER):
        text = pattern.sub(rf"\g<name>{WITHHELD}", text)
    for pattern in (_PAIR, _OPTION, _MEMBER):
        text = pattern.sub(_withheld, text)
    return text


def redact_arguments(words: Sequence[str]) -> list[str]:
    """Return a command without its secrets: `--token X`, `--token=X`, `X` that can be nothing else."""
    shown: list[str] = []
    secret = False
    for word in words:
        if secret and not (word.startswith("-") and len(word) > 1 and word[1:2].isalpha()):
            shown.append(WITHHELD)
            secret = False
            continue
        name, mark, _ = word.partition("=")
        secret = not mark and word.startswith("-") and is_secret_name(word)
        if mark and " " not in name and is_secret_name(name):
            shown.append(f"{name}={WITHHELD}")
        else:
            shown.append(redact_text(word))
    return shown


def redact_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables, sorted, the values of secrets withheld, their names kept."""
    return {name: _value(name, variables[name]) for name in sorted(variables)}


def _value(name: str, value: str) -> str:
    if is_secret_name(name):
        return WITHHELD if value else value
    shown = redact_text(value)
    if not _TOOLS.match(name) and _OPAQUE.fullmatch(value) and not _PLAIN_HEX.fullmatch(value):
        return WITHHELD  # a long word of letters and digits in a variable that no tool of ours reads
    return shown


def _withheld(found: re.Match[str]) -> str:
    if not is_secret_name(found["name"].strip("\"'")) or WITHHELD in found["value"]:
        return found[0]
    return f"{found['name']}{found['mark']}{WITHHELD}"
