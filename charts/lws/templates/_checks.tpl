{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
lws.checks: prints nothing; fails with everything that values may not say together, in one message.
Takes: the root context.
*/}}
{{- define "lws.checks" -}}
{{- $v := .Values }}
{{- $wrong := list }}
{{- $group := eq $v.kind "LeaderWorkerSet" }}
{{- if and (not $group) (gt (int $v.size) 1) }}
{{- $wrong = append $wrong (printf "size is %d, but a Deployment has one pod a replica: set kind to LeaderWorkerSet" (int $v.size)) }}
{{- end }}
{{- if not (kindIs "invalid" $v.ranks) }}
{{- $devices := list }}
{{- range until (int $v.size) }}
{{- $devices = concat $devices (until (int $v.gpusPerPod)) }}
{{- end }}
{{- if ne (len $devices) (int $v.ranks) }}
{{- $wrong = append $wrong (printf "ranks is %d, but size %d of gpusPerPod %d has %d devices: the group would wait for ever" (int $v.ranks) (int $v.size) (int $v.gpusPerPod) (len $devices)) }}
{{- end }}
{{- end }}
{{- if and $group $v.group.leaderWaits (eq $v.group.startupPolicy "LeaderReady") (gt (int $v.size) 1) }}
{{- $wrong = append $wrong "group.startupPolicy is LeaderReady, but the leader becomes ready only after its workers joined (group.leaderWaits): they would never be made" }}
{{- end }}
{{- if and $group (eq (include "common.word" $v.group.maxUnavailable) "0") (eq (include "common.word" $v.group.maxSurge) "0") }}
{{- $wrong = append $wrong "group.maxUnavailable and group.maxSurge are both 0: nothing could be rolled out" }}
{{- end }}
{{- $inner := $v.group.subGroup }}
{{- if kindIs "invalid" $inner.size }}
{{- if $inner.exclusiveTopology }}
{{- $wrong = append $wrong "group.subGroup.exclusiveTopology needs group.subGroup.size" }}
{{- end }}
{{- else if gt (int $inner.size) (int $v.size) }}
{{- $wrong = append $wrong (printf "group.subGroup.size is %d, more than size %d" (int $inner.size) (int $v.size)) }}
{{- end }}
{{- if $v.autoscaling.type }}
{{- if kindIs "invalid" $v.autoscaling.maxReplicas }}
{{- $wrong = append $wrong "autoscaling needs maxReplicas" }}
{{- else if gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas) }}
{{- $wrong = append $wrong (printf "autoscaling.minReplicas %d is above maxReplicas %d" (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) }}
{{- end }}
{{- if and (eq $v.autoscaling.type "hpa") (eq (int $v.autoscaling.minReplicas) 0) }}
{{- $wrong = append $wrong "autoscaling.minReplicas 0 needs keda" }}
{{- end }}
{{- if and (eq $v.autoscaling.type "hpa") (not $v.autoscaling.metrics) }}
{{- $wrong = append $wrong "autoscaling.metrics is empty: the HorizontalPodAutoscaler would have nothing to go by" }}
{{- end }}
{{- if and (eq $v.autoscaling.type "keda") (not $v.autoscaling.triggers) }}
{{- $wrong = append $wrong "autoscaling.triggers is empty: KEDA would have nothing to go by" }}
{{- end }}
{{- end }}
{{- if and $v.podMonitor.enabled (not $v.metrics.port) }}
{{- $wrong = append $wrong "podMonitor.enabled, but metrics.port is empty: the engine serves no metrics" }}
{{- end }}
{{- if and $v.podMonitor.enabled $v.metrics.port (not (has $v.metrics.port $v.leader.ports)) }}
{{- $wrong = append $wrong (printf "podMonitor reads the port %s, but leader.ports has only: %s" $v.metrics.port (join ", " $v.leader.ports)) }}
{{- end }}
{{- if and $v.prometheusRule.enabled (not $v.prometheusRule.rules) }}
{{- $wrong = append $wrong "prometheusRule.enabled, but prometheusRule.rules is empty" }}
{{- end }}
{{- if and $v.modelCache.create $group (not (or (has "ReadWriteMany" $v.modelCache.accessModes) (has "ReadOnlyMany" $v.modelCache.accessModes))) }}
{{- $wrong = append $wrong (printf "modelCache.accessModes is %s, but pods on several nodes mount the claim: use ReadWriteMany" (join ", " $v.modelCache.accessModes)) }}
{{- end }}
{{- if $v.service.enabled }}
{{- range prepend $v.service.extraPorts "http" }}
{{- if not (has . $v.leader.ports) }}
{{- $wrong = append $wrong (printf "the Service wants the port %s, but leader.ports has only: %s" . (join ", " $v.leader.ports)) }}
{{- end }}
{{- end }}
{{- end }}
{{- if $wrong }}
{{- fail (printf "these values do not fit together:\n- %s" (join "\n- " $wrong)) }}
{{- end }}
{{- end -}}
