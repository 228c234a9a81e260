{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
common.modelCacheClaim: the name of the claim that holds the models, or nothing when there is no cache.
Takes: dict "root", "modelCache" (claimName, create). A claim that the chart makes is <fullname>-model-cache.
*/}}
{{- define "common.modelCacheClaim" -}}
{{- $cache := default dict .modelCache -}}
{{- if $cache.claimName -}}
{{- $cache.claimName -}}
{{- else if $cache.create -}}
{{- include "common.suffixed" (dict "root" .root "suffix" "-model-cache") -}}
{{- end -}}
{{- end -}}

{{- /*
common.modelCacheVolume, common.modelCacheMount: list of the one volume or mount "model-cache", or "[]".
Take: dict "root", "modelCache" (claimName, create, mountPath, subPath, readOnly).
*/}}
{{- define "common.modelCacheVolume" -}}
{{- $claim := include "common.modelCacheClaim" . -}}
{{- if $claim -}}
{{- include "common.yaml" (list (dict "name" "model-cache" "persistentVolumeClaim" (dict "claimName" $claim))) -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- define "common.modelCacheMount" -}}
{{- if include "common.modelCacheClaim" . -}}
{{- $mount := dict "name" "model-cache" "mountPath" .modelCache.mountPath -}}
{{- with .modelCache.subPath -}}
{{- $_ := set $mount "subPath" . -}}
{{- end -}}
{{- if .modelCache.readOnly -}}
{{- $_ := set $mount "readOnly" true -}}
{{- end -}}
{{- include "common.yaml" (list $mount) -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- /*
common.modelCachePVC: the PersistentVolumeClaim of the cache, kept when the release goes, or nothing.
Takes: dict "root", "modelCache" (create, claimName, size, storageClass, accessModes), "version".
*/}}
{{- define "common.modelCachePVC" -}}
{{- $cache := default dict .modelCache -}}
{{- if $cache.create -}}
{{- if not $cache.size -}}
{{- fail "modelCache.create needs modelCache.size, for example 500Gi" -}}
{{- end -}}
{{- $spec := dict
      "accessModes" (default (list "ReadWriteMany") $cache.accessModes)
      "resources" (dict "requests" (dict "storage" (include "common.word" $cache.size))) -}}
{{- with $cache.storageClass -}}
{{- $_ := set $spec "storageClassName" . -}}
{{- end -}}
{{- $metadata := include "common.metadata" (dict
      "root" .root "name" (include "common.modelCacheClaim" .) "component" "model-cache" "version" .version
      "annotations" (dict "helm.sh/resource-policy" "keep")) | fromYaml -}}
{{- include "common.object" (dict "apiVersion" "v1" "kind" "PersistentVolumeClaim" "metadata" $metadata "spec" $spec) -}}
{{- end -}}
{{- end -}}

{{- /*
common.sharedMemoryVolume, common.sharedMemoryMount: list of the one memory-backed volume or mount for /dev/shm.
Take: dict "sharedMemory" (size; "" leaves the size to the node). sharedMemory null gives "[]".
*/}}
{{- define "common.sharedMemoryVolume" -}}
{{- if kindIs "map" .sharedMemory -}}
{{- $directory := dict "medium" "Memory" -}}
{{- with .sharedMemory.size -}}
{{- $_ := set $directory "sizeLimit" (include "common.word" .) -}}
{{- end -}}
{{- include "common.yaml" (list (dict "name" "shared-memory" "emptyDir" $directory)) -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- define "common.sharedMemoryMount" -}}
{{- if kindIs "map" .sharedMemory -}}
{{- include "common.yaml" (list (dict "name" "shared-memory" "mountPath" "/dev/shm")) -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- /*
common.podPlacement: the part of a pod spec that says where it runs: nodeSelector, tolerations, affinity,
topologySpreadConstraints, priorityClassName, schedulerName, runtimeClassName. What is empty is left out.
Takes: dict "root", "component". A component's own value takes the place of the chart-wide one of the same key.
*/}}
{{- define "common.podPlacement" -}}
{{- $spec := dict -}}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "schedulerName" "runtimeClassName" -}}
{{- with default (get $.root.Values $key) (get (default dict $.component) $key) -}}
{{- $_ := set $spec $key . -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" $spec -}}
{{- end -}}

{{- /*
common.extraObjects: the objects of .Values.extraObjects as YAML documents, each passed through tpl.
Takes: the root context. An item may be a text (a whole template) or a map (every text in it is a template).
*/}}
{{- define "common.extraObjects" -}}
{{- range $item := default list .Values.extraObjects }}
---
{{ if kindIs "string" $item }}{{ tpl $item $ }}{{ else }}{{ include "common.yaml" (include "common.tpl" (dict "root" $ "value" $item) | fromYaml).value }}{{ end }}
{{- end }}
{{- end -}}

{{- /*
common.tpl: YAML of {value: …}, the value with every text in it passed through tpl. Keys stay as they are.
Takes: dict "root", "value".
*/}}
{{- define "common.tpl" -}}
{{- $root := .root -}}
{{- $result := .value -}}
{{- if kindIs "map" .value -}}
{{- $result = dict -}}
{{- range $key, $item := .value -}}
{{- $_ := set $result $key (include "common.tpl" (dict "root" $root "value" $item) | fromYaml).value -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- $result = list -}}
{{- range $item := .value -}}
{{- $result = append $result (include "common.tpl" (dict "root" $root "value" $item) | fromYaml).value -}}
{{- end -}}
{{- else if and (kindIs "string" .value) (contains "{{" .value) -}}
{{- $result = tpl .value $root -}}
{{- end -}}
{{- include "common.yaml" (dict "value" $result) -}}
{{- end -}}
