import assert from 'node:assert/strict';
import test from 'node:test';
import type * as OwnZone from '../../../control-plane/console/own-zone.ts';

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/St_Johns',
];
/** Around the changes of 2026, and far from them. */
const days = [
  [2, 8],
  [2, 29],
  [3, 5],
  [5, 15],
  [9, 4],
  [9, 25],
  [10, 1],
] as const;

test('local times are the instants that the clocks of the zone show, where they change too', async () => {
  const before = process.env['TZ'];
  for (const zone of zones) {
    process.env['TZ'] = zone;
    const file = `../../../control-plane/console/own-zone.ts?${zone}`;
    const own = (await import(file)) as typeof OwnZone;
    assert.equal(own.timeZone, zone);
    for (const [month, day] of days) {
      for (let minutes = 0; minutes < 1440; minutes += 15) {
        // What the engine says of its own zone is the oracle.
        const at = new Date(2026, month, day, 0, minutes);
        const typed = new Date(Date.UTC(2026, month, day, 0, minutes)).toISOString().slice(0, 16);
        assert.equal(own.instantOf(typed), at.getTime(), `${typed} in ${zone}`);
        const shown = own.clockAt(at.getTime());
        assert.deepEqual(
          [shown.getUTCDate(), shown.getUTCHours(), shown.getUTCMinutes(), shown.getUTCDay()],
          [at.getDate(), at.getHours(), at.getMinutes(), at.getDay()],
        );
      }
    }
    assert.equal(own.instantOf('2026-03-29'), new Date(2026, 2, 29).getTime());
    assert.ok(['', 'x', 'T', '2026-13-01'].every((text) => Number.isNaN(own.instantOf(text))));
    assert.deepEqual([null, '', 'x'].map(own.localTime), ['', '', '']);
  }
  if (before === undefined) delete process.env['TZ'];
  else process.env['TZ'] = before;
});
