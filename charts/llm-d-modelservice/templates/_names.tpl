{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.fullname: the name that every object starts with: fullnameOverride, else the release's, with nameOverride behind it.
Takes: the root context. Fails when what is made of it would not fit.
*/}}
{{- define "llmd.fullname" -}}
{{- $name := default (trimSuffix "-" (printf "%s-%s" .Release.Name (default "" .Values.nameOverride))) .Values.fullnameOverride -}}
{{- $limit := ternary 37 55 .Values.multinode -}}
{{- if gt (len $name) $limit -}}
{{- fail (printf "the name %s has %d characters; %d leave room for the names of its pods: shorten the release's name or set fullnameOverride" $name (len $name) $limit) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- /*
llmd.endpoint: URL that clients inside the cluster use: the Service, else the router's, installed as <fullname>-router.
Takes: the root context.
*/}}
{{- define "llmd.endpoint" -}}
{{- if .Values.service.enabled -}}
{{- printf "http://%s.%s.svc.cluster.local:%d" (include "llmd.fullname" .) .Release.Namespace (int .Values.routing.servicePort) -}}
{{- else -}}
{{- printf "http://%s-router-epp.%s.svc.cluster.local" (include "llmd.fullname" .) .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{- /*
llmd.token: the Secret with the Hugging Face token, as {name, key}. Takes: the root context.
*/}}
{{- define "llmd.token" -}}
{{- include "common.yaml" (dict "name" .Values.modelArtifacts.authSecretName "key" "HF_TOKEN") -}}
{{- end -}}

{{- /*
llmd.serviceAccountName: serviceAccountOverride, else the one that the chart makes. Takes: the root context.
*/}}
{{- define "llmd.serviceAccountName" -}}
{{- default (include "llmd.fullname" .) .Values.serviceAccountOverride -}}
{{- end -}}

{{- /*
llmd.roles: the roles that are rendered, in their fixed order, as a list of {name, values}. Takes: the root context.
*/}}
{{- define "llmd.roles" -}}
{{- $found := list -}}
{{- if .Values.enabled -}}
{{- range $name := list "decode" "prefill" -}}
{{- $values := get $.Values $name -}}
{{- if $values.create -}}
{{- $found = append $found (dict "name" $name "values" $values) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" $found -}}
{{- end -}}

{{- /*
llmd.selectorLabels: what selects the pods of a role of this release, and no other's: the model's labels (which the
router selects by), the role, and the release. Takes: dict "root", "role" (name; "" for all of the release).
*/}}
{{- define "llmd.selectorLabels" -}}
{{- $labels := default dict .root.Values.modelArtifacts.labels | deepCopy -}}
{{- $own := include "common.selectorLabels" (dict "root" .root "component" .role) | fromYaml -}}
{{- if .role -}}
{{- $_ := set $own "llm-d.ai/role" .role -}}
{{- end -}}
{{- include "common.yaml" (mergeOverwrite $labels $own) -}}
{{- end -}}

{{- /*
llmd.metadata: metadata of an object of a role: <fullname>-<role>. Takes: dict "root", "role" (of llmd.roles), "suffix", "labels", "annotations".
*/}}
{{- define "llmd.metadata" -}}
{{- include "common.metadata" (dict
      "root" .root "component" .role.name "version" .root.Chart.AppVersion
      "name" (printf "%s-%s%s" (include "llmd.fullname" .root) .role.name (default "" .suffix))
      "labels" .labels "annotations" .annotations) -}}
{{- end -}}

{{- /*
llmd.image: an image reference, with global.imageRegistry in the place of its own registry. Takes: dict "root", "image".
*/}}
{{- define "llmd.image" -}}
{{- $first := first (splitList "/" .image) -}}
{{- $named := and (contains "/" .image) (or (contains "." $first) (contains ":" $first) (eq $first "localhost")) -}}
{{- with (default dict .root.Values.global).imageRegistry -}}
{{- printf "%s/%s" (trimSuffix "/" .) (ternary (trimPrefix (printf "%s/" $first) $.image) $.image $named) -}}
{{- else -}}
{{- .image -}}
{{- end -}}
{{- end -}}

{{- /*
llmd.firstOf: the first argument that is not null, as {value: …}. Takes: a list.
*/}}
{{- define "llmd.firstOf" -}}
{{- $found := dict "value" nil -}}
{{- range $item := . -}}
{{- if and (kindIs "invalid" $found.value) (not (kindIs "invalid" $item)) -}}
{{- $_ := set $found "value" $item -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" $found -}}
{{- end -}}
