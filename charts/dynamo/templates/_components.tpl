{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
dynamo.components: the components in their fixed order, as a list of {role, where, worker, values}. "values" has its
component name and type filled in.
Takes: the root context. Fails when two components have one name, or when there is no worker.
*/}}
{{- define "dynamo.components" -}}
{{- $types := dict "agg" "worker" "prefill" "prefill" "decode" "decode" "encode" "worker" -}}
{{- $names := dict "agg" "worker" "prefill" "prefill" "decode" "decode" "encode" "encode" -}}
{{- $found := list (dict "role" "frontend" "where" "frontend" "worker" false "values" .Values.frontend) -}}
{{- range $role := list "prefill" "decode" "agg" "encode" -}}
{{- with get $.Values.workers $role -}}
{{- $values := mergeOverwrite (deepCopy .) (dict
      "component" (default (get $names $role) .component)
      "type" (default (get $types $role) .type)) -}}
{{- $found = append $found (dict "role" $role "where" (printf "workers.%s" $role) "worker" true "values" $values) -}}
{{- end -}}
{{- end -}}
{{- if eq (len $found) 1 -}}
{{- fail "workers is empty: give workers.agg, or workers.prefill and workers.decode" -}}
{{- end -}}
{{- if .Values.planner.enabled -}}
{{- $found = append $found (dict "role" "planner" "where" "planner" "worker" false "values" (omit .Values.planner "enabled")) -}}
{{- end -}}
{{- $taken := list -}}
{{- range $found -}}
{{- $taken = append $taken (lower .values.component) -}}
{{- end -}}
{{- include "common.unique" (dict "names" $taken "where" "frontend, workers and planner" "what" "component name") -}}
{{- include "common.yaml" $found -}}
{{- end -}}

{{- /*
dynamo.service: name of the Service that the operator makes for a component.
Takes: dict "root", "component" (its name).
*/}}
{{- define "dynamo.service" -}}
{{- printf "%s-%s" (include "common.fullname" .root) (lower .component) | replace "." "-" -}}
{{- end -}}

{{- /*
dynamo.metadata: metadata of an object, with the Dynamo release as its version.
Takes: dict "root", "name", "component", "labels", "annotations".
*/}}
{{- define "dynamo.metadata" -}}
{{- include "common.metadata" (merge (dict "version" .root.Values.dynamoVersion) .) -}}
{{- end -}}

{{- /*
dynamo.endpoint: URL of the frontend inside the cluster.
Takes: the root context.
*/}}
{{- define "dynamo.endpoint" -}}
{{- printf "http://%s.%s.svc.cluster.local:8000" (include "dynamo.service" (dict "root" . "component" .Values.frontend.component)) .Release.Namespace -}}
{{- end -}}

{{- /*
dynamo.engineConfig: how a component gets its engineConfig, as {text, env, command, volumes, mounts, annotations}.
Takes: dict "root", "entry" (of dynamo.components). Empty parts when the component has no engineConfig.
*/}}
{{- define "dynamo.engineConfig" -}}
{{- $c := .entry.values -}}
{{- $where := .entry.where -}}
{{- $result := dict "text" "" "env" dict "command" $c.command "volumes" list "mounts" list "annotations" dict -}}
{{- with $c.engineConfig -}}
{{- $file := $c.engineConfigFile -}}
{{- if not $file -}}
{{- fail (printf "%s.engineConfig needs %s.engineConfigFile, the path that the command reads" $where $where) -}}
{{- end -}}
{{- $text := include "common.yaml" . -}}
{{- $_ := set $result "text" $text -}}
{{- if eq $.root.Values.engineConfigMode "configmap" -}}
{{- $_ := set $result "volumes" (list (dict
      "name" "engine-config"
      "configMap" (dict
        "name" (include "dynamo.engineConfigsName" $.root)
        "items" (list (dict "key" (printf "%s.yaml" $.entry.role) "path" (base $file)))))) -}}
{{- $_ := set $result "mounts" (list (dict "name" "engine-config" "mountPath" (dir $file) "readOnly" true)) -}}
{{- $_ := set $result "annotations" (dict "checksum/engine-config" (sha256sum $text)) -}}
{{- else -}}
{{- if gt (int (default 1 $c.nodes)) 1 -}}
{{- fail (printf "%s has several nodes: its engineConfig needs engineConfigMode: configmap" $where) -}}
{{- end -}}
{{- if or (hasKey (default dict $c.env) "ENGINE_CONFIG") (not $c.command) -}}
{{- fail (printf "%s: with engineConfigMode inline, command must be given and ENGINE_CONFIG is the chart's own" $where) -}}
{{- end -}}
{{- $_ := set $result "env" (dict "ENGINE_CONFIG" (include "common.literal" $text)) -}}
{{- $script := printf `printf %%s "$ENGINE_CONFIG" > %s && exec "$@"` $file -}}
{{- $_ := set $result "command" (concat (list "sh" "-c" $script "sh") $c.command) -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" $result -}}
{{- end -}}

{{- define "dynamo.engineConfigsName" -}}
{{- include "common.suffixed" (dict "root" . "suffix" "-engine-configs") -}}
{{- end -}}
