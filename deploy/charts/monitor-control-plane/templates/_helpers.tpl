{{- define "monitor-control-plane.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "monitor-control-plane.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- else if contains (include "monitor-control-plane.name" .) .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "monitor-control-plane.name" .) | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "monitor-control-plane.selectorLabels" -}}
app.kubernetes.io/name: {{ include "monitor-control-plane.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: control-plane
{{- end -}}

{{- define "monitor-control-plane.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: monitor
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "monitor-control-plane.labels" -}}
{{ include "monitor-control-plane.selectorLabels" . }}
{{ include "monitor-control-plane.commonLabels" . }}
{{- end -}}

{{- define "monitor-control-plane.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "monitor-control-plane.serviceAccountName" -}}
{{- default (ternary (include "monitor-control-plane.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "monitor-control-plane.secretName" -}}
{{- default (include "monitor-control-plane.fullname" .) .Values.secrets.existingSecret -}}
{{- end -}}

{{- define "monitor-control-plane.claimName" -}}
{{- default (printf "data-%s-0" (include "monitor-control-plane.fullname" .)) .Values.persistence.existingClaim -}}
{{- end -}}

{{- define "monitor-control-plane.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{- .Values.publicUrl -}}
{{- else if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{- $scheme := ternary "https" "http" (not (empty .Values.ingress.tls)) -}}
{{- range $index, $host := .Values.ingress.hosts }}{{ if not $index }}{{ printf "%s://%s" $scheme $host }}{{ end }}{{ end -}}
{{- else -}}
{{- $port := int .Values.service.port -}}
{{- printf "http://%s.%s.svc%s" (include "monitor-control-plane.fullname" .) .Release.Namespace (ternary "" (printf ":%d" $port) (eq $port 80)) -}}
{{- end -}}
{{- end -}}

{{- define "monitor-control-plane.kind" -}}
{{- ternary "Deployment" "StatefulSet" .Values.database.external -}}
{{- end -}}

{{/* OpenShift gives users and groups itself, and refuses others. */}}
{{- define "monitor-control-plane.podSecurityContext" -}}
{{- $context := .Values.podSecurityContext -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}
{{- $context = omit $context "fsGroup" "runAsUser" "runAsGroup" -}}
{{- end -}}
{{- toYaml $context -}}
{{- end -}}

{{- define "monitor-control-plane.environment" -}}
- name: HOST
  value: {{ .Values.listenAddress | quote }}
- name: PORT
  value: '3000'
- name: PUBLIC_URL
  value: {{ include "monitor-control-plane.publicUrl" . | quote }}
{{- if .Values.database.external }}
# The image names a file, which excludes DATABASE_URL.
- name: DATABASE_FILE
  value: ''
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "monitor-control-plane.secretName" . }}
      key: DATABASE_URL
- name: DATABASE_FAILOVER_SECONDS
  value: {{ int .Values.database.failoverSeconds | quote }}
{{- range $name := list "DATABASE_LISTEN_URL" "DATABASE_READ_URL" }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ include "monitor-control-plane.secretName" $ }}
      key: {{ $name }}
      optional: true
{{- end }}
{{- if .Values.persistence.existingClaim }}
- name: ARTIFACTS_DIR
  value: /var/lib/control-plane/artifacts
- name: ARTIFACTS_SHARED
  value: 'true'
{{- end }}
{{- else }}
- name: DATABASE_FILE
  value: /var/lib/control-plane/control-plane.db
{{- end }}
{{- if or .Values.extraCa.configMap .Values.extraCa.secret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/control-plane/ca/ca.crt
{{- end }}
{{- range $name := list "ENCRYPTION_KEY" "SMTP_URL" "PHONE_AUTH_TOKEN" "ARTIFACTS_S3_SECRET_ACCESS_KEY" }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ include "monitor-control-plane.secretName" $ }}
      key: {{ $name }}
      optional: true
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ if kindIs "float64" $value }}{{ int64 $value | quote }}{{ else }}{{ $value | quote }}{{ end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "monitor-control-plane.scheduling" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
