# SPDX-License-Identifier: Apache-2.0
"""One description of an LLM deployment in; Helm values and manifests that are right out."""

__version__ = "0.1.0"
