{{/* Names, labels, and settings that follow from several values. */}}

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
The name of a Role or binding in .namespace ("" for a ClusterRole). Outside of the release's own namespace, the name contains the
release's namespace. Otherwise two releases of the same name would share the object. No other name contains a colon.
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
{{- fail "serviceAccount.create is false: set serviceAccount.name to the name of an existing account" }}
{{- end }}
{{- end }}

{{- define "isthmus.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* The namespace of OpenStackClusters, or "*". */}}
{{- define "isthmus.clusterNamespace" -}}
{{- default .Values.namespace .Values.clusterNamespace }}
{{- end }}

{{/* <address>:<port>, or the port alone if there is no address. */}}
{{- define "isthmus.endpoint" -}}
{{- if contains ":" .address }}[{{ .address }}]:{{ .port }}
{{- else if .address }}{{ .address }}:{{ .port }}
{{- else }}{{ .port }}
{{- end }}
{{- end }}

{{/* A time such as 500ms or 2m in whole seconds, rounded up. */}}
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
A Pod that stops withdraws its slices (propagationWait, and 3 s for the answers), drains its connections and exits. 12 s are enough for
the exit, on a slow node too. After a handover it withdraws nothing, and its connections get handover.drain.
*/}}
{{- define "isthmus.terminationGracePeriodSeconds" -}}
{{- $after := 0 | int64 }}
{{- if include "isthmus.handsOver" . }}
{{- $after = include "isthmus.seconds" .Values.handover.drain | int64 }}
{{- end }}
{{- max (include "isthmus.stopSeconds" . | int64) (add $after 15) }}
{{- end }}

{{/* The same for a process that has not handed over. */}}
{{- define "isthmus.stopSeconds" -}}
{{- $wait := include "isthmus.seconds" .Values.propagationWait | int64 }}
{{- $drain := include "isthmus.seconds" .Values.drainTimeout | int64 }}
{{- add $wait $drain 15 }}
{{- end }}

{{/* The request of a kubelet probe to the health port, from (list <root> <path>). */}}
{{- define "isthmus.probe" -}}
{{- $health := (first .).Values.health -}}
httpGet:
  path: {{ last . }}
  port: {{ $health.port }}
  {{- with $health.address }}
  host: {{ . | quote }}
  {{- end }}
{{- end }}

{{/* How many readiness probes fail until a Pod counts as not ready: two, and with a handover as many as in ten minutes. */}}
{{- define "isthmus.readinessFailures" -}}
{{- $readiness := .Values.probes.readiness }}
{{- if $readiness.failureThreshold }}{{ $readiness.failureThreshold }}
{{- else if include "isthmus.handsOver" . }}{{ div (add 599 $readiness.periodSeconds) $readiness.periodSeconds }}
{{- else }}2
{{- end }}
{{- end }}

{{/* "true" if the new Pod of a node starts beside the old one. */}}
{{- define "isthmus.surges" -}}
{{- $surge := .Values.updateStrategy.maxSurge | toString }}
{{- if and (eq .Values.updateStrategy.type "RollingUpdate") (not (has $surge (list "0" "0%"))) }}true{{ end }}
{{- end }}

{{/* "true" if the new Pod of a node takes over the sockets of the old one. */}}
{{- define "isthmus.handsOver" -}}
{{- $enabled := .Values.handover.enabled | toString }}
{{- if eq $enabled "auto" }}{{ if .Values.hostNetwork }}{{ include "isthmus.surges" . }}{{ end }}
{{- else if eq $enabled "true" }}true{{ end }}
{{- end }}

{{/*
The name of the objects that `helm uninstall` creates, and of the Job's Pod label. The API server accepts 63 characters for a Job and for a
label; the full name may have as many.
*/}}
{{- define "isthmus.uninstallName" -}}
{{- include "isthmus.fullname" . | trunc 53 | trimSuffix "-" }}-uninstall
{{- end }}

