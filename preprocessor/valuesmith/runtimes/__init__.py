# SPDX-License-Identifier: Apache-2.0
"""Runtimes: how an engine is started, with parameters that the tool need not know in advance."""
