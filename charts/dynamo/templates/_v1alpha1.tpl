{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
dynamo.v1alpha1: the spec of a DynamoGraphDeployment v1alpha1.
Takes: dict "root", "components" (of dynamo.components).
*/}}
{{- define "dynamo.v1alpha1" -}}
{{- $services := dict -}}
{{- $claims := list -}}
{{- range $entry := .components -}}
{{- $service := include "dynamo.v1alpha1.service" (dict "root" $.root "entry" $entry) | fromYaml -}}
{{- range $service.volumeMounts -}}
{{- $claims = append $claims .name -}}
{{- end -}}
{{- $_ := set $services $entry.values.component $service -}}
{{- end -}}
{{- $spec := dict "backendFramework" .root.Values.backend "services" $services -}}
{{- range uniq $claims -}}
{{- $_ := set $spec "pvcs" (append (default list $spec.pvcs) (dict "name" . "create" false)) -}}
{{- end -}}
{{- include "common.yaml" $spec -}}
{{- end -}}

{{- /*
dynamo.v1alpha1.service: one component. Its pod (dynamo.pod) is taken apart: the main container's env, resources,
probes and model cache have keys of their own here, the rest is extraPodSpec.
Takes: dict "root", "entry".
*/}}
{{- define "dynamo.v1alpha1.service" -}}
{{- $c := .entry.values -}}
{{- $pod := include "dynamo.pod" . | fromYaml -}}
{{- $service := include "dynamo.scale" (dict "root" .root "entry" .entry "adapter" (dict "enabled" true)) | fromYaml -}}
{{- if has $c.type (list "prefill" "decode") -}}
{{- $_ := set $service "componentType" "worker" -}}
{{- $_ := set $service "subComponentType" $c.type -}}
{{- else -}}
{{- $_ := set $service "componentType" $c.type -}}
{{- end -}}
{{- with (default dict $c.sharedMemory).size -}}
{{- $size := include "common.word" . -}}
{{- $_ := set $service "sharedMemory" (ternary (dict "disabled" true) (dict "size" $size) (eq $size "0")) -}}
{{- end -}}
{{- $_ := set $service "extraPodMetadata" $pod.metadata -}}
{{- $main := dict -}}
{{- $sidecars := list -}}
{{- range $pod.spec.containers -}}
{{- if eq .name "main" -}}
{{- $main = omit . "name" -}}
{{- else -}}
{{- $sidecars = append $sidecars . -}}
{{- end -}}
{{- end -}}
{{- with $main.env -}}
{{- $_ := set $service "envs" . -}}
{{- end -}}
{{- range $probe := list "livenessProbe" "readinessProbe" -}}
{{- with get $main $probe -}}
{{- $_ := set $service $probe . -}}
{{- end -}}
{{- end -}}
{{- with $main.resources -}}
{{- $_ := set $service "resources" (include "dynamo.v1alpha1.resources" (dict "accelerator" $.root.Values.accelerator.resource "resources" .) | fromYaml) -}}
{{- end -}}
{{- $main = omit $main "env" "livenessProbe" "readinessProbe" "resources" -}}
{{- if and $main.envFrom (deepEqual (first $main.envFrom) (dict "secretRef" (dict "name" $.root.Values.hfTokenSecret.name))) -}}
{{- $_ := set $service "envFromSecret" (first $main.envFrom).secretRef.name -}}
{{- $_ := set $main "envFrom" (rest $main.envFrom) -}}
{{- end -}}
{{- $spec := omit $pod.spec "containers" -}}
{{- $claim := include "common.modelCacheClaim" (dict "root" .root "modelCache" .root.Values.modelCache) -}}
{{- if and $claim (include "dynamo.v1alpha1.ownsCache" (dict "spec" $pod.spec "main" $main "claim" $claim)) -}}
{{- $mounts := list -}}
{{- range $main.volumeMounts -}}
{{- if eq .name "model-cache" -}}
{{- $_ := set $service "volumeMounts" (append (default list $service.volumeMounts) (dict "name" $claim "mountPoint" .mountPath)) -}}
{{- else -}}
{{- $mounts = append $mounts . -}}
{{- end -}}
{{- end -}}
{{- $volumes := list -}}
{{- range $spec.volumes -}}
{{- if ne .name "model-cache" -}}
{{- $volumes = append $volumes . -}}
{{- end -}}
{{- end -}}
{{- $_ := set $main "volumeMounts" $mounts -}}
{{- $_ := set $spec "volumes" $volumes -}}
{{- end -}}
{{- $_ := set $spec "mainContainer" $main -}}
{{- $_ := set $spec "containers" $sidecars -}}
{{- range $map := list $main $spec -}}
{{- range $key := list "containers" "volumes" "volumeMounts" "envFrom" -}}
{{- if and (hasKey $map $key) (not (get $map $key)) -}}
{{- $_ := unset $map $key -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $service "extraPodSpec" $spec -}}
{{- include "common.yaml" $service -}}
{{- end -}}

