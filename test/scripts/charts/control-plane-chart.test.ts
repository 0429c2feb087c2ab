import assert from 'node:assert/strict';
import test from 'node:test';
import { renderChart, type KubernetesObject } from '../../../scripts/charts/render-chart.ts';
import { readConfig } from '../../../control-plane/core/config.ts';
import { controlPlaneChart, onlyPod, variable, withDatabase } from '../../support/charts.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { podOf } from '../../support/pod-standard.ts';

type Values = Record<string, unknown>;

const objectsOf = (values: Values = {}): KubernetesObject[] =>
  renderChart(controlPlaneChart, values).objects;

const find = (objects: readonly KubernetesObject[], kind: string) =>
  objects.find((object) => object.kind === kind);

test('the probes ask for what a control plane serves', async () => {
  await using world = await startTestControlPlane();
  const { container } = onlyPod(objectsOf());
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
    const asked = container[probe]?.httpGet;
    assert.equal(asked?.port, 'http');
    const response = await fetch(`${world.url}${asked.path}`);
    await response.text();
    assert.equal(response.status, 200, probe);
  }
  assert.equal(variable(container, 'PORT'), String(container.ports?.[0]?.containerPort));
});

test('Prometheus is sent where metrics are, with a key', async () => {
  await using world = await startTestControlPlane();
  const monitor = find(
    objectsOf({ serviceMonitor: { enabled: true }, prometheus: { secret: { name: 'k' } } }),
    'ServiceMonitor',
  );
  const [endpoint] = (
    monitor?.['spec'] as { endpoints: { path: string; authorization: unknown }[] }
  ).endpoints;
  assert.deepEqual(endpoint?.authorization, {
    type: 'Bearer',
    credentials: { name: 'k', key: 'apiKey' },
  });
  const response = await fetch(`${world.url}${endpoint.path}`, {
    headers: { authorization: `Bearer ${world.apiKey}` },
  });
  await response.text();
  assert.equal(response.status, 200);
});

test('there is one pod, whose volume is never given up by itself', () => {
  const spec = find(objectsOf(), 'StatefulSet')?.['spec'] as Record<string, unknown>;
  assert.equal(spec['replicas'], 1);
  assert.deepEqual(spec['persistentVolumeClaimRetentionPolicy'], {
    whenDeleted: 'Retain',
    whenScaled: 'Retain',
  });
});

test('the database is on the volume, and a backup reads the same file', () => {
  const objects = objectsOf({ backup: { enabled: true } });
  const pods = objects.map(podOf).filter((pod) => pod !== null);
  assert.equal(pods.length, 2);
  for (const { containers } of pods) {
    const [container] = containers;
    assert.ok(container !== undefined);
    const folder = container.volumeMounts?.find(({ name }) => name === 'data')?.mountPath;
    assert.equal(variable(container, 'DATABASE_FILE'), `${folder}/control-plane.db`);
  }
  const job = find(objects, 'CronJob');
  const pod = job === undefined ? null : podOf(job);
  const claims = pod?.volumes?.flatMap(({ persistentVolumeClaim: claim }) => claim ?? []);
  const set = find(objects, 'StatefulSet')?.metadata.name;
  assert.deepEqual(claims, [
    { claimName: `data-${set}-0` },
    { claimName: find(objects, 'PersistentVolumeClaim')?.metadata.name },
  ]);
});

test('a Service does not send requests to the pods of backups', () => {
  const objects = objectsOf({ backup: { enabled: true } });
  const { selector } = find(objects, 'Service')?.['spec'] as { selector: Record<string, string> };
  const job = find(objects, 'CronJob')?.['spec'] as {
    jobTemplate: { spec: { template: { metadata: { labels: Record<string, string> } } } };
  };
  const { labels } = job.jobTemplate.spec.template.metadata;
  assert.ok(Object.entries(selector).some(([name, value]) => labels[name] !== value));
});

test('PUBLIC_URL is what people reach', () => {
  const publicUrl = (values: Values) =>
    variable(onlyPod(objectsOf(values)).container, 'PUBLIC_URL');
  assert.equal(publicUrl({}), 'http://monitor-control-plane.monitor.svc');
  assert.equal(
    publicUrl({ service: { port: 8_080 } }),
    'http://monitor-control-plane.monitor.svc:8080',
  );
  const ingress = { enabled: true, hosts: ['m.example', 'n.example'] };
  assert.equal(publicUrl({ ingress }), 'http://m.example');
  const tls = [{ secretName: 't', hosts: ['m.example'] }];
  assert.equal(publicUrl({ ingress: { ...ingress, tls } }), 'https://m.example');
  assert.equal(publicUrl({ publicUrl: 'https://x.example', ingress }), 'https://x.example');
});

