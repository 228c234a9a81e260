{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.container: a container of a role, as the user gave it, with extraConfig laid over it. Takes: dict "root", "role", "container",
"own" (fields that the chart makes, for the model server). Empty fields are left out.
*/}}
{{- define "llmd.container" -}}
{{- $given := .container -}}
{{- $fields := pick $given "name" "image" "imagePullPolicy" "command" "args" "env" "envFrom" "ports" "securityContext" "livenessProbe" "readinessProbe" "startupProbe" "workingDir" "stdin" "tty" "volumeMounts" -}}
{{- $resources := include "common.resources" (dict "accelerator" "" "gpus" 0 "resources" $given.resources "where" (printf "%s.containers[%s].resources" .role.name $given.name)) | fromYaml -}}
{{- $_ := set $fields "resources" $resources -}}
{{- $_ := set $fields "image" (include "llmd.image" (dict "root" .root "image" $given.image)) -}}
{{- $result := dict -}}
{{- include "common.fill" (dict "into" $result "from" (mergeOverwrite $fields (default dict .own))) -}}
{{- with $given.extraConfig -}}
{{- $result = (include "common.merge" (dict "base" $result "over" . "key" "") | fromYaml).value -}}
{{- end -}}
{{- include "common.yaml" $result -}}
{{- end -}}

{{- /*
llmd.engine: the fields of the model server that the chart makes. Takes: dict "root", "role", "engine", "sizes", "accelerator", "model",
"place", "claims" (names of the pod's claims).
*/}}
{{- define "llmd.engine" -}}
{{- $words := include "llmd.command" . | fromYaml -}}
{{- $ports := include "llmd.enginePorts" . | fromYamlArray -}}
{{- $count := ternary 0 (int .accelerator.count) .accelerator.dra -}}
{{- $resources := include "common.resources" (dict
      "accelerator" (default "none" .accelerator.resource) "gpus" $count
      "resources" (include "llmd.withoutAccelerator" (dict "resources" .engine.resources "resource" .accelerator.resource) | fromYaml)
      "where" (printf "%s.containers[%s].resources" .role.name .engine.name)) | fromYaml -}}
{{- with .claims -}}
{{- $claims := list -}}
{{- range . -}}
{{- $claims = append $claims (dict "name" .) -}}
{{- end -}}
{{- $_ := set $resources "claims" $claims -}}
{{- end -}}
{{- $mounts := list -}}
{{- if .engine.mountModelVolume -}}
{{- $mount := dict "name" "model-storage" "mountPath" .root.Values.modelArtifacts.mountPath -}}
{{- if .model.readOnly -}}
{{- $_ := set $mount "readOnly" true -}}
{{- end -}}
{{- $mounts = append $mounts $mount -}}
{{- end -}}
{{- if kindIs "map" .role.values.sharedMemory -}}
{{- $mounts = concat $mounts (include "common.sharedMemoryMount" (dict "sharedMemory" .role.values.sharedMemory) | fromYamlArray) -}}
{{- end -}}
{{- range $path := .root.Values.writablePaths -}}
{{- $mounts = append $mounts (dict "name" (include "llmd.writableName" $path) "mountPath" $path) -}}
{{- end -}}
{{- $merged := (include "common.merge" (dict "base" $mounts "over" (default list .engine.volumeMounts) "key" "volumeMounts") | fromYaml).value -}}
{{- include "common.yaml" (mergeOverwrite
      (dict "command" $words.command "args" $words.args "ports" $ports "resources" $resources "volumeMounts" $merged
        "env" (include "llmd.engineEnv" . | fromYamlArray))
      (include "llmd.probes" (mergeOverwrite (dict "ports" $ports) .) | fromYaml)) -}}
{{- end -}}

{{- define "llmd.writableName" -}}
{{- printf "writable-%s" (regexReplaceAll `[^a-z0-9]+` (lower .) "-" | trimAll "-") -}}
{{- end -}}

