{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.proxied: "true" when the routing proxy stands before the engine of a role. Takes: dict "root", "role".
*/}}
{{- define "llmd.proxied" -}}
{{- if and .root.Values.routing.proxy.enabled (eq .role.name "decode") -}}
true
{{- end -}}
{{- end -}}

{{- /*
llmd.enginePort: the port that the engine of a role listens on. Takes: dict "root", "role".
*/}}
{{- define "llmd.enginePort" -}}
{{- $routing := .root.Values.routing -}}
{{- int (ternary $routing.proxy.targetPort $routing.servicePort (eq (include "llmd.proxied" .) "true")) -}}
{{- end -}}

{{- /*
llmd.proxyIsNew: "true" for a proxy of 0.10 or later, whose flags have other names. Takes: the root context. A tag that is no release
counts as new, except in the old repository, which has none.
*/}}
{{- define "llmd.proxyIsNew" -}}
{{- $proxy := .Values.routing.proxy -}}
{{- $tag := first (splitList "@" $proxy.image) | splitList "/" | last | splitList ":" | rest | join "" -}}
{{- $version := default $tag $proxy.version | trimPrefix "v" -}}
{{- if regexMatch `^[0-9]+\.[0-9]+(\.[0-9]+)?([-.+].*)?$` $version -}}
{{- $numbers := regexFind `^[0-9]+\.[0-9]+` $version | splitList "." -}}
{{- if or (gt (first $numbers | int) 0) (ge (last $numbers | int) 10) -}}
true
{{- end -}}
{{- else if not (contains "llm-d-routing-sidecar" $proxy.image) -}}
true
{{- end -}}
{{- end -}}

{{- /*
llmd.proxy: the routing proxy as a native sidecar: an init container that stays. Takes: the root context.
*/}}
{{- define "llmd.proxy" -}}
{{- $proxy := .Values.routing.proxy -}}
{{- $new := include "llmd.proxyIsNew" . -}}
{{- $gone := list "nixl" "lmcache" -}}
{{- $came := list "mooncake" "offloading" -}}
{{- if or (and $new (has $proxy.connector $gone)) (and (not $new) (has $proxy.connector $came)) -}}
{{- fail (printf "routing.proxy.connector: %s is not spoken by the proxy %s" $proxy.connector $proxy.image) -}}
{{- end -}}
{{- $args := list
      (printf "--port=%d" (int .Values.routing.servicePort))
      (printf "--%s=%d" (ternary "model-server-port" "vllm-port" (eq $new "true")) (int $proxy.targetPort))
      (printf "--%s=%s" (ternary "kv-connector" "connector" (eq $new "true")) $proxy.connector)
      (printf "--secure-proxy=%t" $proxy.secure) -}}
{{- if not (kindIs "invalid" $proxy.prefillerUseTLS) -}}
{{- if not $new -}}
{{- $args = append $args (printf "--prefiller-use-tls=%t" $proxy.prefillerUseTLS) -}}
{{- else if $proxy.prefillerUseTLS -}}
{{- $args = append $args "--enable-tls=prefiller" -}}
{{- end -}}
{{- end -}}
{{- with $proxy.certPath -}}
{{- $args = append $args (printf "--cert-path=%s" .) -}}
{{- end -}}
{{- range $key, $flag := dict "zapDevel" "zap-devel" "zapEncoder" "zap-encoder" "zapLogLevel" "zap-log-level" "zapStacktraceLevel" "zap-stacktrace-level" "zapTimeEncoding" "zap-time-encoding" -}}
{{- $value := get $proxy $key -}}
{{- if not (or (kindIs "invalid" $value) (eq (include "common.word" $value) "")) -}}
{{- $args = append $args (printf "--%s=%s" $flag (include "common.word" $value)) -}}
{{- end -}}
{{- end -}}
{{- $ports := list -}}
{{- range $rank := until (int $proxy.dataParallelSize) -}}
{{- $ports = append $ports (dict "name" (ternary "proxy" (printf "proxy-%d" $rank) (eq $rank 0)) "containerPort" (int (add $.Values.routing.servicePort $rank)) "protocol" "TCP") -}}
{{- end -}}
{{- if gt (len $ports) 1 -}}
{{- $args = append $args (printf "--data-parallel-size=%d" (len $ports)) -}}
{{- end -}}
{{- $container := dict
      "name" "routing-proxy" "image" (include "llmd.image" (dict "root" . "image" $proxy.image)) "restartPolicy" "Always" "args" $args "ports" $ports
      "securityContext" (dict "allowPrivilegeEscalation" false "runAsNonRoot" true "capabilities" (dict "drop" (list "ALL"))) -}}
{{- with $proxy.imagePullPolicy -}}
{{- $_ := set $container "imagePullPolicy" . -}}
{{- end -}}
{{- with $proxy.resources -}}
{{- $_ := set $container "resources" . -}}
{{- end -}}
{{- if .Values.tracing.enabled -}}
{{- $_ := set $container "env" (include "llmd.tracingEnv" (dict "root" . "service" .Values.tracing.serviceNames.routingProxy) | fromYamlArray) -}}
{{- end -}}
{{- include "common.yaml" $container -}}
{{- end -}}

{{- /*
llmd.tracingEnv: environment of the OpenTelemetry SDK, as EnvVar entries. Takes: dict "root", "service".
*/}}
{{- define "llmd.tracingEnv" -}}
{{- $tracing := .root.Values.tracing -}}
{{- include "common.yaml" (list
      (dict "name" "OTEL_SERVICE_NAME" "value" .service)
      (dict "name" "OTEL_EXPORTER_OTLP_ENDPOINT" "value" $tracing.otlpEndpoint)
      (dict "name" "OTEL_TRACES_SAMPLER" "value" $tracing.sampling.sampler)
      (dict "name" "OTEL_TRACES_SAMPLER_ARG" "value" (include "common.word" $tracing.sampling.samplerArg))) -}}
{{- end -}}
