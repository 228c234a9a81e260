# SPDX-License-Identifier: Apache-2.0
"""Artifact folders: whole or not at all, other people's files kept."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from valuesmith.diagnostics import ConfigError
from valuesmith.writer import Artifacts, File, check, header, swap, write

LINE = "# " + header("0.0.0", ["deploy.yaml"]) + "\n"


def ours(text: str, executable: bool = False) -> File:
    return File.text(LINE + text, executable)


def artifacts(**files: str) -> Artifacts:
    return Artifacts(
        {name.replace("__", "/").replace("_", "."): ours(text) for name, text in files.items()}
    )


def contents(folder: Path) -> dict[str, str]:
    found = sorted(p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): p.read_text().removeprefix(LINE) for p in found}


def problem(call: ConfigError) -> str:
    return "\n".join(f"{item.code} {item.message}" for item in call.diagnostics)


def test_a_new_folder_and_its_parents_are_made(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "out"
    write(artifacts(values_yaml="x: 1\n", base__k_yaml="y: 2\n"), target)
    assert contents(target) == {"values.yaml": "x: 1\n", "base/k.yaml": "y: 2\n"}
    assert [p.name for p in target.parent.iterdir()] == ["out"]


def test_only_scripts_are_executable(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(Artifacts({"run.sh": ours("exit 0\n", True), "values.yaml": ours("")}), target)
    assert os.access(target / "run.sh", os.X_OK)
    assert not (target / "values.yaml").stat().st_mode & 0o111


def test_foreign_files_stay_and_stale_files_of_ours_go(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(
        artifacts(values_yaml="x: 1\n", old_yaml="", base__old_yaml="", base__more__x_yaml=""), target
    )
    (target / "notes.txt").write_text("mine")
    (target / "base" / "mine.yaml").write_text("mine")
    (target / "deep" / "er").mkdir(parents=True)
    (target / "deep" / "er" / "values.yaml").write_text(LINE + "another run's")
    (target / "empty").mkdir()
    (target / "link").symlink_to("notes.txt")
    inode = (target / "notes.txt").stat().st_ino

    removed = write(artifacts(values_yaml="x: 2\n"), target)

    assert removed == ["base/more/x.yaml", "base/old.yaml", "old.yaml"]
    assert contents(target) == {
        "values.yaml": "x: 2\n",
        "notes.txt": "mine",
        "link": "mine",
        "base/mine.yaml": "mine",
        "deep/er/values.yaml": "another run's",
    }
    assert (target / "link").is_symlink()
    assert (target / "empty").is_dir()
    assert not (target / "base" / "more").exists()
    assert (target / "notes.txt").stat().st_ino == inode


def test_a_name_taken_by_a_foreign_file_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "values.yaml").write_text("replicas: 1\n")
    (target / "run.sh").write_text("mine\n")
    new = artifacts(values_yaml="x: 1\n", run_sh="y\n", z_yaml="")
    with pytest.raises(ConfigError) as caught:
        write(new, target)
    assert problem(caught.value) == (
        f"VS805 {target}/run.sh is not a file that valuesmith wrote\n"
        f"VS805 {target}/values.yaml is not a file that valuesmith wrote"
    )
    assert contents(target) == {"values.yaml": "replicas: 1\n", "run.sh": "mine\n"}
    write(new, target, force=True)
    assert contents(target) == {"values.yaml": "x: 1\n", "run.sh": "y\n", "z.yaml": ""}


def test_a_foreign_file_with_the_same_bytes_is_no_collision(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "a.json").write_text("{}\n")
    write(Artifacts({"a.json": File.text("{}\n")}), target)


def test_json_is_ours_beside_a_file_of_ours(tmp_path: Path) -> None:
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    alone.mkdir()
    (alone / "a.json").write_text("{}\n")
    new = Artifacts({"a.json": File.text("[]\n"), "b.yaml": ours("")})
    with pytest.raises(ConfigError, match=r"a\.json is not a file that valuesmith wrote"):
        write(new, alone)
    write(Artifacts({"a.json": File.text("{}\n"), "b.yaml": ours("")}), beside)
    write(new, beside)
    assert (beside / "a.json").read_text() == "[]\n"


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path, force: bool) -> None:
    target = tmp_path / "out"
    (target / "values.yaml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="is a folder where a file is to be written"):
        write(artifacts(values_yaml=""), target, force)


def test_a_link_in_the_place_of_a_sub_folder_is_refused(tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    target.mkdir()
    elsewhere.mkdir()
    (target / "base").symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="is a file or a link where a folder is needed"):
        write(artifacts(base__x_yaml=""), target, force=True)
    assert list(elsewhere.iterdir()) == []


def test_a_linked_file_is_replaced_by_force_without_touching_what_it_points_to(tmp_path: Path) -> None:
    target, other = tmp_path / "out", tmp_path / "other.yaml"
    target.mkdir()
    other.write_text(LINE + "theirs")
    (target / "values.yaml").symlink_to(other)
    with pytest.raises(ConfigError, match="is not a file that valuesmith wrote"):
        write(artifacts(values_yaml="x"), target)
    write(artifacts(values_yaml="x"), target, force=True)
    assert other.read_text() == LINE + "theirs"
    assert not (target / "values.yaml").is_symlink()


def test_links_and_files_are_no_folder_to_write_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_text("")
    for name, message in [
        ("link", "VS802 .* is a symbolic link"),
        ("file", "VS803 .* is a file, not a"),
    ]:
        with pytest.raises(ConfigError, match=message):
            write(artifacts(a_yaml=""), tmp_path / name)
    with pytest.raises(ConfigError, match=r"VS804 .*file/sub cannot be made"):
        write(artifacts(a_yaml=""), tmp_path / "file" / "sub" / "out")


def test_the_current_folder_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    write(artifacts(values_yaml="1", base__a_yaml=""), target)
    (target / "notes.txt").write_text("mine")
    inode = target.stat().st_ino
    monkeypatch.chdir(target)
    write(artifacts(values_yaml="2", b_yaml=""), ".")
    assert contents(target) == {"values.yaml": "2", "b.yaml": "", "notes.txt": "mine"}
    assert target.stat().st_ino == inode
    assert sorted(p.name for p in target.iterdir()) == ["b.yaml", "notes.txt", "values.yaml"]


def test_folder_permissions_survive(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(artifacts(values_yaml="1"), target)
    target.chmod(0o750)
    write(artifacts(values_yaml="2"), target)
    assert target.stat().st_mode & 0o777 == 0o750


def test_without_an_exchange_call_the_folder_still_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swap, "_exchange", lambda first, second: False)
    target = tmp_path / "out"
    write(artifacts(values_yaml="1"), target)
    write(artifacts(values_yaml="2"), target)
    assert contents(target) == {"values.yaml": "2"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="no call that exchanges folders")
def test_where_the_system_can_the_folder_is_never_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    write(artifacts(values_yaml="1"), target)
    moved: list[Path] = []
    monkeypatch.setattr(Path, "rename", lambda self, to: moved.append(self))
    write(artifacts(values_yaml="2"), target)
    assert moved == []
    assert contents(target) == {"values.yaml": "2"}


def test_leftovers_of_a_killed_run_are_cleaned_up(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(artifacts(values_yaml="1"), target)
    (tmp_path / ".out.valuesmith-new" / "half").mkdir(parents=True)
    (tmp_path / ".out.valuesmith-new" / "half").chmod(0o500)
    (tmp_path / ".out.valuesmith-lock").touch()
    write(artifacts(values_yaml="2"), target)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_run_killed_between_two_renames_is_undone_by_the_next(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(artifacts(values_yaml="1"), target)
    (target / "notes.txt").write_text("mine")
    target.rename(tmp_path / ".out.valuesmith-old")
    write(artifacts(values_yaml="2"), target)
    assert contents(target) == {"values.yaml": "2", "notes.txt": "mine"}


def test_a_busy_folder_is_reported_after_a_wait(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with (tmp_path / ".out.valuesmith-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="VS806 another valuesmith has been writing"):
            swap.locked(target, wait=0.05).__enter__()
    assert not target.exists()


def test_a_lock_whose_name_is_gone_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as held:
        assert swap._is_held(held.fileno(), path)
        path.unlink()
        assert not swap._is_held(held.fileno(), path)
        path.touch()
        assert not swap._is_held(held.fileno(), path)


WRITER = """
import sys
from valuesmith.writer import Artifacts, File, write
line = {line!r}
def make(which):
    return Artifacts({{f"f{{i}}.yaml": File.text(line + which) for i in range(40)}})
