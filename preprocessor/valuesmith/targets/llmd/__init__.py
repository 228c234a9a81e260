# SPDX-License-Identifier: Apache-2.0
"""llm-d: values for its modelservice chart, overlays for its Kustomize bases, values for its router."""
