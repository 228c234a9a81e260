# SPDX-License-Identifier: Apache-2.0
"""Golden folders: every backend, mode, size and feature, rendered and committed."""
