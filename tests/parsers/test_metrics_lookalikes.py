"""Lines that resemble progress and are none, and last records that may be cut."""

import pytest
from msgspec.structs import replace

from forensics.model import Context, Line, Source, Step
from forensics.parsers.metrics import complete, parse_step
from forensics.text.prefix import peel

CONTEXT = Context(Source("train.log", "training-log", 0), default_year=2031)
LINE = "step 17/30 | loss 6.2189 | lr 6.00e-04 | grad_norm 0.738 | 217.6k tok/s | mem 0.45 GiB"


def read(line: str) -> Step | None:
    return parse_step(peel(Line(1, 0, 0, line), CONTEXT), "train.log")


@pytest.mark.parametrize(
    "line",
    [
        "step 0 backward done",
        "Epoch 12",
        "Epoch 00003: reducing learning rate of group 0 to 1.0000e-04.",
        'args {"steps": 5, "heads": 32, "lr": 0.0006, "threads": 1}',
        "config: batch_size=16 nhead=3 head_dim=32 window=5 lr=0.1",
        "curriculum: stage0 seq_len=2048 steps=200 | stage1 seq_len=4096 steps=200",
        "engine/trainer: task=detect, mode=train, epochs=100, time=None, batch=16, imgsz=640, lr0=0.01, momentum=0.937",
        "seq_len=2048 steps=200 lr=0.1",
        "warmup_steps: 100 lr=1e-3",
        "  lr: 0.0006",
        "loss_weight: 0.5",
        '{"loss": "mse", "lr": 0.1}',
        "{'lr': 0.001, 'epochs': 10, 'batch_size': 32}",
        "{'optimizer': 'adamw', 'lr': 0.1, 'loss_scale': 128, 'step': 5}",
        '{"hidden_size": 4096, "num_attention_heads": 32}',
        "  --lr LR               learning rate (default: 3e-4)",
        "  --loss-scale LOSS_SCALE  static loss scale, step 5 (default: 0)",
        "python train.py --step 100 --loss 3.0 --lr 0.1",
        "$ python train.py step=100 loss=3.0",
        "Total optimization steps = 500",
        "***** Running training *****",
        "  Num Epochs = 3",
        "Num examples = 1,095,082",
        '    for i, b in enumerate(loader): L.info("step=%d loss=%.3f", i, 3.0 - i * .01)',
        '  File "train.py", line 79, in train_step',
        "=> loading checkpoint /data/in/ckpt/step_01250.pt (step 1250)",
        "Resuming from step 500, loss scale 65536",
        "Best model at step 500 with loss 0.2",
        "Early stopping at epoch 12, best val loss 0.3",
        "Saving last model checkpoint: val_loss 1.762, val_perplexity_error 3.29 to output/user/ox-9b",
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
        "Step 3/12 : RUN pip install torch==2.1.0",
        "Step 1: downloading data took 5.3s",
        "   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 755.5/755.5 MB 3.2 MB/s eta 0:00:00",
        "| step | loss | lr |",
        "|   0  NVIDIA A100 80G...  Off  | 00000001:00:00.0 Off |                   On |",
        "tokens: 5000 num_tokens=1,000",
        "eta: 0:10:12",
        "torch 2.11.0+cu130",
        "NCCL version 2.28.9+cuda13.0",
        "2026-11-29 12:50:41",
        "vm:691:691 [0] NCCL INFO comm 0x35 rank 0 nranks 2 cudaDev 0 busId 60 - Init COMPLETE",
        "",
    ],
)
def test_look_alikes_are_no_progress(line: str) -> None:
    """Settings, help texts, commands, headings, tables, versions and sentences give no step."""
    assert read(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "step=5 loss=1.3124 val_error=0.407 error_rate=0.56",
        "[epoch  1/12  100/1000] loss=2.0194 error@1=55.77 oom_retries=0 timeouts=0",
    ],
)
def test_a_metric_called_error_is_a_metric(line: str) -> None:
    """The loss is taken from the loss, however many errors are measured beside it."""
    step = read(line)
    assert step is not None
    assert step.series == "train"
    assert step.loss in {1.3124, 2.0194}


def previous(count: int = 3) -> list[Step]:
    first = read(LINE)
    assert first is not None
    return [replace(first, step=step) for step in range(17 - count, 17)]


def test_a_whole_last_record_counts() -> None:
    """A bar record that was killed before its line end is whole, by the records before it."""
    last = read(LINE)
    assert last is not None
    assert complete(last, previous())


@pytest.mark.parametrize("cut", ["step 17/30 | loss 6.2189 | lr 6.00e-04 | grad_norm 0", "step 17/30 | loss 6.2"])
def test_a_cut_last_record_does_not_count(cut: str) -> None:
    """A record that ends before its siblings' last number was cut."""
    last = read(cut)
    assert last is not None
    assert not complete(last, previous())


def test_a_closing_bracket_proves_a_record_whole() -> None:
    """The first record of a run counts if its own text shows its end."""
    whole, cut = read(" 29%|██▉ | 35/120 [00:02<00:02, 29.04it/s]"), read(" 29%|██▉ | 35/120 [00:02<00")
    assert whole is not None
    assert complete(whole, [])
    assert cut is None or not complete(cut, [whole])


def test_a_missing_loss_is_not_a_cut() -> None:
    """Megatron leaves a NaN loss out of the middle of a record; the record is whole all the same."""
    before = read(" iteration 5/ 9 | learning rate: 1.0E-06 | lm loss: 1.0E+01 | loss scale: 1.0 | grad norm: 1.0 |")
    last = read(" iteration 6/ 9 | learning rate: 1.0E-06 | loss scale: 1.0 | grad norm: nan |")
    assert before is not None
    assert last is not None
    assert complete(last, [before])


def test_place_and_speaker_come_from_the_record() -> None:
    """Line, column, time, rank and lane are those of the record."""
    line = Line(42, 17, 900, "2026-11-29 13:47:04,098 [rank1] INFO train: step: 2/60 loss: 8.01")
    step = parse_step(peel(line, CONTEXT), "a/rank1.log")
    assert step is not None
    assert (step.path, step.line, step.column, step.rank) == ("a/rank1.log", 42, 17, 1)
    assert step.time == pytest.approx(1795960024.098)
