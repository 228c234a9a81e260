# SPDX-License-Identifier: Apache-2.0
"""The engines' own parsers, with small stand-in packages that have the same entry points."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from valuesmith.diagnostics import ConfigError, ToolError
from valuesmith.validate import native

Install = Callable[[dict[str, str]], None]

VLLM = {
    "vllm/__init__.py": "__version__ = '9.9'\n",
    "vllm/engine/__init__.py": "",
    "vllm/utils/__init__.py": "",
    "vllm/utils/argparse_utils.py": (
        "import argparse\n"
        "class FlexibleArgumentParser(argparse.ArgumentParser):\n"
        "    def parse_args(self, args=None, namespace=None):\n"
        "        return super().parse_args([a.replace('_', '-') if a[:2] == '--' else a for a in args], namespace)\n"
    ),
    "vllm/engine/arg_utils.py": (
        "class AsyncEngineArgs:\n"
        "    @staticmethod\n"
        "    def add_cli_args(parser):\n"
        "        parser.add_argument('--model')\n"
        "        parser.add_argument('--max-num-seqs', type=int)\n"
        "        parser.add_argument('--kv-transfer-config')\n"
        "        parser.add_argument('--node-rank', type=int)\n"
        "        return parser\n"
        "    @classmethod\n"
        "    def from_cli_args(cls, args):\n"
        "        if args.max_num_seqs == 13:\n"
        "            raise ValueError('13 is not allowed')\n"
    ),
    "vllm/entrypoints/__init__.py": "",
    "vllm/entrypoints/openai/__init__.py": "",
    "vllm/entrypoints/openai/cli_args.py": (
        "from vllm.engine.arg_utils import AsyncEngineArgs\n"
        "def make_arg_parser(parser):\n"
        "    parser.add_argument('model_tag', nargs='?')\n"
        "    parser.add_argument('--port', type=int)\n"
        "    return AsyncEngineArgs.add_cli_args(parser)\n"
    ),
}
SGLANG = {
    "sglang/__init__.py": "",
    "sglang/srt/__init__.py": "",
    "sglang/srt/server_args.py": (
        "class ServerArgs:\n"
        "    @staticmethod\n"
        "    def add_cli_args(parser):\n"
        "        parser.add_argument('--model-path')\n"
        "        parser.add_argument('--disaggregation-mode', choices=['null', 'prefill', 'decode'])\n"
        "        parser.add_argument('--cuda-graph-bs-decode', nargs='+', type=int)\n"
        "        parser.add_argument('--dump-config', choices=['all'])\n"
    ),
}
TRTLLM = {
    "tensorrt_llm/__init__.py": "__version__ = '1.3.0rc29'\n",
    "tensorrt_llm/llmapi/__init__.py": "",
    "tensorrt_llm/llmapi/llm_args.py": (
        "from types import SimpleNamespace as Field\n"
        "class KvCacheConfig:\n"
        "    model_fields = {'dtype': Field(annotation=str), 'tokens_per_block': Field(annotation=int)}\n"
        "    @classmethod\n"
        "    def model_validate(cls, value):\n"
        "        if not isinstance(value.get('tokens_per_block', 1), int):\n"
        "            raise ValueError('1 validation error\\ntokens_per_block\\n  not a number')\n"
        "class TorchLlmArgs:\n"
        "    model_fields = {\n"
        "        'max_batch_size': Field(annotation=int), 'kv_cache_config': Field(annotation=KvCacheConfig)}\n"
    ),
}
DEPLOY = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {{name: q}}
spec:
  components:
    - name: decode
      podTemplate:
        spec:
          containers:
            - name: main
              command: [python3, -m, {module}]
              args:
{words}
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts packages where they can be imported, for this test only."""
    tops = {name.split("/")[0] for files in (VLLM, SGLANG, TRTLLM) for name in files}
    for module in [name for name in sys.modules if name.split(".")[0] in tops]:
        monkeypatch.delitem(sys.modules, module)

    def put(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path / "site"))

    before = set(sys.modules)
    yield put  # type: ignore[misc]
    for module in [name for name in set(sys.modules) - before if name.split(".")[0] in tops]:
        del sys.modules[module]


