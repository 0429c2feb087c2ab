import assert from 'node:assert/strict';
import test from 'node:test';
import { behindAfterHours } from '@monitor/shared/contract/shadow.ts';
import { gapIn } from '../../../../control-plane/shadow/decide/gap.ts';

const now = Date.parse('2026-06-02T00:00:00Z');
const before = (hours: number) => new Date(now - hours * 3_600_000).toISOString();
const agreeing: Parameters<typeof gapIn>[0] = {
  ...{ isOn: true, baseUrl: 'https://other.example', otherAccountId: null, project: 'import' },
  ...{ startedAt: before(24), readUntil: before(1), problem: null, checks: 2, notCompared: [] },
  ...{ compared: 7, undecided: 0, differences: 0, reportsTo: [] },
  ...{ history: '30 days of 2 of 2 checks, 288 results', historyRefused: 0 },
};

test('where nothing is missing, there is no gap', () => {
  assert.equal(gapIn(agreeing, now), null);
});

for (const [said, what] of [
  ['verdicts are not compared', { isOn: false }],
  ['nothing is read at present', { problem: 'status 401' }],
  ['no check is compared', { checks: 0 }],
  ['not every check has been compared yet', { readUntil: null }],
  [
    'some checks have not been compared for more than 6 hours',
    { readUntil: before(behindAfterHours + 1) },
  ],
  [
    'no result had one of the other side beside it, 3 had none',
    { compared: 0, undecided: 3, historyRefused: 1 },
  ],
  ['some of the history before the move cannot be read', { historyRefused: 1 }],
] as const) {
  test(`a gap is said: ${said}`, () => {
    assert.equal(gapIn({ ...agreeing, ...what }, now), said);
  });
}
