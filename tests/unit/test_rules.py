# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
# (each exact message stands in one line)
"""The rule language: what a file means, how layers join, and what is said about mistakes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_deployments import deployment, values, vocabulary

from valuesmith import rules
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, ConfigError, Diagnostic, Source
from valuesmith.rules.parse import parse

PD = {"prefill": {"max_batch_size": 4}, "decode": {"max_batch_size": 64}}


def rule_file(folder: Path, text: str, name: str = "mine") -> Path:
    (folder / name).mkdir(exist_ok=True)
    path = folder / name / "vllm.rule"
    path.write_text(text, encoding="utf-8")
    return path


def run(folder: Path, text: str, made: Deployment | None = None) -> Deployment:
    """*made* (prefill and decode by default) after a rule file of this *text*."""
    rule_file(folder, text)
    loaded = rules.load_rules("mine", "vllm", vocabulary(), base=folder)
    return rules.apply(loaded, made or deployment("vllm", PD))


def check(text: str) -> list[str]:
    """``line:column: CODE message | hint`` of every problem of a rule file."""
    problems = Collector()
    parse(Source.from_text("mine.rule", text), vocabulary(), problems)
    return [said(item) for item in problems.items]


def said(item: Diagnostic) -> str:
    place = f"{item.at.line}:{item.at.column}: " if item.at else ""
    return f"{place}{item.code} {item.message}" + (f" | {item.hint}" if item.hint else "")


def problems_of(folder: Path, text: str, made: Deployment | None = None) -> list[Diagnostic]:
    with pytest.raises(ConfigError) as caught:
        run(folder, text, made)
    return list(caught.value.diagnostics)


# --- what lines mean -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "prefill", "decode"),
    [
        ("decode max_batch_size = 5", 4, 5),
        ("agg_decode max_batch_size = 5", 4, 5),
        ("prefill decode max_batch_size = 5", 5, 5),
        ("agg_prefill decode max_batch_size = max_batch_size * 2", 8, 128),
        ("max_batch_size = max_batch_size + 1", 5, 65),
        ("agg max_batch_size = 5", 4, 64),
        ("when max_batch_size > 8:\n  max_batch_size = 9", 4, 9),
        ("when max_batch_size > 2:\n  when max_batch_size < 8:\n      max_batch_size = 9", 9, 64),
        ("when max_batch_size > 8:\n  max_batch_size = 7\n  max_batch_size = 9", 4, 7),
        ("when max_batch_size > 8:\n  decode max_batch_size = 9\nprefill max_batch_size = 1", 1, 9),
        ("max_batch_size = given.max_batch_size + 1\nmax_batch_size = given.max_batch_size + 2", 6, 66),
        ("prefill max_batch_size = params.decode.max_batch_size", 64, 64),
        ("decode max_batch_size = 5\nprefill max_batch_size = params.decode.max_batch_size", 5, 5),
        ("max_batch_size = 1 if params.agg else 2", 2, 2),
        ("max_batch_size = params.agg.max_batch_size or 3", 3, 3),
        ("max_batch_size = SlaConfig.isl // 1000", 4, 4),
        ("max_batch_size=7   # why", 7, 7),
        ("# nothing\n\n  \nmax_batch_size = 7\r", 7, 7),
        ("\ufeffmax_batch_size = 7", 7, 7),
        ("decode max_batch_size = none", 4, None),
        ('when backend == "vllm" and backend_version > "0.9":\n  decode max_batch_size = 1', 4, 1),
        ('when target == "dynamo" and dynamo_version < "1.10":\n  decode max_batch_size = 1', 4, 1),
    ],
)
def test_a_line_runs_for_the_roles_that_it_names(
    tmp_path: Path, text: str, prefill: int, decode: int
) -> None:
    done = run(tmp_path, text)
    found = [values(done, role).get("max_batch_size") for role in ("prefill", "decode")]
    assert found == [prefill, decode]


def test_what_was_given_stays_beside_what_rules_made_of_it(tmp_path: Path) -> None:
    done = run(tmp_path, "decode max_batch_size = max_batch_size + SlaConfig.isl")
    decode = done.role("decode")
    assert decode is not None
    assert decode.given["max_batch_size"].value == 64
    origin = decode.parameters["max_batch_size"].origin
    assert origin.kind == "rule"
    assert str(origin.at) == "mine/vllm.rule:1:1"
    assert origin.text == "decode max_batch_size = max_batch_size + SlaConfig.isl"
    assert [(name, leaf.value) for name, leaf in origin.reads] == [
        ("max_batch_size", 64),
        ("SlaConfig.isl", 4000),
    ]
    assert origin.replaced is decode.given["max_batch_size"]


def test_what_a_condition_reads_counts_as_a_reason(tmp_path: Path) -> None:
    made = deployment("vllm", PD, {"ModelConfig.nextn": 2})
    done = run(tmp_path, 'when ModelConfig.nextn:\n  decode speculative_decoding_type = "mtp"', made)
    decode = done.role("decode")
    assert decode is not None
    reads = decode.parameters["speculative_decoding_type"].origin.reads
    assert [(name, leaf.is_user) for name, leaf in reads] == [("ModelConfig.nextn", True)]


def test_a_value_that_a_rule_would_not_change_stays_the_users(tmp_path: Path) -> None:
    decode = run(tmp_path, "max_batch_size = max_batch_size or 1").role("decode")
    assert decode is not None
    assert decode.parameters["max_batch_size"].is_user


def test_true_does_not_count_as_the_number_one(tmp_path: Path) -> None:
    made = deployment("vllm", {"agg": {"enable_chunked_prefill": True}})
    with pytest.raises(ConfigError, match="must be a boolean, and this is 1"):
        run(tmp_path, "enable_chunked_prefill = 1", made)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("max_batch_size = 8 - 13", "agg: max_batch_size must be at least 0, and this is -5"),
        ("max_batch_size = true", "agg: max_batch_size must be a whole number, and this is true"),
        ("max_batch_size = 2.5", "agg: max_batch_size must be a whole number, and this is 2.5"),
        ("kv_cache_dtype = 8", "agg: kv_cache_dtype must be a text, and this is 8"),
        ("cuda_graph_batch_sizes = 4", "agg: cuda_graph_batch_sizes must be a list, and this is 4"),
        (
            "cuda_graph_batch_sizes = [1, 'a']",
            "agg: cuda_graph_batch_sizes must be a whole number, and ",
        ),
        ("memory = 'much'", 'agg: memory must be a number, and this is "much"'),
        ("BenchConfig.isl = 0", "BenchConfig.isl must be at least 1, and this is 0"),
        ("ModelConfig.is_moe = 'yes'", 'ModelConfig.is_moe must be a boolean, and this is "yes"'),
        ("K8sConfig.fpm_orchestrator = 'x'", "K8sConfig.fpm_orchestrator must be one of lws, grove"),
        ("DynConfig.router_config = [1]", "DynConfig.router_config must be a map"),
    ],
)
def test_what_a_rule_decides_is_what_the_key_may_have(tmp_path: Path, line: str, problem: str) -> None:
    made = deployment("vllm", {"agg": {}})
    with pytest.raises(ConfigError) as caught:
        run(tmp_path, f"{line}\nmax_seq_len = max_batch_size and 3", made)
    (found,) = caught.value.diagnostics
    assert found.code == "VS306"
    assert problem in found.message
    assert found.at is not None
    assert (found.at.line, found.at.column) == (1, line.index("=") + 3)


def test_a_section_key_is_set_once_and_later_lines_see_it(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "BenchConfig.isl = params.decode.max_batch_size\ndecode max_batch_size = BenchConfig.isl + 1",
    )
    assert done.config.value("BenchConfig.isl") == 64
    assert values(done, "decode")["max_batch_size"] == 65
    leaf = done.config.leaf("BenchConfig.isl")
    assert leaf is not None
    assert (leaf.origin.kind, str(leaf.at)) == ("rule", "mine/vllm.rule:1:1")


def test_a_key_inside_a_map_is_set_without_losing_its_neighbours(tmp_path: Path) -> None:
    made = deployment("vllm", PD, {"DynConfig.router_config": {"router_ttl_secs": 3}})
    done = run(tmp_path, "DynConfig.router_config.kv_cache_block_size = 32", made)
    assert done.config.value("DynConfig.router_config") == {
        "router_ttl_secs": 3,
        "kv_cache_block_size": 32,
    }
    assert made.config.value("DynConfig.router_config") == {"router_ttl_secs": 3}
    assert run(tmp_path, "DynConfig.router_config.a = 1").config.value("DynConfig.router_config") == {
        "a": 1
    }


def test_a_rule_may_change_the_number_of_workers(tmp_path: Path) -> None:
    decode = run(tmp_path, "WorkerConfig.decode_workers = 3").role("decode")
    assert decode is not None
    assert decode.replicas.value == 3


def test_what_set_gave_no_rule_changes(tmp_path: Path) -> None:
    made = deployment(
        "vllm",
        PD,
        {"DynConfig.enable_router": False},
        pinned=("max_batch_size", "DynConfig.enable_router"),
    )
    done = run(tmp_path, "max_batch_size = 1\nDynConfig.enable_router = true", made)
    assert values(done, "decode")["max_batch_size"] == 64
    assert done.config.value("DynConfig.enable_router") is False


LIMITS = [
    "max_batch_size",
    "max_num_tokens",
    "max_prefill_tokens",
    "max_seq_len",
    "cache_transceiver_max_tokens_in_buffer",
]


def test_preserved_limits_are_kept_where_given_and_filled_where_not(tmp_path: Path) -> None:
    text = "\n".join(f"{name} = 1" for name in (*LIMITS, "tokens_per_block"))
    given_limits = dict.fromkeys((*LIMITS, "tokens_per_block"), 7)
    made = deployment("vllm", {"prefill": given_limits, "decode": {}}, {"preserve_engine_limits": True})
    done = run(tmp_path, text, made)
    assert values(done, "prefill") == {**dict.fromkeys(LIMITS, 7), "tokens_per_block": 1}
    assert values(done, "decode") == dict.fromkeys((*LIMITS, "tokens_per_block"), 1)


def test_without_preserving_rules_may_change_limits(tmp_path: Path) -> None:
    made = deployment("vllm", PD, {"preserve_engine_limits": False})
    assert values(run(tmp_path, "max_batch_size = 1", made), "decode")["max_batch_size"] == 1


# --- what cannot be evaluated ----------------------------------------------------------------------


def test_lines_that_need_the_request_length_are_left_out_with_one_warning_per_key(
    tmp_path: Path,
) -> None:
    made = deployment("vllm", PD, {"SlaConfig.isl": None, "SlaConfig.osl": None})
    done = run(
        tmp_path,
        "max_num_tokens = SlaConfig.isl + 1500\n"
        "max_seq_len = SlaConfig.isl + SlaConfig.osl\n"
        "decode max_batch_size = (SlaConfig.isl or 10) // 2\n"
        "when SlaConfig.osl > 3:\n    decode tokens_per_block = 3\n"
        'require SlaConfig.isl < 3, "never evaluated"',
        made,
    )
    assert values(done, "decode") == {"max_batch_size": 5}
    assert [(said(item), item.severity) for item in done.diagnostics] == [
        (
            (
                "1:18: VS319 SlaConfig.isl is not given: rules that need it leave out max_num_tokens, max_seq_len"
                " | give SlaConfig.isl, or these parameters yourself"
            ),
            "warning",
        ),
        (
            (
                "2:31: VS319 SlaConfig.osl is not given: rules that need it leave out max_seq_len, tokens_per_block"
                " | give SlaConfig.osl, or these parameters yourself"
            ),
            "warning",
        ),
    ]


def test_arithmetic_on_an_unset_parameter_names_roles_and_place(tmp_path: Path) -> None:
    found = problems_of(
        tmp_path, "max_num_tokens = max_seq_len * 2\nmax_batch_size = max_num_tokens + 1"
    )
    assert [said(item) for item in found] == [
        (
            "1:18: VS303 prefill, decode: max_seq_len is unset"
            " | write (max_seq_len or 1) if an unset one counts as 1"
        )
    ]


def test_all_evaluation_problems_come_in_one_run(tmp_path: Path) -> None:
    found = problems_of(
        tmp_path,
        "decode max_batch_size = 1 // 0\nprefill max_batch_size = 'a' - 1\n"
        "DynConfig.enable_router = params.decode.max_seq_len + 1\n"
        "when max_seq_len > 3:\n    decode tokens_per_block = 3",
    )
    assert [said(item).split(" | ")[0] for item in found] == [
        "1:27: VS304 decode: division by zero",
        "2:30: VS304 prefill: - does not work on a text and a number",
        "3:27: VS303 params.decode.max_seq_len is unset",
        "4:6: VS303 decode: max_seq_len is unset",
    ]


# --- require ---------------------------------------------------------------------------------------


def test_a_broken_requirement_points_at_what_the_user_wrote(tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, '\nrequire max_batch_size <= 8, "a batch of 8 is the limit"')
    assert str(found.at) == "deploy.yaml:4:24"
    assert found.code == "VS318"
    assert found.message == "decode: a batch of 8 is the limit (max_batch_size 64)"
    assert found.hint == "required by mine/vllm.rule:2"


def test_a_broken_requirement_on_a_rules_own_value_points_at_what_it_came_from(tmp_path: Path) -> None:
    (found,) = problems_of(
        tmp_path, 'decode max_num_tokens = max_batch_size * 2\nrequire (max_num_tokens or 0) <= 8, "no"'
    )
    assert str(found.at) == "deploy.yaml:4:24"
    assert found.message == "decode: no (max_num_tokens 128)"


def test_a_broken_requirement_without_any_user_value_points_at_the_rule(tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, 'require max_seq_len, "say how long a request may be"')
    assert said(found) == (
        "1:1: VS318 prefill, decode: say how long a request may be (max_seq_len unset)"
    )


def test_a_requirement_on_sections_is_checked_once(tmp_path: Path) -> None:
    (found,) = problems_of(
        tmp_path, "require SlaConfig.isl < 5 and params.decode.max_batch_size < 5, 'too \\'much\\''"
    )
    assert said(found) == (
        "1:16: VS318 too 'much' (SlaConfig.isl 4000, params.decode.max_batch_size 64)"
        " | required by mine/vllm.rule:1"
    )


def test_a_requirement_under_a_when_is_checked_where_that_holds(tmp_path: Path) -> None:
    text = 'when max_batch_size < 8:\n    require max_batch_size > 4, "small"'
    (found,) = problems_of(tmp_path, text)
    assert found.message == "prefill: small (max_batch_size 4)"


def test_several_broken_requirements_come_together(tmp_path: Path) -> None:
    found = problems_of(tmp_path, 'require max_batch_size > 4, "a"\nrequire max_batch_size < 8, "b"')
    assert [item.message for item in found] == [
        "prefill: a (max_batch_size 4)",
        "decode: b (max_batch_size 64)",
    ]


# --- what is wrong with a file ---------------------------------------------------------------------

FORMS = 'a line is `[ROLE] NAME = EXPR`, `when EXPR:`, `require EXPR, "MESSAGE"` or `extends NAME`'
CLOSE = "did you mean max_batch_size, cuda_graph_max_batch_size, cuda_graph_batch_sizes?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("decode x = max_batch_sze", ["1:8: VS313 unknown parameter x", f"1:12: VS312 unknown name max_batch_sze | {CLOSE}"]),
        ("deocde max_batch_size = 1", ["1:1: VS311 unknown role deocde | did you mean decode?"]),
        ("agg_foo max_batch_size = 1", ["1:5: VS311 unknown role foo | the roles are agg, prefill, decode, encode, joined by _"]),
        ("agg_ max_batch_size = 1", ["1:5: VS311 unknown role agg_ | the roles are agg, prefill, decode, encode, joined by _"]),
        ("decode max_bach_size = 1", [f"1:8: VS313 unknown parameter max_bach_size | {CLOSE}"]),
        ("decode_max_batch_size = 1", ["1:1: VS313 unknown parameter decode_max_batch_size | did you mean decode max_batch_size?"]),
        ("decode = 1", ["1:1: VS313 unknown parameter decode | say what of decode: decode NAME = …"]),
        ("backend = 'vllm'", ["1:1: VS313 unknown parameter backend | a rule sets parameters and section keys; this is decided before"]),
        ("SlaConfig.islx = 1", ["1:1: VS313 unknown key SlaConfig.islx | did you mean SlaConfig.isl?"]),
        ("DynConfig.mode = 'agg'", ["1:1: VS313 DynConfig.mode is decided before the rules run"]),
        ("agg SlaConfig.isl = 1", ["1:5: VS313 SlaConfig.isl is set once, not per role | leave the role out"]),
        ("Workers.decode.max_seq_len = 1", ["1:1: VS313 Workers.decode.max_seq_len cannot be set | write decode max_seq_len = …"]),
        ("params.decode.max_seq_len = 1", ["1:1: VS313 params.decode.max_seq_len cannot be set | write decode max_seq_len = …"]),
        ("given.max_seq_len = 1", ["1:1: VS313 given.max_seq_len cannot be set | write ROLE max_seq_len = …"]),
        ("max_seq_len = params.decod.max_seq_len", ["1:15: VS312 unknown name params.decod.max_seq_len | did you mean decode, encode?"]),
        ("max_seq_len = params.decode.max_seq_ln", ["1:15: VS312 unknown name params.decode.max_seq_ln | did you mean params.decode.max_seq_len?"]),
        ("max_seq_len = given.zzz", ["1:15: VS312 unknown name given.zzz"]),
        ("max_seq_len = given", ["1:15: VS312 unknown name given | write given.NAME for one parameter"]),
        ("max_seq_len = Workers.agg.max_seq_len", ["1:15: VS312 unknown name Workers.agg.max_seq_len | write params.ROLE.NAME for the parameter of a role"]),
        ("max_seq_len = SlaConfg.isl", ["1:15: VS312 unknown name SlaConfg.isl | did you mean SlaConfig.isl, SlaConfig.osl, SlaConfig.ttft?"]),
        ("max_seq_len = zzz.yyy", ["1:15: VS312 unknown name zzz.yyy"]),
        ("max_seq_len = backend_versoin", ["1:15: VS312 unknown name backend_versoin | did you mean backend_version, backend?"]),
        ("when max_batch_sze > 1:\n  max_seq_len = 1", [f"1:6: VS312 unknown name max_batch_sze | {CLOSE}"]),
        ('require max_batch_sze, "x"', [f"1:9: VS312 unknown name max_batch_sze | {CLOSE}"]),
        ("max_seq_len = 1 +", ["1:18: VS301 the expression ends too early"]),
        ("max_seq_len =", ["1:14: VS301 the expression is empty"]),
        ("max_seq_len = 1 | foo_bar_baz_qux | abs", ["1:19: VS302 unknown filter foo_bar_baz_qux | "]),
        ("when true:\nmax_seq_len = 1", ["1:1: VS314 nothing stands below this when | indent the lines that it decides about"]),
        ("when true:\n    # only a comment\n", ["1:1: VS314 nothing stands below this when | indent the lines that it decides about"]),
        ("  max_seq_len = 1\n  max_seq_len = 2", ["1:3: VS314 unexpected indentation | only lines below a when are indented"]),
        ("when true:\n    max_seq_len = 1\n  max_seq_len = 2", ["3:3: VS314 this indentation matches no line above"]),
        ("when true:\n\tmax_seq_len = 1", ["2:1: VS314 indentation is by spaces | replace the tab"]),
        ("when true:\n    max_seq_len = 1\n    \tmax_seq_len = 2", ["3:5: VS314 indentation is by spaces | replace the tab"]),
        ("when true\n  max_seq_len = 1", ["1:9: VS310 a when line ends with a colon | what it decides about stands below it, indented"]),
        ("when true: max_seq_len = 1", ["1:26: VS310 a when line ends with a colon | what it decides about stands below it, indented"]),
        ("when :\n  max_seq_len = 1", ["1:6: VS301 the expression is empty"]),
        ("if true:\n  max_seq_len = 1", ["1:1: VS310 this is no statement | did you mean when?"]),
        ("hello", [f"1:1: VS310 this is no statement | {FORMS}"]),
        ("requires true, 'x'", ["1:1: VS310 this is no statement | did you mean require?"]),
        ("max_seq_len == 3", [f"1:1: VS310 this is no statement | {FORMS}"]),
        ("= 3", [f"1:1: VS310 there is no name before the = | {FORMS}"]),
        ("require max_seq_len", ['1:1: VS310 a require line ends with a comma and a message in quotes | for example: require max_batch_size <= 512, "the batch is too large"']),
        ("extends", ["1:1: VS315 extends names no rule set | for example: extends default"]),
        ("max_seq_len = 1\nextends default", ["2:1: VS315 extends must be the first statement"]),
        ("DynConfig.enable_router = max_seq_len", ["1:27: VS317 DynConfig.enable_router is set once, not per role: it cannot read max_seq_len | write params.decode.max_seq_len (or another role)"]),
        ("when given.max_seq_len:\n  DynConfig.enable_router = true", ["1:6: VS317 DynConfig.enable_router is set once, not per role: it cannot read given.max_seq_len | write params.decode.max_seq_len (or another role)"]),
    ],
)  # fmt: skip
def test_says_what_is_wrong_with_a_line(text: str, expected: list[str]) -> None:
    found = check(text)
    assert len(found) == len(expected)
    for line, start in zip(found, expected, strict=True):
        assert line == start or (start.endswith(" | ") and line.startswith(start))


def test_all_problems_of_a_file_are_found_in_one_run() -> None:
    found = check("decode x = 1\nwhen y:\n    z = w\nhello\n")
    assert [line.split(" ", 2)[:2] for line in found] == [
        ["1:8:", "VS313"],
        ["2:6:", "VS312"],
        ["3:5:", "VS313"],
        ["3:9:", "VS312"],
        ["4:1:", "VS310"],
    ]


def test_a_hash_in_quotes_is_no_comment(tmp_path: Path) -> None:
    done = run(tmp_path, "decode kv_cache_dtype = 'a#b' ~ \"#'\"  # really 'a comment")
    assert values(done, "decode")["kv_cache_dtype"] == "a#b#'"


def test_a_parameter_may_begin_like_a_keyword() -> None:
    assert check("whenever = 1")[0].startswith("1:1: VS313 unknown parameter whenever")
    assert check("when = 1")[0].startswith("1:1: VS313 unknown parameter when")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="when agdcode=1:_.\n\t\"'#(),<", max_size=60))
def test_any_text_is_parsed_or_refused_with_places(text: str) -> None:
    problems = Collector()
    parse(Source.from_text("mine.rule", text), vocabulary(), problems)
    assert all(item.at is not None for item in problems.items)


# --- rule sets and layers --------------------------------------------------------------------------


def loaded(folder: Path, name: str = "mine", **more: Any) -> rules.RuleSet:
    return rules.load_rules(name, "vllm", vocabulary(), base=folder, **more)


def shown(rule_set: rules.RuleSet) -> list[str]:
    return [
        f"{item.at.file}:{item.at.line} {'_'.join(getattr(item, 'roles', ()))}"
        for item in rule_set.statements
    ]


def layers(folder: Path, base: str, over: str) -> list[str]:
    rule_file(folder, base, "base")
    rule_file(folder, f"extends base\n{over}")
    return [line.replace("/vllm.rule", "") for line in shown(loaded(folder))]


def test_a_line_takes_the_place_of_the_bases_line_for_its_roles(tmp_path: Path) -> None:
    found = layers(
        tmp_path,
        "agg_decode max_batch_size = 1\nprefill max_batch_size = 2\nmax_seq_len = 3",
        "decode max_batch_size = 4\ntokens_per_block = 5",
    )
    assert found == [
        "mine:2 decode",
        "base:1 agg",
        "base:2 prefill",
        "base:3 agg_prefill_decode_encode",
        "mine:3 agg_prefill_decode_encode",
    ]


def test_all_lines_of_the_base_for_a_role_and_name_give_way_to_all_of_the_layers(
    tmp_path: Path,
) -> None:
    found = layers(
        tmp_path,
        "when max_seq_len:\n  decode max_batch_size = 1\nmax_seq_len = 2\ndecode max_batch_size = 3",
        "when not max_seq_len:\n  decode max_batch_size = 4\nagg_decode max_batch_size = 5",
    )
    assert found == ["mine:3 decode", "mine:4 decode", "base:3 agg_prefill_decode_encode", "mine:4 agg"]


def test_section_lines_are_replaced_too(tmp_path: Path) -> None:
    assert layers(tmp_path, "SlaConfig.isl = 1\nmax_seq_len = 1", "SlaConfig.isl = 2") == [
        "mine:2 ",
        "base:2 agg_prefill_decode_encode",
    ]


def test_what_the_base_requires_is_checked_after_what_a_layer_adds(tmp_path: Path) -> None:
    rule_file(
        tmp_path, 'max_num_tokens = 64\nrequire max_batch_size <= max_num_tokens, "budget"', "base"
    )
    with pytest.raises(ConfigError, match="budget"):
        run(tmp_path, "extends base\nmax_batch_size = 65")
    assert values(run(tmp_path, "extends base\nmax_batch_size = 63"), "decode")["max_batch_size"] == 63


def test_a_folder_may_extend_a_built_in_set(tmp_path: Path) -> None:
    done = run(tmp_path, "extends default\ndecode max_batch_size = 9")
    assert values(done, "decode") == {"max_batch_size": 9, "gpus_per_worker": 1, "max_num_tokens": 9}
    assert values(done, "prefill")["max_num_tokens"] == 5500


def test_files_are_named_without_absolute_paths(tmp_path: Path) -> None:
    rule_file(tmp_path, "extends default\ndecode max_seq_len = 1")
    files = {item.at.file for item in loaded(tmp_path).statements}
    assert files == {"mine/vllm.rule", "rules/default/vllm.rule"}


def test_a_base_is_found_beside_the_folder_or_inside_it(tmp_path: Path) -> None:
    rule_file(tmp_path, "extends sub")
    rule_file(tmp_path / "mine", "max_seq_len = 1", "sub")
    assert shown(loaded(tmp_path)) == ["mine/sub/vllm.rule:1 agg_prefill_decode_encode"]


def test_the_working_directory_is_searched_after_the_inputs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    rule_file(tmp_path / "here", "max_seq_len = 1")
    monkeypatch.chdir(tmp_path / "here")
    assert len(loaded(tmp_path).statements) == 1


def load_problem(folder: Path, name: str = "mine") -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(folder, name)
    return said(caught.value.diagnostics[0])


def test_an_unknown_rule_set_lists_those_that_exist(tmp_path: Path) -> None:
    assert load_problem(tmp_path, "defualt") == (
        'VS316 rule: there is no rule set "defualt"'
        " | did you mean default? there are default, benchmark, or the folder of your own"
    )
    assert load_problem(tmp_path, "") == (
        'VS316 rule: there is no rule set "" | there are default, benchmark, or the folder of your own'
    )


def test_an_unknown_base_is_reported_at_its_name(tmp_path: Path) -> None:
    rule_file(tmp_path, "extends defualt")
    assert load_problem(tmp_path).startswith('1:9: VS316 rule: there is no rule set "defualt"')


def test_a_file_in_place_of_a_folder_is_explained(tmp_path: Path) -> None:
    rule_file(tmp_path, "max_seq_len = 1")
    assert load_problem(tmp_path, "mine/vllm.rule") == (
        'VS316 rule: there is no rule set "mine/vllm.rule" | give the folder that holds vllm.rule'
    )


def test_a_set_without_this_backend_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sglang.rule").write_text("max_seq_len = 1")
    assert load_problem(tmp_path) == 'VS316 rule set "mine" has no vllm.rule | it has sglang.rule'


def test_a_circle_is_refused(tmp_path: Path) -> None:
    rule_file(tmp_path, "extends other")
    rule_file(tmp_path, "extends mine", "other")
    assert load_problem(tmp_path) == "1:9: VS315 extends mine goes round in a circle"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    rule_file(tmp_path, "")
    (tmp_path / "mine" / "vllm.rule").write_bytes(b"max_seq_len = 1\n\xff")
    assert load_problem(tmp_path).startswith("2:1: VS310 mine/vllm.rule is not UTF-8")


def test_a_huge_file_is_refused_at_once(tmp_path: Path) -> None:
    rule_file(tmp_path, "max_seq_len = 1\n" * 2001)
    assert load_problem(tmp_path) == "2001:1: VS310 a rule file has at most 2000 lines"
    rule_file(tmp_path, "#" * 200_001)
    assert load_problem(tmp_path) == "VS310 mine/vllm.rule is larger than 200000 bytes"


def test_a_file_full_of_problems_is_given_up(tmp_path: Path) -> None:
    names = ", ".join(f"max_batch_sz{number}" for number in range(200))
    rule_file(tmp_path, f"max_seq_len = [{names}]\n" * 40)
    started = time.perf_counter()
    found = rules.check_files([tmp_path / "mine" / "vllm.rule"], vocabulary())
    assert time.perf_counter() - started < 3
    assert len(found) == 121
    assert found[-1].message == "more than 100 problems; the rest is not looked at"


def test_all_lines_together_may_not_run_long(tmp_path: Path) -> None:
    started = time.perf_counter()
    found = problems_of(tmp_path, "max_seq_len = range(90000) | length\n" * 1000)
    assert time.perf_counter() - started < 3
    assert found[0].code == "VS305"
    assert found[0].hint == "make lists and texts smaller"


def test_checking_files_finds_the_problems_of_all_of_them(tmp_path: Path) -> None:
    first = rule_file(tmp_path, "extends default\nfoo = 1")
    rule_file(tmp_path, "bar = 1", "other")
    found = rules.check_files([first, tmp_path / "other", tmp_path / "none.rule"], vocabulary())
    assert [item.message for item in found] == [
        "unknown parameter foo",
        "unknown parameter bar",
        f"there is no file {tmp_path.as_posix()}/none.rule",
    ]
    (tmp_path / "empty").mkdir()
    (said_,) = rules.check_files([tmp_path / "empty"], vocabulary())
    assert said_.message == f"there is no rule file in {tmp_path.as_posix()}/empty"


def test_the_built_in_sets_are_listed_with_what_they_are_for() -> None:
    assert [(name, folder) for name, folder, _ in rules.list_rule_sets()] == [
        ("default", "rules/default"),
        ("benchmark", "rules/benchmark"),
    ]
    assert all(text.endswith(".") for _, _, text in rules.list_rule_sets())
