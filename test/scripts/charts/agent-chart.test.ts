import assert from 'node:assert/strict';
import test from 'node:test';
import { Registry } from 'prom-client';
import { serveProbes } from '../../../agent/status/probes.ts';
import {
  neededByAgent,
  agentChart,
  agentObjects,
  onlyPod,
  variable,
} from '../../support/charts.ts';
import {
  mergeValues,
  renderChart,
  type KubernetesObject,
} from '../../../scripts/charts/render-chart.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';

const flavours = ['uptime', 'full', 'migration'] as const;

const bytes = (quantity: string | undefined): number => {
  const [, number, unit] = /^(\d+)(Mi|Gi)$/.exec(quantity ?? '') ?? [];
  return Number(number) * (unit === 'Gi' ? 2 ** 30 : 2 ** 20);
};

function only(objects: readonly KubernetesObject[], kind: string): KubernetesObject {
  const [found, ...others] = objects.filter((object) => object.kind === kind);
  assert.ok(found !== undefined && others.length === 0, `one ${kind}`);
  return found;
}

const specOf = (object: KubernetesObject) => object['spec'] as Record<string, unknown>;

test('the probes ask for what an agent serves, on the port it listens on', async () => {
  await using server = await serveProbes(
    { notReady: () => 'draining', notAlive: () => null },
    new Registry(),
    '127.0.0.1',
    0,
  );
  const { container } = onlyPod(agentObjects({ healthPort: 9_000 }));
  const answers = { startupProbe: 200, livenessProbe: 200, readinessProbe: 503 } as const;
  for (const [probe, status] of Object.entries(answers)) {
    const asked = container[probe as 'startupProbe']?.httpGet;
    assert.equal(asked?.port, 'health');
    const response = await fetch(`http://127.0.0.1:${server.port}${asked.path}`);
    await response.text();
    assert.equal(response.status, status, `${probe} while an agent drains`);
  }
  assert.deepEqual(container.ports, [{ name: 'health', containerPort: 9_000, protocol: 'TCP' }]);
  assert.equal(variable(container, 'AGENT_HEALTH_PORT'), '9000');
});

test('a pod may take 30 s longer to end than its runs', () => {
  for (const [values, drain] of [
    [{}, 60],
    [{ flavour: 'full' }, 300],
    [{ flavour: 'full', drainTimeoutSeconds: 1_800 }, 1_800],
    [{ drainTimeoutSeconds: 0 }, 0],
  ] as const) {
    const { pod, container } = onlyPod(agentObjects(values));
    assert.equal(variable(container, 'DRAIN_TIMEOUT_SECONDS'), String(drain));
    assert.equal(pod.terminationGracePeriodSeconds, drain + 30);
  }
});

test('new agents are ready before old ones go', () => {
  const deployment = only(agentObjects(), 'Deployment');
  assert.deepEqual(specOf(deployment)['strategy'], {
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge: '10%', maxUnavailable: 0 },
  });
  assert.equal(specOf(deployment)['replicas'], 2);
});

for (const flavour of flavours) {
  test(`${flavour}: what waits fits into the disk for it, twice over in uptime`, () => {
    const { pod, container } = onlyPod(agentObjects({ flavour }));
    const data = pod.volumes?.find(({ name }) => name === 'data') as {
      emptyDir: { sizeLimit: string };
    };
    const outbox = 268_435_456;
    const files = Number(variable(container, 'ARTIFACTS_MAX_BYTES'));
    // A pod that exceeds its limit is evicted, so there must be room for the database's own files.
    assert.ok((outbox + files) * 1.5 < bytes(data.emptyDir.sizeLimit));
  });

  test(`${flavour}: memory has a limit, the processor has none`, () => {
    const { resources } = onlyPod(agentObjects({ flavour })).container;
    assert.ok(bytes(resources?.limits?.['memory']) >= bytes(resources?.requests?.['memory']));
    assert.equal(resources?.limits?.['cpu'], undefined);
    const heavyRuns = Math.floor(bytes(resources?.limits?.['memory']) / 1.5e9);
    assert.equal(heavyRuns, flavour === 'uptime' ? 0 : 2);
  });

  test(`${flavour}: the image is that of the flavour`, () => {
    const { container } = onlyPod(agentObjects({ flavour }));
    assert.equal(container.image, `monitor-agent:${agentChart.metadata.AppVersion}-${flavour}`);
  });
}

