# SPDX-License-Identifier: Apache-2.0
"""``make field-cases``: every case through the product, a line each.

Reads the file that FIELD_CASES names (default: the reference material's). Ends with ``passed N of M, later L,
listed K`` and exit code 1 when a case that is neither later nor listed fails.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from paths import SHARED

from fieldcases import product
from fieldcases.assertions import Unmet, hold
from valuesmith.artifacts import RECIPES

LISTED = Path(__file__).with_name("listed.yaml")


def main() -> int:
    default = SHARED / "vectors" / "field-cases.yaml"
    path = Path(os.environ.get("FIELD_CASES") or default)
    if not path.exists():
        print(f"field cases are not at {path}; name a file by FIELD_CASES")  # noqa: T201
        return 0 if path == default else 1
    only = set(sys.argv[1:])
    listed = yaml.safe_load(LISTED.read_text()) or {}
    counts = dict.fromkeys(("passed", "failed", "later", "listed"), 0)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    cases = [c for c in yaml.load(path.read_bytes(), loader)["cases"] if not only or c["id"] in only]
    for case in cases:
        state, reason = judge(case)
        if state == "failed" and case["id"] in listed:
            state, reason = "listed", listed[case["id"]]
        counts[state] += 1
        print(f"{state:<7} {case['id']:<10} {reason}".rstrip())  # noqa: T201
    print(  # noqa: T201
        f"passed {counts['passed']} of {len(cases)}, later {counts['later']}, listed {counts['listed']}"
    )
    return 1 if counts["failed"] else 0


def judge(case: dict[str, object]) -> tuple[str, str]:
    """``passed``, ``failed`` or ``later`` (its target cannot be rendered yet), and why."""
    if product.target_of(case) not in RECIPES:
        return "later", str(case["target"])
    with product.run(case) as outcome:
        if outcome.code == 70:
            return "failed", outcome.message.strip().splitlines()[0]
        try:
            hold(case, outcome)
        except Unmet as error:
            return "failed", str(error)
        except (LookupError, OSError, ValueError) as error:
            return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""


if __name__ == "__main__":
    sys.exit(main())
