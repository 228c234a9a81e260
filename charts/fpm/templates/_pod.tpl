{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
fpm.podSpec: the pod spec of every node: one container that does nothing but wait, so that a collector can start
the engine in it. No argument and no variable of the engine is here.
Takes: the root context.
*/}}
{{- define "fpm.podSpec" -}}
{{- $volumes := list -}}
{{- $mounts := list -}}
{{- if .Values.results.enabled -}}
{{- $volumes = append $volumes (dict "name" "results" "emptyDir" dict) -}}
{{- $mounts = append $mounts (dict "name" "results" "mountPath" "/results") -}}
{{- end -}}
{{- if .Values.sharedMemory.enabled -}}
{{- $directory := dict "medium" "Memory" -}}
{{- with .Values.sharedMemory.size -}}
{{- $_ := set $directory "sizeLimit" (include "common.word" .) -}}
{{- end -}}
{{- $volumes = append $volumes (dict "name" "dshm" "emptyDir" $directory) -}}
{{- $mounts = append $mounts (dict "name" "dshm" "mountPath" "/dev/shm") -}}
{{- end -}}
{{- $cache := dict "root" . "modelCache" .Values.modelCache -}}
{{- $volumes = concat $volumes (include "common.modelCacheVolume" $cache | fromYamlArray) -}}
{{- $mounts = concat $mounts (include "common.modelCacheMount" $cache | fromYamlArray) -}}
{{- $resources := include "common.resources" (dict
      "accelerator" .Values.accelerator.resource "gpus" .Values.gpusPerPod "resources" .Values.resources) | fromYaml -}}
{{- $container := dict
      "name" "main"
      "image" (include "common.image" (dict "root" . "image" .Values.image))
      "imagePullPolicy" .Values.image.pullPolicy
      "command" (list "/bin/sh" "-c" "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done")
      "resources" $resources
      "volumeMounts" $mounts -}}
{{- with .Values.securityContext -}}
{{- $_ := set $container "securityContext" . -}}
{{- end -}}
{{- $spec := dict "containers" (list $container) "volumes" $volumes -}}
{{- if .Values.computeDomain.enabled -}}
{{- include "common.claimChannel" (dict "root" . "spec" $spec "resources" $resources) -}}
{{- end -}}
{{- $spec = mergeOverwrite $spec (include "common.podPlacement" (dict "root" .) | fromYaml) -}}
{{- include "common.fill" (dict "into" $spec "from" (dict
      "imagePullSecrets" (include "common.imagePullSecrets" . | fromYamlArray) "securityContext" .Values.podSecurityContext)) -}}
{{- $spec = include "common.podExtras" (dict "podSpec" $spec "values" .Values "where" "extraPodSpec") | fromYaml -}}
{{- include "common.checkPodGpus" (dict
      "podSpec" $spec "accelerator" .Values.accelerator.resource "gpus" .Values.gpusPerPod "where" "") -}}
{{- include "common.yaml" $spec -}}
{{- end -}}

{{- /*
fpm.podLabels: labels of the pods: the release's, and those that a queue or a policy needs.
Takes: the root context.
*/}}
{{- define "fpm.podLabels" -}}
{{- $own := include "common.labels" (dict "root" . "component" "measurement") | fromYaml -}}
{{- include "common.yaml" (mergeOverwrite (deepCopy .Values.labels) $own) -}}
{{- end -}}
