# SPDX-License-Identifier: Apache-2.0
"""Real files, damaged: the command line answers with problems at places, soon, and writes nothing.

Exit code 70 (a bug of ours) never comes, whatever is in an input, a rule file, a mapping file, a runtime,
a cluster file, a chart's values or a manifest.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from errorcases import contents
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import ROOT, SHARED

from properties.mutation import mutated, value_of_any_kind
from valuesmith import artifacts, facts, load, pipeline, writer
from valuesmith.cli import run
from valuesmith.diagnostics import ConfigError

SECONDS = 10
DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"
INPUT = """\
backend: vllm
ServiceConfig: {model_path: org/model, served_model_name: m}
SlaConfig: {isl: 4000, osl: 500}
Workers: {agg: {tensor_parallel_size: 2}}
"""
# What is wrong by itself, not at a place in a file: a file that cannot be read at all, a name in an option.
NO_PLACE = re.compile(r"VS1(?:01|9\d)|VS316|VS58[0-3]|VS66[0-4]|VS608")


def few(examples: int) -> Callable[[Any], Any]:
    """So many cases in CI, and many more in ``make fuzz-properties``."""
    return settings(max_examples=examples * (40 if DEEP else 1), deadline=SECONDS * 1000)


def answered(words: list[str], **files: str) -> int:
    """The exit code of a command over *files* (``/`` is ``__``, ``.`` is ``_DOT_``), after checking its answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in files.items():
            target = folder / path.replace("__", "/").replace("_DOT_", ".")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8", "surrogatepass"))
        before = contents(folder)
        out, told = io.StringIO(), io.StringIO()
        here = Path.cwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
                code = run([*words, "--message-format", "json"])
        finally:
            os.chdir(here)
        assert contents(folder) == before
    check(code, told.getvalue())
    return code


def check(code: int, told: str) -> None:
    assert code in (0, 1), told
    found = [json.loads(line) for line in told.splitlines()]
    errors = [item for item in found if item["severity"] == "error"]
    assert bool(errors) is bool(code), told
    for item in errors:
        assert item.get("line") or NO_PLACE.fullmatch(item["code"]), item


def texts(*files: Path) -> st.SearchStrategy[str]:
    return st.sampled_from([file.read_text(encoding="utf-8") for file in files]).flatmap(mutated)


EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
INPUTS = [file for file in EXAMPLES if file.name not in ("cluster.yaml", "chart-features.yaml")]
SAVED = sorted((SHARED / "corpus").glob("*.top1.yaml"))[:12]
DATA = ROOT / "preprocessor" / "valuesmith" / "data"
RULES = sorted((DATA / "rules").rglob("*.rule"))
RUNTIMES = sorted((DATA / "runtimes").glob("*.yaml"))
RESOLVE = ["resolve", "deploy.yaml"]


@few(120)
@given(texts(*INPUTS, *SAVED))
def test_damaged_inputs(text: str) -> None:
    answered(RESOLVE, deploy_DOT_yaml=text)


@few(25)
@given(texts(*INPUTS), st.sampled_from(["llm-d-helm", "llm-d-kustomize", "fpm", "lws", "dynamo"]))
def test_damaged_inputs_for_every_target(text: str, target: str) -> None:
    answered([*RESOLVE, "--target", target], deploy_DOT_yaml=text)


@few(60)
@given(texts(*RULES))
def test_damaged_rule_files(text: str) -> None:
    answered([*RESOLVE, "--rules", "mine"], deploy_DOT_yaml=INPUT, mine__vllm_DOT_rule=text)


@few(40)
@given(texts(DATA / "mapping.yaml"))
def test_damaged_mapping_files(text: str) -> None:
    answered([*RESOLVE, "--mapping", "m.yaml"], deploy_DOT_yaml=INPUT, m_DOT_yaml=text)


@few(60)
@given(texts(ROOT / "examples" / "cluster.yaml"))
def test_damaged_cluster_files(text: str) -> None:
    answered([*RESOLVE, "--cluster", "c.yaml"], deploy_DOT_yaml=INPUT, c_DOT_yaml=text)


