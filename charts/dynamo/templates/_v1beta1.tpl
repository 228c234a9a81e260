{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
dynamo.v1beta1: the spec of a DynamoGraphDeployment v1beta1.
Takes: dict "root", "components" (of dynamo.components).
*/}}
{{- define "dynamo.v1beta1" -}}
{{- $components := list -}}
{{- range $entry := .components -}}
{{- $c := $entry.values -}}
{{- $one := include "dynamo.scale" (dict "root" $.root "entry" $entry "adapter" dict) | fromYaml -}}
{{- $_ := set $one "name" $c.component -}}
{{- $_ := set $one "type" $c.type -}}
{{- with (default dict $c.sharedMemory).size -}}
{{- $_ := set $one "sharedMemorySize" (include "common.word" .) -}}
{{- end -}}
{{- $_ := set $one "podTemplate" (include "dynamo.pod" (dict "root" $.root "entry" $entry) | fromYaml) -}}
{{- $components = append $components $one -}}
{{- end -}}
{{- include "common.yaml" (dict "backendFramework" .root.Values.backend "components" $components) -}}
{{- end -}}

{{- /*
dynamo.scale: what both API versions say alike: replicas, multinode, scalingAdapter, runtimeVersionOverride.
Takes: dict "root", "entry", "adapter" (what this version calls a scaling adapter that is on).
*/}}
{{- define "dynamo.scale" -}}
{{- $c := .entry.values -}}
{{- $scale := dict -}}
{{- if $c.scalingAdapter -}}
{{- $_ := set $scale "scalingAdapter" .adapter -}}
{{- else if not (kindIs "invalid" $c.replicas) -}}
{{- $_ := set $scale "replicas" (int $c.replicas) -}}
{{- end -}}
{{- if gt (int (default 1 $c.nodes)) 1 -}}
{{- $_ := set $scale "multinode" (dict "nodeCount" (int $c.nodes)) -}}
{{- end -}}
{{- with .root.Values.runtimeVersionOverride -}}
{{- $_ := set $scale "runtimeVersionOverride" . -}}
{{- end -}}
{{- include "common.yaml" $scale -}}
{{- end -}}
