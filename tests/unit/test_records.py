# SPDX-License-Identifier: Apache-2.0
"""Our records behave as the standard library's dataclasses do, in all that we use of them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valuesmith import records


def make(module: Any, **options: Any) -> Any:
    """The same class, made by the standard library's decorator or by ours."""

    class Sample:
        """A sample."""

        a: int
        b: str = "b"
        c: list[int] = module.field(default_factory=list)
        d: object = module.field(default=None, compare=False, repr=False)

        @property
        def both(self) -> str:
            return f"{self.a}{self.b}"

    return module.dataclass(slots=True, **options)(Sample)


OPTIONS = [{"frozen": True}, {"frozen": True, "eq": False}, {}]
VALUES = st.integers(0, 3) | st.text("ab", max_size=2) | st.none()
GIVEN = st.fixed_dictionaries({"a": VALUES}, optional={"b": VALUES, "c": st.lists(VALUES), "d": VALUES})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(given_first=GIVEN, given_second=GIVEN)
def test_they_print_compare_and_hash_alike(
    options: dict[str, Any], given_first: dict[str, Any], given_second: dict[str, Any]
) -> None:
    answers = []
    for module in (dataclasses, records):
        cls = make(module, **options)
        one, other = cls(**given_first), cls(**given_second)
        copied = module.replace(one, **given_second)
        answers.append(
            (
                repr(one).rpartition(".")[2],
                one == other,
                one == cls(**given_first),
                one == (one.a, one.b),
                copied == other,
                one.both,
                copied.c is one.c,
                (cls.__hash__ is None) or (options.get("eq") is False) or _hashes(one, other),
                [item.name for item in module.fields(cls)],
                cls.__match_args__,
                cls.__slots__,
                cls.__doc__,
            )
        )
    assert answers[0] == answers[1]


def _hashes(one: Any, other: Any) -> object:
    try:
        return (hash(one) == hash(other)) >= (one == other)
    except TypeError:
        return "unhashable"


@pytest.mark.parametrize("arguments", [(), (1, 2, 3, 4, 5)])
def test_wrong_arguments_are_refused(arguments: tuple[int, ...]) -> None:
    cls = make(records, frozen=True)
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        cls(*arguments)
    with pytest.raises(TypeError, match="no_such"):
        cls(1, no_such=2)


def test_a_frozen_record_keeps_its_values() -> None:
    frozen, other = make(records, frozen=True)(1), make(records)(1)
    with pytest.raises(AttributeError, match="a keeps its value"):
        frozen.a = 2
    with pytest.raises(AttributeError):
        del frozen.a
    other.a = 2
    assert (frozen.a, other.a) == (1, 2)
    for record in (frozen, other):
        with pytest.raises(AttributeError):
            record.none_such = 1


def test_defaults_are_made_anew_for_each_record() -> None:
    cls = make(records)
    cls(1).c.append(1)
    assert cls(1).c == []


@records.dataclass(frozen=True, slots=True)
class Travelling:
    """At the top of a module, so that pickle finds it."""

    a: int
    b: tuple[int, ...] = ()
    seen: int = records.field(init=False, default=7)


@records.dataclass(slots=True)
class Finished:
    """Sets a field that is no argument."""

    a: int
    twice: int = records.field(init=False)

    def __post_init__(self) -> None:
        self.twice = self.a * 2


def test_records_can_be_copied_pickled_and_replaced() -> None:
    record = Travelling(1, (2,))
    for copied in (pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)):
        assert copied == record
        assert (copied.a, copied.b, copied.seen) == (1, (2,), 7)
    assert dataclasses.replace(record, a=3) == Travelling(3, (2,))


def test_a_field_may_be_set_after_the_arguments() -> None:
    assert Finished(4).twice == 8
    assert records.replace(Finished(4), a=5).twice == 10


def test_fields_of_the_standard_library_are_refused() -> None:
    class Mixed:
        a: list[int] = dataclasses.field(default_factory=list)

    with pytest.raises(TypeError, match="import field from here"):
        records.dataclass(slots=True)(Mixed)


def test_importing_the_package_makes_no_standard_dataclass() -> None:
    code = (
        "import dataclasses\n"
        "made = []\n"
        "original = dataclasses._process_class\n"
        "dataclasses._process_class = lambda cls, *rest: (made.append(cls), original(cls, *rest))[1]\n"
        "from valuesmith import artifacts, pipeline, proof\n"
        "print([cls for cls in made if cls.__module__.startswith('valuesmith')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
