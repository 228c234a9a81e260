{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
common.object: an object of the cluster.
Takes: dict "apiVersion", "kind", "metadata", "spec".
*/}}
{{- define "common.object" -}}
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  {{- include "common.yaml" .metadata | nindent 2 }}
spec:
  {{- include "common.yaml" .spec | nindent 2 }}
{{- end -}}

{{- /*
common.podDisruptionBudget: a PodDisruptionBudget.
Takes: dict "metadata", "budget" (minAvailable where it is given, else maxUnavailable), "selector" (a label selector).
*/}}
{{- define "common.podDisruptionBudget" -}}
{{- $spec := dict "selector" .selector -}}
{{- if has (toRawJson .budget.minAvailable) (list `""` "null") -}}
{{- $_ := set $spec "maxUnavailable" .budget.maxUnavailable -}}
{{- else -}}
{{- $_ := set $spec "minAvailable" .budget.minAvailable -}}
{{- end -}}
{{- include "common.object" (dict "apiVersion" "policy/v1" "kind" "PodDisruptionBudget" "metadata" .metadata "spec" $spec) -}}
{{- end -}}

{{- /*
common.networkPolicy: a NetworkPolicy for what comes in.
Takes: dict "metadata", "labels" (of the pods), "rules" (of its ingress).
*/}}
{{- define "common.networkPolicy" -}}
{{- include "common.object" (dict
      "apiVersion" "networking.k8s.io/v1" "kind" "NetworkPolicy" "metadata" .metadata
      "spec" (dict "podSelector" (dict "matchLabels" .labels) "policyTypes" (list "Ingress") "ingress" .rules)) -}}
{{- end -}}

{{- /*
common.ingressRule: a rule of a NetworkPolicy's ingress for TCP ports.
Takes: dict "ports" (numbers), "from" (peers; empty lets everyone).
*/}}
{{- define "common.ingressRule" -}}
{{- $ports := list -}}
{{- range .ports -}}
{{- $ports = append $ports (dict "protocol" "TCP" "port" (int .)) -}}
{{- end -}}
{{- $rule := dict "ports" $ports -}}
{{- with .from -}}
{{- $_ := set $rule "from" . -}}
{{- end -}}
{{- include "common.yaml" $rule -}}
{{- end -}}

{{- /*
common.podMonitor: a PodMonitor with one endpoint.
Takes: dict "metadata", "labels" (of the pods), "port" (name), "path", "monitor" (values: namespaceSelector, interval, scrapeTimeout,
honorLabels, relabelings, metricRelabelings; what is empty is left out).
*/}}
{{- define "common.podMonitor" -}}
{{- $endpoint := dict "port" .port "path" .path -}}
{{- range $key := list "interval" "scrapeTimeout" "honorLabels" "relabelings" "metricRelabelings" -}}
{{- with get $.monitor $key -}}
{{- $_ := set $endpoint $key . -}}
{{- end -}}
{{- end -}}
{{- $spec := dict "selector" (dict "matchLabels" .labels) "podMetricsEndpoints" (list $endpoint) -}}
{{- with .monitor.namespaceSelector -}}
{{- $_ := set $spec "namespaceSelector" . -}}
{{- end -}}
{{- include "common.object" (dict "apiVersion" "monitoring.coreos.com/v1" "kind" "PodMonitor" "metadata" .metadata "spec" $spec) -}}
{{- end -}}

{{- /*
common.needs: lines for NOTES.txt with what must be in the namespace before the release: Secrets, claim, service account.
Takes: dict "root", "token" (name, key), "modelCache" (claimName, create), "serviceAccount" (name, create); all but root may be null.
*/}}
{{- define "common.needs" -}}
{{- with .token }}{{ if .name }}
  Secret {{ .name }} with the key {{ .key }}: kubectl -n {{ $.root.Release.Namespace }} create secret generic {{ .name }} --from-literal={{ .key }}=<token>
{{- end }}{{ end }}
{{- with .modelCache }}{{ if and .claimName (not .create) }}
  PersistentVolumeClaim {{ .claimName }} with the models
{{- end }}{{ end }}
{{- range include "common.imagePullSecrets" .root | fromYamlArray }}
  Secret {{ .name }} to pull images
{{- end }}
{{- with .serviceAccount }}{{ if and .name (not .create) }}
  ServiceAccount {{ .name }}
{{- end }}{{ end }}
{{- end -}}
