{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.command: command and arguments of the model server, as {command, args}. Takes: dict "root", "role", "engine", "sizes",
"model" (of llmd.model), "place" ("" for a pod that stands alone, else "leader" or "worker").
*/}}
{{- define "llmd.command" -}}
{{- $engine := .engine -}}
{{- $mode := default "custom" $engine.modelCommand -}}
{{- $user := include "common.words" $engine.args | fromYamlArray -}}
{{- $command := include "common.words" $engine.command | fromYamlArray -}}
{{- if eq $mode "custom" -}}
{{- include "common.yaml" (dict "command" $command "args" $user) -}}
{{- else -}}
{{- $where := printf "%s.containers[%s]" .role.name $engine.name -}}
{{- if $command -}}
{{- fail (printf "%s: command beside modelCommand %s, which writes it; use modelCommand custom" $where $mode) -}}
{{- end -}}
{{- if eq .model.scheme "oci" -}}
{{- fail (printf "%s: an oci:// model is a mounted image, which modelCommand %s does not know; use modelCommand custom" $where $mode) -}}
{{- end -}}
{{- include "llmd.checkWritten" (dict "args" $user "where" $where "mode" $mode) -}}
{{- $args := ternary (list .model.argument) (list "--model" .model.argument) (eq $mode "vllmServe") -}}
{{- with .model.revision -}}
{{- $args = concat $args (list "--revision" .) -}}
{{- end -}}
{{- $args = concat $args (list "--port" (include "llmd.enginePort" .)) -}}
{{- range $key, $flag := dict "tensor" "tensor-parallel-size" "data" "data-parallel-size" "dataLocal" "data-parallel-size-local" -}}
{{- if gt (int (get $.sizes $key)) 1 -}}
{{- $args = concat $args (list (printf "--%s" $flag) (toString (int (get $.sizes $key)))) -}}
{{- end -}}
{{- end -}}
{{- if gt (int (default 0 (default dict .role.values.parallelism).pipeline)) 1 -}}
{{- $args = concat $args (list "--pipeline-parallel-size" (toString (int .sizes.pipeline))) -}}
{{- end -}}
{{- $args = concat $args (list "--served-model-name" .root.Values.modelArtifacts.name) -}}
{{- if .root.Values.tracing.enabled -}}
{{- $args = concat $args (list "--otlp-traces-endpoint" .root.Values.tracing.otlpEndpoint "--collect-detailed-traces" .root.Values.tracing.vllm.collectDetailedTraces) -}}
{{- end -}}
{{- $words := dict "command" (ternary (list "vllm" "serve") list (eq $mode "vllmServe")) "args" (concat $args $user) -}}
{{- include "common.yaml" (include "llmd.spread" (dict "words" $words "sizes" .sizes "place" .place "where" $where "mode" $mode) | fromYaml) -}}
{{- end -}}
{{- end -}}

