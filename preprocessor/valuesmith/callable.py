# SPDX-License-Identifier: Apache-2.0
"""Modules that can be called, so that ``valuesmith.load(...)`` is the function and ``valuesmith.load`` the module."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module whose ``__call__`` is the function that :func:`make_callable` gave it."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.__dict__["called"](*args, **options)


def make_callable(name: str, function: Callable[..., Any]) -> None:
    """Let the module *name* be called as *function*."""
    module = sys.modules[name]
    module.__dict__["called"] = function
    module.__class__ = CallableModule
