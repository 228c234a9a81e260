{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
lws.role: the values of a role, with what it leaves out. `worker` ships nearly empty and takes the keys of `leader`.
Takes: dict "root", "role" (leader or worker).
*/}}
{{- define "lws.role" -}}
{{- $empty := dict
      "command" list "args" list "env" list "ports" list "image" dict
      "resources" (dict "requests" dict "limits" dict)
      "sharedMemory" (dict "size" "")
      "podLabels" dict "initContainers" list "extraVolumes" list "extraVolumeMounts" list "extraPodSpec" dict -}}
{{- include "common.yaml" (mergeOverwrite $empty (deepCopy (get .root.Values .role))) -}}
{{- end -}}

{{- /*
lws.pod: the pods of a role, as {metadata: {labels, annotations}, spec}, with extraPodSpec laid over it.
Takes: dict "root", "role" (leader or worker).
*/}}
{{- define "lws.pod" -}}
{{- $v := .root.Values -}}
{{- $r := include "lws.role" . | fromYaml -}}
{{- $spec := include "common.podPlacement" (dict "root" .root "component" $r) | fromYaml -}}
{{- $cache := dict "root" .root "modelCache" $v.modelCache -}}
{{- $volumes := include "common.modelCacheVolume" $cache | fromYamlArray -}}
{{- if $r.sharedMemory.size -}}
{{- $volumes = concat $volumes (include "common.sharedMemoryVolume" (dict "sharedMemory" $r.sharedMemory) | fromYamlArray) -}}
{{- end -}}
{{- if $v.scratch.mountPath -}}
{{- $directory := dict -}}
{{- with $v.scratch.size -}}
{{- $_ := set $directory "sizeLimit" (include "common.word" .) -}}
{{- end -}}
{{- $volumes = append $volumes (dict "name" "scratch" "emptyDir" $directory) -}}
{{- end -}}
{{- $own := dict
      "containers" (list (include "lws.container" . | fromYaml))
      "initContainers" $r.initContainers
      "volumes" $volumes
      "imagePullSecrets" (include "common.imagePullSecrets" .root | fromYamlArray)
      "securityContext" $v.podSecurityContext
      "serviceAccountName" (include "lws.serviceAccountName" .root)
      "hostIPC" $v.hostIPC -}}
{{- include "common.fill" (dict "into" $spec "from" $own) -}}
{{- if $v.computeDomain.enabled -}}
{{- include "common.claimChannel" (dict "root" .root "spec" $spec) -}}
{{- end -}}
{{- $_ := set $spec "automountServiceAccountToken" (gt (len $v.rbac.rules) 0) -}}
{{- if not (kindIs "invalid" $r.terminationGracePeriodSeconds) -}}
{{- $_ := set $spec "terminationGracePeriodSeconds" $r.terminationGracePeriodSeconds -}}
{{- end -}}
{{- $spec = include "common.podExtras" (dict "podSpec" $spec "values" $r "main" "engine" "where" .role) | fromYaml -}}
{{- include "common.checkPodGpus" (dict
      "podSpec" $spec "main" "engine" "accelerator" $v.accelerator.resource "gpus" $v.gpusPerPod "where" .role) -}}
{{- $metadata := include "common.podMetadata" (dict
      "root" .root "annotations" $r.podAnnotations
      "labels" (mergeOverwrite (include "lws.runtimeLabel" .root | fromYaml) (deepCopy $r.podLabels))
      "selector" (include "common.selectorLabels" (dict "root" .root "component" .role) | fromYaml)) | fromYaml -}}
{{- include "common.yaml" (dict "metadata" $metadata "spec" $spec) -}}
{{- end -}}

{{- /*
lws.runtimeLabel: the label with the runtime's name, when there is one.
Takes: the root context.
*/}}
{{- define "lws.runtimeLabel" -}}
{{- $labels := dict -}}
{{- with .Values.runtime -}}
{{- $_ := set $labels "app.kubernetes.io/part-of" . -}}
{{- end -}}
{{- include "common.yaml" $labels -}}
{{- end -}}

{{- /*
lws.container: the container "engine" of a role, before extraVolumeMounts and extraPodSpec.
Takes: dict "root", "role".
*/}}
{{- define "lws.container" -}}
{{- $v := .root.Values -}}
{{- $r := include "lws.role" . | fromYaml -}}
{{- $image := include "common.imageOver" (dict "base" $v.image "over" $r.image) | fromYaml -}}
{{- $resources := include "lws.resources" . | fromYaml -}}
{{- if $v.computeDomain.enabled -}}
{{- include "common.claimChannel" (dict "root" .root "resources" $resources) -}}
{{- end -}}
{{- $container := dict
      "name" "engine"
      "image" (include "common.image" (dict "root" .root "image" $image "where" "image"))
      "imagePullPolicy" $image.pullPolicy
      "resources" $resources -}}
{{- $parts := dict
      "command" (include "common.words" $r.command | fromYamlArray)
      "args" (include "common.words" $r.args | fromYamlArray)
      "env" (include "lws.env" . | fromYamlArray)
      "ports" (include "lws.containerPorts" . | fromYamlArray)
      "volumeMounts" (include "lws.mounts" . | fromYamlArray)
      "startupProbe" $r.startupProbe
      "livenessProbe" $r.livenessProbe
      "readinessProbe" $r.readinessProbe
      "lifecycle" $r.lifecycle
      "securityContext" (include "lws.containerSecurity" . | fromYaml) -}}
{{- include "common.fill" (dict "into" $container "from" $parts) -}}
{{- include "common.yaml" $container -}}
{{- end -}}