@few(60)
@given(texts(*RUNTIMES))
def test_damaged_runtimes(text: str) -> None:
    words = [*RESOLVE, "--target", "lws", "--runtime", "./r.yaml"]
    given_input = INPUT.replace("SlaConfig: {isl: 4000, osl: 500}\n", "")
    answered(words, deploy_DOT_yaml=given_input, r_DOT_yaml=text)


KEYS = ["Workers.agg.max_batch_size", "K8sConfig", "x", "Workers", "K8sConfig.extra_env", "a.b.c.d"]
SET = st.tuples(st.sampled_from(KEYS), mutated("[1, two, {a: b}]"))


@few(80)
@given(st.lists(SET, min_size=1, max_size=2))
def test_damaged_options(sets: list[tuple[str, str]]) -> None:
    words = [word for key, value in sets for word in ("--set", f"{key}={value}")]
    if any("\x00" in word for word in words):
        return  # no program can be given that
    answered([*RESOLVE, *words], deploy_DOT_yaml=INPUT)


# ---------------------------------------------------------------- what is rendered, or brought along


MANIFESTS = sorted((ROOT / "tests" / "golden" / "rendered").rglob("k8s_*.yaml"))[::5]


@few(40)
@given(texts(*MANIFESTS))
def test_damaged_manifests(text: str) -> None:
    answered(["validate", "m.yaml"], m_DOT_yaml=text)


def _values() -> dict[str, Any]:
    return pipeline.resolve(pipeline.Request(load.read(["-"], stdin=INPUT))).values


@few(12)
@given(st.data())
def test_damaged_values_are_told_by_the_chart(data: Any) -> None:
    values = _values()
    node: Any = values
    while True:
        key = data.draw(st.sampled_from(sorted(node)))
        if isinstance(node[key], dict) and node[key] and data.draw(st.booleans()):
            node = node[key]
            continue
        node[key] = data.draw(value_of_any_kind())
        break
    header = artifacts.header(["deploy.yaml"])
    answered(["validate", "values.yaml"], values_DOT_yaml=writer.yaml_text(values, [header]))


@few(40)
@given(mutated("(max_batch_size or 8) * 2 if SlaConfig.isl > 4000 else [1, 'a'] | map('int') | max"))
def test_damaged_expressions(text: str) -> None:
    if "\n" in text or "\r" in text:
        return
    answered(
        [*RESOLVE, "--rules", "mine"],
        deploy_DOT_yaml=INPUT,
        mine__vllm_DOT_rule=f"agg max_num_tokens = {text}\n",
    )


def test_the_undamaged_files_are_right() -> None:
    """Guards the tests above: what they damage is accepted as it is."""
    for file in INPUTS:
        assert answered(RESOLVE, deploy_DOT_yaml=file.read_text()) == 0, file.name
    mapping = facts.text("mapping.yaml")
    assert answered([*RESOLVE, "--mapping", "m.yaml"], deploy_DOT_yaml=INPUT, m_DOT_yaml=mapping) == 0
    for file in MANIFESTS:
        assert answered(["validate", "m.yaml"], m_DOT_yaml=file.read_text()) == 0, file


POD = "K8sConfig: {worker_extra_pod_spec: {mainContainer: {resources: %s}}}\n"
RUNTIME = "name: a\nimage: {repository: a/b, tag: '1'}\nroles: {main: {args: [x], terminationGracePeriodSeconds: %s}}\n"


