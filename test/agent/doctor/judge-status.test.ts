import assert from 'node:assert/strict';
import test from 'node:test';
import { degradations } from '../../../agent/doctor/judge-status.ts';
import type { AgentStatus } from '../../../agent/status/agent-status.ts';
import { healthyStatus } from '../../support/agent-status.ts';

const healthy = healthyStatus;
const { now } = healthy;

test('a slow way is not a wrong clock, and one cut is not a rule', () => {
  const { link } = healthy;
  const slow = { ...link, clockOffsetMs: 15_014, clockUncertaintyMs: 15_010 };
  assert.deepEqual(degradations({ ...healthy, link: slow }), []);
  const once = { ...link, cutPolls: { count: 1, afterMs: 10_000 } };
  assert.deepEqual(degradations({ ...healthy, link: once }), []);
});

test('a healthy agent has no findings, and each problem has its sentence', () => {
  assert.deepEqual(degradations(healthy), []);
  const { link, outbox } = healthy;
  const pool = healthy.pools.light;
  const lastFailure = { at: now, code: 'X', message: 'refused' };
  const rows: [Partial<AgentStatus>, RegExp][] = [
    [{ notReady: 'no schedule yet' }, /^no schedule yet$/],
    [{ dataProblem: 'EROFS' }, /^results cannot be kept: .*\(EROFS\)$/],
    [{ logProblem: '3 lines of the log were lost' }, /^3 lines/],
    [{ outbox: { ...outbox, setAsideTotal: 3, setAsideAt: now } }, /refused results, 3 in all/],
    [{ link: { ...link, state: 'down', lastFailure } }, /is not reached for 10 minutes: refused/],
    [{ link: { ...link, state: 'refused', lastFailure } }, /refuses this agent/],
    [{ link: { ...link, state: 'unknown' } }, /has not answered yet/],
    [{ link: { ...link, clockOffsetMs: -4_000 } }, /4000 ms ahead of/],
    [
      { link: { ...link, cutPolls: { count: 2, afterMs: 10_000 } } },
      /2 polls .* cut after 10 seconds/,
    ],
    [
      { outbox: { ...outbox, depth: 9, oldestAt: now - 600_000 } },
      /9 results wait, the oldest for 10 minutes/,
    ],
    [{ outbox: { ...outbox, bytes: 900 } }, /room for results is nearly used up/],
    [
      {
        load: {
          ...healthy.load,
          overloadedSince: now - 120_000,
          reason: 'it waited 40 % of the time',
        },
      },
      /overloaded for 2 minutes: it waited 40 %/,
    ],
    [
      {
        encryption: {
          ...{ recipients: ['A'], refusedSince: null },
          changes: [
            { at: now - 3_600_000, added: ['B'], removed: [] },
            { at: now - 9 * 86_400_000, added: ['A'], removed: [] },
          ],
        },
      },
      /changed who can read results at 1970-.*: added B$/,
    ],
    [
      { encryption: { recipients: ['A'], refusedSince: now, changes: [] } },
      /asks for readable results since 1970-.* encrypted for A, unless .*RESULTS_MAY_BECOME_READABLE=on/,
    ],
    [
      { pools: { light: pool, heavy: { ...pool, queued: 9 } } },
      /9 heavy runs wait for one of 4 permits/,
    ],
  ];
  for (const [facts, words] of rows) {
    const found = degradations({ ...healthy, ...facts });
    assert.equal(found.length, 1, JSON.stringify(found));
    assert.match(found[0] ?? '', words);
  }
});
