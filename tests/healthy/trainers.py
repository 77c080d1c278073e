"""All whole healthy logs."""

from __future__ import annotations

from tests.healthy.language import HUGGING_FACE, LIGHTNING, MEGATRON, NANO
from tests.healthy.others import FOLDS, REINFORCEMENT, SEQUENCES, SERVERS
from tests.healthy.vision import BOOSTERS, KERAS, VISION

TRAINED = (
    *HUGGING_FACE, *LIGHTNING, *MEGATRON, *NANO, *VISION, *KERAS, *BOOSTERS, *SEQUENCES, *REINFORCEMENT, *SERVERS, *FOLDS,
)  # fmt: skip