@pytest.mark.parametrize(
    ("words", "files"),
    [
        ([*RESOLVE, "--target", "lws", "--runtime", "./r.yaml"], {"r_DOT_yaml": "- a\n"}),
        ([*RESOLVE, "--target", "lws", "--runtime", "./r.yaml"], {"r_DOT_yaml": RUNTIME % ("1" * 400)}),
        ([*RESOLVE, "--rules", "mine"], {"mine__vllm_DOT_rule": "agg max_num_tokens = 1 is .inf\n"}),
        ([*RESOLVE, "--rules", "mine"], {"mine__vllm_DOT_rule": "agg max_num_tokens = 1 | a.b\n"}),
        ([*RESOLVE, "--rules", "mine"], {"mine__vllm_DOT_rule": "\ud800\n"}),
        ([*RESOLVE, "--target", "llm-d-kustomize"], {"deploy_DOT_yaml": POD % "null" + INPUT}),
        ([*RESOLVE, "--target", "llm-d-kustomize"], {"deploy_DOT_yaml": POD % "x" + INPUT}),
        ([*RESOLVE, "--target", "fpm"], {"deploy_DOT_yaml": POD % "{limits: x}" + INPUT}),
        (RESOLVE, {"deploy_DOT_yaml": POD % "[1]" + INPUT}),
        (
            [*RESOLVE, "--target", "lws", "--runtime", "./r.yaml"],
            {"r_DOT_yaml": RUNTIME[:8] + "roles: {main: {args: [x]}}\n"},
        ),
    ],
    ids=str,
)
def test_damage_that_once_ended_in_a_bug(words: list[str], files: dict[str, str]) -> None:
    given_input = INPUT.replace("SlaConfig: {isl: 4000, osl: 500}\n", "") if "lws" in words else INPUT
    answered(words, **{"deploy_DOT_yaml": given_input, **files})


@pytest.mark.parametrize("name", ["main", "leader", "worker"])
@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda file: file.stem)
def test_runtimes_of_which_a_role_has_another_name(runtime: Path, name: str) -> None:
    text = re.sub(
        rf"^  {name}:", f"  {name}x:", runtime.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    given_input = INPUT.replace("SlaConfig: {isl: 4000, osl: 500}\n", "")
    for size in (2, 16):
        given_input = given_input.replace("tensor_parallel_size: 2", f"tensor_parallel_size: {size}")
        words = [*RESOLVE, "--target", "lws", "--runtime", "./r.yaml"]
        answered(words, deploy_DOT_yaml=given_input, r_DOT_yaml=text)


@few(40)
@given(
    st.sampled_from([*("leader", "worker", "service", "autoscaling", "benchmark", "group", "kind")]),
    st.sampled_from(["", "resources", "sharedMemory", "port", "limits", "env"]),
    value_of_any_kind(),
)
def test_values_of_any_kind_over_those_of_a_runtime(key: str, inner: str, value: Any) -> None:
    over = json.dumps({key: {inner: value} if inner else value})
    given_input = INPUT.replace("SlaConfig: {isl: 4000, osl: 500}\n", "")
    words = [*RESOLVE, "--target", "lws", "--runtime", "vllm"]
    answered([*words, "--set", f"RuntimeConfig.values={over}"], deploy_DOT_yaml=given_input)


ASKED = [
    ("roles", {"leader": 5}, "roles.leader is a map"),
    ("roles", {"main": {"args": "--a"}}, "roles.main.args is a list"),
    ("roles", {"main": {"args": [["a"]]}}, "roles.main.args.0 is a word"),
    ("roles", {"main": {"args": [None]}}, "roles.main.args.0 is a word"),
    ("roles", {"main": {"env": 5}}, "roles.main.env is a list"),
    ("roles", {"main": {"env": [1.5]}}, "roles.main.env.0 is a map with a name"),
    ("roles", {"main": {"env": [None]}}, "roles.main.env.0 is a map with a name"),
    ("roles", {"main": {"env": [{"name": 5}]}}, "roles.main.env.0 is a map with a name"),
    ("roles", {"main": {"arg": ["a"]}}, "roles.main.arg does not exist"),
    ("roleParams", {"leader": 5}, "roleParams.leader is a map"),
]


@pytest.mark.parametrize(("key", "value", "said"), ASKED, ids=lambda item: str(item))
def test_what_is_asked_of_a_role_is_told_when_it_is_of_the_wrong_shape(
    key: str, value: Any, said: str
) -> None:
    given_input = INPUT.replace("SlaConfig: {isl: 4000, osl: 500}\n", "")
    text = f"{given_input}RuntimeConfig: {json.dumps({'runtime': 'vllm', key: value})}\n"
    with pytest.raises(ConfigError, match=re.escape(f"RuntimeConfig.{said}")) as caught:
        pipeline.resolve(pipeline.Request(load.read(["-"], ["target=lws"], stdin=text)))
    assert all(item.at is not None for item in caught.value.diagnostics)
