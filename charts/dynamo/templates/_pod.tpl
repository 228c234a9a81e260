{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
dynamo.pod: the pods of a component, as {metadata: {labels, annotations}, spec}, with extraPodSpec laid over it. The main
container is called main. Both API versions are made of it.
Takes: dict "root", "entry" (of dynamo.components).
*/}}
{{- define "dynamo.pod" -}}
{{- $c := .entry.values -}}
{{- $where := .entry.where -}}
{{- $config := include "dynamo.engineConfig" . | fromYaml -}}
{{- $main := include "dynamo.mainContainer" (dict "root" .root "entry" .entry "config" $config) | fromYaml -}}
{{- $cache := dict "root" .root "modelCache" .root.Values.modelCache -}}
{{- $volumes := list -}}
{{- if ne .entry.role "planner" -}}
{{- $volumes = include "common.modelCacheVolume" $cache | fromYamlArray -}}
{{- end -}}
{{- $spec := include "common.podPlacement" (dict "root" .root "component" $c) | fromYaml -}}
{{- $_ := set $spec "containers" (list $main) -}}
{{- $own := dict "volumes" (concat $volumes $config.volumes) -}}
{{- $_ := set $own "imagePullSecrets" (include "common.imagePullSecrets" .root | fromYamlArray) -}}
{{- $_ := set $own "securityContext" $c.podSecurityContext -}}
{{- $_ := set $own "serviceAccountName" $c.serviceAccountName -}}
{{- if include "dynamo.claimsChannel" . -}}
{{- include "common.claimChannel" (dict "root" .root "spec" $own) -}}
{{- end -}}
{{- include "common.fill" (dict "into" $spec "from" $own) -}}
{{- if not (kindIs "invalid" $c.terminationGracePeriodSeconds) -}}
{{- $_ := set $spec "terminationGracePeriodSeconds" $c.terminationGracePeriodSeconds -}}
{{- end -}}
{{- $spec = include "common.podExtras" (dict "podSpec" $spec "values" $c "where" $where) | fromYaml -}}
{{- include "common.checkPodGpus" (dict
      "podSpec" $spec "accelerator" .root.Values.accelerator.resource "gpus" $c.gpusPerPod "where" $where) -}}
{{- range $container := $spec.containers -}}
{{- if eq $container.name "main" -}}
{{- /* The operator puts its default args where there are none: the command's own words keep them out. */ -}}
{{- if and (not $container.args) (gt (len (default list $container.command)) 1) -}}
{{- $_ := set $container "args" (rest $container.command) -}}
{{- $_ := set $container "command" (list (first $container.command)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $metadata := include "common.podMetadata" (dict
      "root" .root "labels" $c.podLabels "annotations" (mergeOverwrite $config.annotations (default dict $c.podAnnotations | deepCopy))
      "selector" (include "common.selectorLabels" (dict "root" .root "component" (lower $c.component)) | fromYaml)) | fromYaml -}}
{{- include "common.yaml" (dict "metadata" $metadata "spec" $spec) -}}
{{- end -}}

{{- /*
dynamo.mainContainer: the container main, before extraVolumeMounts and extraPodSpec.
Takes: dict "root", "entry", "config" (of dynamo.engineConfig).
*/}}
{{- define "dynamo.mainContainer" -}}
{{- $c := .entry.values -}}
{{- $where := .entry.where -}}
{{- $image := include "common.imageOver" (dict "base" .root.Values.image "over" $c.image) | fromYaml -}}
{{- $token := .root.Values.hfTokenSecret -}}
{{- $extraEnv := default list $c.extraEnv -}}
{{- if and $token.name (ne $token.key "HF_TOKEN") -}}
{{- $extraEnv = concat (include "common.tokenEnv" $token | fromYamlArray) $extraEnv -}}
{{- end -}}
{{- $resources := include "common.resources" (dict
      "accelerator" .root.Values.accelerator.resource "gpus" $c.gpusPerPod
      "resources" $c.resources "where" (printf "%s.resources" $where)) | fromYaml -}}
{{- if include "dynamo.claimsChannel" . -}}
{{- include "common.claimChannel" (dict "root" .root "resources" $resources) -}}
{{- end -}}
{{- $mounts := list -}}
{{- if ne .entry.role "planner" -}}
{{- $mounts = include "common.modelCacheMount" (dict "root" .root "modelCache" .root.Values.modelCache) | fromYamlArray -}}
{{- end -}}
{{- $parts := dict
      "env" (include "common.env" (dict
        "extraEnv" $extraEnv "env" (merge .config.env (default dict $c.env)) "where" (printf "%s.env" $where)) | fromYamlArray)
      "resources" $resources
      "volumeMounts" (concat $mounts .config.mounts)
      "livenessProbe" $c.livenessProbe
      "readinessProbe" $c.readinessProbe
      "startupProbe" $c.startupProbe
      "securityContext" $c.securityContext -}}
{{- if and $token.name (eq $token.key "HF_TOKEN") -}}
{{- $_ := set $parts "envFrom" (list (dict "secretRef" (dict "name" $token.name))) -}}
{{- end -}}
{{- $container := dict
      "name" "main"
      "image" (include "common.image" (dict "root" .root "image" $image "where" $where))
      "imagePullPolicy" $image.pullPolicy
      "command" (include "common.words" .config.command | fromYamlArray)
      "args" (include "common.args" (dict
        "engineArgs" $c.engineArgs "extraArgs" $c.extraArgs "where" (printf "%s.engineArgs" $where)) | fromYamlArray) -}}
{{- include "common.fill" (dict "into" $container "from" $parts) -}}
{{- include "common.yaml" $container -}}
{{- end -}}

{{- /*
dynamo.claimsChannel: "true" when the pods of a component claim a channel of the ComputeDomain.
Takes: dict "root", "entry".
*/}}
{{- define "dynamo.claimsChannel" -}}
{{- if and .root.Values.computeDomain.enabled (gt (int (default 1 .entry.values.nodes)) 1) -}}
true
{{- end -}}
{{- end -}}
