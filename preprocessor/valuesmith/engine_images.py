# SPDX-License-Identifier: Apache-2.0
"""Which engine release an engine's own image holds, read from its tag."""

from __future__ import annotations

import re

from valuesmith.references import parse_reference

# Repositories whose tags are engine releases: vllm/vllm-openai, lmsysorg/sglang, and copies of them elsewhere.
_ENGINES = re.compile(r"(vllm|vllm-openai|vllm-openai-(rocm|xpu|cpu)|vllm-tpu|sglang)")
_NUMBER = r"\d+\.\d+\.\d+(?:\.?(?:post|rc|dev)\d+)*"
_RELEASE = re.compile(rf"v?({_NUMBER})(?:[-_+].*)?")
_BARE = re.compile(rf"(v?){_NUMBER}")


def release_of_image(ref: str) -> str | None:
    """The engine release in the tag of *ref* (``vllm/vllm-openai:v0.20.1-cu129`` → ``0.20.1``), or ``None``.

    ``None`` also for images whose tags count something else: a Dynamo runtime, llm-d's own builds.
    """
    reference = parse_reference(ref)
    if reference is None or not reference.tag:
        return None
    if not _ENGINES.fullmatch(reference.repository.rpartition("/")[2]):
        return None
    found = _RELEASE.fullmatch(reference.tag)
    return found[1] if found else None


def tag_of_release(like: str, release: str) -> str | None:
    """The tag of *release*, spelled as *like* is (``v0.31.0``); ``None`` when *like* counts something else."""
    found = _BARE.fullmatch(like)
    return f"{found[1]}{release}" if found else None
