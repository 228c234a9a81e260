# SPDX-License-Identifier: Apache-2.0
"""``render --each``: many inputs at once, some of them wrong, with a report; interrupted and resumed."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from valuesmith import many
from valuesmith.diagnostics import ConfigError

COMMAND = [sys.executable, "-c", "from valuesmith.cli import main; main()"]
GOOD = """\
backend: vllm
ServiceConfig: {model_path: org/model, served_model_name: model}
Workers: {agg: {tensor_parallel_size: 2}}
SlaConfig: {isl: 4000, osl: 500}
"""
BAD = GOOD.replace("tensor_parallel_size: 2", "tensor_paralel_size: 2")


def render(folder: Path, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "render", *words, "--color", "never"]
    options = {"cwd": folder, "capture_output": True, "text": True, "timeout": 240, "check": False}
    return subprocess.run(command, **(options | more))


def inputs(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name.replace("__", "/") / "generator_config.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text)


def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text())
    return found


def rows(folder: Path) -> dict[str, str]:
    return {row["name"]: row["status"] for row in report(folder)["deployments"]}


def test_each_match_has_a_folder_and_failures_stop_no_other(tmp_path: Path) -> None:
    inputs(tmp_path, results__a__top1=GOOD, results__a__top2=BAD, results__b=GOOD)
    done = render(tmp_path, "--each", "results/**/generator_config.yaml", "-o", "out", "--jobs", "2")
    assert done.returncode == 1
    assert done.stdout == ""
    assert rows(tmp_path) == {"a/top1": "done", "a/top2": "failed", "b": "done"}
    lines = [line.rstrip() for line in done.stderr.splitlines()]
    assert lines == [
        "  name    target            GPUs  nodes  problems",
        "  a/top1  dynamo               2      1  -",
        "  a/top2                                 VS104 unknown key Workers.agg.tensor_paralel_size",
        "  b       dynamo               2      1  -",
        "",
        "  2 done   1 failed (out/report.json)",
        "  2 are called dynamo-agg in namespace dynamo: one cluster can have one of them (K8sConfig.name)",
        "results/a/top2/generator_config.yaml:3:17: VS104 unknown key Workers.agg.tensor_paralel_size",
        "      | did you mean tensor_parallel_size?",
    ]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a", "b", "report.json"]
    assert not (tmp_path / "out" / "a" / "top2").exists()
    row = report(tmp_path)["deployments"][1]
    assert row["problems"] == [
        {
            "code": "VS104",
            "severity": "error",
            "message": "unknown key Workers.agg.tensor_paralel_size",
            "file": "results/a/top2/generator_config.yaml",
            "line": 3,
            "column": 17,
            "hint": "did you mean tensor_parallel_size?",
        }
    ]


def test_all_problems_of_those_that_failed_are_told_with_their_places(tmp_path: Path) -> None:
    worse = BAD.replace("backend: vllm", "backend: vlm") + "NoSection: {}\n"
    many_keys = GOOD + "".join(f"Unknown{index}: {{}}\n" for index in range(9))
    inputs(tmp_path, results__a=worse, results__b=BAD, results__c=many_keys)
    done = render(tmp_path, "--each", "results/*/generator_config.yaml", "-o", "out")
    lines = done.stderr.partition("(out/report.json)\n")[2].splitlines()
    places = [line.partition(": ")[0] for line in lines if " | " not in line]
    file = "results/{}/generator_config.yaml"
    assert places[:3] == [f"{file.format('a')}:{place}" for place in ("1:10", "3:17", "5:1")]
    assert places[3] == f"{file.format('b')}:3:17"
    assert places[4:] == [*(f"{file.format('c')}:{line}:1" for line in range(5, 10)), "c"]
    assert lines[-1] == "c: … and 4 more"


def test_a_folder_is_what_render_alone_would_write(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD)
    assert render(tmp_path, "--each", "results/*/*.yaml", "-o", "out").returncode == 0
    alone = render(tmp_path, "results/a/generator_config.yaml", "-o", "alone")
    assert alone.returncode == 0
    folders = [tmp_path / "alone", tmp_path / "out" / "a" / "generator_config"]
    assert contents(folders[0]) == contents(folders[1])
    assert len(contents(folders[0])) >= 4
    assert set(report(tmp_path)["deployments"][0]["files"]) == set(contents(folders[0]))


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_inputs_before_the_matches_belong_to_each(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(GOOD)
    for size in (2, 4):
        text = f"Workers: {{agg: {{tensor_parallel_size: {size}}}}}\n"
        (tmp_path / f"tp{size}.yaml").write_text(text)
    done = render(tmp_path, "base.yaml", "--each", "tp*.yaml", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert {row["name"]: row["gpus"] for row in report(tmp_path)["deployments"]} == {"tp2": 2, "tp4": 4}


def test_options_hold_for_each(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD, results__b=GOOD)
    wanted = ("--target", "llm-d-helm", "-n", "prod", "--set", "Workers.agg.tensor_parallel_size=8")
    done = render(tmp_path, "--each", "results/*/generator_config.yaml", "-o", "out", *wanted)
    assert done.returncode == 0, done.stderr
    for row in report(tmp_path)["deployments"]:
        assert (row["target"], row["gpus"]) == ("llm-d-helm", 8)
        manifest = (tmp_path / "out" / row["name"] / "k8s_deploy.yaml").read_text()
        assert 'namespace: "prod"' in manifest or "namespace: prod" in manifest


def test_messages_for_machines_say_which_deployment(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=BAD, results__b=GOOD)
    words = ("--each", "results/*/generator_config.yaml", "-o", "out", "--message-format", "json")
    found = [json.loads(line) for line in render(tmp_path, *words).stderr.splitlines()]
    assert [(item["name"], item["code"], item["line"]) for item in found] == [("a", "VS104", 3)]


def test_nothing_that_matches_is_an_error(tmp_path: Path) -> None:
    done = render(tmp_path, "--each", "results/**/x.yaml", "-o", "out")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "VS811 no file matches results/**/x.yaml",
        "      | quote the pattern, so that the shell leaves it alone; ** matches folders at any depth",
        "1 problem; nothing written",
    ]
    assert not (tmp_path / "out").exists()


def test_two_inputs_for_one_folder_are_refused(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.yml", "b.yaml"):
        (tmp_path / name).write_text(GOOD)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.yaml").write_text(GOOD)
    done = render(tmp_path, "--each", "**/*.y*ml", "-o", "out")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "VS812 a.yml would be written to out/a, which belongs to a.yaml",
        "      | name the files apart, or match fewer of them",
        "VS812 b/c.yaml would be written to out/b/c, which belongs to b.yaml",
        "      | name the files apart, or match fewer of them",
        "2 problems; nothing written",
    ]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("pattern", "path", "name"),
    [
        ("results/**/generator_config.yaml", "results/x/top1/generator_config.yaml", "x/top1"),
        ("results/**/generator_config.yaml", "results/generator_config.yaml", "generator_config"),
        ("./results/*/a.yaml", "./results/x/a.yaml", "x"),
        ("results//x*/a.yaml", "results/x1/a.yaml", "x1"),
        ("/data/r*/*.yaml", "/data/r1/b.v2.yaml", "r1/b.v2"),
        ("*.yaml", "a.yaml", "a"),
        ("deploy/a.yaml", "deploy/a.yaml", "a"),
        ("a[12]/*/x.yaml", "a1/b/x.yaml", "a1/b"),
    ],
)
def test_folders_are_named_by_what_the_wildcards_matched(pattern: str, path: str, name: str) -> None:
    assert many._name(path, pattern) == name


def test_what_an_earlier_run_wrote_is_no_input(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD)
    words = ("--each", "**/*.yaml", "-o", "out")
    assert render(tmp_path, *words).returncode == 0
    assert render(tmp_path, *words).returncode == 0
    assert list(rows(tmp_path)) == ["results/a/generator_config"]


def test_a_pattern_does_not_climb_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="goes up after a wildcard"):
        many.jobs(f"{tmp_path}/*/../x.yaml", tmp_path / "out")


@pytest.mark.parametrize(
    "words",
    [
        ("-", "--each", "*.yaml"),
        ("a.yaml", "--skip-done"),
        ("a.yaml", "--jobs", "2"),
        ("--each", "*.yaml", "--jobs", "0"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert render(tmp_path, *words, "-o", "out").returncode == 2


def test_done_folders_are_left_out_on_demand_unless_their_input_is_newer(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD, results__b=GOOD, results__c=GOOD)
    words = ("--each", "results/*/generator_config.yaml", "-o", "out", "--skip-done")
    assert render(tmp_path, *words).returncode == 0
    shutil.rmtree(tmp_path / "out" / "b")
    later = time.time() + 10
    os.utime(tmp_path / "results" / "c" / "generator_config.yaml", (later, later))
    done = render(tmp_path, *words)
    assert done.returncode == 0
    assert rows(tmp_path) == {"a": "skipped", "b": "done", "c": "done"}
    assert "  2 done   1 there already (out/report.json)" in done.stderr


def test_check_writes_nothing_and_fails_when_a_folder_is_stale(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD, results__b=GOOD)
    words = ("--each", "results/*/generator_config.yaml", "-o", "out")
    assert render(tmp_path, *words, "--check").returncode == 1
    assert not (tmp_path / "out").exists()
    assert render(tmp_path, *words).returncode == 0
    fresh = render(tmp_path, *words, "--check")
    assert fresh.returncode == 0
    assert "  2 up to date (nothing written, no report)\n" in fresh.stderr
    before = contents(tmp_path / "out")
    (tmp_path / "results" / "a" / "generator_config.yaml").write_text(GOOD.replace("2}", "4}"))
    stale = render(tmp_path, *words, "--check")
    assert stale.returncode == 1
    assert "  1 up to date   1 stale (nothing written, no report)\n" in stale.stderr
    assert "\na: VS592 out/a is stale: k8s_deploy.yaml " in stale.stderr
    assert contents(tmp_path / "out") == before


def test_files_of_others_are_never_overwritten(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text("{}")
    words = ("--each", "results/*/generator_config.yaml", "-o", "out")
    done = render(tmp_path, *words)
    assert done.returncode == 1
    assert "VS805 out/report.json is not a file that valuesmith wrote" in done.stderr
    assert (tmp_path / "out" / "report.json").read_text() == "{}"


def test_deployments_that_one_cluster_cannot_have_together_are_told(tmp_path: Path) -> None:
    own = GOOD + "K8sConfig: {name: own}\n"
    inputs(tmp_path, results__a=GOOD, results__b=GOOD, results__c=own, results__d=BAD)
    done = render(tmp_path, "--each", "results/*/generator_config.yaml", "-o", "out")
    assert (
        "2 are called dynamo-agg in namespace dynamo: one cluster can have one of them" in done.stderr
    )
    assert "are called own" not in done.stderr
    called = [row["called"] for row in report(tmp_path)["deployments"]]
    assert called == ["dynamo/dynamo-agg", "dynamo/dynamo-agg", "dynamo/own", ""]


def test_an_input_is_never_written_over_not_even_by_force(tmp_path: Path) -> None:
    path = tmp_path / "out" / "mine" / "values.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(GOOD)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "mine.yaml").write_text("SlaConfig: {isl: 3000}\n")
    done = render(tmp_path, "out/mine/values.yaml", "--each", "in/*.yaml", "-o", "out", "--force")
    assert done.returncode == 1
    (row,) = report(tmp_path)["deployments"]
    assert [item["code"] for item in row["problems"]] == ["VS805"]
    assert path.read_text() == GOOD


# ---------------------------------------------------------------- things that end


def start(folder: Path, *words: str, **more: Any) -> subprocess.Popen[str]:
    command = [*COMMAND, "render", *words]
    return subprocess.Popen(command, cwd=folder, text=True, start_new_session=True, **more)


def many_inputs(folder: Path, count: int = 24) -> None:
    inputs(folder, **{f"results__n{index:02}": GOOD for index in range(count)})


def folders(folder: Path) -> list[Path]:
    out = folder / "out"
    return sorted(p for p in out.iterdir() if p.is_dir()) if out.is_dir() else []


def until_some_are_there(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while len([p for p in folders(folder) if not p.name.startswith(".")]) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def whole(folder: Path) -> bool:
    names = {p.name for p in folder.iterdir()}
    return names >= {"values.yaml", "k8s_deploy.yaml", "run_0.sh", "bench_run.sh", "k8s_bench.yaml"}


EACH = ("--each", "results/*/generator_config.yaml", "-o", "out", "--jobs", "2")


def test_an_interrupt_leaves_whole_folders_a_report_and_a_way_on(tmp_path: Path) -> None:
    many_inputs(tmp_path)
    process = start(tmp_path, *EACH, stderr=subprocess.PIPE)
    until_some_are_there(tmp_path, 2)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"interrupted; \d+ not begun; --skip-done goes on from here", told)
    found = report(tmp_path)
    assert found["interrupted"] is True
    assert 2 <= found["counts"]["done"] < 24
    assert "failed" not in found["counts"]
    assert folders(tmp_path)
    assert all(whole(folder) for folder in folders(tmp_path))
    resumed = render(tmp_path, *EACH, "--skip-done")
    assert resumed.returncode == 0
    assert sorted(rows(tmp_path).values()).count("skipped") >= found["counts"]["done"]
    assert len(folders(tmp_path)) == 24


def test_workers_end_when_the_one_that_hands_out_jobs_is_gone(tmp_path: Path) -> None:
    many_inputs(tmp_path)
    process = start(tmp_path, *EACH, stderr=subprocess.DEVNULL)
    until_some_are_there(tmp_path, 1)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while members(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert all(whole(p) for p in folders(tmp_path) if not p.name.startswith("."))


def members(group: int) -> list[int]:
    """The processes of a process group that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if entry.name.isdigit() and int(fields[2]) == group and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def test_a_worker_that_is_ended_costs_its_own_job_only(tmp_path: Path) -> None:
    many_inputs(tmp_path, 8)
    stand_in = tmp_path / "helm"
    real = ROOT / ".tools" / "bin" / "helm"
    # Helm's parent is the worker: in one job it is ended as the kernel would when memory runs out.
    stand_in.write_text(
        f'#!/bin/sh\ncase "$*" in *version*) exec {real} "$@";; esac\n'
        f"if mkdir {tmp_path}/once 2>/dev/null; then kill -9 $PPID; exit 1; fi\n"
        f'exec {real} "$@"\n'
    )
    stand_in.chmod(0o755)
    done = render(tmp_path, *EACH, env={**os.environ, "HELM": str(stand_in)})
    assert done.returncode == 1
    found = report(tmp_path)
    assert found["counts"] == {"done": 7, "failed": 1}
    problems = [item for row in found["deployments"] for item in row["problems"]]
    assert [item["code"] for item in problems] == ["VS813"]
    assert "was ended (by signal 9)" in problems[0]["message"]


