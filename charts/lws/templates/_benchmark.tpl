{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
lws.literal: a word that Kubernetes hands on as it is: it takes $(NAME) for a reference and $$ for a dollar sign.
Takes: the word.
*/}}
{{- define "lws.literal" -}}
{{- . | replace "$" "$$" -}}
{{- end -}}

{{- /*
lws.script: a file of files/ as one word, without its comment lines.
Takes: dict "root", "file".
*/}}
{{- define "lws.script" -}}
{{- regexReplaceAll "(?m)^#[^\n]*\n" (printf "files/%s" .file | .root.Files.Get) "" -}}
{{- end -}}

{{- /*
lws.runs: the runs of the benchmark as words CONCURRENCY:REQUESTS (nothing after the colon: aiperf decides).
Takes: the root context.
*/}}
{{- define "lws.runs" -}}
{{- $b := .Values.benchmark -}}
{{- if not $b.concurrency -}}
{{- fail "benchmark.concurrency is empty: there would be no run" -}}
{{- end -}}
{{- if and $b.requestCounts (ne (len $b.requestCounts) (len $b.concurrency)) -}}
{{- fail (printf "benchmark.requestCounts has %d entries and benchmark.concurrency %d; give one per run" (len $b.requestCounts) (len $b.concurrency)) -}}
{{- end -}}
{{- $runs := list -}}
{{- range $index, $level := $b.concurrency -}}
{{- $requests := "" -}}
{{- if $b.requestCounts -}}
{{- $requests = index $b.requestCounts $index | include "common.word" -}}
{{- end -}}
{{- $runs = append $runs (printf "%s:%s" (include "common.word" $level) $requests) -}}
{{- end -}}
{{- join " " $runs -}}
{{- end -}}

{{- /*
lws.benchmarkContainer: the container of the benchmark Job.
Takes: the root context.
*/}}
{{- define "lws.benchmarkContainer" -}}
{{- $b := .Values.benchmark -}}
{{- $url := default (include "lws.endpoint" .) $b.endpointUrl -}}
{{- range $name := list "concurrency" "request-count" "artifact-dir" -}}
{{- if hasKey $b.args $name -}}
{{- fail (printf "benchmark.args.%s: the Job sets this flag itself, from benchmark.concurrency and benchmark.requestCounts" $name) -}}
{{- end -}}
{{- end -}}
{{- $flags := mergeOverwrite (dict "url" $url) (deepCopy $b.args) -}}
{{- $words := list (include "lws.script" (dict "root" . "file" "wait_until_ready.py")) -}}
{{- range include "common.args" (dict "engineArgs" $flags "extraArgs" $b.extraArgs "where" "benchmark.args") | fromYamlArray -}}
{{- $words = append $words (include "lws.literal" .) -}}
{{- end -}}
{{- $env := list
      (dict "name" "AIPERF_PACKAGE" "value" $b.package)
      (dict "name" "ENDPOINT_URL" "value" (include "lws.literal" $url))
      (dict "name" "HOME" "value" "/work")
      (dict "name" "READY_PATH" "value" (include "lws.literal" .Values.test.path))
      (dict "name" "RUNS" "value" (include "lws.runs" .))
      (dict "name" "START_TIMEOUT_SECONDS" "value" (include "common.word" $b.startTimeoutSeconds)) -}}
{{- with .Values.hfTokenSecret -}}
{{- if .name -}}
{{- $env = prepend $env (dict "name" "HF_TOKEN" "valueFrom" (dict "secretKeyRef" (dict "name" .name "key" .key))) -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" (dict
      "name" "benchmark"
      "image" (include "common.image" (dict "root" . "image" $b.image "where" "benchmark.image"))
      "imagePullPolicy" $b.image.pullPolicy
      "command" (list "sh" "-c" (include "lws.script" (dict "root" . "file" "benchmark.sh")) "benchmark")
      "args" $words
      "env" (concat $env $b.env)
      "resources" (include "common.resources" (dict "accelerator" .Values.accelerator.resource "resources" $b.resources "where" "benchmark.resources") | fromYaml)
      "securityContext" (include "lws.ownContainerSecurity" . | fromYaml)
      "volumeMounts" (list (dict "name" "work" "mountPath" "/work") (dict "name" "results" "mountPath" "/results"))) -}}
{{- end -}}

{{- /*
lws.ownPodSecurity, lws.ownContainerSecurity: what the chart's own pods (benchmark, test) run with: no root, no rights.
Take: the root context.
*/}}
{{- define "lws.ownPodSecurity" -}}
{{- $spec := dict
      "automountServiceAccountToken" false
      "securityContext" (dict
        "runAsNonRoot" true "runAsUser" 1000 "runAsGroup" 1000 "fsGroup" 1000
        "seccompProfile" (dict "type" "RuntimeDefault")) -}}
{{- with include "common.imagePullSecrets" . | fromYamlArray -}}
{{- $_ := set $spec "imagePullSecrets" . -}}
{{- end -}}
{{- include "common.yaml" $spec -}}
{{- end -}}

{{- define "lws.ownContainerSecurity" -}}
{{- include "common.yaml" (dict "allowPrivilegeEscalation" false "capabilities" (dict "drop" (list "ALL"))) -}}
{{- end -}}
