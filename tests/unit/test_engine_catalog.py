# SPDX-License-Identifier: Apache-2.0
"""The extractor: each way in which a package builds its parser, in a few lines of source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import engine_catalog
import pytest
from catalogs import packages
from catalogs.machine import Exhausted
from catalogs.parsers import Flag
from catalogs.recipes import Catalog, NoParser, extract
from catalogs.writing import text
from sources import SHA, archive

VLLM_UTILS = "class FlexibleArgumentParser(argparse.ArgumentParser): pass\n"


def frontend(tmp_path: Path, source: str, **files: str) -> Catalog:
    """The catalog of a `dynamo.frontend` whose parser *source* builds."""
    paths = {name.replace("__", "/") + ".py": body for name, body in files.items()}
    return extract("dynamo-frontend", archive(tmp_path, {"dynamo/frontend/main.py": source, **paths}))


def parsed(tmp_path: Path, body: str, **files: str) -> dict[str, Flag]:
    """Flags of a parser that the lines of *body* fill."""
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    source = (
        "import argparse\nimport os\n"
        f"def parse_args():\n    parser = argparse.ArgumentParser()\n{lines}\n"
        "    return parser.parse_args()\n"
    )
    catalog = frontend(tmp_path, source, **files)
    assert catalog.problems == []
    return catalog.flags


# ── argparse ────────────────────────────────────────────────────────────────────────────────────────────


def test_flags_in_groups_are_the_parsers_own(tmp_path: Path) -> None:
    flags = parsed(
        tmp_path,
        'group = parser.add_argument_group("x")\n'
        'group.add_argument("--in-group", "-g", type=int)\n'
        "one = group.add_mutually_exclusive_group()\n"
        'one.add_argument("--left", action="store_true")',
    )
    assert sorted(flags) == ["--in-group", "--left"]
    assert flags["--in-group"].names == ("--in-group", "-g")
    assert (flags["--in-group"].type, flags["--left"].takes) == ("int", "none")


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        ("", "one"),
        ("nargs='?'", "optional"),
        ("nargs='*'", "any"),
        ("nargs='+'", "many"),
        ("nargs=2", 2),
        ("action='store_false'", "none"),
        ("action='count'", "none"),
        ("action=argparse.BooleanOptionalAction", "none"),
    ],
)
def test_how_many_words_a_flag_takes(tmp_path: Path, words: str, takes: str | int) -> None:
    assert parsed(tmp_path, f'parser.add_argument("--a", {words})')["--a"].takes == takes


def test_switches_with_a_negative_and_flags_that_may_be_repeated(tmp_path: Path) -> None:
    flags = parsed(
        tmp_path,
        'parser.add_argument("--x", action=argparse.BooleanOptionalAction)\n'
        'parser.add_argument("--y", action="append")',
    )
    assert flags["--x"].negatable
    assert not flags["--y"].negatable
    assert flags["--y"].repeats


def test_choices_in_named_lists_of_another_file(tmp_path: Path) -> None:
    flags = parsed(
        tmp_path,
        "from dynamo.lists import NAMES, Mode\n"
        'parser.add_argument("--a", choices=NAMES + ["last"])\n'
        'parser.add_argument("--b", choices=[m.value for m in Mode])\n'
        'parser.add_argument("--c", choices=list(Mode))\n'
        'parser.add_argument("--d", type=int, choices=[16, 2])',
        dynamo__lists=(
            "import enum\nNAMES = ['b', 'a']\nNAMES.extend(['c'])\nNAMES += ['d']\n"
            "class Mode(str, enum.Enum):\n    ONE = 'one'\n    TWO = 'two'\n"
        ),
    )
    assert flags["--a"].choices == ("a", "b", "c", "d", "last")
    assert flags["--b"].choices == flags["--c"].choices == ("one", "two")
    assert flags["--d"].choices == ("2", "16")


def test_flags_in_a_loop_and_from_a_dictionary(tmp_path: Path) -> None:
    flags = parsed(
        tmp_path,
        "from dynamo.table import TABLE\n"
        "for info in TABLE.values():\n"
        '    kwargs = {"help": info["help"]}\n'
        '    if "choices" in info:\n'
        '        kwargs["choices"] = info["choices"]\n'
        '    if "action" in info:\n'
        '        kwargs["action"] = info["action"]\n'
        '    parser.add_argument(*info["flags"], **kwargs)\n'
        'for name, kind in [("--n", int), ("--s", str)]:\n'
        "    parser.add_argument(name, type=kind)",
        dynamo__table=(
            "import os\n"
            "TABLE = {'a': {'flags': ['--a'], 'help': '', 'action': 'store_true'},\n"
            " 'b': {'flags': ['--b', '-b'], 'help': os.environ.get('X'), 'choices': ['x', 'y']}}\n"
        ),
    )
    assert sorted(flags) == ["--a", "--b", "--n", "--s"]
    assert (flags["--a"].takes, flags["--b"].choices) == ("none", ("x", "y"))
    assert (flags["--n"].type, flags["--s"].type) == ("int", "")


def test_helpers_that_add_a_negatable_flag_or_an_older_name(tmp_path: Path) -> None:
    helpers = """
        import argparse

        def add_argument(parser, *, flag_name, obsolete_flag=None, arg_type=str, **kwargs):
            names = [flag_name]
            if obsolete_flag:
                names.append(obsolete_flag)
            options = {"dest": flag_name.lstrip("-").replace("-", "_")}
            if arg_type is not None:
                options["type"] = arg_type
            kwargs.update(options)
            parser.add_argument(*names, **kwargs)

        def add_negatable(parser, *, flag_name):
            add_argument(parser, flag_name=flag_name, arg_type=None, action=argparse.BooleanOptionalAction)

        class Group:
            def __init__(self, wide=True):
                self.wide = wide

            def add_arguments(self, parser):
                add_negatable(parser.add_argument_group("g"), flag_name="--use-it")
                if self.wide:
                    add_argument(parser, flag_name="--wide", obsolete_flag="--broad", arg_type=float)
        """
    source = (
        "import argparse\nfrom dynamo.helpers import Group\n"
        "class Narrow(Group):\n"
        "    def __init__(self):\n        super().__init__(wide=False)\n"
        "def parse_args():\n"
        "    parser = argparse.ArgumentParser()\n    {}().add_arguments(parser)\n"
        "    return parser.parse_known_args()\n"
    )
    wide = frontend(tmp_path, source.format("Group"), dynamo__helpers=helpers).flags
    assert wide["--use-it"].negatable
    assert (wide["--wide"].names, wide["--wide"].type) == (("--wide", "--broad"), "float")
    narrow = frontend(tmp_path, source.format("Narrow"), dynamo__helpers=helpers).flags
    assert sorted(narrow) == ["--use-it"]


# ── what counts ─────────────────────────────────────────────────────────────────────────────────────────


def test_only_parsers_that_parse_count(tmp_path: Path) -> None:
    catalog = frontend(
        tmp_path,
        """
        import argparse

        def parse_args():
            parser = argparse.ArgumentParser(allow_abbrev=False)
            parser.add_argument("--own")
            shown = argparse.ArgumentParser(add_help=False)
            shown.add_argument("--shown-in-help-only")
            args, rest = parser.parse_known_args()
            second = argparse.ArgumentParser()
            second.add_argument("--of-the-rest")
            second.parse_args(rest)

        def unused():
            argparse.ArgumentParser().add_argument("--elsewhere")
        """,
    )
    assert sorted(catalog.flags) == ["--of-the-rest", "--own"]
    assert not catalog.abbreviates


def test_what_a_mode_adds_is_kept_apart(tmp_path: Path) -> None:
    catalog = frontend(
        tmp_path,
        """
        import argparse

        def parse_args():
            parser = argparse.ArgumentParser()
            parser.add_argument("--processor")
            args, rest = parser.parse_known_args()
            if args.processor == "vllm":
                from vllm.engine.arg_utils import AsyncEngineArgs
                inner = AsyncEngineArgs.add_cli_args(argparse.ArgumentParser())
                return inner.parse_args(rest)
            elif args.processor == "sglang":
                inner = argparse.ArgumentParser()
                inner.add_argument("--chat-template")
                return inner.parse_args(rest)
        """,
    )
    assert sorted(catalog.flags) == ["--processor"]
    assert sorted(catalog.modes["sglang"]) == ["--chat-template"]
    assert catalog.hosts == {"vllm": ["vllm"]}


def test_an_engine_that_the_command_hosts_is_named_not_copied(tmp_path: Path) -> None:
    source = """
        from vllm.engine.arg_utils import AsyncEngineArgs
        try:
            from vllm.utils import FlexibleArgumentParser
        except ImportError:
            from vllm.utils.argparse_utils import FlexibleArgumentParser

        def parse_args():
            parser = FlexibleArgumentParser(description="x")
            parser.add_argument("--own", action="store_true")
            parser = AsyncEngineArgs.add_cli_args(parser)
            return parser.parse_args()
        """
    catalog = extract("dynamo-vllm", archive(tmp_path, {"dynamo/vllm/args.py": source}))
    assert sorted(catalog.flags) == ["--own"]
    assert catalog.hosts == {"": ["vllm"]}


def test_an_import_that_fails_leads_to_the_other_branch(tmp_path: Path) -> None:
    flags = parsed(
        tmp_path,
        "try:\n    from dynamo.there import MISSING as names\n"
        "except ImportError:\n    from dynamo.there import NAMES as names\n"
        'parser.add_argument("--a", choices=names)',
        dynamo__there="NAMES = ['x']\n",
    )
    assert flags["--a"].choices == ("x",)


def test_undecided_conditions_take_both_branches_and_known_ones_only_theirs(tmp_path: Path) -> None:
    flags = parsed(
        tmp_path,
        "import sys\nfrom typing import TYPE_CHECKING\n"
        'if os.environ.get("X"):\n    parser.add_argument("--maybe")\n'
        'else:\n    parser.add_argument("--else")\n'
        'if TYPE_CHECKING:\n    parser.add_argument("--never")\n'
        'if sys.version_info < (3, 10):\n    parser.add_argument("--old")\n',
    )
    assert sorted(flags) == ["--else", "--maybe"]


def test_a_function_that_may_have_returned_before_it_raises_does_not_end_the_walk(
    tmp_path: Path,
) -> None:
    flags = parsed(
        tmp_path,
        "def strict(value):\n    if value == 'x':\n        return 1\n    raise ValueError(value)\n"
        "strict(os.environ.get('A'))\n"
        'parser.add_argument("--after")',
    )
    assert sorted(flags) == ["--after"]


def test_flags_that_are_rewritten_before_parsing(tmp_path: Path) -> None:
    source = """
        import argparse
        import sys

        def parse_args(argv):
            words = []
            for word in argv:
                flag = word.split("=")[0]
                if flag == "--both":
                    words.extend(["--first", "--second"])
                else:
                    words.append(word)
            parser = argparse.ArgumentParser()
            parser.add_argument("--first", action="store_true")
            parser.add_argument("--second", action="store_true")
            return parser.parse_args(words)
        """
    flags = extract("dynamo-trtllm", archive(tmp_path, {"dynamo/trtllm/args.py": source})).flags
    assert flags["--both"] == Flag(
        ("--both",), takes="none", deprecated=True, successors=("--first", "--second")
    )


def test_choices_that_a_component_adds_to_its_engines(tmp_path: Path) -> None:
    source = """
        import argparse
        from sglang.srt.server_args import ServerArgs

        PD = "pd"

        def last(words, flag):
            return None

        def translated(words):
            mode = last(words, "--disaggregation-mode")
            if mode in {"agg", PD}:
                return words
            if mode == "encode":
                return words

        async def parse_args(args):
            parser = argparse.ArgumentParser()
            ServerArgs.add_cli_args(parser)
            for action in parser._actions:
                if getattr(action, "dest", None) == "load_format" and action.choices:
                    action.choices = list(action.choices) + ["extra"]
            parser.add_argument("--own")
            return parser.parse_args(args)
        """
    catalog = extract("dynamo-sglang", archive(tmp_path, {"dynamo/sglang/args.py": source}))
    assert catalog.added_choices == {
        "--load-format": ["extra"],
        "--disaggregation-mode": ["agg", "encode", "pd"],
    }


def test_deprecated_flags_say_what_came_instead(tmp_path: Path) -> None:
    flags = parsed(
        tmp_path,
        "class Old(argparse.Action):\n"
        "    def __init__(self, option_strings, dest, new_flag=None, error_message=None, nargs=0, **kw):\n"
        "        super().__init__(option_strings, dest, nargs=nargs, **kw)\n"
        "class DeprecatedAction(Old):\n    pass\n"
        'parser.add_argument("--a", action=DeprecatedAction, new_flag="--b-{x,y}=off")\n'
        'parser.add_argument("--c", action=DeprecatedAction, error_message="gone, use --d")\n'
        'parser.add_argument("--e", help="[DEPRECATED] Use --f instead")\n'
        'parser.add_argument("--g", deprecated=True)\n'
        'parser.add_argument("--h", help="Turns off what --i, which is deprecated, did")\n'
        'parser.add_argument("--j", help="[Deprecated for others] Use --k")',
    )
    assert (flags["--a"].takes, flags["--a"].successors) == ("none", ("--b-x", "--b-y"))
    assert (flags["--c"].retired, flags["--c"].successors) == (True, ("--d",))
    assert (flags["--e"].deprecated, flags["--e"].successors) == (True, ("--f",))
    assert [flags[name].deprecated for name in ("--g", "--h", "--j")] == [True, False, False]


# ── fields ──────────────────────────────────────────────────────────────────────────────────────────────

CONFIGS = """
    from dataclasses import InitVar, field
    from typing import Any, ClassVar, Literal, Optional, Union
    from pydantic import Field, SkipValidation
    from vllm.config.utils import config
    from vllm.config.kinds import Kind

    Level = Literal["low", "high"]

    @config
    class Inner:
        a: int = 1

    @config
    class Base:
        inherited: int = 1

    @config
    class ModelConfig(Base):
        kind: Kind = "b"
        level: Level | None = None
        size: SkipValidation[Literal[16, 8]] = 8
        text: str = ""
        free: Union[str, Literal["x"]] = "x"
        count: Optional[int] = Field(default=None, ge=1)
        max_model_len: int = 1
        share: float = 0.5
        switch: bool | None = None
        token: bool | str | None = None
        names: list[str] = field(default_factory=list)
        pair: tuple[int, int] = (1, 2)
        many: tuple[int, ...] = ()
        inner: Inner = field(default_factory=Inner)
        table: dict[str, int] = field(default_factory=dict)
        mixed: dict[str, Any] | str = ""
        hidden: InitVar[int] = 0
        LIMIT: ClassVar[int] = 3
    """

VLLM = {
    "vllm/config/utils.py": "def config(cls=None, **kw):\n    return cls\n",
    "vllm/config/kinds.py": "from typing import Literal\nKind = Literal['b', 'a']\n",
    "vllm/config/__init__.py": CONFIGS,
    "vllm/utils/argparse_utils.py": """
        import argparse

        class PairedAction(argparse.BooleanOptionalAction):
            _inverse_prefixes = {"--enable-": "--disable-", "--disable-": "--enable-"}

        class FlexibleArgumentParser(argparse.ArgumentParser):
            def _pull_args_from_config(self, args):
                return args
        """,
    "vllm/engine/arg_utils.py": """
        import argparse
        import json
        from dataclasses import dataclass
        from vllm.config import ModelConfig
        from vllm.platforms import current_platform

        def human_readable_int(value):
            return int(value)

        def optional_type(kind):
            return kind

        def _compute_kwargs(cls):
            kwargs = {}
            for name in ():
                if name == "max_model_len":
                    kwargs["type"] = human_readable_int
                kwargs["nargs"] = '?'
            return kwargs

        def get_kwargs(cls):
            return _compute_kwargs(cls)

        @dataclass
        class EngineArgs:
            @staticmethod
            def add_cli_args(parser):
                fields = get_kwargs(ModelConfig)
                group = parser.add_argument_group(title="ModelConfig", description=ModelConfig.__doc__)
                for name in fields:
                    group.add_argument("--" + name.replace("_", "-"), **fields[name])
                group.add_argument("--short", "-s", **{**fields["count"], "default": None})
                lowered = fields["kind"]
                lowered["type"] = lambda s: s.lower().replace("-", "_")
                group.add_argument("--lowered", **lowered)
                fields["level"]["choices"] += ["extra"]
                group.add_argument("--longer", **fields["level"])
                group.add_argument("--json", type=optional_type(json.loads))
                group.add_argument("--enable-paired", action=argparse.BooleanOptionalAction)
                return parser

        @dataclass
        class AsyncEngineArgs(EngineArgs):
            @staticmethod
            def add_cli_args(parser, async_args_only=False):
                if not async_args_only:
                    parser = EngineArgs.add_cli_args(parser)
                parser.add_argument("--async-only", action="store_true")
                current_platform.pre_register_and_update(parser)
                return parser
        """,
    "vllm/platforms/__init__.py": "def __getattr__(name):\n    raise AttributeError(name)\n",
    "vllm/entrypoints/openai/cli_args.py": """
        from vllm.config.utils import config
        from vllm.engine.arg_utils import AsyncEngineArgs, get_kwargs

        @config
        class FrontendArgs:
            host: str | None = None
            middleware: list[str] = ()

            @classmethod
            def add_cli_args(cls, parser):
                fields = get_kwargs(cls)
                fields["middleware"]["action"] = "append"
                del fields["middleware"]["nargs"]
                for key, value in fields.items():
                    parser.add_argument(f"--{key.replace('_', '-')}", **value)
                return parser

        def make_arg_parser(parser):
            parser.add_argument("model_tag", nargs="?")
            parser.add_argument("--headless", action="store_true")
            parser = FrontendArgs.add_cli_args(parser)
            return AsyncEngineArgs.add_cli_args(parser)
        """,
}


def test_config_classes_become_flags_by_their_types(tmp_path: Path) -> None:
    catalog = extract("vllm", archive(tmp_path, VLLM, "vllm"))
    assert catalog.problems == []
    flags = catalog.flags
    assert {name: flag.takes for name, flag in flags.items() if flag.takes != "one"} == {
        "--async-only": "none",
        "--enable-paired": "none",
        "--many": "many",
        "--names": "many",
        "--pair": 2,
        "--switch": "none",
        "--token": "optional",
    }
    assert {name: flag.type for name, flag in flags.items() if flag.type} == {
        "--count": "int",
        "--inherited": "int",
        "--inner": "json",
        "--json": "json",
        "--lowered": "folded",
        "--many": "int",
        "--max-model-len": "size",
        "--mixed": "mixed",
        "--pair": "int",
        "--share": "float",
        "--short": "int",
        "--size": "int",
        "--table": "json",
    }
    assert {name: flag.choices for name, flag in flags.items() if flag.choices} == {
        "--kind": ("a", "b"),
        "--level": ("None", "high", "low"),
        "--longer": ("None", "extra", "high", "low"),
        "--lowered": ("a", "b"),
        "--size": ("8", "16"),
    }
    assert flags["--switch"].negatable
    assert flags["--short"].names == ("--short", "-s")
    assert "--hidden" not in flags
    assert "--LIMIT" not in flags
    assert flags["--enable-paired"].opposite == "--disable-paired"
    assert "--config" in flags


def test_what_only_vllm_serve_takes_is_kept_apart(tmp_path: Path) -> None:
    catalog = extract("vllm", archive(tmp_path, VLLM, "vllm"))
    assert sorted(catalog.serve) == ["--headless", "--host", "--middleware"]
    assert sorted(catalog.positionals) == ["model_tag"]
    assert (catalog.serve["--middleware"].takes, catalog.serve["--middleware"].repeats) == ("one", True)
    entries = json.loads(text(catalog))["flags"]
    assert entries["--host"] == {"scope": "serve"}
    assert "scope" not in entries["--kind"]


ARG_UTILS = """
    import msgspec
    from typing import Annotated

    A = Annotated

    class Arg(msgspec.Struct):
        help: str = ""

    def add_cli_args_from_dataclass(parser, cls, *, fields=None):
        raise NotImplementedError
    """
FIELDS = """
    import json
    from typing import Dict, List, Literal, Optional
    import msgspec
    from sglang.srt.arg_groups.arg_utils import A, Arg
    from sglang.srt.arg_groups.choices import KINDS
    from sglang.srt.arg_groups.actions import DeprecatedStoreAction

    class Model(msgspec.Struct):
        _NS_PATH = "model"
        model_path: A[str, Arg(help="x", aliases=["--model"])]
        tp_size: A[int, Arg(help="x", cli_name="--tensor-parallel-size", aliases=["--tp-size", "--tp"])] = 1
        kind: A[str, Arg(choices=KINDS)] = "a"
        mode: A[Literal["null", "prefill"], "The mode"] = "null"
        sizes: A[Optional[List[int]], "Sizes"] = None
        on: A[bool, "Switch"] = False
        table: A[Optional[Dict[str, int]], Arg(type_parser=json.loads)] = None
        inside: A[bool, Arg(no_cli=True)] = False
        plain: int = 3
        old: A[
            Optional[int],
            Arg(action=DeprecatedStoreAction, action_kwargs={"new_flag": "--new", "type": int}),
        ] = None
    """
SGLANG = {
    "sglang/srt/arg_groups/arg_utils.py": ARG_UTILS,
    "sglang/srt/arg_groups/choices.py": "KINDS = ['b', 'a']\n",
    "sglang/srt/arg_groups/actions.py": "import argparse\nclass DeprecatedStoreAction(argparse.Action):\n    pass\n",
}
TAIL = """
    import argparse

    def prepare_server_args(argv):
        parser = argparse.ArgumentParser(prog="sglang serve")
        ServerArgs.add_cli_args(parser)
        if "--config" in argv:
            argv = merged(argv)
        return ServerArgs.from_cli_args(parser.parse_args(argv))
    """
ADD = """
        @staticmethod
        def add_cli_args(parser):
            add_cli_args_from_dataclass(parser, ServerArgs)
            parser.add_argument("--by-hand", choices={"x", "y"})
    """


def server_flags(tmp_path: Path, files: dict[str, str]) -> dict[str, Flag]:
    catalog = extract("sglang", archive(tmp_path, files, "sglang"))
    assert catalog.problems == []
    return catalog.flags


def check_server_flags(flags: dict[str, Flag]) -> None:
    assert sorted(flags) == [
        "--by-hand", "--kind", "--mode", "--model-path", "--old", "--on", "--sizes", "--table",
        "--tensor-parallel-size",
    ]  # fmt: skip
    assert flags["--tensor-parallel-size"].names == ("--tensor-parallel-size", "--tp-size", "--tp")
    assert flags["--model-path"].names == ("--model-path", "--model")
    assert flags["--kind"].choices == ("a", "b")
    assert flags["--mode"].choices == ("null", "prefill")
    assert (flags["--sizes"].takes, flags["--sizes"].type) == ("many", "int")
    assert (flags["--on"].takes, flags["--table"].type) == ("none", "json")
    assert (flags["--old"].takes, flags["--old"].deprecated, flags["--old"].successors) == (
        "one",
        True,
        ("--new",),
    )


def test_annotated_fields_of_one_class(tmp_path: Path) -> None:
    body = FIELDS.replace(
        "class Model(msgspec.Struct):", "@dataclasses.dataclass\n    class ServerArgs:"
    )
    source = (
        "    import dataclasses\n    from sglang.srt.arg_groups.arg_utils import add_cli_args_from_dataclass"
        + body
    )
    flags = server_flags(
        tmp_path, {**SGLANG, "sglang/srt/server_args.py": source.rstrip() + "\n" + ADD + TAIL}
    )
    check_server_flags(flags)


def test_annotated_fields_in_namespaces_that_a_class_is_put_together_from(tmp_path: Path) -> None:
    source = (
        """
    import msgspec
    from sglang.srt.arg_groups.arg_utils import add_cli_args_from_dataclass
    from sglang.srt.arg_groups.fields.model import Model

    class ServerArgs:
    """.rstrip()
        + ADD
        + """
    _INPUTS = [Model]
    ServerArgs = msgspec.defstruct("ServerArgs", [(n,) for n in ServerArgs.__annotations__], dict=True)
    """
        + TAIL
    )
    files = {
        **SGLANG,
        "sglang/srt/arg_groups/fields/model.py": FIELDS,
        "sglang/srt/server_args.py": source,
    }
    check_server_flags(server_flags(tmp_path, files))


# ── the machine ─────────────────────────────────────────────────────────────────────────────────────────


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    catalog = frontend(
        tmp_path,
        """
        import argparse, os

        def parse_args():
            parser = argparse.ArgumentParser()
            parser.add_argument(os.environ["FLAG"])
            parser.add_argument("--open", choices=os.listdir("."))
            mystery(parser)
            return parser.parse_args()
        """,
    )
    assert catalog.flags["--open"].choices is None
    assert catalog.problems == [
        "dynamo/frontend/main.py:6: names of an argument cannot be read: [?]",
        "dynamo/frontend/main.py:7: choices of --open cannot be read",
        "dynamo/frontend/main.py:8: a parser goes to mystery(parser), which cannot be followed",
    ]


def test_nothing_of_the_package_runs(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    flags = parsed(
        tmp_path,
        'from dynamo.touch import NAME\nparser.add_argument("--a")',
        dynamo__touch=f"import pathlib\nNAME = pathlib.Path({str(trace)!r}).write_text('x')\nraise SystemExit\n",
    )
    assert sorted(flags) == ["--a"]
    assert not trace.exists()


def test_a_source_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catalogs.machine.STEPS", 20_000)
    source = """
        import argparse

        def parse_args():
            for a in range(10**4):
                for b in range(10**4):
                    pass
        """
    with pytest.raises(Exhausted):
        frontend(tmp_path, source)


def test_a_release_without_the_command(tmp_path: Path) -> None:
    with pytest.raises(NoParser, match=r"sample 1\.0\.0 has none of dynamo\.router\.args\.parse_args"):
        extract("dynamo-router", archive(tmp_path, {"dynamo/__init__.py": ""}))


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_catalog_is_sorted_one_flag_a_line_without_what_goes_without_saying(tmp_path: Path) -> None:
    catalog = frontend(
        tmp_path,
        """
        import argparse

        def parse_args():
            parser = argparse.ArgumentParser()
            parser.add_argument("--zeta", "-z")
            parser.add_argument("--alpha", nargs="+", type=int, choices=[2, 1])
            return parser.parse_args()
        """,
    )
    assert text(catalog) == (
        "{\n"
        '"engine": "dynamo-frontend",\n'
        '"version": "1.0.0",\n'
        f'"package": {{"name":"sample","file":"sample-1.0.0.whl","sha256":"{SHA}"}},\n'
        '"flags": {\n'
        '"--alpha": {"value":"many","type":"int","choices":["1","2"]},\n'
        '"--zeta": {"aliases":["-z"]}\n'
        "}\n}\n"
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for catalogs; the package index has vllm 0.2.0 and 0.1.0, and nothing of Dynamo."""
    older = {
        name: body.replace('group.add_argument("--json", type=optional_type(json.loads))', "pass")
        for name, body in VLLM.items()
    }

    def fetch(name: str, version: str, cache: Path) -> Any:
        if name == "vllm" and version in ("0.1.0", "0.2.0"):
            return archive(tmp_path, VLLM if version == "0.2.0" else older, name, version)
        raise packages.FetchError(f"no {name} {version}")

    releases = tmp_path / "releases.yaml"
    releases.write_text('releases:\n  "1.0.0": {vllm: "0.2.0", sglang: "0.5.0", trtllm: "1.0.0"}\n')
    monkeypatch.setattr(engine_catalog, "fetch", fetch)
    monkeypatch.setattr(engine_catalog, "RELEASES", releases)
    return tmp_path / "out"


