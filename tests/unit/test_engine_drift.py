# SPDX-License-Identifier: Apache-2.0
"""What `valuesmith engines list|flags|diff` shows."""

from __future__ import annotations

import itertools

import pytest

from valuesmith import facts
from valuesmith.diagnostics import ConfigError
from valuesmith.validate import drift
from valuesmith.validate.catalogs import shelf

COLUMN = 42


def shown(engine: str, old: str, new: str) -> list[str]:
    used = drift.users(facts.data("mapping.yaml"), engine)
    return [str(change) for change in drift.diff(engine, old, new, used_by=used)]


def test_dropped_flags_say_which_parameters_are_written_with_them() -> None:
    lines = shown("sglang", "0.5.18", "0.5.21")
    gone = next(line for line in lines if line.startswith("- --cuda-graph-bs "))
    assert gone[:COLUMN].rstrip() == "- --cuda-graph-bs"
    assert "used by cuda_graph_batch_sizes" in gone
    assert gone.endswith("now --cuda-graph-bs-decode, --cuda-graph-bs-prefill")


def test_the_order_is_what_went_what_came_what_changed() -> None:
    signs = [line[0] for line in shown("vllm", "0.16.0", "0.19.0")]
    assert signs == sorted(signs, key="-+~".index)
    assert set(signs) == set("-+~")


def test_changed_values_and_choices() -> None:
    lines = shown("vllm", "0.16.0", "0.19.0")
    cache = next(line for line in lines if line.startswith("~ --kv-cache-dtype "))
    assert "+float16" in cache
    assert "used by kv_cache_dtype" in cache
    block = next(line for line in lines if line.startswith("~ --block-size "))
    assert "no fixed list any more" in block


def test_a_flag_that_became_an_alias_is_no_loss() -> None:
    lines = shown("dynamo-frontend", "0.9.1", "1.0.0")
    assert any(
        line.startswith("~ --kv-events ") and "now an alias of --router-kv-events" in line
        for line in lines
    )
    assert not any(line.startswith("- --kv-events ") for line in lines)


def test_newly_deprecated_flags_say_what_to_use() -> None:
    lines = shown("sglang", "0.5.13.post1", "0.5.14")
    old = next(line for line in lines if line.startswith("~ --cuda-graph-bs "))
    assert "deprecated (use --cuda-graph-bs-decode)" in old


@pytest.mark.parametrize(
    "engine", ["vllm", "sglang", *(e for e in shelf().engines() if e.startswith("dynamo-"))]
)
def test_the_drift_between_any_two_neighbours_is_readable(engine: str) -> None:
    versions = shelf().versions(engine)
    for old, new in itertools.pairwise(versions):
        for line in shown(engine, old, new):
            assert line[:2] in ("- ", "+ ", "~ ")
            assert "\n" not in line


def test_equal_releases_do_not_differ() -> None:
    assert drift.diff("vllm", "0.31.0", "0.31.0") == []


def test_keys_of_trtllm_differ_too() -> None:
    changes = drift.diff("trtllm", "1.2.0rc3", "1.3.0rc29")
    assert next((c.sign, c.flag) for c in changes if c.flag.startswith("build_config")) == (
        "-",
        "build_config",
    )
    assert any(c.sign == "~" and c.detail == "+AUTO; -WIDEEP" for c in changes)


def test_flags_of_a_release() -> None:
    rows = {row.flag: row for row in drift.flags("vllm", "0.31.0")}
    assert rows["--tensor-parallel-size"].aliases == ("-tp",)
    assert rows["--tensor-parallel-size"].value == "N"
    assert rows["--cudagraph-capture-sizes"].value == "N…"
    assert rows["--enable-prefix-caching"].remark == "--no-enable-prefix-caching"
    assert rows["--api-key"].remark == "vllm serve only"
    assert rows["--kv-transfer-config"].value == "JSON"
    assert "data" in rows["--mm-encoder-tp-mode"].choices
    assert list(rows) == sorted(rows)