{{- /*
llmd.withoutAccelerator: a container's resources without the accelerator, which the chart writes itself. Takes: dict "resources", "resource".
*/}}
{{- define "llmd.withoutAccelerator" -}}
{{- $result := dict -}}
{{- range $part, $amounts := default dict .resources -}}
{{- if kindIs "map" $amounts -}}
{{- $_ := set $result $part (omit $amounts (default "" $.resource)) -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" $result -}}
{{- end -}}

{{- /*
llmd.claims: the pod's claims, as {entries, names}: the accelerator's first. Takes: dict "root", "role", "accelerator".
*/}}
{{- define "llmd.claims" -}}
{{- $entries := list -}}
{{- if and .accelerator.dra (gt (int .accelerator.count) 0) -}}
{{- $entries = append $entries (dict "name" "accelerator" "resourceClaimTemplateName" (include "llmd.claimTemplateName" .)) -}}
{{- end -}}
{{- $entries = concat $entries (default list .role.values.resourceClaims) -}}
{{- $names := include "common.names" $entries | fromYamlArray -}}
{{- include "common.unique" (dict "names" $names "where" (printf "%s.resourceClaims" .role.name) "what" "claim") -}}
{{- include "common.yaml" (dict "entries" $entries "names" $names) -}}
{{- end -}}

{{- define "llmd.claimTemplateName" -}}
{{- $template := get .root.Values.accelerator.resourceClaimTemplates .accelerator.type -}}
{{- if not $template -}}
{{- fail (printf "accelerator.resourceClaimTemplates has no entry for %s: set dra to false" .accelerator.type) -}}
{{- end -}}
{{- printf "%s-%s-%s" (include "llmd.fullname" .root) .role.name $template.name -}}
{{- end -}}

{{- /*
llmd.volumes: the pod's volumes: the chart's own that are mounted, then the user's. The volume metrics-volume of the default values is left
out where nothing mounts it. Takes: dict "role", "root", "containers" (made), "model".
*/}}
{{- define "llmd.volumes" -}}
{{- $mounted := list -}}
{{- range $container := .containers -}}
{{- $mounted = concat $mounted (include "common.names" $container.volumeMounts | fromYamlArray) -}}
{{- end -}}
{{- $own := list .model.volume -}}
{{- if kindIs "map" .role.values.sharedMemory -}}
{{- $own = concat $own (include "common.sharedMemoryVolume" (dict "sharedMemory" .role.values.sharedMemory) | fromYamlArray) -}}
{{- end -}}
{{- range $path := .root.Values.writablePaths -}}
{{- $own = append $own (dict "name" (include "llmd.writableName" $path) "emptyDir" dict) -}}
{{- end -}}
{{- $volumes := list -}}
{{- range $own -}}
{{- if has .name $mounted -}}
{{- $volumes = append $volumes . -}}
{{- end -}}
{{- end -}}
{{- range default list .role.values.volumes -}}
{{- if or (ne .name "metrics-volume") (has .name $mounted) -}}
{{- $volumes = append $volumes . -}}
{{- end -}}
{{- end -}}
{{- include "common.unique" (dict "items" $volumes "where" (printf "%s.volumes" .role.name) "what" "volume") -}}
{{- include "common.yaml" $volumes -}}
{{- end -}}

{{- /*
llmd.pod: the pods of a role, as {metadata: {labels, annotations}, spec}. Takes: dict "root", "role", "place" ("", "leader" or "worker").
*/}}
{{- define "llmd.pod" -}}
{{- $values := .role.values -}}
{{- $model := include "llmd.model" .root | fromYaml -}}
{{- $sizes := include "llmd.sizes" . | fromYaml -}}
{{- $accelerator := include "llmd.accelerator" (dict "root" .root "role" .role "sizes" $sizes) | fromYaml -}}
{{- $claims := include "llmd.claims" (dict "root" .root "role" .role "accelerator" $accelerator) | fromYaml -}}
{{- $at := include "llmd.engineIndex" . | int -}}
{{- $containers := list -}}
{{- range $index, $container := $values.containers -}}
{{- $own := dict -}}
{{- if eq $index $at -}}
{{- $own = include "llmd.engine" (dict "root" $.root "role" $.role "engine" $container "sizes" $sizes "accelerator" $accelerator "model" $model "place" $.place "claims" $claims.names) | fromYaml -}}
{{- end -}}
{{- $containers = append $containers (include "llmd.container" (dict "root" $.root "role" $.role "container" $container "own" $own) | fromYaml) -}}
{{- end -}}
{{- $init := default list $values.initContainers -}}
{{- if include "llmd.proxied" . -}}
{{- $init = prepend $init (include "llmd.proxy" .root | fromYaml) -}}
{{- end -}}
{{- $spec := include "common.podPlacement" (dict "root" .root "component" (omit $values "priorityClassName")) | fromYaml -}}
{{- if eq $values.priorityClassName "none" -}}
{{- $_ := unset $spec "priorityClassName" -}}
{{- else if $values.priorityClassName -}}
{{- $_ := set $spec "priorityClassName" $values.priorityClassName -}}
{{- end -}}
{{- $parts := dict
      "containers" $containers "initContainers" $init "serviceAccountName" (include "llmd.serviceAccountName" .root)
      "volumes" (include "llmd.volumes" (dict "root" .root "role" .role "containers" (concat $containers $init) "model" $model) | fromYamlArray)
      "resourceClaims" $claims.entries "securityContext" $values.podSecurityContext "affinity" (include "llmd.affinity" . | fromYaml)
      "imagePullSecrets" (include "common.imagePullSecrets" (dict "Values" (dict "global" .root.Values.global "imagePullSecrets" (concat .root.Values.imagePullSecrets $values.imagePullSecrets))) | fromYamlArray) -}}
{{- include "common.fill" (dict "into" $spec "from" $parts) -}}
{{- range $key := list "enableServiceLinks" "terminationGracePeriodSeconds" "hostIPC" "hostPID" -}}
{{- /* Helm 4 drops null defaults, so that the key may be missing. */ -}}
{{- $value := ternary (get $values $key) nil (hasKey $values $key) -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $spec $key $value -}}
{{- end -}}
{{- end -}}
{{- $spec = include "common.podSpecMerge" (dict "podSpec" $spec "extra" $values.extraConfig "main" (index $values.containers $at).name) | fromYaml -}}
{{- include "common.checkPod" (dict "podSpec" $spec "where" .role.name) -}}
{{- include "llmd.checkPod" (dict "podSpec" $spec "where" .role.name) -}}
{{- $metadata := include "common.podMetadata" (dict
      "root" .root "labels" $values.podLabels "annotations" $values.podAnnotations
      "selector" (include "llmd.selectorLabels" (dict "root" .root "role" .role.name) | fromYaml)) | fromYaml -}}
{{- include "common.yaml" (dict "metadata" $metadata "spec" $spec) -}}
{{- end -}}

{{- /*
llmd.affinity: node affinity of acceleratorTypes. Takes: dict "role". Fails beside a node affinity in extraConfig: terms are alternatives.
*/}}
{{- define "llmd.affinity" -}}
{{- $types := .role.values.acceleratorTypes -}}
{{- $affinity := dict -}}
{{- if and $types.labelKey $types.labelValues -}}
{{- if dig "affinity" "nodeAffinity" nil (default dict .role.values.extraConfig) -}}
{{- fail (printf "%s: acceleratorTypes beside extraConfig.affinity.nodeAffinity; write both into the latter" .role.name) -}}
{{- end -}}
{{- $term := dict "matchExpressions" (list (dict "key" $types.labelKey "operator" "In" "values" $types.labelValues)) -}}
{{- $affinity = dict "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" (list $term))) -}}
{{- end -}}
{{- include "common.yaml" $affinity -}}
{{- end -}}

