{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.checks: prints nothing; fails with everything that values alone show to be wrong. Takes: the root context.
*/}}
{{- define "llmd.checks" -}}
{{- $wrong := list -}}
{{- if .Values.requester.enable -}}
{{- $wrong = append $wrong "requester.enable: the dual-pod mode of fast model actuation needs a controller that makes the server's pod; this chart renders the server itself. Set it to false" -}}
{{- end -}}
{{- if and (include "llmd.leaderServes" .) (not .Values.multinode) -}}
{{- $wrong = append $wrong "servedBy: leader means something for multinode only" -}}
{{- end -}}
{{- range $role := include "llmd.roles" . | fromYamlArray -}}
{{- $values := $role.values -}}
{{- if and $.Values.multinode $values.strategy -}}
{{- $wrong = append $wrong (printf "%s.strategy is for Deployments; multinode is true" $role.name) -}}
{{- end -}}
{{- if and (not $.Values.multinode) (or $values.subGroupPolicy $values.subGroupExclusiveTopology) -}}
{{- $wrong = append $wrong (printf "%s.subGroupPolicy and subGroupExclusiveTopology are for LeaderWorkerSets; multinode is false" $role.name) -}}
{{- end -}}
{{- if and (or $values.subGroupPolicy $values.subGroupExclusiveTopology) (not (default dict $values.subGroupPolicy).subGroupSize) -}}
{{- $wrong = append $wrong (printf "%s.subGroupPolicy needs a subGroupSize" $role.name) -}}
{{- end -}}
{{- end -}}
{{- if $wrong -}}
{{- fail (join "; " $wrong) -}}
{{- end -}}
{{- end -}}

{{- /*
llmd.leaderServes: "true" when only the leaders of groups answer requests. Takes: the root context.
*/}}
{{- define "llmd.leaderServes" -}}
{{- $found := "" -}}
{{- range $role := include "llmd.roles" . | fromYamlArray -}}
{{- $spread := "" -}}
{{- if $.Values.multinode -}}
{{- $engine := index $role.values.containers (include "llmd.engineIndex" (dict "role" $role) | int) -}}
{{- $generated := has (default "" $engine.modelCommand) (list "vllmServe" "imageDefault") -}}
{{- $sizes := include "llmd.sizes" (dict "root" $ "role" $role) | fromYaml -}}
{{- $spread = ternary $sizes.spread "" $generated -}}
{{- end -}}
{{- if or (eq $role.values.servedBy "leader") (and (not $role.values.servedBy) (eq $spread "model")) -}}
{{- $found = "true" -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{- /*
llmd.poolLabels: what selects the pods that answer requests. Takes: dict "root", "role" ("" for all).
*/}}
{{- define "llmd.poolLabels" -}}
{{- $labels := include "llmd.selectorLabels" . | fromYaml -}}
{{- if include "llmd.leaderServes" .root -}}
{{- $_ := set $labels "leaderworkerset.sigs.k8s.io/worker-index" "0" -}}
{{- end -}}
{{- include "common.yaml" $labels -}}
{{- end -}}
