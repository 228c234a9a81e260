{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
dynamo.literal: a word that Kubernetes hands on as it is: it takes $(NAME) for a reference and $$ for a dollar sign.
Takes: the word.
*/}}
{{- define "dynamo.literal" -}}
{{- . | replace "$" "$$" -}}
{{- end -}}

{{- /*
dynamo.script: a file of files/ as one word, without its comment lines.
Takes: dict "root", "file".
*/}}
{{- define "dynamo.script" -}}
{{- regexReplaceAll "(?m)^#[^\n]*\n" (printf "files/%s" .file | .root.Files.Get) "" -}}
{{- end -}}

{{- /*
dynamo.runs: the runs of the benchmark as words CONCURRENCY:REQUESTS (nothing after the colon: aiperf decides).
Takes: the root context.
*/}}
{{- define "dynamo.runs" -}}
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
{{- $requests = include "common.word" (index $b.requestCounts $index) -}}
{{- end -}}
{{- $runs = append $runs (printf "%s:%s" (include "common.word" $level) $requests) -}}
{{- end -}}
{{- join " " $runs -}}
{{- end -}}

{{- /*
dynamo.benchmarkPod: pod spec of the benchmark Job.
Takes: the root context.
*/}}
{{- define "dynamo.benchmarkPod" -}}
{{- $b := .Values.benchmark -}}
{{- $url := default (include "dynamo.endpoint" .) $b.endpointUrl -}}
{{- range $name := list "concurrency" "request-count" "artifact-dir" -}}
{{- if hasKey (default dict $b.args) $name -}}
{{- fail (printf "benchmark.args.%s: the Job sets this flag itself, from benchmark.concurrency and benchmark.requestCounts" $name) -}}
{{- end -}}
{{- end -}}
{{- $flags := mergeOverwrite (dict "url" $url) (default dict $b.args | deepCopy) -}}
{{- $words := list (include "dynamo.script" (dict "root" . "file" "wait_for_models.py")) -}}
{{- range include "common.args" (dict "engineArgs" $flags "extraArgs" $b.extraArgs "where" "benchmark.args") | fromYamlArray -}}
{{- $words = append $words (include "dynamo.literal" .) -}}
{{- end -}}
{{- $own := dict
      "AIPERF_PACKAGE" $b.package
      "ENDPOINT_URL" (include "dynamo.literal" $url)
      "HOME" "/work"
      "RUNS" (include "dynamo.runs" .)
      "START_TIMEOUT_SECONDS" $b.startTimeoutSeconds -}}
{{- $cache := dict "root" . "modelCache" .Values.modelCache -}}
{{- $container := dict
      "name" "benchmark"
      "image" (include "common.image" (dict "root" . "image" $b.image "where" "benchmark"))
      "imagePullPolicy" $b.image.pullPolicy
      "command" (list "sh" "-c" (include "dynamo.script" (dict "root" . "file" "benchmark.sh")) "benchmark")
      "args" $words
      "env" (include "common.env" (dict "extraEnv" $b.extraEnv "env" (mergeOverwrite $own (default dict $b.env | deepCopy)) "where" "benchmark.env") | fromYamlArray)
      "resources" (include "common.resources" (dict "accelerator" .Values.accelerator.resource "resources" $b.resources "where" "benchmark.resources") | fromYaml)
      "securityContext" (include "dynamo.containerSecurity" . | fromYaml)
      "volumeMounts" (concat
        (list (dict "name" "work" "mountPath" "/work") (dict "name" "results" "mountPath" "/results"))
        (include "common.modelCacheMount" $cache | fromYamlArray)) -}}
{{- with .Values.hfTokenSecret -}}
{{- if .name -}}
{{- $secret := dict "name" .name "key" .key -}}
{{- $_ := set $container "env" (prepend $container.env (dict "name" "HF_TOKEN" "valueFrom" (dict "secretKeyRef" $secret))) -}}
{{- end -}}
{{- end -}}
{{- $spec := include "common.podPlacement" (dict "root" . "component" $b) | fromYaml -}}
{{- $spec = merge $spec (include "dynamo.podSecurity" . | fromYaml) (dict
      "restartPolicy" "Never"
      "containers" (list $container)
      "volumes" (concat
        (list (dict "name" "work" "emptyDir" dict) (dict "name" "results" "emptyDir" dict))
        (include "common.modelCacheVolume" $cache | fromYamlArray))) -}}
{{- $spec = include "common.podSpecMerge" (dict "podSpec" $spec "main" "benchmark" "extra" (dict
      "volumes" $b.extraVolumes
      "mainContainer" (dict "volumeMounts" $b.extraVolumeMounts))) | fromYaml -}}
{{- $spec = include "common.podSpecMerge" (dict "podSpec" $spec "main" "benchmark" "extra" $b.extraPodSpec) | fromYaml -}}
{{- include "common.checkPod" (dict "podSpec" $spec "where" "benchmark") -}}
{{- include "common.yaml" $spec -}}
{{- end -}}

{{- /*
dynamo.podSecurity, dynamo.containerSecurity: what the chart's own pods (benchmark, test) run with: no root, no rights.
Take: the root context.
*/}}
{{- define "dynamo.podSecurity" -}}
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

{{- define "dynamo.containerSecurity" -}}
{{- include "common.yaml" (dict "allowPrivilegeEscalation" false "capabilities" (dict "drop" (list "ALL"))) -}}
{{- end -}}
