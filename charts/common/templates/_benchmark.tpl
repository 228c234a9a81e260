{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
common.waitScript: a Python program that waits until a server is ready. A library chart has no files of its own that a
chart could read, so the texts of the scripts are templates.
Takes nothing. Neither script may hold "$(" or "$$", which Kubernetes would expand.
*/}}
{{- define "common.waitScript" -}}
"""Waits until a server lists a model, or answers at READY_PATH: python3 -c SCRIPT URL SECONDS."""

import json
import os
import sys
import time
import urllib.request

path = os.environ.get("READY_PATH")
url = sys.argv[1].rstrip("/") + (path or "/v1/models")
limit = time.monotonic() + float(sys.argv[2])
while True:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            names = [str(answer.status)] if path else [model["id"] for model in json.load(answer)["data"]]
        problem = "no model is registered yet"
    except (OSError, ValueError, KeyError, TypeError) as error:
        names, problem = [], str(error)
    if names:
        sys.stdout.write(f"{url}: {', '.join(names)}\n")
        sys.exit(0)
    if time.monotonic() > limit:
        sys.exit(f"{url}: {problem}")
    time.sleep(5)
{{ end -}}

{{- /*
common.benchmarkScript: a shell script that makes one aiperf run for each word of RUNS, which is CONCURRENCY:REQUESTS:
sh -c SCRIPT benchmark WAIT_SCRIPT [FLAG …].
Takes nothing.
*/}}
{{- define "common.benchmarkScript" -}}
set -eu
wait_script=$1
shift
python3 -c "$wait_script" "$ENDPOINT_URL" "$START_TIMEOUT_SECONDS"
python3 -m venv /bench/venv
/bench/venv/bin/pip install --quiet --no-cache-dir "$AIPERF_PACKAGE"
for run in $RUNS; do
  concurrency=${run%%:*}
  requests=${run#*:}
  echo "concurrency $concurrency"
  /bench/venv/bin/aiperf profile "$@" --concurrency "$concurrency" ${requests:+--request-count "$requests"} \
    --artifact-dir "/results/concurrency-$concurrency"
done
{{ end -}}

{{- /*
common.benchmarkRuns: the words of RUNS; nothing after the colon lets aiperf decide.
Takes: the chart's benchmark values (concurrency, requestCounts).
*/}}
{{- define "common.benchmarkRuns" -}}
{{- if not .concurrency -}}
{{- fail "benchmark.concurrency is empty: there would be no run" -}}
{{- end -}}
{{- if and .requestCounts (ne (len .requestCounts) (len .concurrency)) -}}
{{- fail (printf "benchmark.requestCounts has %d entries and benchmark.concurrency %d; give one per run" (len .requestCounts) (len .concurrency)) -}}
{{- end -}}
{{- $runs := list -}}
{{- range $index, $level := .concurrency -}}
{{- $requests := "" -}}
{{- if $.requestCounts -}}
{{- $requests = include "common.word" (index $.requestCounts $index) -}}
{{- end -}}
{{- $runs = append $runs (printf "%s:%s" (include "common.word" $level) $requests) -}}
{{- end -}}
{{- join " " $runs -}}
{{- end -}}

{{- /*
common.benchmarkEnv: EnvVar entries of the Job: the token, extraEnv, then the Job's own with the user's by name, or with the
user's behind them where env is a list. The user's entry takes the place of another of the same name.
Takes: dict "benchmark", "url", "path", "token" (as common.benchmarkJob).
*/}}
{{- define "common.benchmarkEnv" -}}
{{- $b := .benchmark -}}
{{- $own := dict
      "AIPERF_PACKAGE" $b.package
      "ENDPOINT_URL" (include "common.literal" .url)
      "HOME" "/bench"
      "RUNS" (include "common.benchmarkRuns" $b)
      "START_TIMEOUT_SECONDS" $b.startTimeoutSeconds -}}
{{- with .path -}}
{{- $_ := set $own "READY_PATH" (include "common.literal" .) -}}
{{- end -}}
{{- $named := ternary $b.env dict (kindIs "map" $b.env) -}}
{{- $listed := ternary $b.env list (kindIs "slice" $b.env) -}}
{{- $entries := include "common.env" (dict
      "extraEnv" $b.extraEnv "env" (mergeOverwrite $own (deepCopy $named)) "where" "benchmark.env") | fromYamlArray -}}
{{- include "common.yaml" (include "common.merge" (dict
      "base" (include "common.tokenEnv" .token | fromYamlArray) "over" (concat $entries $listed) "key" "env") | fromYaml).value -}}
{{- end -}}

{{- /*
common.benchmarkContainer: the container of the Job, with the chart's own mounts.
Takes: as common.benchmarkJob.
*/}}
{{- define "common.benchmarkContainer" -}}
{{- $b := .root.Values.benchmark -}}
{{- $args := default dict $b.args -}}
{{- $url := default .url $b.endpointUrl -}}
{{- range $name := list "concurrency" "request-count" "artifact-dir" -}}
{{- if hasKey $args $name -}}
{{- fail (printf "benchmark.args.%s: the Job sets this flag itself, from benchmark.concurrency and benchmark.requestCounts" $name) -}}
{{- end -}}
{{- end -}}
{{- $words := list (include "common.waitScript" .) -}}
{{- range include "common.args" (dict
      "engineArgs" (mergeOverwrite (dict "url" $url) (deepCopy $args)) "extraArgs" $b.extraArgs "where" "benchmark.args") | fromYamlArray -}}
{{- $words = append $words (include "common.literal" .) -}}
{{- end -}}
{{- include "common.yaml" (dict
      "name" "benchmark"
      "image" (include "common.image" (dict "root" .root "image" $b.image "where" "benchmark.image"))
      "imagePullPolicy" $b.image.pullPolicy
      "command" (list "sh" "-c" (include "common.benchmarkScript" .) "benchmark")
      "args" $words
      "env" (include "common.benchmarkEnv" (dict "benchmark" $b "url" $url "path" .path "token" .token) | fromYamlArray)
      "resources" (include "common.resources" (dict "accelerator" (default "" .accelerator) "resources" $b.resources "where" "benchmark.resources") | fromYaml)
      "securityContext" (include "common.ownContainer" . | fromYaml)
      "volumeMounts" (concat
        (list (dict "name" "work" "mountPath" "/bench") (dict "name" "results" "mountPath" "/results"))
        (include "common.modelCacheMount" . | fromYamlArray))) -}}
{{- end -}}

{{- /*
common.benchmarkJob: the Job that loads an endpoint by aiperf, from the chart's benchmark values.
Takes: dict "root", "metadata", "url" (unless benchmark.endpointUrl gives one), "path" (that answers when requests can be sent;
left out: a model must be listed), "token" (name and key of a Secret, or null), "accelerator" (resource that the Job may not ask
for), "modelCache" (mounted too; may be left out), "chartWide" (true: the chart-wide placement is the Job's as well).
*/}}
{{- define "common.benchmarkJob" -}}
{{- $b := .root.Values.benchmark -}}
{{- $spec := merge
      (include "common.ownPod" .root | fromYaml)
      (include "common.podPlacement" (dict "root" (ternary .root (dict "Values" dict) (default false .chartWide)) "component" $b) | fromYaml)
      (dict
        "containers" (list (include "common.benchmarkContainer" . | fromYaml))
        "volumes" (concat
          (list (dict "name" "work" "emptyDir" dict) (dict "name" "results" "emptyDir" dict))
          (include "common.modelCacheVolume" . | fromYamlArray))) -}}
{{- $labels := mergeOverwrite (default dict .root.Values.commonLabels | deepCopy)
      (include "common.selectorLabels" (dict "root" .root "component" "benchmark") | fromYaml) -}}
{{- include "common.object" (dict
      "apiVersion" "batch/v1" "kind" "Job" "metadata" .metadata
      "spec" (dict
        "backoffLimit" (int $b.backoffLimit)
        "template" (dict
          "metadata" (dict "labels" $labels)
          "spec" (include "common.podExtras" (dict "podSpec" $spec "values" $b "main" "benchmark" "where" "benchmark") | fromYaml)))) -}}
{{- end -}}

{{- /*
common.testHook: the Pod of `helm test`, which waits until an endpoint is ready, from the chart's test values.
Takes: dict "root", "metadata", "container" (its name), "url", "path" (as common.benchmarkJob).
*/}}
{{- define "common.testHook" -}}
{{- $test := .root.Values.test -}}
{{- $container := dict
      "name" .container
      "image" (include "common.image" (dict "root" .root "image" $test.image "where" "test.image"))
      "imagePullPolicy" $test.image.pullPolicy
      "command" (list "python3" "-c" (include "common.waitScript" .))
      "args" (list .url (include "common.word" $test.timeoutSeconds))
      "securityContext" (include "common.ownContainer" . | fromYaml) -}}
{{- with .path -}}
{{- $_ := set $container "env" (list (dict "name" "READY_PATH" "value" (include "common.literal" .))) -}}
{{- end -}}
{{- $hook := dict "helm.sh/hook" "test" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" -}}
{{- $spec := mergeOverwrite (include "common.ownPod" .root | fromYaml) (dict "containers" (list $container)) -}}
{{- include "common.object" (dict
      "apiVersion" "v1" "kind" "Pod" "metadata" (mergeOverwrite .metadata (dict "annotations" $hook)) "spec" $spec) -}}
{{- end -}}

{{- /*
common.ownPod, common.ownContainer: the pod spec and the container's security context that the chart's own pods (benchmark, test)
start from: no root, no rights.
Take: the root context; anything.
*/}}
{{- define "common.ownPod" -}}
{{- $spec := dict
      "automountServiceAccountToken" false "restartPolicy" "Never"
      "securityContext" (dict
        "runAsNonRoot" true "runAsUser" 1000 "runAsGroup" 1000 "fsGroup" 1000
        "seccompProfile" (dict "type" "RuntimeDefault")) -}}
{{- with include "common.imagePullSecrets" . | fromYamlArray -}}
{{- $_ := set $spec "imagePullSecrets" . -}}
{{- end -}}
{{- include "common.yaml" $spec -}}
{{- end -}}

{{- define "common.ownContainer" -}}
{{- include "common.yaml" (dict "allowPrivilegeEscalation" false "capabilities" (dict "drop" (list "ALL"))) -}}
{{- end -}}