def test_deprecated_and_refused_flags_say_so() -> None:
    rows = {row.flag: row for row in drift.flags("sglang", "0.5.18")}
    assert rows["--cuda-graph-bs"].remark == "deprecated; use --cuda-graph-bs-decode"
    assert rows["--enable-expert-distribution-metrics"].remark.startswith("refused; use ")


def test_releases_name_the_dynamo_releases_that_pin_them() -> None:
    rows = {row.version: row for row in drift.releases("sglang")}
    assert rows["0.5.21"].dynamo == ("1.6.0", "1.6.1")
    assert rows["0.5.20"].dynamo == ()
    assert rows["0.5.21"].flags > 400
    every = drift.releases()
    assert {row.engine for row in every} >= {"vllm", "sglang", "trtllm", "dynamo-frontend"}


def test_names_with_dots_mean_the_component() -> None:
    assert drift.releases("dynamo.vllm")[-1].version == "1.6.1"


def test_unknown_names_get_close_matches() -> None:
    with pytest.raises(ConfigError, match=r"no engine or component is called vlm\n.*did you mean vllm"):
        drift.releases("vlm")
    with pytest.raises(ConfigError, match=r"no catalog of vLLM 0\.31\.9\n.*did you mean 0\.31\.0"):
        drift.flags("vllm", "0.31.9")
    with pytest.raises(ConfigError, match="is not a release number of TensorRT-LLM"):
        drift.flags("trtllm", "newest")


def test_users_of_a_mapping_table() -> None:
    table = [
        {"param_key": "a", "vllm": "flag-a", "sglang": None},
        {"param_key": "b", "vllm": [{"key": "old-b", "until": "0.5.0"}, {"key": "new-b"}]},
        {"param_key": "c", "vllm": {"key": "speculative-config.method"}},
        {"param_key": "d", "vllm": {"key": "on", "negative": "no-on"}},
    ]
    assert drift.users(table, "vllm") == {
        "flag-a": ["a"],
        "old-b": ["b (until 0.5.0)"],
        "new-b": ["b"],
        "speculative-config.method": ["c"],
        "speculative-config": ["c"],
        "on": ["d"],
        "no-on": ["d"],
    }


@pytest.mark.parametrize(("old", "new"), [("1.2.0", "1.6.1"), ("0.7.0", "0.9.1"), ("1.6.1", "1.1.1")])
def test_two_dynamo_releases_differ_in_what_they_pin_and_in_their_components(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from valuesmith import cli

    assert cli.run(["engines", "diff", "dynamo", old, new]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [line for line in lines if not line.startswith(" ")]
    known = facts.releases()
    for backend in facts.ENGINES:
        before, after = known.engine(old, backend), known.engine(new, backend)
        assert f"{backend} {before} → {after}" in titles
        at = lines.index(f"{backend} {before} → {after}") + 1
        changes = [f"  {item}".rstrip() for item in drift.diff(backend, before, after)]
        flags = [line.split()[:2] for line in lines[at : at + len(changes)]]
        assert flags == [line.split()[:2] for line in changes]
    assert f"dynamo-frontend {known.resolve(old)} → {known.resolve(new)}" in titles


def test_what_dynamo_is_asked_for_says_how_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    from valuesmith import cli

    assert cli.run(["engines", "flags", "dynamo", "1.6.1"]) == 1
    assert "name one: dynamo-frontend, dynamo-planner, " in capsys.readouterr().err
    assert cli.run(["engines", "diff", "dynamo", "1.6.1", "1.9.9"]) == 1
    assert "VS451 unknown Dynamo release 1.9.9" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("engine", "given", "release"),
    [
        ("vllm", "0.31", "0.31.0"),
        ("sglang", "v0.5.21", "0.5.21"),
        ("dynamo-vllm", "1.6.1.0", "1.6.1"),
        ("trtllm", "1.3.0.rc29", "1.3.0rc29"),
    ],
)
def test_a_release_is_known_however_it_is_spelled(engine: str, given: str, release: str) -> None:
    assert drift.flags(engine, given) == drift.flags(engine, release)
    if engine != "trtllm":
        assert shelf().find(engine, given).warning is None
