"""What one pass over all lines says of who hears them is what each line says by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.engine.hearing import hearing
from forensics.model import Line, Record
from forensics.parsers import LINE_PARSERS
from tests.engine.runs import analyse

TRIGGERS = [trigger for parser in LINE_PARSERS for trigger in parser.triggers]
WORDS = st.sampled_from(TRIGGERS) | st.text(st.sampled_from("abc: é\ud800"), max_size=4)
LINES = st.lists(st.lists(WORDS, max_size=4).map("".join), max_size=12)
ANCHORS = st.lists(st.text(st.sampled_from("abc: é"), min_size=1, max_size=3), max_size=3, unique=True)


@pytest.mark.parametrize("total", [0, 1 << 30], ids=["small", "large"])
@given(lines=LINES, anchors=ANCHORS)
def test_each_parser_hears_its_lines_in_order(total: int, lines: list[str], anchors: list[str]) -> None:
    """None twice, and no literal is found where one line ends and the next begins."""
    batch = [Record(Line(number, 0, 0, text, number), text, text) for number, text in enumerate(lines, 1)]
    shares, anchored = hearing(tuple(anchors), total).share(batch)
    heard = {type(parser): records for parser, records in shares}
    assert anchored == [record for record in batch if any(anchor in record.raw for anchor in anchors)]
    for parser in LINE_PARSERS:
        own = [record for record in batch if any(trigger in record.raw for trigger in parser.triggers)]
        wanted = {"lines": own or None, "blocks": batch if own else None, "all": batch}[parser.hears]
        assert heard.get(type(parser)) == wanted


def test_what_stands_behind_progress_is_no_part_of_a_message() -> None:
    """The words of an exception end where progress begins, also where a line far below is handed over."""
    words = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nOSError: [Errno 5] no\nmore words\n'
    )
    steps = "".join(f"iters {n}, time: 0.051 loss: 0.{n}1\n" for n in range(40))
    report = analyse(train_log=f"{steps}{steps}{words}{steps}saving the model at the end of epoch 50\n{steps}")
    [evidence] = [e for f in report.findings for e in f.evidence if "OSError" in e.text]
    assert evidence.end_line < 100
