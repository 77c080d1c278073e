"""`analyze --format html`: from a folder, an archive or a pipe to one file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.cli.program import OOM, ROOT, run
from tests.render.page_reader import find, parsed, words
from tests.test_bounds import probe

SAMPLE = str(ROOT / "samples" / "002-dense-276" / "run")


def test_a_folder_becomes_one_page(tmp_path: Path) -> None:
    """The file holds the root that the JSON report names, with the lines around its evidence."""
    target = tmp_path / "report.html"
    done = run("analyze", SAMPLE, "--format", "html", "-o", str(target))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    tree = parsed(target.read_text(encoding="utf-8"))
    told = json.loads(run("analyze", SAMPLE, "--format", "json").stdout)
    root = next(finding for finding in told["findings"] if finding["role"] == "root")
    assert words(find(tree, "h1")[0]) == root["title"]
    cited = {row.get("data-n") for row in find(tree, "span") if "cited" in row.get("class", "")}
    assert {str(place["line"]) for place in root["evidence"]} <= cited
    around = {row.get("data-n") for row in find(tree, "span") if row.get("class") == "row"}
    assert str(root["evidence"][0]["line"] - 1) in around


def test_the_same_files_make_the_same_page() -> None:
    """No clock and no chance is in it, and no encoding of a terminal changes it."""
    first = run("analyze", SAMPLE, "--format", "html").stdout
    assert first == run("analyze", SAMPLE, "--format", "html", LC_ALL="C", PYTHONIOENCODING="latin-1").stdout
    assert first.startswith(b"<!doctype html>")


def test_standard_input_and_packed_logs_are_quoted_in_context(tmp_path: Path) -> None:
    """What can be read once only, or is compressed, has lines around its evidence all the same."""
    packed = tmp_path / "train.log.gz"
    packed.write_bytes(gzip.compress(OOM.encode()))
    for done in (
        run("analyze", "-", "--format", "html", given=OOM.encode()),
        run("analyze", str(packed), "--format", "html"),
    ):
        assert done.returncode == 0
        assert "main()" in [
            words(row) for row in find(parsed(done.stdout.decode()), "span") if row.get("class") == "row"
        ]


def test_the_page_loads_neither_polars_nor_textual() -> None:
    """A page takes what makes it, and nothing heavy."""
    _, loaded = probe("analyze", SAMPLE, "--format", "html", "-o", "/dev/null")
    assert "jinja2" in loaded
    assert not loaded & {"textual", "torch", "polars", "numpy", "hyperscan", "asyncio"}
