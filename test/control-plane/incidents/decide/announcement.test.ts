import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  announcementOfChanged,
  announcementOfNew,
  type AnnouncedUpdate,
  type AnnouncementEffect,
  type AnnouncementState,
} from '../../../../control-plane/incidents/decide/announcement.ts';

const now = 1_000;
const update = (publicAt: number, notifySubscribers: boolean): AnnouncedUpdate => ({
  publicAt,
  notifySubscribers,
});

test('a new update is announced when it is public, if at all', () => {
  assert.deepEqual(announcementOfNew(update(5, true)), { kind: 'plan', at: 5 });
  assert.deepEqual(announcementOfNew(update(5, false)), { kind: 'keep' });
});

test('a change before the time comes moves, takes back or adds the announcement', () => {
  const rows: [AnnouncementState, AnnouncedUpdate, AnnouncedUpdate, AnnouncementEffect][] = [
    ['PLANNED', update(2_000, true), update(3_000, true), { kind: 'plan', at: 3_000 }],
    ['PLANNED', update(2_000, true), update(500, true), { kind: 'plan', at: 500 }],
    ['PLANNED', update(2_000, true), update(2_000, false), { kind: 'drop' }],
    ['PLANNED', update(500, true), update(500, true), { kind: 'plan', at: 500 }],
    ['NONE', update(2_000, false), update(2_000, true), { kind: 'plan', at: 2_000 }],
    ['NONE', update(2_000, false), update(500, true), { kind: 'plan', at: 500 }],
    ['NONE', update(500, false), update(2_000, true), { kind: 'plan', at: 2_000 }],
    ['NONE', update(500, false), update(600, true), { kind: 'keep' }],
    ['NONE', update(500, true), update(500, true), { kind: 'keep' }],
    ['NONE', update(500, false), update(2_000, false), { kind: 'keep' }],
  ];
  for (const [state, before, after, effect] of rows) {
    assert.deepEqual(announcementOfChanged(state, before, after, now), effect);
  }
});

test('no change announces again what has been announced', () => {
  const any = fc.record({
    publicAt: fc.integer({ min: 0, max: 2_000 }),
    notifySubscribers: fc.boolean(),
  });
  fc.assert(
    fc.property(any, any, (before, after) => {
      assert.deepEqual(announcementOfChanged('BEGUN', before, after, now), { kind: 'keep' });
    }),
  );
});
