/** Combinations of values that our charts have to stand. */
import { loadChart } from '../../scripts/charts/load-chart.ts';
import {
  mergeValues,
  renderChart,
  type KubernetesObject,
  type Release,
  type Values,
} from '../../scripts/charts/render-chart.ts';
import { podOf, type Container, type PodSpec } from './pod-standard.ts';

export const agentChart = loadChart('deploy/charts/monitor-agent');
export const controlPlaneChart = loadChart('deploy/charts/monitor-control-plane');

/** Without these the agents' chart refuses. */
export const neededByAgent: Values = {
  controlPlaneUrl: 'https://monitor.example.com',
  apiKeySecret: { apiKey: 'pl_key' },
};

const scheduling: Values = {
  priorityClassName: 'high',
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'monitoring', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: { nodeAffinity: {} },
  hostAliases: [{ ip: '10.0.0.1', hostnames: ['intranet'] }],
  dnsPolicy: 'None',
  dnsConfig: { nameservers: ['10.0.0.2'] },
};

const common: readonly Values[] = [
  { image: { digest: `sha256:${'a'.repeat(64)}` }, imagePullSecrets: [{ name: 'registry' }] },
  { image: { tag: '9' }, nameOverride: 'probe', fullnameOverride: 'other' },
  { extraEnv: [{ name: 'TZ', value: 'UTC' }], envFrom: [{ secretRef: { name: 'more' } }] },
  { extraCa: { configMap: 'ca' } },
  { extraCa: { secret: 'ca', key: 'bundle.pem' } },
  { resources: { limits: { memory: '1Gi' } }, podAnnotations: { a: 'b' }, podLabels: { c: 'd' } },
  { serviceAccount: { create: false } },
  { serviceAccount: { name: 'own', annotations: { a: 'b' } } },
  { ...scheduling },
  {
    extraVolumes: [{ name: 'x', emptyDir: {} }],
    extraVolumeMounts: [{ name: 'x', mountPath: '/x' }],
  },
  {
    extraManifests: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { a: 'b' } },
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-two\n',
    ],
  },
  {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheus: { secret: { name: 'k' } },
  },
  { prometheusRule: { enabled: true } },
  { networkPolicy: { ingressFrom: [{ namespaceSelector: {} }] } },
  { networkPolicy: { enabled: false } },
  { podDisruptionBudget: { enabled: true } },
  { podDisruptionBudget: { enabled: false } },
];

/** Each is put over what is needed, for each flavour. */
const ofAgent: readonly Values[] = [
  {},
  { apiKeySecret: { create: false, name: 'theirs', key: 'token' } },
  { settings: { LOG_LEVEL: 'DEBUG', OUTBOX_MAX_BYTES: 1_073_741_824, PACKET_CAPTURE: false } },
  { settings: { ARTIFACTS_MAX_BYTES: 1_048_576 } },
  {
    proxy: { secret: 'proxy', httpsProxyKey: 'https', httpProxyKey: 'http', noProxy: '10.0.0.0/8' },
  },
  { persistence: { enabled: true, size: '8Gi', storageClass: 'fast', annotations: { a: 'b' } } },
  {
    persistence: { enabled: true, storageClass: '' },
    keda: { enabled: true, authSecret: { name: 'k' } },
    location: 'office',
  },
  { drainTimeoutSeconds: 1_800, updateStrategy: { maxSurge: 1 }, replicaCount: 5 },
  { drainTimeoutSeconds: 0, dataSizeLimit: '2Gi', tmpSizeLimit: '1Gi', shmSizeLimit: '1Gi' },
  { netRaw: { enabled: true } },
  { pingGroupRange: null },
  { podMonitor: { enabled: true }, healthPort: 9_090 },
  { autoscaling: { enabled: true }, location: 'office' },
  {
    autoscaling: {
      enabled: true,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } },
        },
      ],
    },
  },
  {
    keda: {
      enabled: true,
      prometheusAddress: 'http://prometheus:9090',
      prometheusAuthenticationRef: 'p',
    },
    location: 'office',
  },
  {
    networkPolicy: {
      targets: 'listed',
      controlPlane: {
        to: [{ ipBlock: { cidr: '192.0.2.1/32' } }],
        ports: [{ port: 443, protocol: 'TCP' }],
      },
      egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
    },
  },
  { networkPolicy: { targets: 'listed', controlPlane: { to: [{ podSelector: {} }] } } },
  { networkPolicy: { targets: 'listed', controlPlane: { ports: [{ port: 443 }] } } },
  { networkPolicy: { blockedCidrs: [] } },
  {
    topologySpreadConstraints: [
      { maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
    ],
  },
];

