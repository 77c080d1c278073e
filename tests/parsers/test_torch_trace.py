"""The structured log of torch.compile: what failed to compile, where, and what is only its business."""

import json

from forensics.model import Context, Event, Source
from forensics.parsers.torch_trace import PARSER

HEAD = "V1129 17:30:00.494000 2362 torch/_dynamo/utils.py:2009] "
NAMES = f'{HEAD}{{"str": ["/w/train.py", 1]}}\n'
START = f'{HEAD}{{"dynamo_start": {{"stack": [{{"line": 9, "name": "step", "filename": 1}}]}}, "frame_id": 3}}\n'


def metrics(**values: object) -> str:
    """Return one record of a compilation's metrics."""
    return f"{HEAD}{json.dumps({'compilation_metrics': values, 'frame_id': 3, 'frame_compile_id': 1, 'attempt': 0})}\n"


def parsed(text: str, name: str = "dedicated_log_torch_trace_rank_5_x1.log") -> list[Event]:
    """Return what the parser finds in a file of this name."""
    return list(PARSER.parse(text.encode(), Context(Source(name, "torch-trace", len(text)))))


def test_a_given_up_function_is_named_though_its_last_record_does_not_name_it() -> None:
    """The record that fails has no name: dynamo_start of the same frame has, and the file behind its number."""
    reasons = f'{HEAD}{{"artifact": {{"name": "recompile_reasons"}}, "frame_id": 3}}\n\t[\n\t"3/2: n == 2  # x*n",\n\t"y"\n\t]\n'
    failed = metrics(
        co_name=None,
        start_time=1795973400.5,
        fail_type="Unsupported",
        fail_reason="Dynamo recompile limit exceeded\n  Developer debug context: Limit type: recompile_limit",
    )
    (event,) = parsed(NAMES + START + reasons + failed)
    assert event.kind == "recompile-limit"
    assert event.rank == 5
    assert event.time == 1795973400.5
    assert event.line == 8
    assert event.fields["function"] == "step"
    assert event.fields["where"] == "/w/train.py:9"
    assert event.fields["reason"] == "3/2: n == 2  # x*n"


def test_the_wording_before_2_7_names_its_own_limit() -> None:
    """What was called cache_size_limit is one as well."""
    (event,) = parsed(metrics(fail_type="CacheLimitExceeded", fail_reason="cache_size_limit reached", co_name="f"))
    assert (event.kind, event.fields["name"]) == ("recompile-limit", "cache_size_limit")


def test_a_failure_counts_what_was_compiled_after_it() -> None:
    """Whoever caught the failure and went on compiling has survived it."""
    failed = metrics(fail_type="BackendCompilerFailed", fail_reason="backend='inductor' raised:\nboom", co_name="f")
    good = metrics(fail_type=None, co_name="g")
    assert [e.fields["compiled_after"] for e in parsed(failed + good + failed)] == [1, 0]


def test_sound_compilations_and_graph_breaks_are_no_failures() -> None:
    """Only a part left to Python, and compilations that succeeded, give no event a rule hears."""
    artifact = f'{HEAD}{{"artifact": {{"name": "dynamo_graph_break_reason"}}, "frame_id": 3}}\n'
    text = artifact + "\tGraph break in user code at /w/train.py:11\n\tGraph Break Reason: x\n"
    text += metrics(fail_type=None) + metrics(fail_type="Unsupported", fail_reason="Failed to trace builtin operator")
    (event,) = parsed(text)
    assert event.kind == "traced-break"
    assert event.fields["where"] == "/w/train.py:11"


def test_code_in_a_payload_says_nothing() -> None:
    """Payloads quote whole programs: a head in one is a quotation."""
    failed = metrics(fail_type="BackendCompilerFailed", fail_reason="boom")
    assert parsed(NAMES + "".join(f"\t{line}\n" for line in failed.splitlines())) == []


def test_a_torn_record_costs_only_itself() -> None:
    """A file cut while it was written keeps what stands before."""
    failed = metrics(fail_type="InductorError", fail_reason="boom", co_name="f")
    whole = parsed(failed)
    assert len(whole) == 1
    assert parsed(failed + failed[: len(failed) // 2]) == whole
    assert parsed(failed[:40] + "\n" + failed)[0].message == whole[0].message
