/** What holds for both charts, whatever their values are. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { format, resolveConfig } from 'prettier';
import {
  chartNames,
  ownValues,
  settingsOf,
  staleFiles,
} from '../../../scripts/charts/derived-files.ts';
import { loadChart } from '../../../scripts/charts/load-chart.ts';
import {
  mergeValues,
  objectsOf,
  renderChart,
  type KubernetesObject,
} from '../../../scripts/charts/render-chart.ts';
import {
  agentChart,
  agentCombinations,
  controlPlaneChart,
  controlPlaneCombinations,
  neededByAgent,
} from '../../support/charts.ts';
import { assertValidObject, wrongFields } from '../../support/kubernetes-objects.ts';
import { breachesOfRestricted, podOf } from '../../support/pod-standard.ts';

const rendered = [
  ...agentCombinations.map((values) => ({ chart: agentChart, values })),
  ...controlPlaneCombinations.map((values) => ({ chart: controlPlaneChart, values })),
].map(({ chart, values }) => ({ values, ...renderChart(chart, values) }));

const described = (values: unknown): string => JSON.stringify(values);

test('every combination of values gives objects that keep to the schemas of Kubernetes', async () => {
  assert.ok(rendered.length > 100);
  for (const { objects, values } of rendered) {
    assert.ok(objects.length > 2, described(values));
    for (const object of objects) {
      await assert.doesNotReject(assertValidObject(object), described(values));
    }
  }
});

test('no object has a field that its kind does not have', () => {
  const distinct = new Map<string, KubernetesObject>();
  for (const { objects } of rendered) {
    for (const object of objects) distinct.set(shapeOf(object), object);
  }
  assert.deepEqual(wrongFields([...distinct.values()]), []);
});

/** Objects that differ in texts and numbers alone have the same fields. */
function shapeOf(value: unknown): string {
  const isKind = (key: string): boolean => key === 'kind' || key === 'apiVersion';
  return JSON.stringify(value, (key, inner: unknown) =>
    typeof inner === 'object' || isKind(key) ? inner : typeof inner,
  );
}

test('no two objects of a release have the same name', () => {
  for (const { objects, values } of rendered) {
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.equal(new Set(names).size, names.length, described(values));
  }
});

