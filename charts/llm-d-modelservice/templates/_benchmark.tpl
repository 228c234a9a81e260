{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.endpoint: URL that clients inside the cluster use: the Service, else the router's, installed as <fullname>-router.
Takes: the root context.
*/}}
{{- define "llmd.endpoint" -}}
{{- if .Values.service.enabled -}}
{{- printf "http://%s.%s.svc:%d" (include "llmd.fullname" .) .Release.Namespace (int .Values.routing.servicePort) -}}
{{- else -}}
{{- printf "http://%s-router-epp.%s.svc" (include "llmd.fullname" .) .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{- /*
llmd.literal: a word that Kubernetes hands on as it is: it takes $(NAME) for a reference and $$ for a dollar sign.
Takes: the word.
*/}}
{{- define "llmd.literal" -}}
{{- . | replace "$" "$$" -}}
{{- end -}}

{{- /*
llmd.script: a file of files/ as one word, without its comment lines. Takes: dict "root", "file".
*/}}
{{- define "llmd.script" -}}
{{- regexReplaceAll "(?m)^#[^\n]*\n" (printf "files/%s" .file | .root.Files.Get) "" -}}
{{- end -}}

{{- /*
llmd.runs: the runs of the benchmark as words CONCURRENCY:REQUESTS (nothing after the colon: aiperf decides).
Takes: the root context.
*/}}
{{- define "llmd.runs" -}}
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
llmd.ownPod, llmd.ownContainer: what the chart's own pods (benchmark, test) run with: no root, no rights.
Take: the root context.
*/}}
{{- define "llmd.ownPod" -}}
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

{{- define "llmd.ownContainer" -}}
{{- include "common.yaml" (dict "allowPrivilegeEscalation" false "capabilities" (dict "drop" (list "ALL"))) -}}
{{- end -}}

{{- /*
llmd.benchmarkPod: pod spec of the benchmark Job. Takes: the root context.
*/}}
{{- define "llmd.benchmarkPod" -}}
{{- $b := .Values.benchmark -}}
{{- $url := default (include "llmd.endpoint" .) $b.endpointUrl -}}
{{- range $name := list "concurrency" "request-count" "artifact-dir" -}}
{{- if hasKey (default dict $b.args) $name -}}
{{- fail (printf "benchmark.args.%s: the Job sets this flag itself, from benchmark.concurrency and benchmark.requestCounts" $name) -}}
{{- end -}}
{{- end -}}
{{- $flags := mergeOverwrite (dict "url" $url) (default dict $b.args | deepCopy) -}}
{{- $words := list (include "llmd.script" (dict "root" . "file" "wait_for_models.py")) -}}
{{- range include "common.args" (dict "engineArgs" $flags "extraArgs" $b.extraArgs "where" "benchmark.args") | fromYamlArray -}}
{{- $words = append $words (include "llmd.literal" .) -}}
{{- end -}}
{{- $own := dict
      "AIPERF_PACKAGE" $b.package
      "ENDPOINT_URL" (include "llmd.literal" $url)
      "HOME" "/work"
      "RUNS" (include "llmd.runs" .)
      "START_TIMEOUT_SECONDS" $b.startTimeoutSeconds -}}
{{- $env := include "common.env" (dict "env" (mergeOverwrite $own (default dict $b.env | deepCopy)) "where" "benchmark.env") | fromYamlArray -}}
{{- with .Values.modelArtifacts.authSecretName -}}
{{- $env = prepend $env (dict "name" "HF_TOKEN" "valueFrom" (dict "secretKeyRef" (dict "name" . "key" "HF_TOKEN"))) -}}
{{- end -}}
{{- $container := dict
      "name" "benchmark"
      "image" (include "common.image" (dict "root" . "image" $b.image "where" "benchmark.image"))
      "imagePullPolicy" $b.image.pullPolicy
      "command" (list "sh" "-c" (include "llmd.script" (dict "root" . "file" "benchmark.sh")) "benchmark")
      "args" $words
      "env" $env
      "resources" (include "common.resources" (dict "accelerator" "" "gpus" 0 "resources" $b.resources "where" "benchmark.resources") | fromYaml)
      "securityContext" (include "llmd.ownContainer" . | fromYaml)
      "volumeMounts" (list (dict "name" "work" "mountPath" "/work") (dict "name" "results" "mountPath" "/results")) -}}
{{- $spec := include "llmd.ownPod" . | fromYaml -}}
{{- range $key := list "nodeSelector" "tolerations" -}}
{{- with get $b $key -}}
{{- $_ := set $spec $key . -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" (merge $spec (dict
      "containers" (list $container)
      "volumes" (list (dict "name" "work" "emptyDir" dict) (dict "name" "results" "emptyDir" dict)))) -}}
{{- end -}}
