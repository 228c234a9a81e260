{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
common.args: the words of a command line, as a list. Same words as arguments() of the Python package.
Takes: dict "engineArgs" (flag map), "extraArgs" (list, appended as it is), "where" (for messages).
true prints the bare flag; false, null and [] print nothing; a list prints the flag once, then its items; a map
prints compact JSON; a text that starts with "-" and is no number is joined by "=". Order is by name.
*/}}
{{- define "common.args" -}}
{{- $where := default "engineArgs" .where -}}
{{- $flags := default dict .engineArgs -}}
{{- $words := list -}}
{{- range $name := keys $flags | sortAlpha -}}
{{- $value := get $flags $name -}}
{{- $flag := printf "--%s" $name -}}
{{- $opposite := printf "no-%s" $name -}}
{{- if and (kindIs "bool" $value) $value -}}
{{- if and (hasKey $flags $opposite) (eq (toRawJson (get $flags $opposite)) "true") -}}
{{- fail (printf "%s: %s and %s are both true" $where $name $opposite) -}}
{{- end -}}
{{- $words = append $words $flag -}}
{{- else if or (kindIs "invalid" $value) (kindIs "bool" $value) -}}
{{- /* null and false: not printed. */ -}}
{{- else if kindIs "slice" $value -}}
{{- if $value -}}
{{- $words = concat $words (list $flag) (include "common.words" $value | fromYamlArray) -}}
{{- end -}}
{{- else -}}
{{- $text := include "common.word" $value -}}
{{- if and (hasPrefix "-" $text) (not (regexMatch `^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$` $text)) -}}
{{- $words = append $words (printf "%s=%s" $flag $text) -}}
{{- else -}}
{{- $words = concat $words (list $flag $text) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "common.yaml" (concat $words (include "common.words" .extraArgs | fromYamlArray)) -}}
{{- end -}}

{{- /*
common.words: each item of a list as one word, or "[]". Takes: the list, or null.
*/}}
{{- define "common.words" -}}
{{- range $number, $item := default list . -}}
{{- ternary "\n- " "- " (gt $number 0) -}}
{{- include "common.text" (include "common.word" $item) -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- /*
common.literal: a word that Kubernetes hands on as it is: it takes $(NAME) for a reference and $$ for a dollar sign.
Takes: the word.
*/}}
{{- define "common.literal" -}}
{{- . | replace "$" "$$" -}}
{{- end -}}

{{- /*
common.env: EnvVar entries: extraEnv first and as it is, then env by name. A name given twice is refused.
Takes: dict "extraEnv" (list of EnvVar entries), "env" (map name -> text), "where" (for messages).
*/}}
{{- define "common.env" -}}
{{- $where := default "env" .where -}}
{{- $entries := default list .extraEnv -}}
{{- range $name, $value := default dict .env -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $entries = append $entries (dict "name" $name "value" (include "common.word" $value)) -}}
{{- end -}}
{{- end -}}
{{- include "common.unique" (dict "items" $entries "where" $where "what" "environment variable") -}}
{{- include "common.yaml" $entries -}}
{{- end -}}

{{- /*
common.tokenEnv: list of the one EnvVar entry HF_TOKEN, read from a Secret, or "[]".
Takes: dict "name", "key" (of the Secret; name "" for none), or null.
*/}}
{{- define "common.tokenEnv" -}}
{{- if (default dict .).name -}}
{{- include "common.yaml" (list (dict "name" "HF_TOKEN" "valueFrom" (dict "secretKeyRef" (dict "name" .name "key" .key)))) -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- /*
common.names: the names of a list's items, in their order, or "[]". Takes: a list of maps with a name, or null.
*/}}
{{- define "common.names" -}}
{{- $names := list -}}
{{- range default list . -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- include "common.yaml" $names -}}
{{- end -}}

{{- /*
common.unique: prints nothing; fails when a name is there twice.
Takes: dict "names" (list) or "items" (list of maps with a name), "where", "what" (for the message).
*/}}
{{- define "common.unique" -}}
{{- $seen := dict -}}
{{- range $name := default (include "common.names" .items | fromYamlArray) .names -}}
{{- if hasKey $seen $name -}}
{{- fail (printf "%s: the %s %s is given twice" $.where $.what $name) -}}
{{- end -}}
{{- $_ := set $seen $name true -}}
{{- end -}}
{{- end -}}

{{- /*
common.resources: the resources of a container. The GPUs go into requests and limits, equal; quantities are texts.
Takes: dict "accelerator" (resource name), "gpus" (0 or null: none), "resources" (requests, limits, claims),
"where". The accelerator's key in the user's resources is refused when it says another number.
*/}}
{{- define "common.resources" -}}
{{- $result := dict -}}
{{- $gpus := include "common.word" (default 0 .gpus) -}}
{{- range $part := list "requests" "limits" -}}
{{- $amounts := dict -}}
{{- range $name, $amount := default dict (get (default dict $.resources) $part) -}}
{{- if not (kindIs "invalid" $amount) -}}
{{- $_ := set $amounts $name (include "common.word" $amount) -}}
{{- end -}}
{{- end -}}
{{- include "common.checkGpus" (dict "accelerator" $.accelerator "gpus" $.gpus "amounts" $amounts "where" (printf "%s.%s" (default "resources" $.where) $part)) -}}
{{- if ne $gpus "0" -}}
{{- $_ := set $amounts $.accelerator $gpus -}}
{{- end -}}
{{- if $amounts -}}
{{- $_ := set $result $part $amounts -}}
{{- end -}}
{{- end -}}
{{- with (default dict .resources).claims -}}
{{- $_ := set $result "claims" . -}}
{{- end -}}
{{- include "common.yaml" $result -}}
{{- end -}}

{{- /*
common.checkGpus: prints nothing; fails when requests or limits name another number of accelerators.
Takes: dict "accelerator", "gpus", "amounts" (requests or limits), "where", "final" (true: naming none is wrong too).
*/}}
{{- define "common.checkGpus" -}}
{{- $gpus := include "common.word" (default 0 .gpus) -}}
{{- if hasKey (default dict .amounts) .accelerator -}}
{{- $given := include "common.word" (get .amounts .accelerator) -}}
{{- if ne $given $gpus -}}
{{- fail (printf "%s: %s is %s, but gpusPerPod is %s; change gpusPerPod, it feeds requests and limits" .where .accelerator $given $gpus) -}}
{{- end -}}
{{- else if and .final (ne $gpus "0") -}}
{{- fail (printf "%s: %s is taken away, but gpusPerPod is %s; change gpusPerPod, it feeds requests and limits" .where .accelerator $gpus) -}}
{{- end -}}
{{- end -}}