def test_making_one_catalog_shows_what_changed(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert engine_catalog.main(["--engine", "vllm", "--version", "0.1.0", "--out", str(index)]) == 0
    assert engine_catalog.main(["--engine", "vllm", "--version", "0.2.0", "--out", str(index)]) == 0
    assert capsys.readouterr().out == (
        f"1 catalogs made in {index}\n1 catalogs made in {index}\nsince 0.1.0:\n"
        f"  + {'--json':<40} JSON\n"
    )


def test_missing_makes_only_what_is_pinned_and_not_there(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert engine_catalog.main(["--missing", "--out", str(index)]) == 1
    assert "sglang 0.5.0: no sglang 0.5.0" in capsys.readouterr().out
    assert [path.name for path in index.iterdir()] == ["vllm-0.2.0.json"]
    (index / "vllm-0.2.0.json").write_text("{}")
    engine_catalog.main(["--missing", "--out", str(index)])
    assert (index / "vllm-0.2.0.json").read_text() == "{}"
    engine_catalog.main(["--all", "--out", str(index)])
    assert json.loads((index / "vllm-0.2.0.json").read_text())["version"] == "0.2.0"


def test_a_wish_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        engine_catalog.main(["--engine", "vllm"])
    assert "give --engine and --version, or --all, or --missing" in capsys.readouterr().err
