#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Renders deploy/NAME.yaml into serving/NAME with the options in deploy/NAME.options (one word a line).
# With --check: writes nothing, ends with 1 when a folder is stale or what it builds is not valid.
set -euo pipefail

check=("$@")
status=0
for input in deploy/*.yaml; do
  name=$(basename "$input" .yaml)
  options=()
  if [ -f "deploy/$name.options" ]; then
    mapfile -t options < "deploy/$name.options"
  fi
  valuesmith render "$input" --format kustomize -o "serving/$name" "${options[@]}" "${check[@]}" || status=1
  valuesmith validate "serving/$name" || status=1
done
exit "$status"
