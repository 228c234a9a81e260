# SPDX-License-Identifier: Apache-2.0
"""Field cases: faults from public reports, run through the whole product."""
