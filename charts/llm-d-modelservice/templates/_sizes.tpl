{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.engineIndex: which of a role's containers is the model server: the one whose command the chart writes, else the first.
Takes: dict "role" (of llmd.roles). Fails when there are two.
*/}}
{{- define "llmd.engineIndex" -}}
{{- $found := list -}}
{{- range $index, $container := .role.values.containers -}}
{{- if has (default "" $container.modelCommand) (list "vllmServe" "imageDefault") -}}
{{- $found = append $found $index -}}
{{- end -}}
{{- end -}}
{{- if gt (len $found) 1 -}}
{{- fail (printf "%s.containers: only one container can be the model server, but %d have modelCommand vllmServe or imageDefault" .role.name (len $found)) -}}
{{- end -}}
{{- if not .role.values.containers -}}
{{- fail (printf "%s.containers is empty: give the model server" .role.name) -}}
{{- end -}}
{{- first (append $found 0) -}}
{{- end -}}

{{- /*
llmd.flagValue: the value of a flag in a list of words, whether it is joined by "=" or the next word; nothing when it is not
there. Takes: dict "args", "names" (spellings with their dashes).
*/}}
{{- define "llmd.flagValue" -}}
{{- $found := "" -}}
{{- $next := false -}}
{{- range $item := default list .args -}}
{{- $word := include "common.word" $item -}}
{{- if $next -}}
{{- $found = $word -}}
{{- end -}}
{{- $next = has $word $.names -}}
{{- range $name := $.names -}}
{{- if hasPrefix (printf "%s=" $name) $word -}}
{{- $found = trimPrefix (printf "%s=" $name) $word -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{- /*
llmd.sizes: parallel sizes of a role, as {tensor, pipeline, data, dataLocal, workers, spread, perPod}. "spread" says what several pods
share: "" (one pod), "data" (ranks) or "model" (one model). Takes: dict "root", "role". Fails when the sizes do not add up.
*/}}
{{- define "llmd.sizes" -}}
{{- $where := printf "%s.parallelism" .role.name -}}
{{- $p := default dict .role.values.parallelism -}}
{{- $engine := index .role.values.containers (include "llmd.engineIndex" . | int) -}}
{{- $tensor := int (default 1 $p.tensor) -}}
{{- $written := include "llmd.flagValue" (dict "args" $engine.args "names" (list "--pipeline-parallel-size" "-pp" "--pp-size")) -}}
{{- $pipeline := int (default (default 1 $written) $p.pipeline) -}}
{{- $workers := int (default 1 $p.workers) -}}
{{- if and (gt $workers 1) (not .root.Values.multinode) -}}
{{- fail (printf "%s.workers is %d, but multinode is false: the pods of a Deployment stand alone" $where $workers) -}}
{{- end -}}
{{- $data := int (default 0 $p.data) -}}
{{- $local := int (default 0 $p.dataLocal) -}}
{{- if not $data -}}
{{- $data = ternary (int (mul $local $workers)) 1 (gt $local 1) -}}
{{- end -}}
{{- $spread := ternary (ternary "data" "model" (gt $data 1)) "" (gt $workers 1) -}}
{{- if eq $spread "model" -}}
{{- $local = 1 -}}
{{- else -}}
{{- if mod $data $workers -}}
{{- fail (printf "%s: %d data-parallel ranks do not divide evenly over %d pods" $where $data $workers) -}}
{{- end -}}
{{- if and (gt $local 0) (ne (int (mul $local $workers)) $data) -}}
{{- fail (printf "%s: dataLocal %d × workers %d is %d, but data is %d" $where $local $workers (mul $local $workers) $data) -}}
{{- end -}}
{{- $local = int (div $data $workers) -}}
{{- end -}}
{{- $gpus := int (mul $tensor $pipeline $local) -}}
{{- if eq $spread "model" -}}
{{- if mod $gpus $workers -}}
{{- fail (printf "%s: tensor %d × pipeline %d does not divide evenly over %d pods" $where $tensor $pipeline $workers) -}}
{{- end -}}
{{- $gpus = int (div $gpus $workers) -}}
{{- end -}}
{{- include "common.yaml" (dict
      "tensor" $tensor "pipeline" $pipeline "data" $data "dataLocal" $local "workers" $workers
      "spread" $spread "perPod" $gpus) -}}
{{- end -}}

{{- /*
llmd.accelerator: what a pod of a role is given, as {type, dra, resource, count}; count 0 for none. The number is what the sizes
say; one that the container's resources name must agree, except for a custom command, which the chart cannot read.
Takes: dict "root", "role", "sizes" (of llmd.sizes).
*/}}
{{- define "llmd.accelerator" -}}
{{- $values := .root.Values.accelerator -}}
{{- $own := default dict .role.values.accelerator -}}
{{- $type := default $values.type $own.type -}}
{{- $dra := (include "llmd.firstOf" (list $own.dra $values.dra) | fromYaml).value -}}
{{- $engine := index .role.values.containers (include "llmd.engineIndex" . | int) -}}
{{- $resource := default "" (get $values.resources $type) -}}
{{- $where := printf "%s.containers[%s].resources" .role.name $engine.name -}}
{{- $count := int .sizes.perPod -}}
{{- if or (eq $type "cpu") (contains "llm-d-inference-sim" $engine.image) -}}
{{- $count = 0 -}}
{{- else if and (not $resource) (not $dra) -}}
{{- fail (printf "accelerator.type %s has no resource of a device plugin: choose intel-i915 or intel-xe, or set dra" $type) -}}
{{- end -}}
{{- $given := include "llmd.givenCount" (dict "resources" $engine.resources "resource" $resource "where" $where) -}}
{{- if and $given $dra -}}
{{- fail (printf "%s: %s beside dra: true, which allocates by claims; remove it" $where $resource) -}}
{{- end -}}
{{- $custom := not (has (default "" $engine.modelCommand) (list "vllmServe" "imageDefault")) -}}
{{- if and $given (or $custom (eq $type "rebellions-atom")) -}}
{{- $count = int $given -}}
{{- else if and $given (ne $given (toString $count)) -}}
{{- fail (printf "%s: %s is %s, but tensor %d × pipeline %d × data %d over %d pod(s) needs %d in each; change %s.parallelism, it feeds requests and limits" $where $resource $given (int .sizes.tensor) (int .sizes.pipeline) (int .sizes.data) (int .sizes.workers) $count .role.name) -}}
{{- else if and $custom $count (eq .sizes.spread "model") (not $given) -}}
{{- fail (printf "%s: say how many %s each pod has; the chart cannot tell how a custom command splits one model over %d pods" $where $resource (int .sizes.workers)) -}}
{{- end -}}
{{- include "common.yaml" (dict "type" $type "dra" $dra "resource" $resource "count" $count) -}}
{{- end -}}

{{- /*
llmd.givenCount: the number of accelerators that a container's resources name, or nothing. Fails when requests and limits differ,
which the API server refuses for such resources. Takes: dict "resources", "resource", "where".
*/}}
{{- define "llmd.givenCount" -}}
{{- $limit := "" -}}
{{- $request := "" -}}
{{- if .resource -}}
{{- $limit = include "common.word" (default "" (get (default dict (default dict .resources).limits) .resource)) -}}
{{- $request = include "common.word" (default "" (get (default dict (default dict .resources).requests) .resource)) -}}
{{- end -}}
{{- if and $limit $request (ne $limit $request) -}}
{{- fail (printf "%s: %s is %s in limits and %s in requests; accelerators must be equal in both" .where .resource $limit $request) -}}
{{- end -}}
{{- default $request $limit -}}
{{- end -}}
