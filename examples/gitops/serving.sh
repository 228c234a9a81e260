#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Renders deploy/NAME.yaml into serving/NAME with the options in deploy/NAME.options (one word a line).
# With --check: writes nothing, ends with 1 when a folder is stale or what it builds is not valid.
# A folder in serving/ without its input ends it with 1 as well.
set -euo pipefail
shopt -s nullglob

check=("$@")
status=0
inputs=(deploy/*.yaml)
if [ ${#inputs[@]} -eq 0 ]; then
  echo "deploy/ holds no NAME.yaml: there is nothing to render" >&2
  status=1
fi
for folder in serving/*/; do
  name=$(basename "$folder")
  if [ ! -f "deploy/$name.yaml" ]; then
    echo "serving/$name is left over: there is no deploy/$name.yaml (git rm -r serving/$name)" >&2
    status=1
  fi
done
for input in "${inputs[@]}"; do
  name=$(basename "$input" .yaml)
  options=()
  if [ -f "deploy/$name.options" ]; then
    mapfile -t options < "deploy/$name.options"
  fi
  valuesmith render "$input" --format kustomize -o "serving/$name" "${options[@]}" "${check[@]}" || status=1
  valuesmith validate "serving/$name" || status=1
done
exit "$status"