{{/*
The nodes of the DaemonSet as preferences: each label of nodeSelector, and each required term of the node affinity. Any part of `affinity`
may be null in the values of a site, and `dig` fails on null.
*/}}
{{- define "isthmus.uninstallPreferences" -}}
{{- $terms := list }}
{{- with .Values.nodeSelector }}
{{- $labels := list }}
{{- range $key, $value := . }}
{{- $labels = append $labels (dict "key" $key "operator" "In" "values" (list ($value | toString))) }}
{{- end }}
{{- $terms = append $terms (dict "weight" 100 "preference" (dict "matchExpressions" $labels)) }}
{{- end }}
{{- with .Values.affinity }}{{ with .nodeAffinity }}{{ with .requiredDuringSchedulingIgnoredDuringExecution }}
{{- range .nodeSelectorTerms }}
{{- $terms = append $terms (dict "weight" 100 "preference" .) }}
{{- end }}
{{- end }}{{ end }}{{ end }}
{{- with $terms }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Values that contradict each other: a schema cannot express that. */}}
{{- define "isthmus.contradictions" -}}
{{- $ports := list (int .Values.listen.port) (int .Values.admin.port) (int .Values.health.port) }}
{{- if ne (len ($ports | uniq)) 3 }}
{{- fail "listen.port, admin.port and health.port must be three different ports" }}
{{- end }}
{{- with .Values.listeners.ports }}
{{- $from := splitList "-" . | first | int }}
{{- $to := splitList "-" . | last | int }}
{{- range $port := $ports }}
{{- if and (le $from $port) (le $port $to) }}
{{- fail (printf "listeners.ports: %d-%d contains %d, which is listen.port, admin.port or health.port; choose another port or another range" $from $to $port) }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "isthmus.surges" . }}
{{- if not (has (.Values.updateStrategy.maxUnavailable | toString) (list "0" "0%")) }}
{{- fail "updateStrategy: with maxSurge above 0, Kubernetes requires maxUnavailable: 0; set maxSurge: 0 to end the old Pod first" }}
{{- end }}
{{- if and .Values.hostNetwork (not (include "isthmus.handsOver" .)) }}
{{- fail "updateStrategy.maxSurge: on the host network two Pods cannot have one port; set handover.enabled: auto, hostNetwork: false, or maxSurge: 0 with maxUnavailable: 1" }}
{{- end }}
{{- else if and (eq .Values.updateStrategy.type "RollingUpdate") (has (.Values.updateStrategy.maxUnavailable | toString) (list "0" "0%")) }}
{{- fail "updateStrategy: maxUnavailable and maxSurge are both 0, so no Pod could ever be replaced; set one of them above 0" }}
{{- end }}
{{- if and (include "isthmus.handsOver" .) (not .Values.hostNetwork) }}
{{- fail "handover.enabled: sockets of a Pod's own network end with the Pod; set hostNetwork: true, or handover.enabled: auto: Pods with addresses of their own can surge without a handover" }}
{{- end }}
{{- if include "isthmus.handsOver" . }}
{{- $readiness := .Values.probes.readiness }}
{{- if and $readiness.failureThreshold (lt (mul (sub $readiness.failureThreshold 2) $readiness.periodSeconds) 60) }}
{{- fail "probes.readiness: with a handover the shared port answers 503 for up to 60 s while a new Pod starts, and Kubernetes ends an old Pod that is not ready; (failureThreshold - 2) × periodSeconds must be at least 60; failureThreshold: 0 computes it" }}
{{- end }}
{{- if gt (add .Values.minReadySeconds (mul 2 $readiness.periodSeconds)) 90 }}
{{- fail "minReadySeconds: after a handover the old process waits 120 s for the kubelet to end its Pod; minReadySeconds + 2 × probes.readiness.periodSeconds must be at most 90" }}
{{- end }}
{{- end }}
{{- include "isthmus.volumeContradictions" . }}
{{- include "isthmus.gapContradiction" . }}
{{- if and (not .Values.hostNetwork) (or (hasPrefix "127." .Values.health.address) (eq .Values.health.address "::1")) }}
{{- fail "health.address: the kubelet does not reach the loopback address of a Pod's own network, and would end the Pod again and again; leave it empty, or set hostNetwork: true" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.hostNetwork }}
{{- fail "networkPolicy.enabled: Kubernetes does not filter the host's network; set hostNetwork: false, or use the host's own firewall" }}
{{- end }}
{{- if and .Values.monitoring.podMonitor.enabled .Values.monitoring.serviceMonitor.enabled }}
{{- fail "monitoring: podMonitor and serviceMonitor together would collect every metric twice; choose one" }}
{{- end }}
{{- end }}