{{- /*
dynamo.v1alpha1.ownsCache: "true" when the model cache is still as the chart made it: a plain volume of the claim that the
main container alone mounts, plainly, and whose name is fit for a volume and no other volume has. Only then pvcs can
tell it: the operator names the volume after the claim.
Takes: dict "spec" (pod spec), "main", "claim".
*/}}
{{- define "dynamo.v1alpha1.ownsCache" -}}
{{- $found := dict "volumes" 0 "mounts" 0 "strange" 0 -}}
{{- $plain := dict "name" "model-cache" "persistentVolumeClaim" (dict "claimName" .claim) -}}
{{- range .spec.volumes -}}
{{- if deepEqual . $plain -}}
{{- $_ := set $found "volumes" 1 -}}
{{- else if has .name (list "model-cache" $.claim) -}}
{{- $_ := set $found "strange" 1 -}}
{{- end -}}
{{- end -}}
{{- range .main.volumeMounts -}}
{{- if eq .name "model-cache" -}}
{{- $_ := set $found (ternary "mounts" "strange" (deepEqual . (dict "name" .name "mountPath" .mountPath))) 1 -}}
{{- end -}}
{{- end -}}
{{- range concat (default list .spec.initContainers) .spec.containers -}}
{{- range ternary list (default list .volumeMounts) (eq .name "main") -}}
{{- if eq .name "model-cache" -}}
{{- $_ := set $found "strange" 1 -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $found.volumes $found.mounts (not $found.strange) (regexMatch `^[-a-z0-9]{1,63}$` .claim) -}}
true
{{- end -}}
{{- end -}}

{{- /*
dynamo.v1alpha1.resources: container resources in this version's own form: cpu, memory, gpu (with gpuType when the
accelerator is not nvidia.com/gpu), and custom for everything else.
Takes: dict "accelerator", "resources".
*/}}
{{- define "dynamo.v1alpha1.resources" -}}
{{- $result := pick .resources "claims" -}}
{{- range $part := list "requests" "limits" -}}
{{- $amounts := dict -}}
{{- $custom := dict -}}
{{- range $name, $given := default dict (get $.resources $part) -}}
{{- $amount := include "common.word" $given -}}
{{- if eq $name $.accelerator -}}
{{- $_ := set $amounts "gpu" $amount -}}
{{- if ne $name "nvidia.com/gpu" -}}
{{- $_ := set $amounts "gpuType" $name -}}
{{- end -}}
{{- else if has $name (list "cpu" "memory") -}}
{{- $_ := set $amounts $name $amount -}}
{{- else -}}
{{- $_ := set $custom $name $amount -}}
{{- end -}}
{{- end -}}
{{- with $custom -}}
{{- $_ := set $amounts "custom" . -}}
{{- end -}}
{{- with $amounts -}}
{{- $_ := set $result $part . -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" $result -}}
{{- end -}}
