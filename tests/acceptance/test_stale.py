# SPDX-License-Identifier: Apache-2.0
"""``--check``: one code and one way to say what is stale, for every form; folders of another form are told apart."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from paths import ROOT

from valuesmith import cli

INPUT = ROOT / "examples" / "qwen3-32b-disagg.yaml"
FORMS = ("yaml", "json", "kustomize", "configmap")
MORE = ("--set", "WorkerConfig.decode_workers=3")


def run(output: Path, *words: str, source: Path = INPUT) -> int:
    return cli.run(["render", str(source), "-o", str(output), "--no-validate", *words])


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each form, and one of the target whose folder is an overlay by itself."""
    home = tmp_path_factory.mktemp("made")
    for form in FORMS:
        assert run(home / form, "--format", form) == 0
    return {form: home / form for form in FORMS}


@pytest.mark.parametrize("form", FORMS)
def test_a_stale_folder_has_one_code_whatever_its_form(
    form: str, made: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    words = ("--format", form, "--check")
    assert run(made[form], *words) == 0
    assert capsys.readouterr().err == ""
    assert run(made[form], *words, *MORE) == 1
    text = capsys.readouterr().err
    assert text.startswith(f"VS592 {made[form]} is stale: ")
    assert "replicas 1 → 3" in text
    assert text.endswith("1 problem; nothing written\n")
    assert run(made[form], *words, *MORE, "--message-format", "json") == 1
    (item,) = told(capsys)
    assert (item["code"], item["severity"]) == ("VS592", "error")
    assert "replicas 1 → 3" in item["message"]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_stale_file_of_values_says_so_in_the_same_way(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"values.{form}"
    words = ["resolve", str(INPUT), "-o", str(file), "--format", form]
    check = [*words, "--check", "--message-format", "json"]
    assert cli.run(check) == 1
    assert [item["message"] for item in told(capsys)] == [f"{file} is stale: it is missing"]
    assert cli.run(words) == 0
    assert cli.run(check) == 0
    assert capsys.readouterr().err == ""
    assert cli.run([*check, *MORE]) == 1
    (item,) = told(capsys)
    assert item["code"] == "VS592"
    assert item["message"].startswith(f"{file} is stale: workers.decode.replicas 1 → 3, ")


@pytest.mark.parametrize(
    "words", [["resolve"], ["render", "--format", "json"], ["render", "--format", "configmap"]]
)
def test_nothing_to_compare_with_is_no_success(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*words, str(INPUT), "--check"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--check compares with a file: name it with -o" in err


@pytest.mark.parametrize(("there", "wanted"), list(permutations(FORMS, 2)))
def test_a_folder_of_another_form_is_recognised_and_not_emptied(
    there: str, wanted: str, made: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made[there]
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert run(folder, "--format", wanted, "--check") == 1
    said = f"made with --format {there}, and this is --format {wanted}"
    text = capsys.readouterr().err
    assert text.startswith(f"VS592 {folder} is stale: it was {said}\n      | add --format {there}")
    assert run(folder, "--format", wanted) == 1
    text = capsys.readouterr().err
    assert text.startswith(f"VS808 {folder} was {said}\n      | add --format {there}")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_folder_is_named_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(Path("out"), "--format", "configmap") == 0
    assert run(Path("out")) == 1
    assert "VS808 out was made with --format configmap" in capsys.readouterr().err


def test_an_overlay_with_components_or_a_chart_is_one_and_force_replaces_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "charts").symlink_to(ROOT / "charts")
    for name, more in (
        ("parts", ("--component", "monitoring")),
        ("charted", ("--chart-home", "../charts")),
    ):
        assert run(tmp_path / name, "--format", "kustomize", *more) == 0
        assert run(tmp_path / name) == 1
        assert "VS808" in capsys.readouterr().err
        assert (tmp_path / name / "kustomization.yaml").is_file()
        assert run(tmp_path / name, "--force") == 0
        assert not (tmp_path / name / "kustomization.yaml").exists()
        assert (tmp_path / name / "k8s_deploy.yaml").is_file()


def test_the_target_that_is_an_overlay_by_itself_is_no_other_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--target", "llm-d-kustomize")
    for _ in range(2):
        assert run(tmp_path / "out", *words) == 0
    assert run(tmp_path / "out", *words, "--check") == 0
    capsys.readouterr()
    assert run(tmp_path / "out", *words, "--format", "kustomize", "--check") == 1
    assert "made with --format yaml, and this is --format kustomize" in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_of_another_release_of_ours_says_which(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr("valuesmith.artifacts.parts.__version__", "0.0.9")
        assert run(tmp_path / "out", "--format", form) == 0
    capsys.readouterr()
    assert run(tmp_path / "out", "--format", form, "--check") == 1
    from valuesmith import __version__

    text = capsys.readouterr().err
    assert f"is stale: written by valuesmith 0.0.9, and this is {__version__}; " in text
    assert "pin it" in text


def test_a_folder_that_is_not_there_and_one_with_many_differences_are_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "out", "--check") == 1
    assert f"VS592 {tmp_path / 'out'} is stale: it is missing" in capsys.readouterr().err
    words = ("--format", "kustomize", "--component", "monitoring", "--component", "graceful-shutdown")
    assert run(tmp_path / "out", *words) == 0
    for path in (tmp_path / "out").rglob("*.yaml"):
        path.write_text(path.read_text() + "# changed\n")
    capsys.readouterr()
    assert run(tmp_path / "out", *words, "--check") == 1
    text = capsys.readouterr().err
    assert " more files" in text
    assert len(text.splitlines()) == 3