for turn in range(int(sys.argv[2])):
    for which in ("A", "B"):
        write(make(which), sys.argv[1])
"""


def start(target: Path, turns: int) -> subprocess.Popen[bytes]:
    code = WRITER.format(line=LINE)
    return subprocess.Popen([sys.executable, "-c", code, str(target), str(turns)])


def test_killed_at_any_moment_the_folder_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    target = tmp_path / "out"
    for attempt in range(12):
        run = start(target, 10_000)
        deadline = time.monotonic() + 20
        while not target.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.15 + 0.0037 * attempt)
        run.send_signal(signal.SIGKILL)
        run.wait()
        found = contents(target)
        assert len(found) == 40
        assert len(set(found.values())) == 1, found
    write(artifacts(f0_yaml="A"), target)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_two_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    target = tmp_path / "out"
    runs = [start(target, 15) for _ in range(2)]
    while any(run.poll() is None for run in runs):
        if target.exists():
            seen = {path.read_text()[-1] for path in target.glob("f?.yaml") if path.exists()}
            assert seen <= {"A", "B"}
        time.sleep(0.005)
    assert [run.returncode for run in runs] == [0, 0]
    assert set(contents(target).values()) == {"B"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_check_says_what_writing_would_change(tmp_path: Path) -> None:
    target = tmp_path / "out"
    manifests = "kind: {kind}\nmetadata:\n  name: a\n---\nkind: Service\nmetadata:\n  name: b\nx: {x}\n"
    write(
        Artifacts(
            {
                "values.yaml": ours('workers:\n  decode:\n    replicas: 4\n    image: "a"\n'),
                "k8s_deploy.yaml": ours(manifests.format(kind="Job", x=1)),
                "run.sh": ours("one\ntwo\n", True),
                "same.yaml": ours("a: 1\n"),
                "layout.yaml": ours("a: 1\n"),
                "gone.yaml": ours(""),
                "mode.sh": ours("", True),
            }
        ),
        target,
    )
    new = Artifacts(
        {
            "values.yaml": ours('workers:\n  decode:\n    replicas: 6\n    image: "a"\n'),
            "k8s_deploy.yaml": ours(manifests.format(kind="Job", x=2)),
            "run.sh": ours("one\n2\n", True),
            "same.yaml": ours("a: 1\n"),
            "layout.yaml": ours("a:  1\n"),
            "new.yaml": ours(""),
            "mode.sh": ours(""),
        }
    )
    assert [str(item) for item in check(new, target)] == [
        "k8s_deploy.yaml 1 object (Service/b)",
        "layout.yaml comments or layout only",
        "mode.sh should not be executable",
        "new.yaml is missing",
        "run.sh 1 line",
        "values.yaml workers.decode.replicas 4 → 6",
        "gone.yaml is no longer made",
    ]
    write(new, target)
    assert check(new, target) == []


def test_check_of_a_folder_that_is_not_there_lists_every_file(tmp_path: Path) -> None:
    found = check(artifacts(a_yaml="", b_yaml=""), tmp_path / "none")
    assert [str(item) for item in found] == ["a.yaml is missing", "b.yaml is missing"]


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../b", "", "a//b", "./a"])
def test_artifact_names_stay_inside_the_folder(name: str) -> None:
    with pytest.raises(ValueError, match="no relative path"):
        Artifacts({name: File.text("")})


def test_a_folder_under_a_read_only_parent_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    target.mkdir()
    inode = target.stat().st_ino
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    write(artifacts(values_yaml="x"), target)
    assert contents(target) == {"values.yaml": "x"}
    assert [p.name for p in target.iterdir()] == ["values.yaml"]
    assert target.stat().st_ino == inode


def test_a_new_folder_under_a_read_only_parent_is_refused_for_that_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(ConfigError, match="out cannot be written: Permission denied"):
        write(artifacts(values_yaml="x"), tmp_path / "out")
    assert contents(tmp_path) == {}