/** What the control plane's chart needs for a PostgreSQL. */
export const withDatabase: Values = {
  database: { external: true },
  secrets: { existingSecret: 'theirs' },
  settings: { ARTIFACTS_S3_BUCKET: 'files' },
};

const ofControlPlane: readonly Values[] = [
  {},
  { publicUrl: 'https://monitor.example.com', listenAddress: '::' },
  {
    ingress: {
      enabled: true,
      className: 'nginx',
      annotations: { a: 'b' },
      hosts: ['a.example', 'b.example'],
      tls: [{ secretName: 't', hosts: ['a.example'] }],
    },
  },
  {
    ingress: { enabled: true, hosts: ['a.example'] },
    service: { port: 8_080, type: 'LoadBalancer', annotations: { a: 'b' } },
  },
  {
    secrets: {
      encryptionKey: 'k'.repeat(32),
      smtpUrl: 'smtp://m',
      phoneAuthToken: 't',
      s3SecretAccessKey: 's',
    },
  },
  {
    secrets: { existingSecret: 'theirs' },
    settings: { LOG_LEVEL: 'debug', RESULT_RETENTION_DAYS: 30, STRICT_DNS_BODY: true },
  },
  { persistence: { enabled: false } },
  {
    persistence: { existingClaim: 'mine' },
    backup: { enabled: true, persistence: { existingClaim: 'copies' } },
  },
  {
    persistence: { storageClass: 'fast', annotations: { a: 'b' } },
    backup: {
      enabled: true,
      keepDays: 3,
      persistence: { storageClass: 'slow' },
      resources: { limits: { memory: '1Gi' } },
    },
    ...scheduling,
  },
  { networkPolicy: { egress: [{ to: [{ podSelector: {} }] }] } },
  withDatabase,
  {
    ...withDatabase,
    replicaCount: 3,
    database: { external: true, failoverSeconds: 10 },
    settings: {},
    persistence: { existingClaim: 'shared' },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheus: { secret: { name: 'k' } },
    ...scheduling,
  },
  {
    ...withDatabase,
    replicaCount: 2,
    secrets: {
      encryptionKey: 'k'.repeat(32),
      databaseUrl: 'postgres://u:p@db/monitor',
      databaseListenUrl: 'postgres://u:p@db:5433/monitor',
      databaseReadUrl: 'postgresql://u:p@standby/monitor',
    },
    podDisruptionBudget: { enabled: false },
    topologySpreadConstraints: [
      { maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
    ],
  },
];

function known(values: Values, chart: { values: Values }): boolean {
  return Object.keys(values).every((key) => key in chart.values);
}

/** Every combination that is tested, of the agents' chart. */
export const agentCombinations: readonly Values[] = ['uptime', 'full', 'migration'].flatMap(
  (flavour) =>
    [...ofAgent, ...common.map((values) => only(values, agentChart))].map((values) =>
      mergeValues(mergeValues(neededByAgent, { flavour }), values),
    ),
);

/** Every combination that is tested, of the control plane's chart. */
export const controlPlaneCombinations: readonly Values[] = [
  ...ofControlPlane,
  ...common.map((values) => only(values, controlPlaneChart)),
];

/** The part of values that a chart has. */
function only(values: Values, chart: { values: Values }): Values {
  if (known(values, chart)) return values;
  return Object.fromEntries(Object.entries(values).filter(([key]) => key in chart.values));
}

/** The objects of the agents' chart. */
export function agentObjects(values: Values = {}, release: Release = {}): KubernetesObject[] {
  return renderChart(agentChart, mergeValues(neededByAgent, values), release).objects;
}

/** The pod of the only workload among objects, and its container. */
export function onlyPod(objects: readonly KubernetesObject[]): {
  pod: PodSpec;
  container: Container;
} {
  const pods = objects.map(podOf).filter((pod) => pod !== null);
  const [pod] = pods;
  const container = pod?.containers[0];
  if (pod === undefined || container === undefined || pods.length > 1)
    throw new Error('not one pod');
  return { pod, container };
}

/** A variable of a container; undefined when it has none of this name. */
export function variable({ env = [] }: Container, name: string): string | undefined {
  return env.find((entry) => entry.name === name)?.value;
}
