/** The preview of a schedule says what the agents will do, and that of a window what its list will say. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent } from '../../support/fake-agent.ts';
import { locationsOfSlot, scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';

let cp: TestControlPlane;
before(async () => {
  cp = await startTestControlPlane();
});
after(() => cp[Symbol.asyncDispose]());

interface Slot {
  at: string | null;
  locations: string[];
}

async function preview(body: object): Promise<{ intervalMs: number; slots: Slot[] }> {
  const answer = await cp.api('POST', '/v1/schedule-previews', body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body as { intervalMs: number; slots: Slot[] };
}

test('the slots of a saved check are those that its agents compute from what they are assigned', async () => {
  const locations = ['us-east-1', 'eu-west-1', 'eu-central-1'];
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  for (const [frequency, runParallel] of [
    [5, false],
    [5, true],
    [720, false],
  ] as const) {
    const fields = { frequency, locations, runParallel };
    const { body } = await cp.api('POST', '/v1/checks/url', {
      ...{ name: 'Shop', request: { url: 'https://shop.example/' } },
      ...fields,
    });
    const { id, frequencyOffset } = body as { id: string; frequencyOffset: number };
    const { upserts } = await agent.checkIn();
    const assigned = upserts.find((check) => check.id === id);
    assert.ok(assigned !== undefined);
    const { slots } = await preview({ checkId: id, frequencyOffset, ...fields });
    const schedule = scheduleOf({ ...assigned, checkId: id });
    const [first] = slots;
    assert.equal(slots.length, 5);
    assert.equal(slotAtOrAfter(schedule, Date.parse(first?.at ?? '')), Date.parse(first?.at ?? ''));
    const expected = slots.map((_, index) => {
      const at = Date.parse(first?.at ?? '') + index * schedule.intervalMs;
      const where = locationsOfSlot(schedule, at, assigned.locations, assigned.runParallel);
      return { at: new Date(at).toISOString(), locations: [...where] };
    });
    assert.deepEqual(slots, expected);
  }
});

test('without an id or with an offset that does not fit, only interval and turn are known', async () => {
  const locations = ['us-east-1', 'eu-west-1'];
  const fresh = await preview({ frequency: 10, locations });
  assert.equal(fresh.intervalMs, 600_000);
  assert.ok(fresh.slots.every(({ at }) => at === null));
  assert.equal(new Set(fresh.slots.flatMap((slot) => slot.locations)).size, 2);
  const checkId = '11111111-1111-4111-8111-111111111111';
  const unfit = await preview({ checkId, frequency: 1, frequencyOffset: 100, locations });
  assert.ok(unfit.slots.every(({ at }) => at === null));
  const seconds = await preview({ checkId, frequency: 0, frequencyOffset: 20, locations });
  assert.equal(seconds.intervalMs, 20_000);
  assert.ok(seconds.slots.every(({ at }) => at !== null));
});

test('a window is previewed as it is listed after it was saved, and refused as it would be', async () => {
  const window = {
    ...{ startsAt: '2099-03-28T01:30:00', endsAt: '2099-03-28T03:30:00' },
    ...{ repeatUnit: 'DAY', repeatInterval: 1, timezone: 'Europe/Berlin' },
  };
  const { body } = await cp.api('POST', '/v1/maintenance-windows/preview', window);
  const saved = await cp.api('POST', '/v1/maintenance-windows', { ...window, name: 'Upgrade' });
  const { nextOccurrences } = saved.body as {
    nextOccurrences: { startsAt: string; endsAt: string }[];
  };
  assert.deepEqual(
    (body as { nextOccurrences: object[] }).nextOccurrences,
    nextOccurrences.slice(0, 3).map(({ startsAt, endsAt }) => ({ startsAt, endsAt })),
  );
  const refused = await cp.api('POST', '/v1/maintenance-windows/preview', {
    ...window,
    endsAt: '2099-03-27T03:30:00',
  });
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.body), /endsAt/);
});
