{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
common.yaml: any value as block YAML. Keys are sorted, every string is double-quoted, numbers are plain.
Takes: the value itself. The text can be indented into a manifest or read back by fromYaml/fromYamlArray.
*/}}
{{- define "common.yaml" -}}
{{- $value := . -}}
{{- if and (kindIs "map" $value) $value -}}
{{- range $number, $key := keys $value | sortAlpha -}}
{{- $item := get $value $key -}}
{{- $text := include "common.yaml" $item -}}
{{- ternary "\n" "" (gt $number 0) -}}
{{- if and (or (kindIs "map" $item) (kindIs "slice" $item)) $item -}}
{{- printf "%s:\n%s" (include "common.yamlKey" $key) (indent 2 $text) -}}
{{- else -}}
{{- printf "%s: %s" (include "common.yamlKey" $key) $text -}}
{{- end -}}
{{- end -}}
{{- else if and (kindIs "slice" $value) (not $value) -}}
{{- /* What concat makes of empty lists would be null. */ -}}
[]
{{- else if kindIs "slice" $value -}}
{{- /* Printed item by item: append copies the whole list each time, which long lists feel. */ -}}
{{- range $number, $item := $value -}}
{{- ternary "\n- " "- " (gt $number 0) -}}
{{- include "common.yaml" $item | indent 2 | trim -}}
{{- end -}}
{{- else if and (kindIs "string" $value) (not (typeIs "json.Number" $value)) -}}
{{- include "common.text" $value -}}
{{- else -}}
{{- /* YAML 1.1 readers take 1e-07 for a text: a number with an exponent needs a point. */ -}}
{{- regexReplaceAll `^(-?[0-9]+)e` (toRawJson $value) `${1}.0e` -}}
{{- end -}}
{{- end -}}

{{- /*
common.yamlKey: a key of a YAML map, quoted unless it is a plain word in every YAML version.
Takes: the key.
*/}}
{{- define "common.yamlKey" -}}
{{- if and (regexMatch `^[A-Za-z_][A-Za-z0-9_./-]*$` .) (not (has (lower .) (list "y" "n" "yes" "no" "on" "off" "true" "false" "null"))) -}}
{{- . -}}
{{- else -}}
{{- include "common.text" . -}}
{{- end -}}
{{- end -}}

{{- /*
common.text: a text as a double-quoted YAML scalar. JSON leaves three characters raw that YAML folds or refuses.
Takes: the text.
*/}}
{{- define "common.text" -}}
{{- toRawJson . | replace "\u007f" `\u007f` | replace "\u0085" `\u0085` | replace "\ufeff" `\ufeff` -}}
{{- end -}}

{{- /*
common.word: one value as one word of a command line: texts as they are, everything else as compact JSON.
Takes: the value itself. Numbers come in plain decimals; one that could not is refused.
*/}}
{{- define "common.word" -}}
{{- if and (kindIs "string" .) (not (typeIs "json.Number" .)) -}}
{{- . -}}
{{- else -}}
{{- $text := toRawJson . -}}
{{- $numbers := regexReplaceAll `"(\\.|[^"\\])*"` $text `""` -}}
{{- if regexMatch `[0-9][eE]|(^|[^.0-9])[0-9]{16,}` $numbers -}}
{{- fail (printf "%s: quote this number, it would be printed with an exponent or rounded" $text) -}}
{{- end -}}
{{- $text -}}
{{- end -}}
{{- end -}}
