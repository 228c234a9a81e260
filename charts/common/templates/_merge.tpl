{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
common.podSpecMerge: a pod spec with another laid over it, which wins everywhere.
Takes: dict "podSpec", "extra" (may hold mainContainer), "main" (name of the container that mainContainer
merges into; "main" when left out). Maps merge key by key and null removes a key. Lists whose items have an
identity (table below) merge item by item, so that no identity is there twice; the lists that only collect are joined,
each item once; any other list (args, command) is replaced.
*/}}
{{- define "common.podSpecMerge" -}}
{{- $extra := include "common.yaml" (default dict .extra) | fromYaml -}}
{{- $main := $extra.mainContainer -}}
{{- $_ := unset $extra "mainContainer" -}}
{{- $spec := (include "common.merge" (dict "base" .podSpec "over" $extra "key" "") | fromYaml).value -}}
{{- with $main -}}
{{- $container := mergeOverwrite (deepCopy .) (dict "name" (default "main" $.main)) -}}
{{- $spec = (include "common.merge" (dict "base" $spec "over" (dict "containers" (list $container)) "key" "") | fromYaml).value -}}
{{- end -}}
{{- include "common.yaml" $spec -}}
{{- end -}}

{{- /*
common.podExtras: a pod spec with a component's hatches laid over it: extraVolumes, extraVolumeMounts, then extraPodSpec.
Takes: dict "podSpec", "values" (the component's, with those three keys, each of which may be missing), "main" (as
common.podSpecMerge), "where" (for messages). Fails as common.checkPod.
*/}}
{{- define "common.podExtras" -}}
{{- $own := dict -}}
{{- with .values.extraVolumes -}}
{{- $_ := set $own "volumes" . -}}
{{- end -}}
{{- with .values.extraVolumeMounts -}}
{{- $_ := set $own "mainContainer" (dict "volumeMounts" .) -}}
{{- end -}}
{{- $spec := .podSpec -}}
{{- range $extra := list $own (default dict .values.extraPodSpec) -}}
{{- if $extra -}}
{{- $spec = include "common.podSpecMerge" (dict "podSpec" $spec "main" $.main "extra" $extra) | fromYaml -}}
{{- end -}}
{{- end -}}
{{- include "common.checkPod" (dict "podSpec" $spec "where" .where) -}}
{{- include "common.yaml" $spec -}}
{{- end -}}

{{- /*
common.fill: prints nothing; sets in one map what another has and is not empty.
Takes: dict "into" (changed in place), "from".
*/}}
{{- define "common.fill" -}}
{{- $into := .into -}}
{{- range $key, $value := .from -}}
{{- with $value -}}
{{- $_ := set $into $key . -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
common.mergeKeys: what makes an item of a list the same item, by the list's key. "whole" items replace each other
(a volume has one source, a variable one value); the others merge.
*/}}
{{- define "common.mergeKeys" -}}
containers: {by: name}
initContainers: {by: name}
ephemeralContainers: {by: name}
volumes: {by: name, whole: true}
env: {by: name, whole: true}
imagePullSecrets: {by: name}
resourceClaims: {by: name, whole: true}
claims: {by: name, whole: true}
schedulingGates: {by: name}
volumeMounts: {by: mountPath, whole: true}
volumeDevices: {by: devicePath, whole: true}
hostAliases: {by: ip}
ports: {by: containerPort}
tolerations: {join: true}
topologySpreadConstraints: {join: true}
envFrom: {join: true}
readinessGates: {join: true}
{{- end -}}

