import assert from 'node:assert/strict';
import test from 'node:test';
import { renderChart, type KubernetesObject } from '../../../scripts/charts/render-chart.ts';
import { controlPlaneChart, onlyPod, variable } from '../../support/charts.ts';
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
  ['more than one replica', { replicaCount: 2 }, /additional properties.*replicaCount/],
] as const) {
  test(`${what} is refused with a sentence`, () => {
    assert.throws(() => objectsOf(values), reason);
  });
}
