# SPDX-License-Identifier: Apache-2.0
"""Rule files: what a deployment's numbers follow from.

A rule set is a folder with one ``<backend>.rule`` file per engine. :func:`load_rules` parses and
checks it, :func:`apply` runs it. Lines run top to bottom, once, each for every role that it names
and the deployment has; what a line sets, later lines see. README.md in ``data/rules`` describes the
language.
"""

from __future__ import annotations

from valuesmith.rules.changed import Change, changed
from valuesmith.rules.run import apply
from valuesmith.rules.sets import RuleSet, check_files, list_rule_sets, load_rules
from valuesmith.rules.vocabulary import Vocabulary

__all__ = [
    "Change",
    "RuleSet",
    "Vocabulary",
    "apply",
    "changed",
    "check_files",
    "list_rule_sets",
    "load_rules",
]