{{/* Extra volumes that the API server would reject, or that would hide a mount of the chart. */}}
{{- define "isthmus.volumeContradictions" -}}
{{- $taken := list "netns" "handover" "lock" }}
{{- $names := list }}
{{- range .Values.extraVolumes }}
{{- if has .name $taken }}
{{- fail (printf "extraVolumes: the chart has a volume %q itself; choose another name" .name) }}
{{- end }}
{{- if has .name $names }}
{{- fail (printf "extraVolumes: the name %q is given twice" .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- end }}
{{- $directories := list (trimSuffix "/" .Values.netnsDirectory) (trimSuffix "/" .Values.handover.hostDirectory) "/run/isthmus-pod" }}
{{- range .Values.extraVolumeMounts }}
{{- if not (has .name $names) }}
{{- fail (printf "extraVolumeMounts: no extraVolume has the name %q" .name) }}
{{- end }}
{{- if has (trimSuffix "/" .mountPath) $directories }}
{{- fail (printf "extraVolumeMounts: the chart mounts %s itself; choose another mountPath" .mountPath) }}
{{- end }}
{{- end }}
{{- end }}

{{/*
A surge onto Pods that keep the ports and cannot hand them over: these Pods would answer the kubelet's probes of the new Pods, so the DaemonSet
would end them before the new Pods serve. `lookup` finds the DaemonSet of the release only when Helm talks to an API server.
*/}}
{{- define "isthmus.gapContradiction" -}}
{{- if and .Values.hostNetwork (include "isthmus.surges" .) (not .Values.handover.acceptGap) }}
{{- $name := include "isthmus.fullname" . }}
{{- with lookup "apps/v1" "DaemonSet" .Release.Namespace $name }}
{{- $pod := dig "spec" "template" "spec" (dict) . }}
{{- $meets := false }}
{{- range (first (dig "containers" (list (dict)) $pod)).env }}
{{- if and (eq .name "ISTHMUS_HANDOVER") (eq (dig "value" "" .) $.Values.handover.hostDirectory) }}
{{- $meets = true }}
{{- end }}
{{- end }}
{{- $wanted := dig "status" "desiredNumberScheduled" 0 . | int64 }}
{{- $done := min (dig "status" "updatedNumberScheduled" 0 . | int64) (dig "status" "numberAvailable" 0 . | int64) }}
{{- $seen := eq (dig "status" "observedGeneration" 0 . | int64) (.metadata.generation | int64) }}
{{- $surges := not (has (dig "spec" "updateStrategy" "rollingUpdate" "maxSurge" 0 . | toString) (list "0" "0%")) }}
{{- $reason := "" }}
{{- if not (dig "hostNetwork" false $pod) }}
{{- else if not $meets }}
{{- $reason = printf "its Pods run without --handover %s, so they cannot hand their ports over" $.Values.handover.hostDirectory }}
{{- else if and (not $surges) (or (not $seen) (lt $done $wanted)) }}
{{- $reason = "its rollout is not finished, so some Pods cannot hand their ports over yet (a node that is not reachable counts until its Node is deleted)" }}
{{- end }}
{{- with $reason }}
{{- fail (include "isthmus.twoSteps" (list $ (printf "%s/%s" $.Release.Namespace $name) .)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The commands of docs/how-to/upgrade.md, from (list <root> <DaemonSet> <reason>). */}}
{{- define "isthmus.twoSteps" -}}
{{- $root := first . -}}
{{- $helm := printf "helm upgrade %s <chart> --namespace %s -f <your values>" $root.Release.Name $root.Release.Namespace -}}
{{- $first := "--set handover.enabled=true --set updateStrategy.maxSurge=0 --set updateStrategy.maxUnavailable=1" -}}
{{- $wait := printf "kubectl -n %s rollout status daemonset/%s" $root.Release.Namespace (include "isthmus.fullname" $root) -}}
updateStrategy.maxSurge: DaemonSet {{ index . 1 }}: {{ index . 2 }}; a surge would end old Pods of several nodes before the new ones serve. Upgrade in two steps (docs/how-to/upgrade.md):
  {{ $helm }} {{ $first }}
  {{ $wait }}
  {{ $helm }}
handover.acceptGap=true upgrades at once, with a gap
{{- end }}