{{- /*
llmd.checkWritten: prints nothing; fails when the user's arguments repeat what the chart writes. Takes: dict "args", "where", "mode".
*/}}
{{- define "llmd.checkWritten" -}}
{{- $written := dict
      "--model" "modelArtifacts.uri" "--port" "routing" "--served-model-name" "modelArtifacts.name"
      "--tensor-parallel-size" "parallelism.tensor" "-tp" "parallelism.tensor"
      "--data-parallel-size" "parallelism.data" "-dp" "parallelism.data"
      "--data-parallel-size-local" "parallelism.dataLocal" "-dpl" "parallelism.dataLocal" -}}
{{- range $word := .args -}}
{{- $flag := first (splitList "=" $word) | replace "_" "-" -}}
{{- if and (hasPrefix "-" $flag) (hasKey $written $flag) -}}
{{- fail (printf "%s.args: %s is written by the chart from %s (modelCommand %s); remove it" $.where $flag (get $written $flag) $.mode) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
llmd.spread: {command, args} with what several pods a group need: addresses from the leader, ranks from the place in the group.
Takes: dict "words" ({command, args}), "sizes", "place", "where", "mode".
*/}}
{{- define "llmd.spread" -}}
{{- $command := .words.command -}}
{{- $args := .words.args -}}
{{- $leader := "$(LWS_LEADER_ADDRESS)" -}}
{{- if and .place (eq .sizes.spread "model") -}}
{{- $args = concat $args (list "--nnodes" (toString (int .sizes.workers)) "--master-addr" $leader "--master-port" "29500") -}}
{{- if eq .place "leader" -}}
{{- $args = concat $args (list "--node-rank" "0") -}}
{{- else -}}
{{- $args = concat $args (list "--node-rank" "$(LWS_WORKER_INDEX)" "--headless") -}}
{{- end -}}
{{- else if and .place (eq .sizes.spread "data") -}}
{{- if le (int .sizes.dataLocal) 1 -}}
{{- $args = concat $args (list "--data-parallel-size-local" "1") -}}
{{- end -}}
{{- $args = concat $args (list "--data-parallel-address" $leader "--data-parallel-rpc-port" "13345" "--data-parallel-hybrid-lb") -}}
{{- if eq .place "leader" -}}
{{- $args = concat $args (list "--data-parallel-start-rank" "0") -}}
{{- else if eq (int .sizes.workers) 2 -}}
{{- $args = concat $args (list "--data-parallel-start-rank" (toString (int .sizes.dataLocal))) -}}
{{- else if $command -}}
{{- /* The rank is computed in the pod: start rank = place in the group × ranks of a pod. */ -}}
{{- $script := printf `exec "$@" --data-parallel-start-rank "$((LWS_WORKER_INDEX * %d))"` (int .sizes.dataLocal) -}}
{{- $command = concat (list "/bin/sh" "-c" $script "sh") $command -}}
{{- else -}}
{{- fail (printf "%s: modelCommand imageDefault has no shell to compute the rank of more than one worker; use vllmServe" .where) -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" (dict "command" $command "args" $args) -}}
{{- end -}}

{{- /*
llmd.engineEnv: environment of the model server, as EnvVar entries: sizes, accelerator, model, token, traces; the container's own
entries replace those of the same name. Takes: dict "root", "role", "engine", "sizes", "accelerator", "model".
*/}}
{{- define "llmd.engineEnv" -}}
{{- $root := .root -}}
{{- $entries := list
      (dict "name" "DP_SIZE" "value" (toString (int .sizes.data)))
      (dict "name" "DP_SIZE_LOCAL" "value" (toString (int .sizes.dataLocal)))
      (dict "name" "TP_SIZE" "value" (toString (int .sizes.tensor))) -}}
{{- $entries = concat $entries (default list (get $root.Values.accelerator.env .accelerator.type)) -}}
{{- if .engine.mountModelVolume -}}
{{- $entries = concat $entries .model.env -}}
{{- end -}}
{{- $entries = concat $entries (include "llmd.token" $root | fromYaml | include "common.tokenEnv" | fromYamlArray) -}}
{{- if $root.Values.tracing.enabled -}}
{{- $service := ternary $root.Values.tracing.serviceNames.vllmPrefill $root.Values.tracing.serviceNames.vllmDecode (eq .role.name "prefill") -}}
{{- $entries = concat $entries (include "llmd.tracingEnv" (dict "root" $root "service" $service) | fromYamlArray) -}}
{{- end -}}
{{- include "common.unique" (dict "items" .engine.env "where" (printf "%s.containers[%s].env" .role.name .engine.name) "what" "environment variable") -}}
{{- include "common.yaml" (include "common.merge" (dict "base" $entries "over" (default list .engine.env) "key" "env") | fromYaml).value -}}
{{- end -}}

{{- /*
llmd.enginePorts: ports of the model server. The engine's own is added when none has its number, and gets a name when it has none: the
one that the PodMonitor looks for, else "modelserver". Takes: dict "root", "role", "engine". Fails when the PodMonitor would find no port.
*/}}
{{- define "llmd.enginePorts" -}}
{{- $monitor := .role.values.monitoring.podmonitor -}}
{{- $port := include "llmd.enginePort" . | int -}}
{{- $names := list -}}
{{- $numbers := list -}}
{{- range default list .engine.ports -}}
{{- $names = append $names (default "" .name) -}}
{{- $numbers = append $numbers (int .containerPort) -}}
{{- end -}}
{{- $free := ternary $monitor.portName "modelserver" (and $monitor.enabled (not (has $monitor.portName $names))) -}}
{{- $ports := list -}}
{{- if and (not (has $port $numbers)) (has (default "custom" .engine.modelCommand) (list "vllmServe" "imageDefault")) -}}
{{- $ports = append $ports (dict "name" $free "containerPort" $port "protocol" "TCP") -}}
{{- end -}}
{{- range $item := default list .engine.ports -}}
{{- $entry := merge (dict "containerPort" (int $item.containerPort)) $item -}}
{{- if and (eq (int $item.containerPort) $port) (not $item.name) (not (has $free $names)) -}}
{{- $_ := set $entry "name" $free -}}
{{- end -}}
{{- $ports = append $ports (mergeOverwrite (dict "protocol" "TCP") $entry) -}}
{{- end -}}
{{- $found := list -}}
{{- range $ports -}}
{{- $found = append $found (default "" .name) -}}
{{- end -}}
{{- if and $monitor.enabled (not (has $monitor.portName $found)) -}}
{{- fail (printf "%s.monitoring.podmonitor.portName: no port of the model server is called %s; it has %s" .role.name $monitor.portName (default "none" (compact $found | join ", "))) -}}
{{- end -}}
{{- include "common.yaml" $ports -}}
{{- end -}}

{{- /*
llmd.probes: probes of the model server, where the container has none of its own. Takes: dict "root", "role", "engine", "ports", "sizes",
"place". A worker that serves nothing has none; a custom command has them when it declares the engine's port.
*/}}
{{- define "llmd.probes" -}}
{{- $probes := .role.values.probes -}}
{{- $port := include "llmd.enginePort" . | int -}}
{{- $declared := false -}}
{{- range .ports -}}
{{- if eq (int .containerPort) $port -}}
{{- $declared = true -}}
{{- end -}}
{{- end -}}
{{- $silent := and (eq .place "worker") (eq .sizes.spread "model") -}}
{{- $found := dict -}}
{{- if and $probes.enabled $declared (not $silent) -}}
{{- $alive := dict "httpGet" (dict "path" $probes.livenessPath "port" $port) -}}
{{- $ready := dict "httpGet" (dict "path" $probes.readinessPath "port" $port) -}}
{{- $_ := set $found "startupProbe" (mergeOverwrite (deepCopy $ready) (dict "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" (max 1 (div (int $probes.startupSeconds) 10)))) -}}
{{- $_ := set $found "readinessProbe" (mergeOverwrite (deepCopy $ready) (dict "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 3)) -}}
{{- $_ := set $found "livenessProbe" (mergeOverwrite (deepCopy $alive) (dict "periodSeconds" 15 "timeoutSeconds" 5 "failureThreshold" 4)) -}}
{{- end -}}
{{- range $name := list "startupProbe" "readinessProbe" "livenessProbe" -}}
{{- with get $.engine $name -}}
{{- $_ := set $found $name . -}}
{{- end -}}
{{- if hasKey (default dict $.engine.extraConfig) $name -}}
{{- $_ := unset $found $name -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" $found -}}
{{- end -}}
