# SPDX-License-Identifier: Apache-2.0
"""The pages on writing runtimes and mapping files: what they show works, what they list is complete."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from paths import ROOT

from valuesmith import resolve
from valuesmith.diagnostics import ConfigError
from valuesmith.runtimes import builtins

DATA = ROOT / "preprocessor" / "valuesmith" / "data"
RUNTIMES = DATA / "runtimes" / "README.md"
MAPPING = DATA / "mapping.md"


def laid_out(page: Path, folder: Path) -> None:
    """The YAML blocks of *page* as files; the first line of each says its name."""
    blocks = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for name, text in blocks:
        (folder / name).write_text(text)


def test_the_runtime_of_the_page_starts_a_group_and_one_pod(tmp_path: Path) -> None:
    laid_out(RUNTIMES, tmp_path)
    values = resolve(tmp_path / "deploy.yaml").values
    assert (values["kind"], values["size"], values["gpusPerPod"]) == ("LeaderWorkerSet", 2, 8)
    shared = ["--model=org/model", "--threads=16"]
    assert values["leader"]["command"] == ["/usr/bin/serve"]
    assert values["leader"]["args"] == [*shared, "--port=8000", "--rank=0", "--ranks=16"]
    assert values["worker"]["args"] == [
        *shared,
        "--leader=$(LWS_LEADER_ADDRESS)",
        "--rank=$(LWS_WORKER_INDEX)",
    ]
    assert values["leader"]["startupProbe"]["failureThreshold"] == 180
    assert "startupProbe" not in values["worker"]
    text = (tmp_path / "deploy.yaml").read_text()
    (tmp_path / "one.yaml").write_text(text.replace("Params_TP: 16", "Params_TP: 8"))
    values = resolve(tmp_path / "one.yaml").values
    assert (values["kind"], values["leader"]["args"][-1]) == ("Deployment", "--port=8000")
    (tmp_path / "typo.yaml").write_text(text.replace("THREADS: 16", "THREADS: 16, THREDS: 3"))
    with pytest.raises(ConfigError, match="E_UNDECLARED"):
        resolve(tmp_path / "typo.yaml")


def test_files_that_an_input_names_lie_beside_it_or_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out(RUNTIMES, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    beside = resolve("../deploy.yaml").values
    (tmp_path / "server.yaml").rename("server.yaml")
    assert resolve("../deploy.yaml").values == beside
    Path("server.yaml").write_text("name: [")
    with pytest.raises(ConfigError, match=r"^\./server\.yaml:1:"):
        resolve("../deploy.yaml")
    Path("server.yaml").rename(tmp_path / "server.yaml")
    with pytest.raises(ConfigError, match=r"^\.\./server\.yaml:1:"):
        resolve("../deploy.yaml")


def test_the_page_has_every_built_in_and_why_it_may_be_missing() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.*?) ?\|$", RUNTIMES.read_text("utf-8"), re.M)
    assert [name for name, _, _ in rows] == [*builtins.KNOWN, *builtins.LATE]
    for name, about, missing in rows:
        if name in builtins.KNOWN:
            assert missing == builtins.KNOWN[name]
            continue
        late = builtins.LATE[name]
        assert f"`{late.reference}`" in about
        assert bool(missing) == late.lws
        assert not late.since or builtins.dotted(late.since) in missing


def test_the_page_names_the_keys_that_a_runtime_has_to_say() -> None:
    """The others are in the schema, which the page names."""
    schema = json.loads((ROOT / "schemas" / "runtime.schema.json").read_text())
    text = RUNTIMES.read_text("utf-8")
    for key in (*schema["required"], "params", "roles", "common", "configs", "worldSize"):
        assert key in schema["properties"]
        assert re.search(rf"\b{key}\b", text), key
    for kind in schema["$defs"]["declaration"]["properties"]["type"]["enum"]:
        assert kind in text


@pytest.mark.parametrize(
    ("backend", "flags"),
    [
        ("vllm", {"max-num-seqs": "256", "stream-interval": "4"}),
        ("sglang", {"stream-interval": "4"}),
    ],
)
def test_the_mapping_of_the_page_changes_a_flag_and_adds_an_input_key(
    backend: str, flags: dict[str, str], tmp_path: Path
) -> None:
    laid_out(MAPPING, tmp_path)
    source = {
        "backend": backend,
        "ServiceConfig": {"model_path": "org/model"},
        "SlaConfig": {"isl": 4000, "osl": 500},
        "Workers": {"agg": {"tensor_parallel_size": 2, "max_batch_size": 64, "stream_interval": 4}},
    }
    found = resolve(source, mapping=tmp_path / "mapping.yaml")
    args = found.values["workers"]["agg"]["engineArgs"]
    assert {name: args[name] for name in flags} == flags
    with pytest.raises(ConfigError, match=r"unknown key Workers\.agg\.stream_interval"):
        resolve(source)
    with pytest.raises(ConfigError, match="its server has no such setting"):
        resolve({**source, "backend": "trtllm"}, mapping=tmp_path / "mapping.yaml")


@pytest.mark.parametrize("page", ["README.md", "charts/lws/README.md"])
def test_the_page_on_runtimes_is_linked(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+README\.md)\)", (ROOT / page).read_text("utf-8"))
    assert RUNTIMES in [(ROOT / page).parent.joinpath(link).resolve() for link in links]


def test_every_link_of_our_pages_leads_somewhere() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("charts/*/README.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("kustomize/*.md"),
        *DATA.rglob("*.md"),
    ]
    missing = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))
        if not (page.parent / link).exists()
    ]
    assert len(pages) > 10
    assert missing == []