def deploy(folder: Path, module: str, *words: str) -> str:
    file = folder / "k8s_deploy.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(
        DEPLOY.format(module=module, words="\n".join(f"                - '{w}'" for w in words))
    )
    return str(file)


def messages(*paths: str, backend: str | None = None) -> list[str]:
    return [f"{item.code} {item.message}" for item in native.check(paths, backend)]


# ── vLLM ────────────────────────────────────────────────────────────────────────────────────────────────


def test_vllm_takes_its_flags_and_leaves_dynamos(tmp_path: Path, install: Install) -> None:
    install(VLLM)
    words = (
        "--disaggregation-mode",
        "decode",
        "--model",
        "m",
        "--max_num_seqs",
        "8",
        "--dump-config-to=/x",
    )
    assert messages(deploy(tmp_path, "dynamo.vllm", *words), backend="vllm") == []


def test_vllm_refuses_a_flag_at_its_place(tmp_path: Path, install: Install) -> None:
    install(VLLM)
    (found,) = native.check(
        [deploy(tmp_path, "dynamo.vllm", "--model", "m", "--swap-space", "4")], "vllm"
    )
    assert found.code == "VS448"
    assert found.message == (
        "vLLM 9.9 refuses the command of decode: unrecognized arguments: --swap-space 4"
    )
    assert str(found.at) == f"{tmp_path / 'k8s_deploy.yaml'}:15:19"


def test_vllm_refuses_a_value_when_it_builds_its_arguments(tmp_path: Path, install: Install) -> None:
    install(VLLM)
    assert messages(deploy(tmp_path, "dynamo.vllm", "--max-num-seqs", "13")) == [
        "VS448 vLLM 9.9 refuses the command of decode: 13 is not allowed"
    ]
    assert messages(deploy(tmp_path, "dynamo.vllm", "--max-num-seqs", "x")) == [
        "VS448 vLLM 9.9 refuses the command of decode: argument --max-num-seqs: invalid int value: 'x'"
    ]


def test_words_that_are_filled_in_later_count_as_a_number(tmp_path: Path, install: Install) -> None:
    install(VLLM)
    assert (
        messages(deploy(tmp_path, "dynamo.vllm", "--node-rank", "$(RANK)", "--max-num-seqs", "$N"))
        == []
    )


def test_values_of_llmd_go_through_the_parser_of_vllm_serve(tmp_path: Path, install: Install) -> None:
    install(VLLM)
    file = tmp_path / "llm-d-values.yaml"
    file.write_text(
        "decode: {containers: [{name: vllm, modelCommand: vllmServe, args: [--port, '1', --foo]}]}\n"
    )
    assert messages(str(file), backend="vllm") == [
        "VS448 vLLM 9.9 refuses the command of decode: unrecognized arguments: --foo"
    ]


def test_a_folder_of_results(tmp_path: Path, install: Install) -> None:
    install(VLLM)
    deploy(tmp_path / "agg" / "top1", "dynamo.vllm", "--model", "m")
    deploy(tmp_path / "disagg" / "top1", "dynamo.vllm", "--foo")
    (found,) = native.check([str(tmp_path)], "vllm")
    assert found.at is not None
    assert found.at.file == str(tmp_path / "disagg" / "top1" / "k8s_deploy.yaml")


# ── SGLang ──────────────────────────────────────────────────────────────────────────────────────────────


def test_sglang_takes_its_flags_and_what_dynamo_translates(tmp_path: Path, install: Install) -> None:
    install(SGLANG)
    words = ("--model-path", "m", "--disaggregation-mode", "encode", "--cuda-graph-bs-decode", "1", "2")
    assert (
        messages(deploy(tmp_path, "dynamo.sglang", *words, "--embedding-worker"), backend="sglang")
        == []
    )


