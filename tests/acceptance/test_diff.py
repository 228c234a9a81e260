# SPDX-License-Identifier: Apache-2.0
"""`diff` between inputs and folders, by file, object and field."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kustomizing import write
from paths import ROOT

from valuesmith import cli, differences

DISAGG = ROOT / "examples" / "qwen3-32b-disagg.yaml"
GRAPH = "DynamoGraphDeployment/qwen3-32b-disagg"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The same input with one more decode worker."""
    path = tmp_path / "qwen3-32b-disagg.yaml"
    path.write_text(DISAGG.read_text().replace("decode_workers: 1", "decode_workers: 2"))
    return path


def diff(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[str]]:
    capsys.readouterr()
    code = cli.run(["diff", *map(str, words)])
    return code, capsys.readouterr().out.splitlines()


def rendered(folder: Path, *words: str, source: Path = DISAGG) -> Path:
    assert cli.run(["render", str(source), "-o", str(folder), *words]) == 0
    return folder


def test_two_inputs_by_file_object_and_field(other: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = diff(capsys, DISAGG, other)
    assert code == 1
    assert lines[:2] == ["values.yaml", "  ~ workers.decode.replicas: 1 → 2"]
    manifest = lines.index("k8s_deploy.yaml")
    assert lines[manifest + 1 : manifest + 4] == [
        f"  {GRAPH}",
        "    ~ spec.components[decode].replicas: 1 → 2",
        "bench_run.sh",
    ]
    assert "run_0.sh" in lines


def test_an_input_against_itself_and_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = rendered(tmp_path / "out")
    write(folder, {"notes.txt": "mine"})
    for pair in ((DISAGG, DISAGG), (DISAGG, folder), (folder, DISAGG), (folder, folder)):
        assert diff(capsys, *pair) == (0, [])


def test_no_difference_is_said_but_not_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["diff", str(DISAGG), str(DISAGG)]) == 0
    assert "no differences" in capsys.readouterr().err


def test_an_input_against_a_folder_in_both_directions(
    other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = rendered(tmp_path / "out")
    _, forward = diff(capsys, folder, other)
    _, backward = diff(capsys, other, folder)
    assert "  ~ workers.decode.replicas: 1 → 2" in forward
    assert "  ~ workers.decode.replicas: 2 → 1" in backward


def test_a_file_that_one_side_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = rendered(tmp_path / "out")
    (folder / "bench_run.sh").unlink()
    code, lines = diff(capsys, folder, DISAGG)
    assert (code, lines) == (1, ["bench_run.sh", "  added"])
    other = shutil.copytree(folder, tmp_path / "other")
    write(other, {"more.txt": "x"})
    assert diff(capsys, other, folder) == (1, ["more.txt", "  removed"])


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("--format", "kustomize", "--component", "priority"), "base/dynamographdeployment"),
        (("--format", "configmap"), "values.yaml"),
        (("--format", "json"), "values.json"),
        (("--format", "kustomize", "--chart-home", "../charts"), "values.yaml"),
    ],
)
def test_an_input_against_a_folder_of_another_form(
    words: tuple[str, ...],
    first: str,
    other: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = rendered(tmp_path / "out", *words)
    assert diff(capsys, DISAGG, folder) == (0, [])
    code, lines = diff(capsys, folder, other)
    assert code == 1
    assert any(line.startswith(first) for line in lines)
    assert any(line.endswith("replicas: 1 → 2") for line in lines)


def test_options_decide_for_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = diff(capsys, DISAGG, DISAGG, "--target", "llm-d-helm")
    assert (code, lines) == (0, [])


def test_a_side_without_anything_rendered_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "foreign", {"a.txt": "x"})
    for folder in ("empty", "foreign"):
        assert cli.run(["diff", str(DISAGG), str(tmp_path / folder)]) == 1
        assert "VS193" in capsys.readouterr().err


