# SPDX-License-Identifier: Apache-2.0
"""Keys of TensorRT-LLM's engine file by release."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from valuesmith.deployment import Process, Role
from valuesmith.diagnostics import Position, Source, render
from valuesmith.tree import Leaf, Origin
from valuesmith.validate import engine_config
from valuesmith.validate.engine_config import check

NEWEST = "1.3.0rc29"


def said(config: dict[str, Any], version: str = NEWEST, **more: Any) -> list[str]:
    return [render(item).replace("\n      | ", " | ") for item in check(config, version, **more)]


def test_limits_moved_from_build_config_to_the_top() -> None:
    config = {"build_config": {"max_batch_size": 8}}
    assert said(config, "1.2.0rc3") == []
    assert said(config, "1.2.0rc5", role="decode") == [
        (
            "VS432 TensorRT-LLM 1.2.0rc5 does not know build_config (decode) | known before 1.2.0rc5; use "
            "max_batch_size, max_num_tokens and max_seq_len at the top"
        )
    ]
    assert said({"max_batch_size": 8}, "1.2.0rc3") == []


def test_a_key_of_later_releases_says_from_when() -> None:
    assert said({"kv_cache_config": {"tokens_per_block": 32}}, "1.0.0") == [
        "VS432 TensorRT-LLM 1.0.0 does not know kv_cache_config.tokens_per_block | known from 1.1.0rc3"
    ]
    assert said({"kv_cache_config": {"tokens_per_block": 32}}, "1.2.0rc2") == []


@pytest.mark.parametrize(
    ("version", "backend", "fits"),
    [
        ("1.2.0rc6.post1", "CUTLASS", True),
        ("1.3.0rc25", "WIDEEP", True),
        ("1.3.0rc29", "WIDEEP", False),
        ("1.2.0rc6.post1", "AUTO", False),
        ("1.3.0rc29", "AUTO", True),
        ("1.3.0rc29", "MEGAMOE_X", True),
        ("1.3.0rc29", "cutlass", False),
    ],
)
def test_moe_backends_by_release(version: str, backend: str, fits: bool) -> None:
    found = check({"moe_config": {"backend": backend}}, version)
    assert [item.code for item in found] == ([] if fits else ["VS438"])


def test_a_value_outside_the_list_names_the_list() -> None:
    assert said({"cache_transceiver_config": {"backend": "MOONCAKE"}}, "1.1.0rc5") == [
        (
            "VS438 TensorRT-LLM 1.1.0rc5: cache_transceiver_config.backend does not accept 'MOONCAKE' | it "
            "accepts DEFAULT, UCX, NIXL, MPI"
        )
    ]
    assert said({"cache_transceiver_config": {"backend": "MOONCAKE"}}, "1.2.0rc2") == []
    assert said({"cache_transceiver_config": {"backend": None}}) == []


def test_a_slip_is_an_error_and_a_key_unheard_of_a_warning() -> None:
    assert said({"max_batchsize": 8}) == [
        "VS432 TensorRT-LLM 1.3.0rc29 does not know max_batchsize | did you mean max_batch_size?"
    ]
    (found,) = check({"something_new": 1}, NEWEST)
    assert (found.code, found.severity) == ("VS439", "warning")


def test_open_maps_are_not_looked_into() -> None:
    assert said({"lora_config": {"anything": 1}, "sparse_attention_config": {"x": 2}}) == []


def test_unknown_keys_are_warnings_for_private_builds() -> None:
    config = {"max_batchsize": 8, "build_config": {}, "moe_config": {"backend": "MINE"}}
    found = check(config, NEWEST, allow_unknown_flags=True)
    assert {item.severity for item in found} == {"warning"}
    assert len(found) == 3


def test_problems_stand_at_their_keys() -> None:
    at = Position(Source.from_text("decode_config.yaml", "x:\n"), 4, 3)
    (found,) = check(
        {"kv_cache_config": {"dtyp": "auto"}}, NEWEST, place={("kv_cache_config", "dtyp"): at}.get
    )
    assert found.at == at


def test_every_key_of_the_table_has_its_parent() -> None:
    table = engine_config.table()
    for key in table:
        parent = key.rpartition(".")[0]
        assert not parent or parent in table


def test_engine_files_of_a_deployment_stand_where_their_values_were_said() -> None:
    at = Position(Source.from_text("deploy.yaml", "moe_backend: WIDEEP\n"), 1, 1, 11)
    leaf = Leaf("WIDEEP", Origin("input", at))
    process = Process("dynamo.trtllm", (), {}, {}, (), {("moe_config", "backend"): leaf})
    role = Role("decode", Leaf(1, Origin("input")), {}, {}, None, process)
    deployment = SimpleNamespace(roles=(role, Role("prefill", leaf, {}, {})), backend_version=NEWEST)
    (found,) = engine_config.of_deployment(deployment)  # type: ignore[arg-type]
    assert found.at == at
    assert (
        found.message == "TensorRT-LLM 1.3.0rc29: moe_config.backend does not accept 'WIDEEP' (decode)"
    )
    deployment.backend_version = "1.3.0rc25"
    assert engine_config.of_deployment(deployment) == []  # type: ignore[arg-type]