def test_a_bug_in_one_job_is_told_and_stops_no_other(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD, results__b=GOOD)
    code = (
        "from valuesmith import many, pipeline\n"
        "real = pipeline.resolve\n"
        "def broken(request):\n"
        "    if 'results/a/' in request.document.root.at.file: raise RuntimeError('oops')\n"
        "    return real(request)\n"
        "pipeline.resolve = broken\n"
        "from valuesmith.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "render", *EACH], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 70
    assert "Traceback" not in done.stderr
    assert rows(tmp_path) == {"a": "broken", "b": "done"}
    assert "VS814 valuesmith has a bug: RuntimeError: oops" in done.stderr


def test_without_helm_nothing_is_begun(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD)
    done = render(tmp_path, *EACH, env={**os.environ, "HELM": str(tmp_path / "none")})
    assert done.returncode == 3
    assert done.stderr.startswith("VS701 ")
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- on a terminal; memory


def test_a_terminal_sees_how_far_it_is(tmp_path: Path) -> None:
    inputs(tmp_path, results__a=GOOD, results__b=GOOD)
    ours, theirs = pty.openpty()
    process = start(tmp_path, *EACH, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert re.search(rb"rendering +\[#+\] +2/2.*\d+/s", shown)


def test_the_parent_stays_small(tmp_path: Path) -> None:
    inputs(tmp_path, **{f"results__n{index:03}": BAD for index in range(150)})
    code = (
        "import re, sys\n"
        "from valuesmith.cli import run\n"
        "code = run(sys.argv[1:])\n"
        # Not ru_maxrss: Linux hands that of the process that starts us down to us.
        "print(code, re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    command = [sys.executable, "-c", code, "render", *EACH]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    exit_code, peak = map(int, done.stdout.split())
    assert exit_code == 1
    assert peak < 150 * 1024  # Linux counts kilobytes
