/** The *restricted* pod security standard of Kubernetes, as far as a pod template can break it. */
import type { KubernetesObject } from '../../scripts/charts/render-chart.ts';

interface Context {
  runAsNonRoot?: boolean;
  runAsUser?: number;
  seccompProfile?: { type: string };
  allowPrivilegeEscalation?: boolean;
  privileged?: boolean;
  readOnlyRootFilesystem?: boolean;
  capabilities?: { drop?: string[]; add?: string[] };
  sysctls?: { name: string; value: string }[];
}

export interface Container {
  name: string;
  image: string;
  env?: { name: string; value?: string; valueFrom?: unknown }[];
  ports?: { name: string; containerPort: number; hostPort?: number }[];
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  securityContext?: Context;
  [probe: `${string}Probe`]:
    | { httpGet: { path: string; port: string }; failureThreshold?: number; periodSeconds?: number }
    | undefined;
}

export interface PodSpec {
  securityContext?: Context;
  containers: Container[];
  initContainers?: Container[];
  volumes?: Record<string, unknown>[];
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  [field: string]: unknown;
}

/** Kinds of volumes that the standard allows. */
const allowedVolumes = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);

/** Those that may be set in a pod. */
const safeSysctls = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
]);

/** The pod that a workload makes; null for objects that make none. */
export function podOf({ kind, spec }: KubernetesObject): PodSpec | null {
  const workload = spec as
    | { template?: { spec: PodSpec }; jobTemplate?: { spec: { template: { spec: PodSpec } } } }
    | undefined;
  if (kind === 'Deployment' || kind === 'StatefulSet') return workload?.template?.spec ?? null;
  return kind === 'CronJob' ? (workload?.jobTemplate?.spec.template.spec ?? null) : null;
}

/** What of a pod the restricted standard would refuse, in words; empty when nothing. */
export function breachesOfRestricted(pod: PodSpec): string[] {
  const breaches: string[] = [];
  const expect = (isKept: boolean, what: string): void => {
    if (!isKept) breaches.push(what);
  };
  const ofPod = pod.securityContext ?? {};
  expect(!pod.hostNetwork && !pod.hostPID && !pod.hostIPC, 'shares namespaces of the host');
  for (const { name } of ofPod.sysctls ?? []) expect(safeSysctls.has(name), `sets ${name}`);
  for (const { name, ...volume } of pod.volumes ?? []) {
    const kinds = Object.keys(volume);
    expect(
      kinds.length === 1 && kinds.every((kind) => allowedVolumes.has(kind)),
      `volume ${String(name)}`,
    );
  }
  for (const { name, ports = [], securityContext: own = {} } of [
    ...pod.containers,
    ...(pod.initContainers ?? []),
  ]) {
    expect(own.privileged !== true, `${name} is privileged`);
    expect(own.allowPrivilegeEscalation === false, `${name} may gain privileges`);
    expect((own.runAsNonRoot ?? ofPod.runAsNonRoot) === true, `${name} may run as root`);
    expect((own.runAsUser ?? ofPod.runAsUser) !== 0, `${name} runs as root`);
    expect(own.capabilities?.drop?.includes('ALL') === true, `${name} keeps capabilities`);
    const added = own.capabilities?.add ?? [];
    expect(
      added.every((capability) => capability === 'NET_BIND_SERVICE'),
      `${name} adds ${added.join(', ')}`,
    );
    const seccomp = (own.seccompProfile ?? ofPod.seccompProfile)?.type;
    expect(seccomp === 'RuntimeDefault' || seccomp === 'Localhost', `${name} has no seccomp`);
    expect(
      ports.every(({ hostPort }) => hostPort === undefined),
      `${name} takes ports of the host`,
    );
  }
  return breaches;
}