{{- /*
common.merge: YAML of {value: …}, one value laid over another.
Takes: dict "base", "over", "key" (the key that both stand under; it says how lists merge).
*/}}
{{- define "common.merge" -}}
{{- $how := default dict (get (include "common.mergeKeys" . | fromYaml) .key) -}}
{{- $result := .over -}}
{{- if kindIs "map" .over -}}
{{- $result = ternary (deepCopy (default dict .base)) dict (kindIs "map" .base) -}}
{{- range $key, $value := .over -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $result $key -}}
{{- else -}}
{{- $_ := set $result $key (include "common.merge" (dict "base" (get $result $key) "over" $value "key" $key) | fromYaml).value -}}
{{- end -}}
{{- end -}}
{{- else if and (kindIs "slice" .over) $how -}}
{{- $result = ternary .base list (kindIs "slice" .base) -}}
{{- if $how.join -}}
{{- $result = concat $result .over | uniq -}}
{{- else -}}
{{- range $item := .over -}}
{{- $result = include "common.mergeItem" (dict "items" $result "item" $item "how" $how "key" $.key) | fromYamlArray -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" (dict "value" $result) -}}
{{- end -}}

{{- /*
common.mergeItem: a list with one item laid over the item of the same identity, or appended. Ports are the same by
number and protocol, and by name.
Takes: dict "items", "item", "how" (an entry of common.mergeKeys), "key" (of the list).
*/}}
{{- define "common.mergeItem" -}}
{{- $result := list -}}
{{- $placed := false -}}
{{- $item := .item -}}
{{- $how := .how -}}
{{- $id := include "common.itemId" (dict "item" $item "by" $how.by) -}}
{{- range $old := .items -}}
{{- $same := eq $id (include "common.itemId" (dict "item" $old "by" $how.by)) -}}
{{- if and (eq $.key "ports") $item.name (eq (default "" $old.name) (default "" $item.name)) -}}
{{- $same = true -}}
{{- end -}}
{{- if not $same -}}
{{- $result = append $result $old -}}
{{- else if not $placed -}}
{{- $placed = true -}}
{{- if $how.whole -}}
{{- $result = append $result $item -}}
{{- else -}}
{{- $result = append $result (include "common.merge" (dict "base" $old "over" $item "key" "") | fromYaml).value -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $placed -}}
{{- $result = append $result (include "common.merge" (dict "base" dict "over" $item "key" "") | fromYaml).value -}}
{{- end -}}
{{- include "common.yaml" $result -}}
{{- end -}}

{{- define "common.itemId" -}}
{{- $id := include "common.word" (get .item .by) -}}
{{- if eq .by "containerPort" -}}
{{- $id = printf "%s/%s" $id (default "TCP" .item.protocol) -}}
{{- end -}}
{{- $id -}}
{{- end -}}

{{- /*
common.checkPod: prints nothing; fails when a container mounts a volume that the pod does not have.
Takes: dict "podSpec", "where" (for the message).
*/}}
{{- define "common.checkPod" -}}
{{- $volumes := include "common.names" .podSpec.volumes | fromYamlArray -}}
{{- $where := .where -}}
{{- range $container := concat (default list .podSpec.initContainers) (default list .podSpec.containers) -}}
{{- range $mount := default list $container.volumeMounts -}}
{{- if not (has $mount.name $volumes) -}}
{{- fail (printf "%s: container %s mounts the volume %s at %s, but the pod has no such volume (it has: %s)" $where $container.name $mount.name $mount.mountPath (default "none" (join ", " (sortAlpha $volumes)))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
common.checkPodGpus: prints nothing; fails when extraPodSpec left the main container another number of accelerators, or none.
Takes: dict "podSpec", "main" (as common.podSpecMerge), "accelerator", "gpus", "where" (what extraPodSpec stands in; "" for the
top of the values).
*/}}
{{- define "common.checkPodGpus" -}}
{{- $at := printf "%s.extraPodSpec.mainContainer.resources" .where | trimPrefix "." -}}
{{- range $container := .podSpec.containers -}}
{{- if eq $container.name (default "main" $.main) -}}
{{- range $part := list "requests" "limits" -}}
{{- include "common.checkGpus" (dict
      "accelerator" $.accelerator "gpus" $.gpus "amounts" (get (default dict $container.resources) $part) "final" true
      "where" (printf "%s.%s" $at $part)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