test('browsers get shared memory, others need none', () => {
  const mounts = (flavour: string) =>
    onlyPod(agentObjects({ flavour })).container.volumeMounts?.map(({ mountPath }) => mountPath);
  assert.ok(mounts('full')?.includes('/dev/shm'));
  assert.ok(!mounts('uptime')?.includes('/dev/shm'));
});

test('the key is a file, in a Secret of the chart or of the user, and in no variable', () => {
  const mine = agentObjects({ apiKeySecret: { apiKey: 'pl_1' } });
  assert.deepEqual(only(mine, 'Secret')['data'], {
    apiKey: Buffer.from('pl_1').toString('base64'),
  });
  const theirs = agentObjects({ apiKeySecret: { create: false, name: 'k', key: 'token' } });
  assert.ok(theirs.every(({ kind }) => kind !== 'Secret'));
  const { pod, container } = onlyPod(theirs);
  const volume = pod.volumes?.find(({ name }) => name === 'api-key');
  assert.deepEqual(volume?.['secret'], {
    secretName: 'k',
    // 0440
    defaultMode: 288,
    items: [{ key: 'token', path: 'api-key' }],
  });
  const folder = container.volumeMounts?.find(({ name }) => name === 'api-key')?.mountPath;
  assert.equal(variable(container, 'API_KEY_FILE'), `${folder}/api-key`);
  assert.doesNotMatch(JSON.stringify(mine.filter(({ kind }) => kind !== 'Secret')), /pl_1/);
});

test('another key starts new pods', () => {
  const template = (apiKey: string) =>
    JSON.stringify(specOf(only(agentObjects({ apiKeySecret: { apiKey } }), 'Deployment')));
  assert.equal(template('pl_1'), template('pl_1'));
  assert.notEqual(template('pl_1'), template('pl_2'));
});

test('with persistence each agent has a volume of its own that outlives it', () => {
  const objects = agentObjects({ persistence: { enabled: true, storageClass: 'fast' } });
  const spec = specOf(only(objects, 'StatefulSet'));
  assert.equal(spec['serviceName'], only(objects, 'Service').metadata.name);
  assert.deepEqual(spec['persistentVolumeClaimRetentionPolicy'], {
    whenDeleted: 'Retain',
    whenScaled: 'Retain',
  });
  const [claim] = spec['volumeClaimTemplates'] as { metadata: { name: string } }[];
  assert.equal(claim?.metadata.name, 'data');
});

test('settings reach the pod as they were written, numbers whole', () => {
  const { container } = onlyPod(
    agentObjects({
      settings: { OUTBOX_MAX_BYTES: 1_073_741_824, PACKET_CAPTURE: false, LOG_LEVEL: 'DEBUG' },
    }),
  );
  assert.equal(variable(container, 'OUTBOX_MAX_BYTES'), '1073741824');
  assert.equal(variable(container, 'PACKET_CAPTURE'), 'false');
  assert.equal(variable(container, 'LOG_LEVEL'), 'DEBUG');
});

test('capture takes NET_RAW for the helper of the image, and neither root nor more', () => {
  for (const flavour of ['uptime', 'full']) {
    const { pod, container } = onlyPod(agentObjects({ flavour, netRaw: { enabled: true } }));
    assert.equal(pod.securityContext?.runAsNonRoot, true);
    assert.equal(container.securityContext?.allowPrivilegeEscalation, true);
    assert.deepEqual(container.securityContext.capabilities, { drop: ['ALL'], add: ['NET_RAW'] });
  }
});

