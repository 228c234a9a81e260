# SPDX-License-Identifier: Apache-2.0
"""Reads the flags of a command out of a package's source, without running any of it."""
