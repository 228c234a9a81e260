# SPDX-License-Identifier: Apache-2.0
"""``python -m valuesmith``: the command line where its script is not on PATH."""

from valuesmith.cli import main

main()
