# SPDX-License-Identifier: Apache-2.0
"""Check 3: words of commands against the release that will run them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from valuesmith.diagnostics import Diagnostic, Position, Source, render
from valuesmith.validate import catalogs
from valuesmith.validate.catalogs import Shelf
from valuesmith.validate.engines import PROGRAMS, Command, check

NEWEST = {"dynamo": "1.6.1", "vllm": "0.31.0", "sglang": "0.5.21", "trtllm": "1.3.0rc29"}


def problems(program: str, *words: str, role: str = "", **versions: str) -> list[Diagnostic]:
    return check(Command(words, program, {**NEWEST, **versions}, role=role))


def said(program: str, *words: str, role: str = "", **versions: str) -> list[str]:
    """What is printed, without source lines."""
    return [
        line.replace("\n      | ", " | ")
        for line in map(render, problems(program, *words, role=role, **versions))
    ]


# ── unknown flags ───────────────────────────────────────────────────────────────────────────────────────


def test_a_dropped_flag_says_until_when_and_what_came_instead() -> None:
    assert said("dynamo.sglang", "--cuda-graph-bs", "8", role="decode") == [
        (
            "VS421 SGLang 0.5.21 does not know --cuda-graph-bs (decode) | known until 0.5.19; since then "
            "--cuda-graph-bs-decode, --cuda-graph-bs-prefill"
        )
    ]


def test_a_dropped_flag_of_the_component_names_the_component() -> None:
    assert said("dynamo.vllm", "--is-prefill-worker") == [
        (
            "VS421 dynamo.vllm 1.6.1 does not know --is-prefill-worker | known until 1.3.1; since then "
            "--disaggregation-mode prefill"
        )
    ]


def test_a_flag_of_later_releases_says_from_when() -> None:
    assert said("dynamo.vllm", "--all2all-backend", "naive", dynamo="0.7.1", vllm="0.11.0") == [
        "VS421 vLLM 0.11.0 does not know --all2all-backend | known from 0.11.1"
    ]


def test_underscores_where_the_parser_knows_dashes_only() -> None:
    assert said("dynamo.vllm", "--benchmark_mode", "agg", dynamo="1.2.0", vllm="0.20.1") == [
        "VS421 dynamo.vllm 1.2.0.post1 does not know --benchmark_mode | write --benchmark-mode"
    ]
    assert said("dynamo.vllm", "--max_num_seqs", "8", dynamo="1.2.0", vllm="0.20.1") == []


def test_a_flag_that_nobody_knows_gets_close_matches() -> None:
    assert said("dynamo.vllm", "--tensor-paralel-size", "2") == [
        (
            "VS421 dynamo.vllm 1.6.1 with vLLM 0.31.0 does not know --tensor-paralel-size | did you mean "
            "--tensor-parallel-size, --data-parallel-size, --pipeline-parallel-size?"
        )
    ]


def test_a_flag_of_another_command_says_whose_it_is() -> None:
    assert said("dynamo.vllm", "--port", "8000") == [
        "VS421 dynamo.vllm 1.6.1 with vLLM 0.31.0 does not know --port | only `vllm serve` takes it"
    ]
    assert said("dynamo.frontend", "--router-block-size", "16") == [
        "VS421 dynamo.frontend 1.6.1 does not know --router-block-size | dynamo.router takes it"
    ]


def test_an_unknown_flag_takes_its_value_with_it() -> None:
    assert len(problems("dynamo.vllm", "--foo", "1", "2", "--max-num-seqs", "3")) == 1


def test_all_problems_come_in_the_order_of_the_words() -> None:
    found = problems("dynamo.vllm", "--foo", "--enforce-eager", "true", "--block-size", "x", "--bar")
    assert [item.code for item in found] == ["VS421", "VS422", "VS430", "VS421"]


def test_unknown_flags_are_warnings_for_private_builds() -> None:
    words = ("--foo", "--kv-cache-dtype", "mine", "--enforce-eager", "true")
    found = check(Command(words, "dynamo.vllm", NEWEST), allow_unknown_flags=True)
    assert [(item.code, item.severity) for item in found] == [
        ("VS421", "warning"),
        ("VS424", "warning"),
        ("VS422", "error"),
    ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_wrong_flag_is_caught_in_every_program(program: str) -> None:
    assert [item.code for item in problems(program, "--no-such-flag-anywhere")] == ["VS421"]


# ── values ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_value_after_a_switch() -> None:
    assert said("dynamo.vllm", "--enforce-eager", "true", role="agg") == [
        "VS422 vLLM 0.31.0: --enforce-eager takes no value, but 'true' follows (agg)"
    ]
    assert said("dynamo.vllm", "--enforce-eager=true") == [
        (
            "VS422 vLLM 0.31.0: --enforce-eager takes no value, but 'true' is given | write "
            "--enforce-eager alone, or leave it out"
        )
    ]


def test_no_value_where_one_is_taken() -> None:
    assert said("dynamo.vllm", "--max-num-seqs", "--enforce-eager") == [
        (
            "VS423 vLLM 0.31.0: --max-num-seqs needs a value | for a value that begins with a dash write "
            "--max-num-seqs=VALUE"
        )
    ]
    assert said("dynamo.sglang", "--model-path") == ["VS423 SGLang 0.5.21: --model-path needs a value"]


def test_a_second_value_where_one_is_taken() -> None:
    assert said("dynamo.vllm", "--max-num-seqs", "8", "9") == [
        "VS422 vLLM 0.31.0: --max-num-seqs takes only one value, but '9' follows | one word a value"
    ]


def test_a_word_of_no_flag() -> None:
    (found,) = problems("dynamo.vllm", "modell")
    assert (found.code, found.message) == ("VS437", "dynamo.vllm 1.6.1 takes no word such as 'modell'")


def test_lists_and_negative_numbers_are_values() -> None:
    assert not problems(
        "dynamo.vllm", "--cudagraph-capture-sizes", "1", "2", "4", "--max-num-seqs", "4"
    )
    assert not problems("dynamo.sglang", "--chunked-prefill-size", "-1")
    assert not problems("dynamo.sglang", "--cuda-graph-bs-decode", "1", "2")


def test_a_choice_outside_the_list() -> None:
    found = said("dynamo.sglang", "--moe-a2a-backend", "deep-ep")
    assert len(found) == 1
    assert found[0].startswith(
        "VS424 SGLang 0.5.21: --moe-a2a-backend does not accept 'deep-ep' | did you mean deepep, deepep_v2? it accepts "
    )


def test_choices_that_the_component_adds() -> None:
    words = ("--disaggregation-mode", "encode", "--load-format", "gms", "--enable-multimodal")
    assert not problems("dynamo.sglang", *words)
    assert [item.code for item in problems("sglang.launch_server", *words[:4])] == ["VS424", "VS424"]


def test_choices_that_are_read_without_case_or_dashes() -> None:
    assert not problems("dynamo.vllm", "--moe-backend", "Flashinfer-Cutlass")
    assert [item.code for item in problems("dynamo.vllm", "--moe-backend", "mine")] == ["VS424"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--tensor-parallel-size", "two"), "takes a whole number, not 'two'"),
        (("--gpu-memory-utilization", "much"), "takes a number, not 'much'"),
        (("--max-num-batched-tokens", "8x"), "takes a number, such as 8192 or 8k, not '8x'"),
        (("--kv-transfer-config", "{kv_role: x}"), "takes JSON, not '{kv_role: x}'"),
    ],
)
def test_values_of_the_wrong_type(words: Sequence[str], wanted: str) -> None:
    (found,) = said("dynamo.vllm", *words)
    assert found == f"VS430 vLLM 0.31.0: {words[0]} {wanted}"


@pytest.mark.parametrize(
    "words",
    [
        ("--tensor-parallel-size", "$TP"),
        ("--data-parallel-start-rank", "$((FPM_NODE_RANK * 8))"),
        ("--node-rank", "$(NODE_RANK)"),
        ("--kv-cache-dtype", "$DTYPE"),
        ("--max-model-len", "-1"),
        ("--max-model-len", "25.6k"),
        ("--kv-transfer-config", '{"cpu_bytes_to_use": 80m}'),
        ("--speculative-config", '{"method":"mtp"}'),
    ],
)
def test_values_that_are_fine_or_filled_in_later(words: Sequence[str]) -> None:
    assert not problems("dynamo.vllm", *words)


# ── spellings ───────────────────────────────────────────────────────────────────────────────────────────


def test_flags_given_twice_in_any_spelling() -> None:
    assert said("dynamo.vllm", "-tp", "2", "--tensor_parallel_size=4", role="decode") == [
        "VS425 --tensor_parallel_size is given twice (decode) | first as -tp 2"
    ]
    assert said("dynamo.vllm", "--enable-prefix-caching", "--no-enable-prefix-caching") == [
        "VS425 --no-enable-prefix-caching is given twice | first as --enable-prefix-caching"
    ]
    assert said("dynamo.sglang", "--tp-size", "2", "--tensor-parallel-size", "2") == [
        "VS425 --tensor-parallel-size is given twice | first as --tp-size 2"
    ]


def test_an_abbreviation_is_told_with_what_it_stands_for() -> None:
    assert said("dynamo.vllm", "--max-num-seqs", "8", "--max-num-seq", "16") == [
        "VS425 --max-num-seq (read as --max-num-seqs) is given twice | first as --max-num-seqs 8"
    ]


def test_flags_that_may_be_repeated_are_not_reported() -> None:
    assert not problems("vllm.serve", "m", "--middleware", "a.b", "--middleware", "c.d")


def test_underscores_and_short_forms_are_vllms_only() -> None:
    assert not problems("dynamo.vllm", "--max_num_seqs", "8", "--max-num-b", "16")
    assert [item.code for item in problems("dynamo.sglang", "--max_running_requests", "8")] == ["VS421"]


def test_a_component_that_takes_no_short_forms() -> None:
    assert not problems("dynamo.sglang", "--dump-config-t", "/x")
    assert [item.code for item in problems("dynamo.vllm", "--dump-config-t", "/x")] == ["VS421"]


def test_a_beginning_that_fits_several_flags_is_unknown() -> None:
    assert [item.code for item in problems("dynamo.vllm", "--max-num", "8")] == ["VS421"]


def test_json_flags_by_their_parts() -> None:
    words = ("--compilation-config", '{"mode":3}', "--compilation-config.cudagraph_mode", "FULL")
    assert not problems("dynamo.vllm", *words, "--compilation_config.pass_config.x+=1", "-O3")
    assert [item.code for item in problems("dynamo.vllm", "--max-num-seqs.x", "1")] == ["VS421"]


def test_a_negative_that_a_release_spells_the_other_way() -> None:
    words = ("--disable-prefix-caching",)
    assert not problems("vllm.serve", "m", *words, vllm="0.33.0")
    assert [item.code for item in problems("vllm.serve", "m", *words)] == ["VS421"]


# ── programs ────────────────────────────────────────────────────────────────────────────────────────────


def test_vllm_serve_takes_its_own_flags_and_one_model() -> None:
    assert not problems(
        "vllm.serve", "Qwen/Qwen3-32B", "--port", "8000", "-tp", "2", "--api-key", "a", "b"
    )
    assert [item.code for item in problems("vllm.serve", "a", "b")] == ["VS437"]
    assert not problems("vllm serve", "a")


def test_the_frontend_takes_an_engines_flags_only_in_that_mode() -> None:
    words = ("--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
    assert [item.code for item in problems("dynamo.frontend", *words)] == ["VS421", "VS421"]
    assert not problems("dynamo.frontend", "--dyn-chat-processor", "vllm", *words)
    assert not problems("dynamo.frontend", "--dyn-chat-processor=sglang", *words)
    assert [
        i.code
        for i in problems("dynamo.frontend", "--dyn-chat-processor=sglang", "--max-num-seqs", "1")
    ]


def test_dynamic_flags_of_trtllm() -> None:
    words = ("--trtllm.kv_cache_config.dtype", "fp8", "--model-path", "m")
    assert not problems("dynamo.trtllm", *words)
    assert said("dynamo.trtllm", *words, dynamo="1.0.2") == [
        (
            "VS421 dynamo.trtllm 1.0.2 does not know --trtllm.… flags | known from 1.1.0; use "
            "--override-engine-args"
        )
    ]
    assert said("dynamo.trtllm", "--trtllm.max_batch_size", "--model-path", "m") == [
        (
            "VS423 dynamo.trtllm 1.6.1: --trtllm.max_batch_size needs a value | for a value that begins "
            "with a dash write --trtllm.max_batch_size=VALUE"
        )
    ]
    assert said("dynamo.trtllm", *words, "--override-engine-args", "{}") == [
        (
            "VS429 --trtllm.kv_cache_config.dtype and --override-engine-args exclude each other | put both "
            "into --override-engine-args"
        )
    ]


def test_deprecated_flags_are_notes() -> None:
    (found,) = problems("dynamo.sglang", "--cuda-graph-bs", "8", dynamo="1.4.2", sglang="0.5.16")
    assert (found.code, found.severity) == ("VS428", "note")
    assert found.message == "--cuda-graph-bs is deprecated in SGLang 0.5.16"
    assert found.hint == "use --cuda-graph-bs-decode, --cuda-graph-bs-prefill"


def test_flags_that_are_only_there_to_refuse() -> None:
    assert said("sglang.launch_server", "--enable-expert-distribution-metrics", sglang="0.5.18") == [
        (
            "VS429 SGLang 0.5.18 refuses --enable-expert-distribution-metrics: it is only there to say that "
            "it is gone | use --expert-balancedness-report-mode"
        )
    ]


# ── releases ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_release_without_catalog_uses_the_nearest_older_one() -> None:
    assert said("vllm.serve", "m", vllm="0.21.0") == [
        (
            "VS420 warning: the flags of vLLM 0.21.0 are not known; those of 0.20.2 are used | in a "
            "checkout: make engine-catalog ENGINE=vllm VERSION=0.21.0"
        )
    ]
    (found,) = problems("dynamo.planner", dynamo="1.9.0")
    assert found.message == "the flags of dynamo.planner 1.9.0 are not known; those of 1.6.1 are used"


def test_a_base_number_means_its_post_release() -> None:
    assert not problems(
        "dynamo.vllm", "--disaggregation-mode", "prefill", dynamo="1.2.0", vllm="0.20.1"
    )


def test_a_release_older_than_all_is_an_error() -> None:
    assert said("vllm.serve", "m", "--foo", vllm="0.9.2") == [
        "VS426 vLLM 0.9.2 is older than all releases whose flags are known | the oldest is 0.10.2"
    ]


def test_a_release_that_is_no_number_is_an_error() -> None:
    assert [item.code for item in problems("vllm.serve", "m", vllm="latest")] == ["VS426"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("{}", "no entry 'engine'"),
        ('{"engine":"vllm","version":"1.0","flags":{"--a":{"colour":1}}}', "colour"),
        ("[]", "list indices must be integers or slices, not str"),
    ],
)
def test_a_corrupt_catalog_is_an_error_with_its_path(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "vllm-1.0.json"
    file.write_text(content)
    (found,) = check(Command(("m",), "vllm.serve", {"vllm": "1.0"}), shelf=Shelf(tmp_path))
    assert found.code == "VS427"
    assert found.message.startswith(f"{file}: not a flag catalog: ")
    assert reason in found.message
    assert found.hint == "make it again: make engine-catalog ENGINE=vllm VERSION=1.0"


def test_an_empty_shelf_is_an_error(tmp_path: Path) -> None:
    (found,) = check(Command((), "vllm.serve", {"vllm": "1.0"}), shelf=Shelf(tmp_path))
    assert found.code == "VS426"


def test_every_committed_catalog_can_be_read() -> None:
    for engine in catalogs.shelf().engines():
        for version in catalogs.shelf().versions(engine):
            assert catalogs.shelf().catalog(engine, version).version == version


# ── places ──────────────────────────────────────────────────────────────────────────────────────────────


def test_problems_stand_at_the_word_that_is_wrong() -> None:
    source = Source.from_text("deploy.yaml", "extra_cli_args: [--foo, --kv-cache-dtype, fp7]")
    places = [Position(source, 1, column, 5) for column in (18, 25, 43)]
    words = ("--foo", "--kv-cache-dtype", "fp7")
    found = check(Command(words, "dynamo.vllm", NEWEST, places, "decode"))
    assert [str(item.at) for item in found] == ["deploy.yaml:1:18", "deploy.yaml:1:43"]


def test_generated_words_have_no_place_and_are_checked_all_the_same() -> None:
    (found,) = check(Command(("--foo",), "dynamo.vllm", NEWEST, [None]))
    assert found.at is None


def test_a_flag_given_twice_names_the_first_place() -> None:
    source = Source.from_text("a.yaml", "x: 1")
    words = ("--seed", "1", "--seed", "2")
    places = [Position(source, 1, 4), None, None, None]
    (found,) = check(Command(words, "dynamo.vllm", NEWEST, places))
    assert found.hint == "first as --seed 1 at a.yaml:1:4"


def test_diagnostics_are_plain_values() -> None:
    found = problems("dynamo.vllm", "--foo")
    assert json.loads(json.dumps([item.as_dict() for item in found]))[0]["code"] == "VS421"
