{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
llmd.model: where the model is, as {scheme, argument, revision, volume, readOnly, env}. "argument" is what the engine gets, "volume"
the one called model-storage. Takes: the root context. Fails on an address that nothing here can serve.
*/}}
{{- define "llmd.model" -}}
{{- $artifacts := .Values.modelArtifacts -}}
{{- $uri := tpl $artifacts.uri . | trim -}}
{{- $scheme := regexFind `^[a-z0-9+]+://` $uri | trimSuffix "://" -}}
{{- /* Values for the public chart put the name into quotes inside the address. */ -}}
{{- $rest := trimPrefix (printf "%s://" $scheme) $uri | trimAll "\"" | trimAll "'" | trimSuffix "/" -}}
{{- if not (and $rest (has $scheme (list "hf" "pvc" "pvc+hf" "oci"))) -}}
{{- fail (printf "modelArtifacts.uri: %q names no model that can be served; give hf://organisation/model, pvc://claim/path, pvc+hf://claim/organisation/model or oci://reference" $uri) -}}
{{- end -}}
{{- $mount := trimSuffix "/" $artifacts.mountPath -}}
{{- $model := dict "scheme" $scheme "argument" $rest "revision" "" "env" list "readOnly" false -}}
{{- $volume := dict "name" "model-storage" -}}
{{- $parts := splitList "/" $rest -}}
{{- if eq $scheme "hf" -}}
{{- $_ := set $model "argument" (first (splitList "@" $rest)) -}}
{{- if contains "@" $rest -}}
{{- $_ := set $model "revision" (last (splitList "@" $rest)) -}}
{{- end -}}
{{- $_ := set $volume "emptyDir" (dict "sizeLimit" (include "common.word" $artifacts.size)) -}}
{{- $_ := set $model "env" (list (dict "name" "HF_HOME" "value" $mount)) -}}
{{- else if eq $scheme "oci" -}}
{{- $image := dict "reference" $rest -}}
{{- with $artifacts.imagePullPolicy -}}
{{- $_ := set $image "pullPolicy" . -}}
{{- end -}}
{{- $_ := set $volume "image" $image -}}
{{- $_ := set $model "argument" $mount -}}
{{- else -}}
{{- $claim := first $parts -}}
{{- $readOnly := (include "llmd.firstOf" (list $artifacts.readOnly (eq $scheme "pvc")) | fromYaml).value -}}
{{- $_ := set $model "readOnly" $readOnly -}}
{{- $_ := set $volume "persistentVolumeClaim" (dict "claimName" $claim "readOnly" $readOnly) -}}
{{- if eq $scheme "pvc" -}}
{{- $_ := set $model "argument" (join "/" (concat (list $mount) (rest $parts))) -}}
{{- else -}}
{{- if lt (len $parts) 3 -}}
{{- fail (printf "modelArtifacts.uri: %q is too short; a Hugging Face cache is pvc+hf://claim/[folder/]organisation/model" $uri) -}}
{{- end -}}
{{- $size := len $parts -}}
{{- $_ := set $model "argument" (join "/" (slice $parts (int (sub $size 2)))) -}}
{{- $folder := slice $parts 1 (int (sub $size 2)) -}}
{{- $_ := set $model "env" (list (dict "name" "HF_HUB_CACHE" "value" (join "/" (concat (list $mount) $folder)))) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $model "volume" $volume -}}
{{- include "common.yaml" $model -}}
{{- end -}}
