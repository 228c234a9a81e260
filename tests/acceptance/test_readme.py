# SPDX-License-Identifier: Apache-2.0
"""What the README shows is what happens."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import console
import pytest
from paths import HELMS, ROOT

from valuesmith import __version__, cli

README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = [item for page in console.PAGES for item in console.shown(page)]
EXAMPLE = ROOT / "examples" / "qwen3-32b-disagg.yaml"


def test_the_blocks_are_found() -> None:
    assert len(SHOWN) == len(re.findall(r"^\$ ", README, re.MULTILINE)) >= 3
    assert all(item.lines for item in SHOWN)
    pages = [page for page in ROOT.glob("**/*.md") if not {".venv", "build"} & {*page.parts}]
    with_prompts = [p for p in pages if re.search(r"^\$ ", p.read_text("utf-8"), re.MULTILINE)]
    assert [p.relative_to(ROOT).as_posix() for p in with_prompts] == list(console.PAGES)


@pytest.mark.parametrize("item", SHOWN, ids=lambda item: item.command[:40])
def test_a_command_says_what_is_shown(item: console.Shown) -> None:
    """When this fails for a line number of our data, `make docs` writes the new one."""
    assert console.said(item) == list(item.lines)


def test_the_python_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    shutil.copy(EXAMPLE, tmp_path / "deploy.yaml")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "out" / "values.yaml").is_file()
    (tmp_path / "deploy.yaml").write_text("backend: vlm\n")
    with pytest.raises(SystemExit, match="VS131"):
        exec(compile(code, "README.md", "exec"), {})


def test_commands_of_the_usage_block_exist() -> None:
    """Each line of commands parses: its options are ones that the command has."""
    lines = re.findall(r"^valuesmith ([^#\n|]+)", README, re.MULTILINE)
    assert len(lines) > 10
    for line in lines:
        name, *words = line.split()
        known = cli.cli.get_command(cli.click.Context(cli.cli), name)
        assert known is not None, line
        options = {option for p in known.params for option in p.opts}
        assert {word for word in words if word.startswith("-") and word != "-"} <= options, line


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("workers.decode.gpusPerPod=1", "VS655"),
        ("workers.decode.engineArgs.max-num-sqs=64", "VS421"),
        ("workers.decode.replicas=2", ""),
    ],
)
@pytest.mark.parametrize("helm", sorted(HELMS))
def test_what_set_makes_of_a_chart_is_checked_by_a_pipe(
    helm: str, change: str, code: str, tmp_path: Path
) -> None:
    assert "| valuesmith validate -" in README
    values = tmp_path / "values.yaml"
    assert cli.run(["resolve", str(EXAMPLE), "-o", str(values)]) == 0
    command = [str(HELMS[helm]), "template", "q", str(ROOT / "charts" / "dynamo"), "-n", "dynamo"]
    made = subprocess.run(
        [*command, "-f", str(values), "--set", change], capture_output=True, text=True, check=True
    )
    words = [str(Path(console.sys.executable).parent / "valuesmith"), "validate", "-"]
    done = subprocess.run(words, input=made.stdout, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if code else 0), done.stderr
    assert code in done.stderr


def test_the_wheel_is_called_what_the_page_says() -> None:
    assert re.findall(r"valuesmith-([\d.]+)-py3-none-any\.whl", README) == [__version__]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("qwen3-32b-disagg", []),
        ("gpt-oss-trtllm", []),
        ("qwen3-32b-disagg", ["--target", "llm-d-helm"]),
        ("fpm/single-node", []),
        ("lws-vllm", []),
    ],
)
def test_every_file_of_a_folder_is_in_the_table(source: str, words: list[str], tmp_path: Path) -> None:
    table = README.partition("### What is in the folder")[2].partition("###")[0]
    named = {*re.findall(r"`([\w.-]+\.(?:yaml|sh))`", table)}
    input_file = str(ROOT / "examples" / f"{source}.yaml")
    command = ["render", input_file, "-o", str(tmp_path / "out"), "--no-validate", *words]
    assert cli.run(command) == 0
    files = {path.name for path in (tmp_path / "out").iterdir()}
    files = {re.sub(r"^run_\d+", "run_0", name) for name in files}
    files = {re.sub(r"^(decode|agg|encode)_config", "prefill_config", name) for name in files}
    assert files <= named