{{- /*
lws.env: the variables of a role: the token, the fabric's, then the role's own in their order.
Takes: dict "root", "role".
*/}}
{{- define "lws.env" -}}
{{- $v := .root.Values -}}
{{- $entries := include "common.tokenEnv" $v.hfTokenSecret | fromYamlArray -}}
{{- if gt (int $v.efa.perPod) 0 -}}
{{- $entries = concat $entries $v.efa.env -}}
{{- end -}}
{{- $entries = concat $entries (include "lws.role" . | fromYaml).env -}}
{{- include "common.unique" (dict "items" $entries "where" (printf "%s.env" .role) "what" "environment variable") -}}
{{- include "common.yaml" $entries -}}
{{- end -}}

{{- /*
lws.containerPorts: the ports that a role lists, with their numbers from `ports`.
Takes: dict "root", "role".
*/}}
{{- define "lws.containerPorts" -}}
{{- $ports := list -}}
{{- range $name := (include "lws.role" . | fromYaml).ports -}}
{{- $where := printf "%s.ports" $.role -}}
{{- $ports = append $ports (dict "name" $name "protocol" "TCP" "containerPort" (include "lws.portNumber" (dict "root" $.root "name" $name "where" $where) | int)) -}}
{{- end -}}
{{- include "common.yaml" $ports -}}
{{- end -}}

{{- /*
lws.portNumber: the number of a port; fails when `ports` does not have it.
Takes: dict "root", "name", "where" (for the message).
*/}}
{{- define "lws.portNumber" -}}
{{- $ports := .root.Values.ports -}}
{{- if not (hasKey $ports .name) -}}
{{- fail (printf "%s names the port %s, but ports has only: %s" .where .name (keys $ports | sortAlpha | join ", ")) -}}
{{- end -}}
{{- get $ports .name | int -}}
{{- end -}}

{{- /*
lws.mounts: mounts of the model cache, shared memory and scratch.
Takes: dict "root", "role".
*/}}
{{- define "lws.mounts" -}}
{{- $v := .root.Values -}}
{{- $r := include "lws.role" . | fromYaml -}}
{{- $mounts := include "common.modelCacheMount" (dict "root" .root "modelCache" $v.modelCache) | fromYamlArray -}}
{{- if $r.sharedMemory.size -}}
{{- $mounts = concat $mounts (include "common.sharedMemoryMount" (dict "sharedMemory" $r.sharedMemory) | fromYamlArray) -}}
{{- end -}}
{{- with $v.scratch.mountPath -}}
{{- $mounts = append $mounts (dict "name" "scratch" "mountPath" .) -}}
{{- end -}}
{{- include "common.yaml" $mounts -}}
{{- end -}}

{{- /*
lws.resources: accelerators, EFA devices, huge pages and other fabrics in requests and limits alike, and the role's own.
Takes: dict "root", "role".
*/}}
{{- define "lws.resources" -}}
{{- $v := .root.Values -}}
{{- $r := include "lws.role" . | fromYaml -}}
{{- $both := deepCopy $v.extraResources -}}
{{- if gt (int $v.efa.perPod) 0 -}}
{{- $_ := set $both "vpc.amazonaws.com/efa" (include "common.word" $v.efa.perPod) -}}
{{- with $v.efa.hugepages2Mi -}}
{{- $_ := set $both "hugepages-2Mi" . -}}
{{- end -}}
{{- end -}}
{{- $resources := dict
      "requests" (mergeOverwrite (deepCopy $r.resources.requests) (deepCopy $both))
      "limits" (mergeOverwrite (deepCopy $r.resources.limits) (deepCopy $both)) -}}
{{- include "common.resources" (dict
      "accelerator" $v.accelerator.resource "gpus" $v.gpusPerPod "resources" $resources
      "where" (printf "%s.resources" .role)) -}}
{{- end -}}

{{- /*
lws.containerSecurity: the role's security context, else the chart's; EFA needs to lock memory.
Takes: dict "root", "role".
*/}}
{{- define "lws.containerSecurity" -}}
{{- $v := .root.Values -}}
{{- $own := (include "lws.role" . | fromYaml).securityContext -}}
{{- $context := deepCopy (ternary $v.securityContext $own (kindIs "invalid" $own)) -}}
{{- if gt (int $v.efa.perPod) 0 -}}
{{- $capabilities := deepCopy (default dict $context.capabilities) -}}
{{- $_ := set $capabilities "add" (append (get $capabilities "add" | default list) "IPC_LOCK" | uniq) -}}
{{- $_ := set $context "capabilities" $capabilities -}}
{{- end -}}
{{- include "common.yaml" $context -}}
{{- end -}}
