{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.checks: prints nothing; fails with everything that values alone show to be wrong. Takes: the root context.
*/}}
{{- define "llmd.checks" -}}
{{- $wrong := list -}}
{{- if .Values.requester.enable -}}
{{- $wrong = append $wrong "requester.enable: the dual-pod mode of fast model actuation needs a controller that makes the server's pod; this chart renders the server itself. Set it to false" -}}
{{- end -}}
{{- if and (include "llmd.leaderServes" (dict "root" . "role" "")) (not .Values.multinode) -}}
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
{{- if .Values.inferencePool.enabled -}}
{{- $answering := dict -}}
{{- range $role := include "llmd.roles" . | fromYamlArray -}}
{{- if (include "llmd.sizes" (dict "root" $ "role" $role) | fromYaml).spread -}}
{{- $_ := set $answering (default "all" (include "llmd.leaderServes" (dict "root" $ "role" $role.name))) $role.name -}}
{{- end -}}
{{- end -}}
{{- if gt (len $answering) 1 -}}
{{- $wrong = append $wrong (printf "inferencePool: %s answers in the leader of a group alone and %s in every pod, which one pool cannot select; make a pool for each role" (get $answering "true") (get $answering "all")) -}}
{{- end -}}
{{- end -}}
{{- if $wrong -}}
{{- fail (join "; " $wrong) -}}
{{- end -}}
{{- end -}}

{{- /*
llmd.leaderServes: "true" when only the leaders of a role's groups answer requests. Takes: dict "root", "role" (its name; "" for any).
*/}}
{{- define "llmd.leaderServes" -}}
{{- $found := "" -}}
{{- $root := .root -}}
{{- $name := .role -}}
{{- range $role := include "llmd.roles" .root | fromYamlArray -}}
{{- if or (not $name) (eq $name $role.name) -}}
{{- $spread := "" -}}
{{- if $root.Values.multinode -}}
{{- $engine := index $role.values.containers (include "llmd.engineIndex" (dict "role" $role) | int) -}}
{{- $generated := has (default "" $engine.modelCommand) (list "vllmServe" "imageDefault") -}}
{{- $sizes := include "llmd.sizes" (dict "root" $root "role" $role) | fromYaml -}}
{{- $spread = ternary $sizes.spread "" $generated -}}
{{- end -}}
{{- if or (eq $role.values.servedBy "leader") (and (not $role.values.servedBy) (eq $spread "model")) -}}
{{- $found = "true" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{- /*
llmd.poolLabels: what selects the pods that answer requests. Takes: dict "root", "role" ("" for all).
*/}}
{{- define "llmd.poolLabels" -}}
{{- $labels := include "llmd.selectorLabels" . | fromYaml -}}
{{- if include "llmd.leaderServes" . -}}
{{- $_ := set $labels "leaderworkerset.sigs.k8s.io/worker-index" "0" -}}
{{- end -}}
{{- include "common.yaml" $labels -}}
{{- end -}}