test('secrets are only in a Secret, and are optional', () => {
  const values = { secrets: { smtpUrl: 'smtp://u:canary@mail' } };
  const objects = objectsOf(values);
  assert.deepEqual(find(objects, 'Secret')?.['data'], {
    SMTP_URL: Buffer.from('smtp://u:canary@mail').toString('base64'),
  });
  assert.doesNotMatch(JSON.stringify(objects.filter(({ kind }) => kind !== 'Secret')), /canary/);
  const { env = [] } = onlyPod(objectsOf()).container;
  const { valueFrom } = env.find(({ name }) => name === 'ENCRYPTION_KEY') ?? {};
  assert.deepEqual(valueFrom, {
    secretKeyRef: { name: 'monitor-control-plane', key: 'ENCRYPTION_KEY', optional: true },
  });
  assert.equal(find(objectsOf(), 'Secret'), undefined);
});

test('with a database outside, pods are replaced one by one beside each other and need no volume', () => {
  const objects = objectsOf({ ...withDatabase, replicaCount: 3 });
  assert.equal(find(objects, 'StatefulSet'), undefined);
  assert.equal(find(objects, 'PersistentVolumeClaim'), undefined);
  const spec = find(objects, 'Deployment')?.['spec'] as Record<string, unknown>;
  assert.equal(spec['replicas'], 3);
  assert.deepEqual(spec['strategy'], {
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
  });
  const { container, pod } = onlyPod(objects);
  assert.deepEqual(
    pod.volumes?.map(({ name }) => name),
    ['tmp'],
  );
  assert.deepEqual(
    container.volumeMounts?.map(({ name }) => name),
    ['tmp'],
  );
  const budget = find(objects, 'PodDisruptionBudget')?.['spec'] as Record<string, unknown>;
  assert.equal(budget['maxUnavailable'], 1);
  assert.equal(find(objectsOf(withDatabase), 'PodDisruptionBudget'), undefined);
});

test('with a database outside, the variables make a configuration that the control plane takes', () => {
  for (const [values, shared] of [
    [withDatabase, false],
    [{ ...withDatabase, settings: {}, persistence: { existingClaim: 'files' } }, true],
  ] as const) {
    const { env = [] } = onlyPod(objectsOf(values)).container;
    const secrets: Record<string, string> = {
      DATABASE_URL: 'postgres://u:p@db/monitor',
      ENCRYPTION_KEY: 'k'.repeat(32),
    };
    const config = readConfig(
      Object.fromEntries(env.map(({ name, value }) => [name, value ?? secrets[name]])),
    );
    assert.equal(config.DATABASE_URL, secrets['DATABASE_URL']);
    assert.equal(config.ARTIFACTS_SHARED, shared);
    assert.equal(config.DATABASE_FAILOVER_SECONDS, 60);
  }
});

test('pods stay in the Service for as long as a failover may take', () => {
  for (const [values, seconds] of [
    [withDatabase, 60],
    [{ ...withDatabase, database: { external: true, failoverSeconds: 120 } }, 120],
    [{ ...withDatabase, database: { external: true, failoverSeconds: 1 } }, 10],
  ] as const) {
    const { readinessProbe: probe } = onlyPod(objectsOf(values)).container;
    assert.equal((probe?.failureThreshold ?? 0) * (probe?.periodSeconds ?? 0), seconds);
  }
});

for (const [what, values, reason] of [
  ['an ingress without a host', { ingress: { enabled: true } }, /ingress\.hosts is needed/],
  [
    'secrets from two places',
    { secrets: { existingSecret: 'a', smtpUrl: 'smtp://m' } },
    /exclude each other/,
  ],
  [
    'a backup of nothing',
    { backup: { enabled: true }, persistence: { enabled: false } },
    /needs persistence/,
  ],
  ['metrics without a key', { serviceMonitor: { enabled: true } }, /prometheus\.secret\.name/],
  [
    'more than one replica of a database in a file',
    { replicaCount: 2 },
    /\/database\/external: must be equal to constant .*true/,
  ],
  [
    'a database without its URL and key',
    { ...withDatabase, secrets: {} },
    /needs secrets\.databaseUrl and secrets\.encryptionKey, or/,
  ],
  [
    'a database without a place for files',
    { ...withDatabase, settings: {} },
    /needs settings\.ARTIFACTS_S3_BUCKET, or persistence\.existingClaim/,
  ],
  [
    'the URL of a database that is not used',
    { secrets: { databaseUrl: 'postgres://u:p@db/monitor' } },
    /without database\.external/,
  ],
  [
    'a copy of a file that there is not',
    { ...withDatabase, backup: { enabled: true } },
    /use pg_dump, or point-in-time recovery/,
  ],
] as const) {
  test(`${what} is refused with a sentence`, () => {
    assert.throws(() => objectsOf(values), reason);
  });
}
