{{- define "monitor-agent.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "monitor-agent.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "monitor-agent.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "monitor-agent.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "monitor-agent.selectorLabels" -}}
app.kubernetes.io/name: {{ include "monitor-agent.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "monitor-agent.labels" -}}
{{ include "monitor-agent.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: agent
app.kubernetes.io/part-of: monitor
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- if .Values.location }}
monitor/location: {{ .Values.location | quote }}
{{- end }}
{{- end -}}

{{- define "monitor-agent.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default (printf "%s-%s" .Chart.AppVersion .Values.flavour) .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "monitor-agent.secretName" -}}
{{- default (include "monitor-agent.fullname" .) .Values.apiKeySecret.name -}}
{{- end -}}

{{- define "monitor-agent.serviceAccountName" -}}
{{- default (ternary (include "monitor-agent.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "monitor-agent.kind" -}}
{{- ternary "StatefulSet" "Deployment" .Values.persistence.enabled -}}
{{- end -}}

{{- define "monitor-agent.hasBrowsers" -}}
{{- if ne .Values.flavour "uptime" }}yes{{ end -}}
{{- end -}}

{{- define "monitor-agent.drainTimeout" -}}
{{- if kindIs "invalid" .Values.drainTimeoutSeconds -}}
{{- ternary 300 60 (ne .Values.flavour "uptime") -}}
{{- else -}}
{{- int .Values.drainTimeoutSeconds -}}
{{- end -}}
{{- end -}}

{{- define "monitor-agent.dataSize" -}}
{{- ternary "4Gi" "1Gi" (ne .Values.flavour "uptime") -}}
{{- end -}}

{{/* Files that wait and results that wait fit into the data volume together. */}}
{{- define "monitor-agent.artifactsMaxBytes" -}}
{{- ternary "2147483648" "268435456" (ne .Values.flavour "uptime") -}}
{{- end -}}

{{- define "monitor-agent.resources" -}}
{{- if .Values.resources -}}
{{- toYaml .Values.resources -}}
{{- else if eq .Values.flavour "uptime" -}}
requests:
  cpu: 100m
  memory: 192Mi
limits:
  memory: 512Mi
{{- else -}}
requests:
  cpu: '1'
  memory: 2Gi
limits:
  memory: 4Gi
{{- end -}}
{{- end -}}

{{/* OpenShift gives users and groups itself, and refuses others. */}}
{{- define "monitor-agent.podSecurityContext" -}}
{{- $context := .Values.podSecurityContext -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}
{{- $context = omit $context "fsGroup" "runAsUser" "runAsGroup" -}}
{{- end -}}
{{- toYaml $context }}
{{- if .Values.pingGroupRange }}
sysctls:
  - name: net.ipv4.ping_group_range
    value: {{ .Values.pingGroupRange | quote }}
{{- end }}
{{- end -}}

{{- define "monitor-agent.securityContext" -}}
{{- if .Values.netRaw.enabled -}}
{{- toYaml (omit .Values.securityContext "capabilities" "allowPrivilegeEscalation") }}
# A helper in the image has the right, and opens the sockets for an agent that has none.
allowPrivilegeEscalation: true
capabilities:
  drop: [ALL]
  add: [NET_RAW]
{{- else -}}
{{- toYaml .Values.securityContext -}}
{{- end -}}
{{- end -}}

{{- define "monitor-agent.environment" -}}
- name: CONTROL_PLANE_URL
  value: {{ required "controlPlaneUrl is needed: where the control plane is" .Values.controlPlaneUrl | quote }}
- name: API_KEY_FILE
  value: /etc/monitor-agent/key/api-key
- name: AGENT_HEALTH_PORT
  value: {{ int .Values.healthPort | quote }}
{{- if not (hasKey .Values.settings "AGENT_HEALTH_HOST") }}
- name: AGENT_HEALTH_HOST
  value: '::'
{{- end }}
- name: AGENT_DATA_DIR
  value: /var/lib/monitor-agent/data
- name: AGENT_WORK_DIR
  value: /tmp/monitor-agent-runs
- name: DRAIN_TIMEOUT_SECONDS
  value: {{ include "monitor-agent.drainTimeout" . | quote }}
{{- if not (hasKey .Values.settings "ARTIFACTS_MAX_BYTES") }}
- name: ARTIFACTS_MAX_BYTES
  value: {{ include "monitor-agent.artifactsMaxBytes" . | quote }}
{{- end }}
{{- if or .Values.extraCa.configMap .Values.extraCa.secret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/monitor-agent/ca/ca.crt
{{- end }}
{{- with .Values.proxy }}
{{- if .httpsProxyKey }}
- name: HTTPS_PROXY_FILE
  value: /etc/monitor-agent/proxy/https
{{- end }}
{{- if .httpProxyKey }}
- name: HTTP_PROXY_FILE
  value: /etc/monitor-agent/proxy/http
{{- end }}
{{- if .noProxy }}
- name: NO_PROXY
  value: {{ .noProxy | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ if kindIs "float64" $value }}{{ int64 $value | quote }}{{ else }}{{ $value | quote }}{{ end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "monitor-agent.podTemplate" -}}
metadata:
  labels:
    {{- include "monitor-agent.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
    app.kubernetes.io/component: agent
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: agent
    {{- if .Values.apiKeySecret.create }}
    checksum/key: {{ .Values.apiKeySecret.apiKey | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "monitor-agent.serviceAccountName" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "monitor-agent.podSecurityContext" . | nindent 4 }}
  # The agent drains on SIGTERM by itself, and nothing sends it requests that would have to be
  # turned away first: no preStop hook is needed.
  terminationGracePeriodSeconds: {{ add (include "monitor-agent.drainTimeout" . | int) 30 }}
  containers:
    - name: agent
      image: {{ include "monitor-agent.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        {{- include "monitor-agent.securityContext" . | nindent 8 }}
      env:
        {{- include "monitor-agent.environment" . | nindent 8 }}
      {{- with .Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: health
          containerPort: {{ int .Values.healthPort }}
          protocol: TCP
      startupProbe:
        httpGet:
          path: /health
          port: health
        {{- toYaml .Values.startupProbe | nindent 8 }}
      livenessProbe:
        httpGet:
          path: /-/liveness
          port: health
        {{- toYaml .Values.livenessProbe | nindent 8 }}
      readinessProbe:
        httpGet:
          path: /-/readiness
          port: health
        {{- toYaml .Values.readinessProbe | nindent 8 }}
      resources:
        {{- include "monitor-agent.resources" . | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /var/lib/monitor-agent
        - name: tmp
          mountPath: /tmp
        - name: api-key
          mountPath: /etc/monitor-agent/key
          readOnly: true
        {{- if include "monitor-agent.hasBrowsers" . }}
        - name: shm
          mountPath: /dev/shm
        {{- end }}
        {{- if or .Values.extraCa.configMap .Values.extraCa.secret }}
        - name: extra-ca
          mountPath: /etc/monitor-agent/ca
          readOnly: true
        {{- end }}
        {{- if .Values.proxy.secret }}
        - name: proxy
          mountPath: /etc/monitor-agent/proxy
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- if not .Values.persistence.enabled }}
    - name: data
      emptyDir:
        sizeLimit: {{ default (include "monitor-agent.dataSize" .) .Values.dataSizeLimit }}
    {{- end }}
    - name: tmp
      emptyDir:
        sizeLimit: {{ default (ternary "10Gi" "256Mi" (ne .Values.flavour "uptime")) .Values.tmpSizeLimit }}
    - name: api-key
      secret:
        secretName: {{ include "monitor-agent.secretName" . }}
        defaultMode: 0440
        items:
          - key: {{ .Values.apiKeySecret.key }}
            path: api-key
    {{- if include "monitor-agent.hasBrowsers" . }}
    - name: shm
      emptyDir:
        medium: Memory
        sizeLimit: {{ .Values.shmSizeLimit }}
    {{- end }}
    {{- if .Values.extraCa.configMap }}
    - name: extra-ca
      configMap:
        name: {{ .Values.extraCa.configMap }}
        items:
          - key: {{ .Values.extraCa.key }}
            path: ca.crt
    {{- else if .Values.extraCa.secret }}
    - name: extra-ca
      secret:
        secretName: {{ .Values.extraCa.secret }}
        items:
          - key: {{ .Values.extraCa.key }}
            path: ca.crt
    {{- end }}
    {{- if .Values.proxy.secret }}
    - name: proxy
      secret:
        secretName: {{ .Values.proxy.secret }}
        defaultMode: 0440
        items:
          {{- if .Values.proxy.httpsProxyKey }}
          - key: {{ .Values.proxy.httpsProxyKey }}
            path: https
          {{- end }}
          {{- if .Values.proxy.httpProxyKey }}
          - key: {{ .Values.proxy.httpProxyKey }}
            path: http
          {{- end }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  affinity:
    {{- if .Values.affinity }}
    {{- toYaml .Values.affinity | nindent 4 }}
    {{- else }}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                {{- include "monitor-agent.selectorLabels" . | nindent 16 }}
    {{- end }}
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "monitor-agent.selectorLabels" $ | nindent 10 }}
    {{- end }}
    {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.dnsPolicy }}
  dnsPolicy: {{ . }}
  {{- end }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "monitor-agent.behavior" -}}
scaleUp:
  stabilizationWindowSeconds: 0
  policies:
    - type: Pods
      value: 2
      periodSeconds: 60
scaleDown:
  stabilizationWindowSeconds: 300
  policies:
    - type: Pods
      value: 1
      periodSeconds: 60
{{- end -}}

{{- define "monitor-agent.cidrsOfFamily" -}}
{{- range $cidr := .cidrs }}
{{- if eq $.isV6 (contains ":" $cidr) }}
- {{ $cidr }}
{{- end }}
{{- end }}
{{- end -}}