{{- /*
llmd.checkPod: prints nothing; fails when two ports of the pod have one number or name, or a probe asks a port that is not there.
Takes: dict "podSpec", "where".
*/}}
{{- define "llmd.checkPod" -}}
{{- $where := .where -}}
{{- $taken := dict -}}
{{- range $container := concat (default list .podSpec.initContainers) .podSpec.containers -}}
{{- $here := list -}}
{{- range default list $container.ports -}}
{{- $number := printf "%d/%s" (int .containerPort) (default "TCP" .protocol) -}}
{{- if hasKey $taken $number -}}
{{- fail (printf "%s: the containers %s and %s both declare port %s" $where (get $taken $number) $container.name $number) -}}
{{- end -}}
{{- $_ := set $taken $number $container.name -}}
{{- $here = concat $here (list (toString (int .containerPort)) (default "" .name)) -}}
{{- end -}}
{{- range $name := list "startupProbe" "readinessProbe" "livenessProbe" -}}
{{- $probe := default dict (get $container $name) -}}
{{- $asked := default (default dict $probe.tcpSocket) $probe.httpGet -}}
{{- with $asked.port -}}
{{- $port := ternary (toString .) (toString (int64 .)) (kindIs "string" .) -}}
{{- if not (has $port $here) -}}
{{- fail (printf "%s: the %s of container %s asks port %s, which it does not declare (it has: %s)" $where $name $container.name $port (default "none" (compact $here | join ", "))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
