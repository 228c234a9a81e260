{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
common.channelName: the ResourceClaimTemplate that the NVIDIA DRA driver makes for the ComputeDomain of computeDomain.
Takes: the root context.
*/}}
{{- define "common.channelName" -}}
{{- default (include "common.suffixed" (dict "root" . "suffix" "-channel")) .Values.computeDomain.channelName -}}
{{- end -}}

{{- /*
common.computeDomain: the ComputeDomain, which joins nodes of one NVLink domain.
Takes: dict "root", "metadata".
*/}}
{{- define "common.computeDomain" -}}
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata:
  {{- include "common.yaml" .metadata | nindent 2 }}
spec:
  numNodes: {{ int .root.Values.computeDomain.numNodes }}
  channel:
    resourceClaimTemplate:
      name: {{ include "common.channelName" .root | toRawJson }}
{{- end -}}

{{- /*
common.claimChannel: prints nothing; makes a pod claim a channel of the ComputeDomain.
Takes: dict "root", "spec" (a pod spec) and "resources" (of its container), both changed in place; either may be left out.
*/}}
{{- define "common.claimChannel" -}}
{{- with .resources -}}
{{- $_ := set . "claims" (append (default list .claims) (dict "name" "compute-domain-channel")) -}}
{{- end -}}
{{- with .spec -}}
{{- $_ := set . "resourceClaims" (append (default list .resourceClaims) (dict "name" "compute-domain-channel" "resourceClaimTemplateName" (include "common.channelName" $.root))) -}}
{{- end -}}
{{- end -}}
