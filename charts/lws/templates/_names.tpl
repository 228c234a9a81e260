{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
lws.name: the name of the workload, and the start of every other name. Services are DNS-1035 labels (no dot, a letter
first). A LeaderWorkerSet makes a StatefulSet <name>-<group> for each group, whose revision label has to fit in 63.
Takes: the root context.
*/}}
{{- define "lws.name" -}}
{{- include "lws.checks" . -}}
{{- $name := include "common.fullname" . -}}
{{- if not (regexMatch `^[a-z]([-a-z0-9]*[a-z0-9])?$` $name) -}}
{{- fail (printf "the name %s cannot name a Service or a LeaderWorkerSet: lower-case letters, digits and inner hyphens, a letter first; set fullnameOverride" $name) -}}
{{- end -}}
{{- if and (eq .Values.kind "LeaderWorkerSet") (gt (len $name) 50) -}}
{{- fail (printf "the name %s has %d characters; a LeaderWorkerSet may have 50, because its groups' StatefulSets and labels are named after it; set fullnameOverride" $name (len $name)) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- /*
lws.metadata: the metadata of an object.
Takes: dict "root", "component", "suffix" (of the name), "name" (in place of name and suffix), "labels", "annotations".
*/}}
{{- define "lws.metadata" -}}
{{- $name := default (printf "%s%s" (include "lws.name" .root) (default "" .suffix)) .name -}}
{{- $labels := mergeOverwrite (include "lws.runtimeLabel" .root | fromYaml) (default dict .labels | deepCopy) -}}
{{- include "common.metadata" (dict
      "root" .root "name" $name "component" .component "version" .root.Values.image.tag
      "labels" $labels "annotations" .annotations) -}}
{{- end -}}

{{- /*
lws.leaderLabels: the labels that select the pods which answer requests, and no worker.
Takes: the root context.
*/}}
{{- define "lws.leaderLabels" -}}
{{- $labels := include "common.selectorLabels" (dict "root" . "component" "leader") | fromYaml -}}
{{- if eq .Values.kind "LeaderWorkerSet" -}}
{{- $_ := set $labels "leaderworkerset.sigs.k8s.io/name" (include "lws.name" .) -}}
{{- $_ := set $labels "leaderworkerset.sigs.k8s.io/worker-index" "0" -}}
{{- end -}}
{{- include "common.yaml" $labels -}}
{{- end -}}

{{- /*
lws.serviceName: the Service for clients. LeaderWorkerSet makes a headless one of the workload's own name.
Takes: the root context.
*/}}
{{- define "lws.serviceName" -}}
{{- printf "%s-frontend" (include "lws.name" .) -}}
{{- end -}}

{{- /*
lws.endpoint: the URL of the Service.
Takes: the root context.
*/}}
{{- define "lws.endpoint" -}}
{{- printf "http://%s.%s.svc.cluster.local:%d" (include "lws.serviceName" .) .Release.Namespace (int .Values.service.port) -}}
{{- end -}}

{{- /*
lws.serviceAccountName: the account of the pods, or nothing for the namespace's default.
Takes: the root context.
*/}}
{{- define "lws.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if include "lws.makesAccount" . -}}
{{- include "lws.name" . -}}
{{- end -}}
{{- end -}}

{{- /*
lws.makesAccount: "yes" when the chart makes a service account: it is asked to, or rules need one and none is named.
Takes: the root context.
*/}}
{{- define "lws.makesAccount" -}}
{{- if or .Values.serviceAccount.create (and .Values.rbac.rules (not .Values.serviceAccount.name)) -}}
yes
{{- end -}}
{{- end -}}

{{- /*
lws.scaleTarget: what an autoscaler scales.
Takes: the root context.
*/}}
{{- define "lws.scaleTarget" -}}
{{- $api := ternary "leaderworkerset.x-k8s.io/v1" "apps/v1" (eq .Values.kind "LeaderWorkerSet") -}}
{{- include "common.yaml" (dict "apiVersion" $api "kind" .Values.kind "name" (include "lws.name" .)) -}}
{{- end -}}

{{- /*
lws.replicas: "replicas: N", or nothing when somebody else owns the number.
Takes: the root context.
*/}}
{{- define "lws.replicas" -}}
{{- if not (or .Values.autoscaling.type (kindIs "invalid" .Values.replicas)) -}}
replicas: {{ int .Values.replicas }}
{{- end -}}
{{- end -}}
