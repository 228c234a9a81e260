# SPDX-License-Identifier: Apache-2.0
"""Reading: strict YAML, positions, layers, ``--set``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import HELMS, SHARED, needs_shared

from valuesmith import inputs, load
from valuesmith.diagnostics import ConfigError
from valuesmith.load.reader import Limits
from valuesmith.load.scalars import read_plain


def plain(text: str) -> Any:
    return load.to_plain(load.yaml_text(text, "a.yaml"))


def problems(text: str | bytes, tmp_path: Path | None = None) -> list[str]:
    if isinstance(text, bytes):
        assert tmp_path is not None
        (tmp_path / "a.yaml").write_bytes(text)
        with pytest.raises(ConfigError) as caught:
            load.read([tmp_path / "a.yaml"])
    else:
        with pytest.raises(ConfigError) as caught:
            load.yaml_text(text, "a.yaml")
    assert all(item.at is not None for item in caught.value.diagnostics)
    return [f"{item.at}: {item.code} {item.message}" for item in caught.value.diagnostics]


# ---------------------------------------------------------------- what is accepted


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("8", 8),
        ("-0", 0),
        ("+8", 8),
        ("0x1F", 31),
        ("0.90", 0.9),
        ("1.", 1.0),
        (".5", 0.5),
        ("1.5e+3", 1500.0),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("True", True),
        ("FALSE", False),
        ("~", None),
        ("Null", None),
        ("", None),
        ("nan", "nan"),
        ("inf", "inf"),
        ("yEs", "yEs"),
        ("v1.2.3", "v1.2.3"),
        ("1.2.3", "1.2.3"),
        ("10.0.0.1:8000", "10.0.0.1:8000"),
        ("8000:8000", "8000:8000"),
        ("100Gi", "100Gi"),
        ("-", None),
        ("'010'", "010"),
        ('"yes"', "yes"),
        ("!!str 010", "010"),
        ("! 1e3", "1e3"),
        ("!!int '8'", 8),
        ("!!float 8", 8.0),
        ("!!null ''", None),
        ("!!bool 'true'", True),
    ],
)
def test_scalars_that_all_readers_agree_on_keep_their_type(spelled: str, value: Any) -> None:
    if spelled == "-":
        assert plain("a:\n  - \n") == {"a": [None]}
        return
    found = plain(f"a: {spelled}\n")["a"]
    assert found == value
    assert type(found) is type(value)


DISPUTED = "y Y yes No ON off 010 08 0o17 0b1 1_0 1_0.5 12:30 1e3 1E+3 +.5 .inf = -0x1F 0X1f 0B1 0O7 0_"


@pytest.mark.parametrize("spelled", DISPUTED.split())
def test_disagreement_says_why_and_the_reader_refuses(spelled: str) -> None:
    assert "YAML readers disagree on" in load.disagreement(spelled)
    assert problems(f"a: {spelled}\n") == [f"a.yaml:1:4: VS109 a: {load.disagreement(spelled)}"]
    assert plain(f'a: "{spelled}"\n') == {"a": spelled}


def test_raw_spelling_and_quotes_are_kept() -> None:
    node = load.yaml_text("a: 0.90\nb: '0.90'\n", "a.yaml")
    assert isinstance(node, load.Map)
    first, second = (node.entries[key].node for key in "ab")
    assert isinstance(first, load.Scalar)
    assert isinstance(second, load.Scalar)
    assert (first.text, first.value, first.plain) == ("0.90", 0.9, True)
    assert (second.text, second.value, second.plain) == ("0.90", "0.90", False)


def test_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: {b: c}\r\nd: |\r\n  x\r\n  y\r\n")
    assert load.to_plain(load.read([file]).root) == {"a": {"b": "c"}, "d": "x\ny\n"}


@needs_shared("corpus")
def test_saved_results_read_as_any_yaml_reader_would() -> None:
    files = sorted((SHARED / "corpus").glob("*.top*.yaml"))
    assert len(files) >= 48
    for file in files:
        assert load.to_plain(load.read([file]).root) == yaml.safe_load(file.read_text())


AGREED = """
8 -0 +8 0x1F 0.90 1. .5 1.5e+3 1.5e-3 00.5 +1.5 true True FALSE null ~ nan inf yEs 1.2.3 v1 a:b 8000:8000
10.0.0.1:80 100Gi - + . .. 1e 0x 0o8 2026-1 e3 1.5e 0b2 Y1 100m 2147483648
"""


@pytest.mark.parametrize("helm", [pytest.param(path, id=name) for name, path in HELMS.items()])
def test_helm_reads_accepted_scalars_as_we_do(helm: Path, tmp_path: Path) -> None:
    if not helm.exists():
        pytest.skip(f"no {helm.name} in .tools/bin")
    spelled = AGREED.split()
    accepted = [text for text in spelled if not load.disagreement(text) and text != "-"]
    assert len(accepted) >= len(spelled) - 2
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: read\nversion: 0.1.0\n")
    (tmp_path / "templates/read.yaml").write_text("values: {{ toRawJson .Values.items | squote }}\n")
    (tmp_path / "values.yaml").write_text("items:\n" + "".join(f"- {text}\n" for text in accepted))
    command = [helm, "template", "x", tmp_path]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = json.loads(yaml.safe_load(printed)["values"])
    for text, value in zip(accepted, found, strict=True):
        ours = read_plain(text).value
        assert ours == value, text
        assert isinstance(ours, str) == isinstance(value, str), text
        assert isinstance(ours, bool) == isinstance(value, bool), text


# ---------------------------------------------------------------- positions


def test_keys_scalars_and_containers_have_places() -> None:
    text = "ServiceConfig:\n  model_path:  'm x'\nlist:\n- 1\n-  {k: v}\n"
    root = load.yaml_text(text, "a.yaml")
    places = {path: (at.line, at.column, at.width) for path, at in load.positions(root).items()}
    assert places == {
        (): (1, 1, 1),
        ("ServiceConfig",): (2, 3, 1),
        ("ServiceConfig", "model_path"): (2, 16, 5),
        ("list",): (4, 1, 1),
        ("list", 0): (4, 3, 1),
        ("list", 1): (5, 4, 1),
        ("list", 1, "k"): (5, 8, 1),
    }
    assert isinstance(root, load.Map)
    assert str(root.entries["list"].key_at) == "a.yaml:3:1"


def test_columns_count_characters_and_the_mark_does_not_count() -> None:
    root = load.yaml_text("\ufeff\N{OLD ITALIC LETTER A}é: {k: 5}\n", "a.yaml")
    assert isinstance(root, load.Map)
    assert root.entries["\N{OLD ITALIC LETTER A}é"].key_at.column == 1
    at = load.positions(root)["\N{OLD ITALIC LETTER A}é", "k"]
    assert (at.column, load.spelling(at)) == (9, "5")


def test_the_spelling_can_be_read_from_the_place() -> None:
    root = load.yaml_text('a: 0.90\nb: &x 1.0\nc: !!float   017.5\nd: *x\ne: [0x1F, "q"]\n', "a.yaml")
    spelled = {path: load.spelling(at) for path, at in load.positions(root).items()}
    assert spelled["a",] == "0.90"
    assert spelled["b",] == "1.0"
    assert spelled["c",] == "017.5"
    assert spelled["d",] == "1.0"
    assert spelled["e", 0] == "0x1F"
    assert spelled["e", 1] == '"q"'


# ---------------------------------------------------------------- anchors and merge keys


def test_merge_keys_take_one_map_or_several_and_own_keys_win() -> None:
    text = (
        "x-a: &a {tp: 2, bs: 8}\n"
        "x-b: &b {bs: 16, pp: 4}\n"
        "one: {<<: *a, bs: 32}\n"
        "many: {bs: 1, <<: [*b, *a]}\n"
        "both: {<<: [*b, {dp: 3}]}\n"
        "first: {<<: [*b, *a]}\n"
    )
    found = plain(text)
    assert found["one"] == {"tp": 2, "bs": 32}
    assert found["many"] == {"tp": 2, "bs": 1, "pp": 4}
    assert found["both"] == {"bs": 16, "pp": 4, "dp": 3}
    assert found["first"] == {"bs": 16, "pp": 4, "tp": 2}


def test_merged_values_point_to_where_they_were_written() -> None:
    root = load.yaml_text("x-a: &a\n  tp: 2\none:\n  <<: *a\n", "a.yaml")
    assert str(load.positions(root)["one", "tp"]) == "a.yaml:2:7"


def test_a_quoted_merge_sign_is_a_key_like_any_other() -> None:
    assert plain('"<<": {a: 1}\n') == {"<<": {"a": 1}}


# ---------------------------------------------------------------- things that must not hurt


BOMBS = {
    "aliases": "a0: &a0 [1,1,1,1,1,1,1,1,1]\n"
    + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)),
    "merges": "a0: &a0 {k: 1}\n"
    + "".join(f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}, <<: *a{n - 1}}}\n" for n in range(1, 60)),
    "flow depth": "[" * 100_000,
    "map depth": "{a: " * 100_000,
    "block depth": "- " * 100_000,
    "depth through aliases": "a0: &a0 {k: 1}\n"
    + "".join(f"a{n}: &a{n} {{k: *a{n - 1}}}\n" for n in range(1, 2000)),
    "many values": "- 1\n" * 900_000,
    "many keys": "".join(f"k{n}: 1\n" for n in range(300_000)),
    "a huge integer": "a: " + "9" * 3_900_000,
    "a huge float": "a: " + "9" * 3_900_000 + ".0",
    "a huge octal": "a: 0" + "7" * 3_900_000,
    "a huge base 60": "a: 1" + ":10" * 1_200_000,
    "directives": "%TAG !a! b\n" + "".join(f"%TAG !a{n}! b\n" for n in range(200_000)) + "---\na: 1\n",
    "more than four megabytes": "a: b\n" * 900_000,
    "many problems": "- yes\n" * 90_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_in_an_error_within_a_second(name: str) -> None:
    started = time.process_time()
    found = problems(BOMBS[name])
    assert time.process_time() - started < 1
    assert len(found) <= 100
    assert all(len(line) < 300 for line in found)


def test_depth_counts_through_aliases() -> None:
    chain = "a0: &a0 {k: 1}\n" + "".join(f"a{n}: &a{n} {{k: *a{n - 1}}}\n" for n in range(1, 150))
    assert problems(chain) == ["a.yaml:100:15: VS112 a99.k: nested deeper than 100 levels"]


def test_depth_and_values_up_to_the_limit_are_fine() -> None:
    limits = Limits()
    assert plain("[" * limits.depth + "]" * limits.depth) is not None
    assert len(plain("- 1\n" * (limits.values - 1))) == limits.values - 1


def test_an_endless_file_is_read_up_to_the_limit() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero here")
    with pytest.raises(ConfigError, match="larger than 4,000,000 bytes"):
        load.read(["/dev/zero"])


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a: \xff\n", "a.yaml:1:4: VS102 {name} is not UTF-8 text (byte 0xff)"),
        (b"a: b\nc: d\xc3\n", "a.yaml:2:5: VS102 {name} is not UTF-8 text (byte 0xc3)"),
        (
            "a: b\n".encode("utf-16"),
            "a.yaml:1:1: VS102 {name} is not UTF-8 text (it starts like UTF-16)",
        ),
        ("a: b\n".encode("utf-16-be"), "a.yaml:1:1: VS102 the character U+0000 is not allowed in YAML"),
        (b"\x1f\x8b\x08", "a.yaml:1:2: VS102 {name} is not UTF-8 text (byte 0x8b)"),
    ],
)
def test_what_is_no_utf8_text_is_refused(raw: bytes, said: str, tmp_path: Path) -> None:
    name = str(tmp_path / "a.yaml")
    assert problems(raw, tmp_path) == [f"{tmp_path}/" + said.format(name=name)]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load.read([tmp_path / "none.yaml", tmp_path, "a\0b"])
    assert [item.message for item in caught.value.diagnostics] == [
        f"cannot read {tmp_path}/none.yaml: No such file or directory",
        f"cannot read {tmp_path}: Is a directory",
        "cannot read a\0b: the name holds a NUL",
    ]
    assert {item.code for item in caught.value.diagnostics} == {"VS101"}


def test_the_pure_python_parser_gives_the_same_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x: &a {tp: 2, l: [1, 'q', \"é\"]}\nv: {<<: *a, m: ~}\nz: |\n  t\nw: !!str 010\n"
    fast = load.yaml_text(text, "a.yaml")
    monkeypatch.setattr("valuesmith.load.reader._Parser", yaml.SafeLoader)
    slow = load.yaml_text(text, "a.yaml")
    assert load.to_plain(slow) == load.to_plain(fast)
    assert [str(at) for at in load.positions(slow).values()] == [
        str(at) for at in load.positions(fast).values()
    ]
    assert problems("a: [1,\nb: 2\n")


# ---------------------------------------------------------------- several problems, several documents


def test_all_problems_before_a_syntax_error_are_told_with_it() -> None:
    found = problems("a: yes\nb: 010\nb: {c: 1\n")
    assert [line.split()[1] for line in found] == ["VS109", "VS109", "VS108", "VS103"]


def test_documents_reads_a_stream_and_leaves_out_empty_ones() -> None:
    stream = "---\n# Source: x\n---\nkind: A\n---\n---\nkind: B\n...\n"
    assert [load.to_plain(node) for node in load.documents(stream, "m.yaml")] == [
        {"kind": "A"},
        {"kind": "B"},
    ]


def test_lenient_documents_mean_what_kubernetes_makes_of_them() -> None:
    text = "a: yes\nb: 010\nc: 1e3\nd: 1_000\ne: 2026-01-31\nf: 12:30\n"
    text += "g: .inf\n8: x\non: y\nh: 99999999999999999999\n"
    (found,) = load.documents(text, "m.yaml", lenient=True)
    assert load.to_plain(found) == {
        "a": True, "b": 8, "c": 1000.0, "d": 1000, "e": "2026-01-31", "f": "12:30",
        "g": float("inf"), "8": "x", "on": True, "h": 99999999999999999999,
    }  # fmt: skip


def test_lenient_documents_refuse_duplicate_keys_and_tags() -> None:
    with pytest.raises(ConfigError) as caught:
        load.documents("a: 1\na: 2\nb: !x y\n", "m.yaml", lenient=True)
    assert [item.code for item in caught.value.diagnostics] == ["VS108", "VS111"]


@needs_shared("crds")
def test_large_manifests_can_be_read() -> None:
    file = max((SHARED / "crds").glob("*.yaml"), key=lambda path: path.stat().st_size)
    (found,) = load.documents(load.file_text(file, 64_000_000), file.name, lenient=True)
    assert load.to_plain(found) == yaml.load(
        file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )


# ---------------------------------------------------------------- inputs


def test_standard_input_is_read_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO("a: é\n".encode())))
    document = load.read(["-"])
    assert load.to_plain(document.root) == {"a": "é"}
    assert document.root.at.file == "<stdin>"


class Kind(StrEnum):
    AGG = "agg"


def test_a_mapping_is_written_out_and_read_back() -> None:
    given = {
        "texts": ["1e3", "yes", "010", "", "a\nb", "é\u2028", "null", "x: y", "# no"],
        "numbers": [0, -1, 8.0, 1e-05, 1e16, 2.5e-300, True, False, None],
        "empty": {}, "none": [], "on": {"8": (1, [2, [], {"a b": {}}])}, "kind": Kind.AGG,
    }  # fmt: skip
    document = load.read([given])
    found = load.to_plain(document.root)
    assert found == {**given, "on": {"8": [1, [2, [], {"a b": {}}]]}, "kind": "agg"}
    assert [type(item) for item in found["numbers"]] == [type(item) for item in given["numbers"]]
    assert document.root.at.file == "<mapping>"
    assert document.root.entries["kind"].node.at.text == 'kind: "agg"'


def test_what_yaml_cannot_hold_is_refused_with_its_key() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "Odd()"

    endless: dict[str, Any] = {}
    endless["a"] = endless
    said = []
    for value in (
        {"a": {"b": Odd()}},
        {"a": [1, float("nan")]},
        {"a": {8: 1}},
        {"a": "\udc80"},
        endless,
        {"a": 2**70},
    ):
        with pytest.raises(ConfigError) as caught:
            load.read([value])
        said.append(caught.value.diagnostics[0].message)
    assert said == [
        "a.b is Odd(), which YAML cannot hold",
        "a.1 is nan, which YAML cannot hold",
        "a has the key 8, and keys must be texts",
        "a holds half a character, which YAML cannot hold",
        "a.a.a is nested deeper than 100 levels (or holds itself)",
        f"a: {2**70} does not fit in 64 bits",
    ]


def test_the_root_of_a_document_merges_its_layers() -> None:
    document = load.read(
        [{"a": {"x": 1, "y": [1, 2]}, "b": 1}, {"a": {"y": [3], "z": None}, "b": {"c": 1}}]
    )
    assert load.to_plain(document.root) == {"a": {"x": 1, "y": [3], "z": None}, "b": {"c": 1}}
    assert len(document.layers) == 2


def test_problems_of_all_inputs_and_options_come_in_one_run(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: yes\n")
    with pytest.raises(ConfigError) as caught:
        load.read([tmp_path / "a.yaml", tmp_path / "none", {"a": {8: 1}}], ["x"], ["..=1"])
    assert [item.code for item in caught.value.diagnostics] == [
        "VS109",
        "VS101",
        "VS115",
        "VS120",
        "VS120",
    ]


def test_no_input_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="no input is given"):
        load.read([])


# ---------------------------------------------------------------- --set


def assignment(option: str, *, text: bool = False) -> load.Assignment:
    options = ["a=1", option]
    document = load.read([{}], () if text else options, options if text else ())
    return document.assignments[1]


def test_only_the_first_equals_sign_separates() -> None:
    found = assignment("ServiceConfig.served_model_name=a,b={c}")
    assert found.path == ("ServiceConfig", "served_model_name")
    assert found.text == "a,b={c}"
    assert str(found.at) == "--set:2:33"
    assert [str(at) for at in found.places] == ["--set:2:1", "--set:2:15"]
    assert load.text_of(found).value == "a,b={c}"


def test_an_escaped_dot_belongs_to_the_name() -> None:
    found = assignment(r"a.nvidia\.com/gpu.b=1")
    assert found.path == ("a", "nvidia.com/gpu", "b")
    assert [(at.column, at.width) for at in found.places] == [(1, 1), (3, 15), (19, 1)]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("a=8", 8),
        ("a=", ""),
        ("a=null", None),
        ('a=[--cuda-graph-bs, "8"]', ["--cuda-graph-bs", "8"]),
        ("a={b: [1, {c: d}]}", {"b": [1, {"c": "d"}]}),
        ("a=[1,\n2]", [1, 2]),
        ("a=false # no", False),
    ],
)
def test_values_are_yaml_in_one_line(option: str, value: Any) -> None:
    assert load.to_plain(load.value_of(assignment(option))) == value


def test_places_inside_a_value_count_from_the_start_of_the_option() -> None:
    at = load.positions(load.value_of(assignment("key={b: [1, yep]}")))["b", 1]
    assert (str(at), load.spelling(at)) == ("--set:2:13", "yep")


def test_a_string_option_is_a_text_whatever_it_looks_like() -> None:
    for text in ("8", "null", "yes", "[1", "", "a\nb"):
        found = assignment(f"a={text}", text=True)
        assert load.value_of(found) == load.text_of(found)
        assert load.text_of(found).value == text
        assert found.at.file == "--set-string"


def test_control_characters_in_an_option_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"--set:1:4: VS102 the character U\+0000"):
        load.read([{}], ["a=b\0"])


# ---------------------------------------------------------------- tokens


def lines(error: ConfigError) -> Iterator[str]:
    for item in error.diagnostics:
        yield item.message
        yield item.hint
        yield from item.at.source.lines if item.at else ()


@pytest.mark.parametrize(
    "text",
    [
        "hf_token: hf_abcDEF123456\nport: 010\n",
        "{hf_token: 'hf_abcDEF123456', port: 010}\n",
        '{"hf_token": "hf_abcDEF123456", port: 010, "x": [hf_abcDEF123456]}\n',
        "hf_token: 0123456789\n",
        "hf_token: hf_abcDEF123456\nother: {hf_abcDEF123456: yes\n",
    ],
)
def test_a_token_is_in_no_message_about_its_file(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load.yaml_text(text, "a.yaml")
    for line in lines(caught.value):
        assert "abcDEF123456" not in line
        assert "123456789" not in line


def test_masking_leaves_key_names_and_other_words_alone() -> None:
    with pytest.raises(ConfigError) as caught:
        load.yaml_text("hf_token: port\nport: 010\nexport: 011\nhf_tokens: {x: yes}\n", "a.yaml")
    assert "port: YAML readers disagree on 010" in str(caught.value)
    assert "export: YAML readers disagree on 011" in str(caught.value)


UNFIT = [0, 0x7F, 0x80, 0x85, 0x9F, 0xFFFE, 0xFFFF]
FIT = [
    1,
    7,
    0x1B,
    0x1F,
    0xA0,
    0xAD,
    0x200B,
    0x202E,
    0x2028,
    0xFEFF,
    0xFDD0,
    0xFFFD,
    0x1F600,
    0x10FFFF,
]


@pytest.mark.parametrize("code", UNFIT)
@pytest.mark.parametrize(
    "text", ['a: "x%s"', 'a: [1, "x%s"]', 'a: {b: &c "%sy"}', '"k%s": 1', 'a: !!str "%s"']
)
def test_characters_that_nothing_passes_on_are_refused_as_escapes_too(code: int, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load.read(["-"], stdin=text % f"\\U{code:08x}")
    (found,) = caught.value.diagnostics
    assert found.code == "VS102"
    assert found.at is not None
    assert found.at.column == text.index('"') + 1
    assert found.message.endswith(f"a text with the character U+{code:04X} cannot be passed on")
    item = f'[{{name: A, value: "\\U{code:08x}"}}]'
    with pytest.raises(ConfigError, match=f"U\\+{code:04X}"):
        inputs.check(load.read(["-"], [f"K8sConfig.extra_env={item}"], stdin="{}"))


@pytest.mark.parametrize("code", FIT)
def test_other_characters_are_kept_when_they_are_escapes(code: int) -> None:
    document = load.read(["-"], stdin=f'a: "x\\U{code:08x}"')
    assert load.to_plain(document.root) == {"a": f"x{chr(code)}"}
