{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
common.fullname: the name that every object of the release starts with: fullnameOverride, else the release's.
Takes: the root context. At most 63 characters, without a hyphen at the end.
*/}}
{{- define "common.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /*
common.suffixed: the full name with an ending, cut so that 63 characters hold both.
Takes: dict "root", "suffix" (with its hyphen).
*/}}
{{- define "common.suffixed" -}}
{{- $room := slice (until 63) (len .suffix) | len -}}
{{- printf "%s%s" (include "common.fullname" .root | trunc $room | trimSuffix "-") .suffix -}}
{{- end -}}

{{- /*
common.selectorLabels: the labels that select pods of this release and no other. They hold no version.
Takes: dict "root" (context), "component" (name; leave it out to select all of the release).
*/}}
{{- define "common.selectorLabels" -}}
{{- $labels := dict "app.kubernetes.io/name" .root.Chart.Name "app.kubernetes.io/instance" .root.Release.Name -}}
{{- with .component -}}
{{- $_ := set $labels "app.kubernetes.io/component" . -}}
{{- end -}}
{{- include "common.yaml" $labels -}}
{{- end -}}

{{- /*
common.labels: the labels of an object, with commonLabels, which cannot replace those that select.
Takes: dict "root", "component" (may be left out), "version" (of what is deployed; may be left out).
*/}}
{{- define "common.labels" -}}
{{- $root := .root -}}
{{- $labels := dict
      "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
      "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- with .version -}}
{{- $_ := set $labels "app.kubernetes.io/version" (. | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- end -}}
{{- $selectors := include "common.selectorLabels" (dict "root" $root "component" .component) | fromYaml -}}
{{- include "common.yaml" (mergeOverwrite $labels (default dict $root.Values.commonLabels | deepCopy) $selectors) -}}
{{- end -}}

{{- /*
common.metadata: the metadata of an object: name, namespace, labels and, when there are any, annotations.
Takes: dict "root", "name", "component", "version", "labels", "annotations" (all but root and name may be left out).
*/}}
{{- define "common.metadata" -}}
{{- $labels := include "common.labels" . | fromYaml -}}
{{- $metadata := dict
      "name" .name
      "namespace" .root.Release.Namespace
      "labels" (mergeOverwrite (default dict .labels | deepCopy) $labels) -}}
{{- with mergeOverwrite (default dict .root.Values.commonAnnotations | deepCopy) (default dict .annotations | deepCopy) -}}
{{- $_ := set $metadata "annotations" . -}}
{{- end -}}
{{- include "common.yaml" $metadata -}}
{{- end -}}

{{- /*
common.podMetadata: labels and annotations of pods: commonLabels, then the pods' own, then those that select; common.metadata is
for objects.
Takes: dict "root", "labels", "annotations", "selector" (labels; all but root and selector may be left out).
*/}}
{{- define "common.podMetadata" -}}
{{- $metadata := dict "labels" (mergeOverwrite
      (default dict .root.Values.commonLabels | deepCopy) (default dict .labels | deepCopy) (deepCopy .selector)) -}}
{{- with .annotations -}}
{{- $_ := set $metadata "annotations" . -}}
{{- end -}}
{{- include "common.yaml" $metadata -}}
{{- end -}}

{{- /*
common.image: registry/repository:tag@digest.
Takes: dict "root", "image" (registry, repository, tag, digest), "where" (for messages).
global.imageRegistry takes the place of the image's own registry.
*/}}
{{- define "common.image" -}}
{{- $where := default "image" .where -}}
{{- $image := default dict .image -}}
{{- if not $image.repository -}}
{{- fail (printf "%s: the image has no repository" $where) -}}
{{- end -}}
{{- if not (or $image.tag $image.digest) -}}
{{- fail (printf "%s: the image has neither tag nor digest" $where) -}}
{{- end -}}
{{- $registry := default $image.registry (default dict .root.Values.global).imageRegistry -}}
{{- with $registry -}}
{{- printf "%s/" (trimSuffix "/" .) -}}
{{- end -}}
{{- $image.repository -}}
{{- with $image.tag -}}
{{- printf ":%s" (include "common.word" .) -}}
{{- end -}}
{{- with $image.digest -}}
{{- printf "@%s" . -}}
{{- end -}}
{{- end -}}

{{- /*
common.imageOver: the fields of an image with another's that are given laid over them. Another repository or tag drops the digest.
Takes: dict "base", "over" (may be null).
*/}}
{{- define "common.imageOver" -}}
{{- $image := deepCopy .base -}}
{{- $over := default dict .over -}}
{{- if or $over.repository $over.tag -}}
{{- $_ := set $image "digest" "" -}}
{{- end -}}
{{- include "common.fill" (dict "into" $image "from" $over) -}}
{{- include "common.yaml" $image -}}
{{- end -}}

{{- /*
common.imagePullSecrets: list of {name}, each once, from global.imagePullSecrets and imagePullSecrets, or "[]".
Takes: the root context. Items may be names or maps with a name.
*/}}
{{- define "common.imagePullSecrets" -}}
{{- $found := list -}}
{{- range concat (default list (default dict .Values.global).imagePullSecrets) (default list .Values.imagePullSecrets) -}}
{{- $found = append $found (dict "name" (ternary . (dig "name" "" (ternary (dict) . (kindIs "string" .))) (kindIs "string" .))) -}}
{{- end -}}
{{- include "common.yaml" (uniq $found) -}}
{{- end -}}
