"""Secrets: withheld wherever they stand, and what only looks alike stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.supervise.secrets import WITHHELD, redact_arguments, redact_environment, redact_text


@pytest.mark.parametrize(
    "words",
    [
        ["--token", "SECRET"], ["--hf-token=SECRET"], ["--wandb_api_key", "SECRET"], ["-p", "x", "--password=SECRET"],
        ["bash", "-c", "export WANDB_API_KEY=SECRET; python t.py"], ["bash", "-c", "python t.py --api-key SECRET"],
        ["git+https://user:SECRET@host/repo"], ["https://host/x?access_token=SECRET&y=1"],
        ["curl", "-H", "Authorization: Bearer SECRET0123456789"], ['{"password": "SECRET"}'], ["MY_SECRET=SECRET"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_secrets_in_arguments_are_withheld(words: list[str]) -> None:
    """Options, assignments, addresses, headers, JSON."""
    shown = " ".join(redact_arguments(words))
    assert "SECRET" not in shown.replace("MY_SECRET", "")
    assert WITHHELD in shown


@pytest.mark.parametrize(
    "value",
    ["hf_" + "aB3" * 10, "ghp_" + "x" * 36, "sk-" + "a1" * 20, "AKIA" + "A1" * 8, "eyJhbGciOiJI.eyJzdWIiOiIx.abc"],
)
def test_values_that_can_be_nothing_else_are_withheld_under_any_name(value: str) -> None:
    """Bare, too."""
    assert value not in redact_arguments(["python", value])[1]
    assert redact_environment({"X": value})["X"] == WITHHELD


@pytest.mark.parametrize(
    "word",
    ["--max-tokens=4096", "--token-budget=49152", "--bad-tokens=skip", "--tokenizer=gpt2", "--eos_token_id=2", "--lr=6e-4",
     "--author=me", "a/b=c", "--sort-key=len", "--num_tokens=5"],
)  # fmt: skip
def test_what_looks_alike_stays(word: str) -> None:
    """Tokens of text are no secrets."""
    assert redact_arguments([word]) == [word]


def test_the_environment_keeps_names_and_what_matters() -> None:
    """Values of secrets go, settings stay."""
    shown = redact_environment({
        "WANDB_API_KEY": "x", "AWS_SECRET_ACCESS_KEY": "x", "PGPASSWORD": "x", "SSH_AUTH_SOCK": "/s", "CUDA_VISIBLE_DEVICES": "0,1",
        "DATABASE_URL": "postgres://u:pw@h/db", "ODD": "a1B2" * 12, "PATH": "/bin", "HF_HOME": "/h", "EMPTY_TOKEN": "",
    })  # fmt: skip
    assert [n for n, v in shown.items() if WITHHELD in v] == [
        "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "ODD", "PGPASSWORD", "WANDB_API_KEY",
    ]  # fmt: skip
    assert shown["SSH_AUTH_SOCK"] == "/s"
    assert shown["CUDA_VISIBLE_DEVICES"] == "0,1"


@given(st.text(), st.text(alphabet="abcXYZ0189", min_size=8, max_size=20))
def test_no_text_breaks_it_and_a_named_secret_never_stays(text: str, secret: str) -> None:
    """Whatever stands around it."""
    redact_text(text)
    redact_arguments([text, "--password", secret])
    assert redact_arguments([text.replace(secret, ""), "--password", secret])[-1] == WITHHELD
