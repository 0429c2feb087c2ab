import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  createCheckGroupBody,
  type CheckGroupFields,
} from '@monitor/shared/contract/check-group.ts';
import {
  applyGroup,
  mergeVariables,
} from '../../../../control-plane/checks/decide/group-settings.ts';

const group = (fields: Record<string, unknown> = {}): CheckGroupFields =>
  createCheckGroupBody.parse({ name: 'g', ...fields });

const check = {
  activated: true,
  muted: false,
  frequency: 10,
  locations: ['eu-west-1'],
  privateLocations: ['here'],
  runParallel: false,
  retryStrategy: { type: 'FIXED' },
  doubleCheck: true,
  runtimeId: null,
  alertSettings: null,
  useGlobalAlertSettings: false,
};

test('a group that sets nothing changes nothing', () => {
  assert.deepEqual(applyGroup(check, group()), check);
  assert.equal(applyGroup(check, null), check);
});

const alertSettings = { escalationType: 'TIME_BASED' };

for (const [what, fields, expected] of [
  ['is deactivated', { activated: false }, { activated: false }],
  ['is muted', { muted: true }, { muted: true }],
  [
    'has locations',
    { locations: ['us-east-1'] },
    { locations: ['us-east-1'], privateLocations: [] },
  ],
  [
    'has private locations',
    { privateLocations: ['there'] },
    { locations: [], privateLocations: ['there'] },
  ],
  ['runs in parallel', { runParallel: true }, { runParallel: true }],
  ['does not run in parallel', { runParallel: false }, {}],
  ['wants no retries', { retryStrategy: null }, { retryStrategy: null, doubleCheck: false }],
  ['leaves retries to the checks', { retryStrategy: 'FALLBACK' }, {}],
  [
    'uses the global alert settings',
    { useGlobalAlertSettings: true },
    { useGlobalAlertSettings: true },
  ],
  ['has a runtime', { runtimeId: '2025.04' }, { runtimeId: '2025.04' }],
] as const) {
  test(`a group that ${what}`, () => {
    assert.deepEqual(applyGroup(check, group(fields)), { ...check, ...expected });
  });
}

test('a check keeps its own runtime, and takes the alert settings of its group', () => {
  const own = { ...check, runtimeId: '2026.04' };
  assert.equal(applyGroup(own, group({ runtimeId: '2025.04' })).runtimeId, '2026.04');
  const merged = applyGroup(check, group({ alertSettings }));
  assert.equal(
    (merged.alertSettings as unknown as typeof alertSettings).escalationType,
    'TIME_BASED',
  );
});

test('a heartbeat takes only what concerns it', () => {
  const heartbeat = { activated: true, muted: false, heartbeat: {} };
  const merged = applyGroup(heartbeat, group({ muted: true, locations: ['us-east-1'] }));
  assert.deepEqual(merged, { ...heartbeat, muted: true });
});

test('variables: every key once, the last layer that has it decides', () => {
  const variable = fc.record({
    key: fc.constantFrom('A', 'B', 'C', 'D'),
    value: fc.string(),
    locked: fc.boolean(),
    secret: fc.boolean(),
  });
  const layer = fc.uniqueArray(variable, { selector: ({ key }) => key });
  fc.assert(
    fc.property(layer, layer, layer, (account, ofGroup, ofCheck) => {
      const expected = new Map(
        [...account, ...ofGroup, ...ofCheck].map((each) => [each.key, each.value]),
      );
      const merged = mergeVariables(account, ofGroup, ofCheck);
      assert.deepEqual(merged.map(({ key, value }) => [key, value]).sort(), [...expected].sort());
    }),
  );
});