def test_a_wrong_input_is_told_as_ever(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(DISAGG.read_text().replace("max_batch_size", "max_batch_sise"))
    assert cli.run(["diff", str(DISAGG), str(path)]) == 1
    assert "max_batch_size" in capsys.readouterr().err


FORMS = ("yaml", "json", "kustomize", "configmap")


@pytest.mark.parametrize("form", FORMS)
def test_sides_of_different_releases_are_named_first(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = rendered(tmp_path / "old", "--format", form, "--dynamo-version", "1.2.1")
    assert diff(capsys, old, DISAGG, "--dynamo-version", "1.2.1") == (0, [])
    _, lines = diff(capsys, old, DISAGG, "--dynamo-version", "1.6.1")
    assert lines[:2] == [
        f"--- {old} (dynamo 1.2.1, vllm 0.20.1)",
        f"+++ {DISAGG} (dynamo 1.6.1, vllm 0.31.0)",
    ]
    _, lines = diff(capsys, DISAGG, old)
    assert lines[0] == f"--- {DISAGG} (dynamo 1.6.1, vllm 0.31.0)"
    new = rendered(tmp_path / "new", "--format", form)
    assert diff(capsys, old, new)[1][1] == f"+++ {new} (dynamo 1.6.1, vllm 0.31.0)"


def test_engine_releases_of_other_targets_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for target in ("llm-d-helm", "llm-d-kustomize"):
        words = ("--target", target, "--set", "LlmdConfig.vllm_image=vllm/vllm-openai:v0.20.1")
        old = rendered(tmp_path / target, *words)
        new = (*words[:3], "LlmdConfig.vllm_image=vllm/vllm-openai:v0.31.0")
        _, lines = diff(capsys, old, DISAGG, *new)
        assert lines[:2] == [f"--- {old} (vllm 0.20.1)", f"+++ {DISAGG} (vllm 0.31.0)"]


# The comparison itself.


def compared(old: str, new: str, name: str = "a.yaml") -> list[str]:
    return differences.compare({name: old.encode()}, {name: new.encode()})[1:]


def test_comments_layout_and_our_first_line_are_no_difference() -> None:
    assert compared("# x\na: 1\n", "a:   1\n") == []
    assert (
        compared("# Generated by valuesmith 1\nx\n", "# Generated by valuesmith 2\nx\n", "a.sh") == []
    )


def test_items_are_compared_by_name_wherever_they_stand() -> None:
    old = "env: [{name: a, value: x}, {name: b, value: v}]\n"
    new = "env: [{name: c, value: z}, {name: b, value: v}, {name: a, value: w}]\n"
    assert compared(old, new) == [
        '  ~ env[a].value: "x" → "w"',
        '  + env[c]: {"name": "c", "value": "z"}',
    ]


def test_a_command_line_is_compared_by_flag() -> None:
    old = 'args: [model, --tp, "2", --eager, --sizes, "1", "2"]\n'
    new = 'args: [model, --sizes, "1", "3", --tp, "4", --block=8]\n'
    assert compared(old, new) == [
        '  ~ args[--tp]: "2" → "4"',
        "  - args[--eager]: true",
        '  ~ args[--sizes]: ["1", "2"] → ["1", "3"]',
        '  + args[--block]: "8"',
    ]


def test_a_flag_that_comes_twice_makes_the_list_one_value() -> None:
    assert compared("args: [--a, x, --a, w]\n", "args: [--a, x, --a, z]\n") == [
        '  ~ args: ["--a", "x", "--a", "w"] → ["--a", "x", "--a", "z"]'
    ]


def test_lists_of_numbers_are_one_value() -> None:
    assert compared("a: [1, 2, 3]\n", "a: [1, 2, 4]\n") == ["  ~ a: [1, 2, 3] → [1, 2, 4]"]


def test_keys_with_dots_stand_in_brackets_and_long_values_on_lines_of_their_own() -> None:
    old = f"limits: {{nvidia.com/gpu: 1}}\ntext: {'x' * 60}\n"
    new = f"limits: {{nvidia.com/gpu: 2}}\ntext: {'y' * 60}\n"
    assert compared(old, new) == [
        "  ~ limits[nvidia.com/gpu]: 1 → 2",
        "  ~ text:",
        f'      - "{"x" * 60}"',
        f'      + "{"y" * 60}"',
    ]


def test_long_texts_are_shown_where_they_differ() -> None:
    """A ConfigMap's text by line; what has no lines, and what is no text, around the first difference."""
    text = "".join(f"  line {number}\n" for number in range(200))
    old = f"data:\n  x: |\n{text.replace('  line', '    line')}"
    assert compared(old, old.replace("line 150\n", "line 150b\n")) == [
        "  ~ data.x:",
        "      @@ -151 +151 @@",
        "      -line 150",
        "      +line 150b",
    ]
    blob = ", ".join(f'"key{number}": {number}' for number in range(100))
    before, after = f"v: '{{{blob}}}'\n", f"v: '{{{blob.replace('key90', 'key9x')}}}'\n"
    lines = compared(before, after)
    assert lines[0] == "  ~ v:"
    assert [line[:9] for line in lines[1:]] == ["      - …", "      + …"]
    assert "key90" in lines[1]
    assert "key9x" in lines[2]
    assert all(len(line) < 260 for line in lines)
    numbers = [*range(200)]
    changed = [*numbers[:150], 1000, *numbers[151:]]
    lines = compared(f"v: {numbers}\n", f"v: {changed}\n")
    assert "149, 150, 151" in lines[1]
    assert "149, 1000, 151" in lines[2]


def test_objects_are_found_by_kind_and_name() -> None:
    one = "kind: A\nmetadata: {name: x}\nv: 1\n"
    two = "kind: B\nmetadata: {name: w}\nv: 1\n"
    assert compared(f"{one}---\n{two}", f"{two.replace('v: 1', 'v: 2')}---\n{one}") == [
        "  B/w",
        "    ~ v: 1 → 2",
    ]
    assert compared(f"{one}---\n{two}", one) == ["  B/w removed"]


def test_what_is_no_yaml_is_compared_by_line() -> None:
    assert compared("a: [\n", "a: {\n") == ["  @@ -1 +1 @@", "  -a: [", "  +a: {"]


def test_many_lines_are_cut() -> None:
    old, new = "".join(f"{n}\n" for n in range(90)), "".join(f"x{n}\n" for n in range(90))
    lines = compared(old, new, "run.sh")
    assert len(lines) == 41
    assert lines[-1] == "  … and 141 more lines"


@pytest.mark.parametrize("base", ["1.2.0", "1.3.0"])
def test_render_and_diff_spell_a_release_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], base: str
) -> None:
    """The package index knows these by their post-releases, images and people do not."""
    folders = []
    for number in (base, f"{base}.post1"):
        folders.append(rendered(tmp_path / number, "--dynamo-version", number))
        assert f"(dynamo {base}, vllm" in capsys.readouterr().err
        assert diff(capsys, folders[-1], DISAGG)[1][0].startswith(
            f"--- {folders[-1]} (dynamo {base}, vllm"
        )
    assert diff(capsys, *folders) == (0, [])
    for name in ("k8s_deploy.yaml", "k8s_bench.yaml"):
        (folders[0] / name).unlink()
    (folders[0] / "values.yaml").write_text(
        (folders[0] / "values.yaml").read_text().replace(f'"{base}"', f'"{base}.post1"', 1)
    )
    first = diff(capsys, folders[0], DISAGG)[1][0]
    assert first.startswith(f"--- {folders[0]} (dynamo {base}, vllm")