test('names of objects are names of hosts, however long the release is called', () => {
  const release = { name: `r${'0'.repeat(51)}x` };
  for (const chart of [agentChart, controlPlaneChart]) {
    const values = chart === agentChart ? neededByAgent : { backup: { enabled: true } };
    for (const { metadata } of renderChart(chart, values, release).objects) {
      assert.match(metadata.name, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
    }
  }
});

test('selectors find the pods of their own release', () => {
  for (const { objects, values } of rendered) {
    const workload = objects.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
    const spec = workload?.['spec'] as {
      selector: { matchLabels: Record<string, string> };
      template: { metadata: { labels: Record<string, string> } };
    };
    const { labels } = spec.template.metadata;
    const selectors = objects.flatMap(({ kind, spec: of }) => {
      const { selector, podSelector } = (of ?? {}) as {
        selector?: { matchLabels?: Record<string, string> } & Record<string, string>;
        podSelector?: { matchLabels: Record<string, string> };
      };
      if (kind === 'Service') return [selector ?? {}];
      if (kind === 'PersistentVolumeClaim') return [];
      return [selector?.matchLabels ?? podSelector?.matchLabels ?? {}];
    });
    for (const selector of selectors) {
      for (const [name, value] of Object.entries(selector)) {
        assert.equal(labels[name], value, `${name} with ${described(values)}`);
      }
    }
  }
});

test('every pod passes the restricted standard, unless packets are captured', () => {
  for (const { objects, values } of rendered) {
    const netRaw = (values['netRaw'] as { enabled: boolean } | undefined)?.enabled === true;
    for (const object of objects) {
      const pod = podOf(object);
      if (pod === null) continue;
      const breaches = breachesOfRestricted(pod);
      if (netRaw) assert.match(breaches.join(), /adds NET_RAW/);
      else assert.deepEqual(breaches, [], described(values));
      assert.equal(pod.automountServiceAccountToken, false);
      for (const { securityContext } of pod.containers) {
        assert.equal(securityContext?.readOnlyRootFilesystem, true);
      }
    }
  }
});

test('volumes that are mounted exist, and those that exist are mounted', () => {
  for (const { objects, values } of rendered) {
    for (const object of objects) {
      const pod = podOf(object);
      if (pod === null) continue;
      const claims = (object['spec'] as { volumeClaimTemplates?: KubernetesObject[] })
        .volumeClaimTemplates;
      const volumes = [
        ...(pod.volumes ?? []).map(({ name }) => String(name)),
        ...(claims ?? []).map(({ metadata }) => metadata.name),
      ].sort();
      const mounts = pod.containers.flatMap(({ volumeMounts = [] }) => volumeMounts);
      assert.deepEqual(mounts.map(({ name }) => name).sort(), volumes, described(values));
      assert.equal(new Set(mounts.map(({ mountPath }) => mountPath)).size, mounts.length);
    }
  }
});

test('no variable is given twice', () => {
  for (const { objects, values } of rendered) {
    for (const pod of objects.map(podOf)) {
      for (const { env = [] } of pod?.containers ?? []) {
        const names = env.map(({ name }) => name);
        assert.equal(new Set(names).size, names.length, described(values));
      }
    }
  }
});

test('OpenShift is left to choose users and groups', () => {
  const release = { apiVersions: ['security.openshift.io/v1'] };
  for (const [chart, values] of [
    [agentChart, neededByAgent],
    [controlPlaneChart, {}],
  ] as const) {
    const pods = renderChart(chart, values, release).objects.map(podOf);
    const [pod] = pods.filter((each) => each !== null);
    assert.deepEqual(
      Object.keys(pod?.securityContext ?? {})
        .sort()
        .slice(-2),
      ['runAsNonRoot', 'seccompProfile', ...(chart === agentChart ? ['sysctls'] : [])].slice(-2),
    );
    assert.ok(!('fsGroup' in (pod?.securityContext ?? {})));
  }
});

for (const name of chartNames) {
  const chart = loadChart(`deploy/charts/${name}`);

  test(`${name}: the schema takes the defaults and refuses what is misspelt`, () => {
    assert.deepEqual(chart.problemsOf(chart.values), []);
    const misspelt = (values: Record<string, unknown>, path: string): void => {
      for (const [key, value] of Object.entries(values)) {
        const isFree = /^(podSecurityContext|securityContext)$/.test(key);
        if (typeof value !== 'object' || value === null || Array.isArray(value) || isFree) continue;
        if (Object.keys(value).length === 0) continue;
        const spoilt = mergeValues(values, { [key]: { typo: 1 } });
        const whole = path === '' ? spoilt : mergeValues(chart.values, { [path]: spoilt });
        assert.notDeepEqual(chart.problemsOf(whole), [], `${path}.${key}.typo`);
        if (path === '') misspelt(value as Record<string, unknown>, key);
      }
    };
    misspelt(chart.values, '');
    assert.notDeepEqual(chart.problemsOf({ ...chart.values, replicas: 3 }), []);
    assert.notDeepEqual(chart.problemsOf({ ...chart.values, settings: { LOG_LEVLE: 'x' } }), []);
  });

  test(`${name}: the schema knows every value and no other`, () => {
    const { properties } = chart.schema as { properties: Record<string, unknown> };
    const values = Object.keys(properties).filter((key) => key !== 'global');
    assert.deepEqual(values.sort(), Object.keys(chart.values).sort());
  });

  test(`${name}: variables of the pod are settings of the process`, () => {
    const known = new Set<string>([...settingsOf(name), ...ownValues[name]]);
    const values = name === 'monitor-agent' ? neededByAgent : {};
    for (const pod of renderChart(chart, values).objects.map(podOf)) {
      for (const { name: variable } of pod?.containers[0]?.env ?? []) {
        assert.ok(known.has(variable) || variable === 'API_KEY_FILE', variable);
      }
    }
  });

  test(`${name}: the version is that of the program`, () => {
    const folder = name === 'monitor-agent' ? 'agent' : 'control-plane';
    const { version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
      version: string;
    };
    assert.equal(chart.metadata.AppVersion, version);
  });
}

test('manifests, tables of values, schemas and alerts are up to date; else: npm run charts', async () => {
  const stale = await staleFiles(async (text, filepath) =>
    format(text, { ...(await resolveConfig(filepath)), filepath }),
  );
  assert.deepEqual([...stale.keys()], []);
});

test('the plain manifests can be applied as they are', async () => {
  for (const name of chartNames) {
    const objects = objectsOf(readFileSync(`deploy/kubernetes/${name}.yaml`, 'utf8'));
    for (const object of objects) await assertValidObject(object);
    assert.ok(objects.some((object) => podOf(object) !== null));
  }
});
