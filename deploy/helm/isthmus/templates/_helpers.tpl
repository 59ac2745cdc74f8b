{{/* Names, labels, and what follows from several values at once. */}}

{{- define "isthmus.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "isthmus.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The name of a Role or binding, by the namespace that it is in, or "" for one of the whole cluster. Outside of the release's own
namespace it has that in its name: two releases of one name would take it for theirs. No other name has a colon.
*/}}
{{- define "isthmus.rightsName" -}}
{{- $name := printf "%s%s" (include "isthmus.fullname" .root) (default "" .suffix) }}
{{- if eq .namespace .root.Release.Namespace }}{{ $name }}{{ else }}{{ printf "%s:%s" $name .root.Release.Namespace }}{{ end }}
{{- end }}

{{- define "isthmus.selectorLabels" -}}
app.kubernetes.io/name: {{ include "isthmus.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "isthmus.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "isthmus.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "isthmus.serviceAccountName" -}}
{{- if .Values.serviceAccount.name }}
{{- .Values.serviceAccount.name }}
{{- else if .Values.serviceAccount.create }}
{{- include "isthmus.fullname" . }}
{{- else }}
{{- fail "serviceAccount.create is false: serviceAccount.name must say which one is there" }}
{{- end }}
{{- end }}

{{- define "isthmus.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Where OpenStackClusters are: a namespace, or "*". */}}
{{- define "isthmus.clusterNamespace" -}}
{{- default .Values.namespace .Values.clusterNamespace }}
{{- end }}

{{/* <address>:<port>, or the port alone. */}}
{{- define "isthmus.endpoint" -}}
{{- if contains ":" .address }}[{{ .address }}]:{{ .port }}
{{- else if .address }}{{ .address }}:{{ .port }}
{{- else }}{{ .port }}
{{- end }}
{{- end }}

{{/* Whole seconds of a time such as 500ms or 2m, rounded up. */}}
{{- define "isthmus.seconds" -}}
{{- $number := regexFind "^[0-9]+" . | int64 }}
{{- $unit := regexFind "[a-z]+$" . }}
{{- if eq $unit "ms" }}{{ div (add $number 999) 1000 }}
{{- else if eq $unit "m" }}{{ mul $number 60 }}
{{- else if eq $unit "h" }}{{ mul $number 3600 }}
{{- else }}{{ $number }}
{{- end }}
{{- end }}

{{/*
Slices are withdrawn (propagationWait, and 3 s for the answers), connections drain, the rest ends: 12 s are enough for that and
for a slow node. After a hand-over nothing is withdrawn, and connections have handover.drain.
*/}}
{{- define "isthmus.terminationGracePeriodSeconds" -}}
{{- $wait := include "isthmus.seconds" .Values.propagationWait | int64 }}
{{- $drain := include "isthmus.seconds" .Values.drainTimeout | int64 }}
{{- $after := 0 | int64 }}
{{- if .Values.handover.enabled }}
{{- $after = include "isthmus.seconds" .Values.handover.drain | int64 }}
{{- end }}
{{- add (max (add $wait $drain) $after) 15 }}
{{- end }}

{{/* "true" where the new Pod of a node starts beside the old one. */}}
{{- define "isthmus.surges" -}}
{{- $surge := .Values.updateStrategy.maxSurge | toString }}
{{- if and (eq .Values.updateStrategy.type "RollingUpdate") (not (has $surge (list "0" "0%"))) }}true{{ end }}
{{- end }}

{{/* What a schema cannot say: values that contradict each other. */}}
{{- define "isthmus.contradictions" -}}
{{- $ports := list (int .Values.listen.port) (int .Values.admin.port) (int .Values.health.port) }}
{{- if ne (len ($ports | uniq)) 3 }}
{{- fail "listen.port, admin.port and health.port must be three different ports" }}
{{- end }}
{{- if include "isthmus.surges" . }}
{{- if not (has (.Values.updateStrategy.maxUnavailable | toString) (list "0" "0%")) }}
{{- fail "updateStrategy: with maxSurge above 0 maxUnavailable must be 0, as Kubernetes has it" }}
{{- end }}
{{- if and .Values.hostNetwork (not .Values.handover.enabled) }}
{{- fail "updateStrategy.maxSurge: on the host network two Pods cannot have one port; set handover.enabled, or hostNetwork: false, or maxSurge: 0" }}
{{- end }}
{{- else if and (eq .Values.updateStrategy.type "RollingUpdate") (has (.Values.updateStrategy.maxUnavailable | toString) (list "0" "0%")) }}
{{- fail "updateStrategy: maxUnavailable and maxSurge are both 0, so that no Pod could ever be replaced" }}
{{- end }}
{{- if and .Values.handover.enabled (not .Values.hostNetwork) }}
{{- fail "handover.enabled: sockets of a Pod's own network end with the Pod; set hostNetwork: true, or leave it out: with an address of its own each Pod can surge without it" }}
{{- end }}
{{- if and (not .Values.hostNetwork) (or (hasPrefix "127." .Values.health.address) (eq .Values.health.address "::1")) }}
{{- fail "health.address: on a Pod's own network the kubelet, which asks there, is elsewhere, and would end the Pod again and again; leave it empty, or set hostNetwork: true" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.hostNetwork }}
{{- fail "networkPolicy.enabled: Kubernetes does not filter the host's network; set hostNetwork: false, or use the host's own firewall" }}
{{- end }}
{{- if and .Values.monitoring.podMonitor.enabled .Values.monitoring.serviceMonitor.enabled }}
{{- fail "monitoring: with podMonitor and serviceMonitor every metric would be there twice; choose one" }}
{{- end }}
{{- end }}