test('checks reach everything but metadata services; where targets are listed, only those', () => {
  const egress = (networkPolicy: Record<string, unknown>) =>
    specOf(only(agentObjects({ networkPolicy }), 'NetworkPolicy'))['egress'];
  assert.deepEqual(egress({}), [
    {
      to: [
        { namespaceSelector: {} },
        { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.169.254/32'] } },
        { ipBlock: { cidr: '::/0', except: ['fd00:ec2::254/128'] } },
      ],
    },
  ]);
  const to = [{ ipBlock: { cidr: '192.0.2.1/32' } }];
  assert.deepEqual(egress({ targets: 'listed', controlPlane: { to } }), [
    {
      ports: [
        { port: 53, protocol: 'UDP' },
        { port: 53, protocol: 'TCP' },
      ],
    },
    { to },
  ]);
});

test('autoscalers look at a metric that the control plane has, of the location they are for', async () => {
  await using world = await startTestControlPlane();
  await world.api('POST', '/v1/private-locations', { name: 'Office', slugName: 'office' });
  const metrics = await fetch(`${world.url}/v1/prometheus/metrics`, {
    headers: { authorization: `Bearer ${world.apiKey}` },
  }).then((response) => response.text());
  const series = (selector: string): string[] => {
    const [, name = '', inner = ''] = /^(\w+)\{(.*)\}$/.exec(selector) ?? [];
    const labels = inner.split(',');
    assert.ok(labels.length > 0 && name !== '');
    return metrics
      .split('\n')
      .filter(
        (line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)),
      );
  };
  const values = { location: 'office', controlPlaneUrl: 'https://monitor.example.com/' };
  const scaled = only(
    agentObjects({ ...values, keda: { enabled: true, authSecret: { name: 'k' } } }),
    'ScaledObject',
  );
  const { triggers, advanced } = specOf(scaled) as {
    triggers: { name: string; metadata: { url: string; valueLocation: string } }[];
    advanced: { scalingModifiers: { formula: string } };
  };
  assert.equal(advanced.scalingModifiers.formula, triggers.map(({ name }) => name).join(' + '));
  for (const { metadata } of triggers) {
    assert.equal(metadata.url, 'https://monitor.example.com/v1/prometheus/metrics');
    assert.equal(series(metadata.valueLocation).length, 1, metadata.valueLocation);
  }
  const autoscaler = only(
    agentObjects({ ...values, autoscaling: { enabled: true } }),
    'HorizontalPodAutoscaler',
  );
  const [metric] = specOf(autoscaler)['metrics'] as {
    external: { metric: { name: string; selector: { matchLabels: Record<string, string> } } };
  }[];
  assert.ok(metric !== undefined);
  const { name, selector } = metric.external.metric;
  const labels = Object.entries(selector.matchLabels).map(([key, value]) => `${key}="${value}"`);
  // Waiting and running, which the autoscaler adds up.
  assert.equal(series(`${name}{${labels.join(',')}}`).length, 2);
});

test('an autoscaler decides how many agents there are, not the chart', () => {
  for (const values of [
    { autoscaling: { enabled: true } },
    { keda: { enabled: true, authSecret: { name: 'k' } } },
  ]) {
    const deployment = only(agentObjects({ location: 'office', ...values }), 'Deployment');
    assert.ok(!('replicas' in specOf(deployment)));
  }
});

const refusals: readonly [what: string, values: Record<string, unknown>, reason: RegExp][] = [
  ['no control plane', { controlPlaneUrl: '' }, /controlPlaneUrl is needed/],
  ['no key', { apiKeySecret: { apiKey: '' } }, /apiKeySecret\.apiKey is needed/],
  ['a Secret without a name', { apiKeySecret: { create: false } }, /apiKeySecret\.name is needed/],
  ['scaling without a location', { keda: { enabled: true } }, /location is needed/],
  [
    'scaling without a key',
    { location: 'a', keda: { enabled: true } },
    /keda\.authSecret\.name is needed/,
  ],
  [
    'two autoscalers',
    { location: 'a', keda: { enabled: true }, autoscaling: { enabled: true } },
    /exclude each other/,
  ],
  [
    'a policy that cuts agents off',
    { networkPolicy: { targets: 'listed' } },
    /networkPolicy\.controlPlane is needed/,
  ],
  ['an unknown flavour', { flavour: 'tiny' }, /flavour/],
  ['a port that takes rights', { healthPort: 80 }, /healthPort/],
  ['a location that is no slug', { location: 'My Office' }, /location/],
];

for (const [what, values, reason] of refusals) {
  test(`${what} is refused with a sentence`, () => {
    assert.throws(() => renderChart(agentChart, mergeValues(neededByAgent, values)), reason);
  });
}

test('the notes name what to run next, in the namespace of the release', () => {
  const { notes } = renderChart(agentChart, neededByAgent, { name: 'office', namespace: 'probes' });
  assert.match(notes, /kubectl --namespace probes rollout status Deployment\/office-monitor-agent/);
  assert.match(notes, /exec Deployment\/office-monitor-agent -- monitor-agent doctor/);
});