def test_sglang_refuses_a_dropped_flag_and_a_wrong_choice(tmp_path: Path, install: Install) -> None:
    install(SGLANG)
    (first,) = messages(deploy(tmp_path, "dynamo.sglang", "--cuda-graph-max-bs", "8"))
    assert first == (
        "VS448 SGLang refuses the command of decode: unrecognized arguments: --cuda-graph-max-bs 8"
    )
    (second,) = messages(deploy(tmp_path, "sglang.launch_server", "--disaggregation-mode", "encode"))
    assert "invalid choice: 'encode'" in second


def test_an_engines_flag_that_begins_like_a_components_is_the_engines(
    tmp_path: Path, install: Install
) -> None:
    install(SGLANG)
    (found,) = messages(deploy(tmp_path, "dynamo.sglang", "--dump-config", "none"))
    assert "argument --dump-config: invalid choice: 'none'" in found


# ── TensorRT-LLM ────────────────────────────────────────────────────────────────────────────────────────


def test_trtllm_knows_keys_at_every_level(tmp_path: Path, install: Install) -> None:
    install(TRTLLM)
    file = tmp_path / "decode_config.yaml"
    file.write_text(
        "max_batch_size: 8\nkv_cache_config:\n  dtyp: auto\nmax_num_tokenz: 1\nmax_seq_len: 2\n"
    )
    found = native.check([str(file)], "trtllm")
    assert [(item.message, str(item.at), item.hint) for item in found] == [
        (
            "TensorRT-LLM 1.3.0rc29 does not know kv_cache_config.dtyp",
            f"{file}:3:9",
            "did you mean dtype?",
        ),
        ("TensorRT-LLM 1.3.0rc29 does not know max_num_tokenz", f"{file}:4:17", ""),
        ("TensorRT-LLM 1.3.0rc29 does not know max_seq_len", f"{file}:5:14", ""),
    ]


def test_trtllm_refuses_nested_values(tmp_path: Path, install: Install) -> None:
    install(TRTLLM)
    file = tmp_path / "agg_config.yaml"
    file.write_text("max_batch_size: 1\nkv_cache_config: {tokens_per_block: many}\n")
    assert messages(str(file)) == [
        "VS448 TensorRT-LLM 1.3.0rc29 refuses kv_cache_config: tokens_per_block; not a number"
    ]


def test_trtllm_reads_overrides_on_the_command_line(tmp_path: Path, install: Install) -> None:
    install(TRTLLM)
    path = deploy(tmp_path, "dynamo.trtllm", "--override-engine-args", '{"max_batch_sise": 1}')
    assert messages(path, backend="trtllm") == [
        "VS448 TensorRT-LLM 1.3.0rc29 does not know max_batch_sise"
    ]


# ── what is missing ─────────────────────────────────────────────────────────────────────────────────────


def test_an_engine_that_is_not_there_is_said(tmp_path: Path, install: Install) -> None:
    install({"vllm/__init__.py": ""})
    with pytest.raises(
        ToolError, match=r"vLLM cannot be imported here: No module named 'vllm.engine'"
    ) as error:
        native.check([deploy(tmp_path, "dynamo.vllm", "--model", "m")])
    assert error.value.diagnostic.code == "VS440"
    assert error.value.diagnostic.hint == (
        "run this inside the vllm runtime image, or leave --engine-native out"
    )


def test_nothing_to_check(tmp_path: Path) -> None:
    path = deploy(tmp_path, "dynamo.vllm", "--model", "m")
    assert messages(path, backend="sglang") == [f"VS449 no command or engine file of SGLang in {path}"]
    with pytest.raises(ConfigError, match="there is nothing at nowhere"):
        native.check(["nowhere"])
    with pytest.raises(ConfigError, match=r"vlm is no engine\n.*did you mean vllm"):
        native.check([path], "vlm")


@pytest.mark.parametrize(
    ("backend", "package"), [("vllm", "vllm"), ("sglang", "sglang"), ("trtllm", "tensorrt_llm")]
)
def test_the_real_engine_builds_its_parser(backend: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; run the tests inside the runtime image")
    engine = native.installed(backend)
    assert engine.version
    if engine.parser is not None:
        assert engine.parser(f"dynamo.{backend}").parse_args([]) is not None
