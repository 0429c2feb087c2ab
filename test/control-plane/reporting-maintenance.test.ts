// PostgreSQL in the long tier: deleted-references.test.ts, agents.test.ts, reporting-levels.test.ts,
// maintenance-windows.test.ts and pages.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { hour, iso, now, setUp, unix, type Bench } from '../support/results.ts';

const day = 24 * hour;

async function window(bench: Bench, fields: Record<string, unknown>): Promise<number> {
  const { status, body } = await bench.cp.api('POST', '/v1/maintenance-windows', {
    name: 'deploy',
    startsAt: iso(now + hour),
    endsAt: iso(now + 3 * hour),
    repeatUnit: null,
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as number;
}

/** A check that passes at hours 0 and 4 and fails at hour 2; the share of it that succeeded. */
async function ratioOf(
  bench: Bench,
  during: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  const check = await bench.check('url', { tags: ['shop'], muted: true });
  await bench.submit(check, 'URL', now);
  bench.clock.advance(2 * hour);
  await bench.submit(check, 'URL', now + 2 * hour, { hasFailures: true });
  bench.clock.advance(30 * 60_000);
  await during();
  bench.clock.advance(90 * 60_000);
  await bench.submit(check, 'URL', now + 4 * hour);
  bench.clock.advance(hour);
  const [row] = await bench.get(`reporting?from=${unix(now)}&to=${unix(now + 5 * hour)}`);
  return row.aggregate.successRatio as number;
}

test('a report leaves out the maintenance of all checks', async () => {
  await using bench = await setUp();
  await window(bench, { pauseAllChecks: true });
  assert.equal(await ratioOf(bench), 100);
});

test('a report leaves out maintenance by the clock of its time zone', async () => {
  await using bench = await setUp();
  // Since before the clocks went back: an hour of UTC later now.
  const before = now - 28 * day;
  await window(bench, {
    tags: ['shop'],
    startsAt: iso(before + 0.75 * hour),
    endsAt: iso(before + 1.25 * hour),
    repeatUnit: 'WEEK',
    repeatInterval: 1,
    timezone: 'Europe/Berlin',
  });
  assert.equal(await ratioOf(bench), 100);
});

test('a report counts what ran in maintenance that was called off before', async () => {
  await using bench = await setUp();
  const id = await window(bench, { tags: ['shop'] });
  const path = `/v1/maintenance-windows/${id}/maintenances`;
  const { body } = await bench.cp.api('GET', path);
  const [{ id: maintenance }] = body;
  assert.equal((await bench.cp.api('DELETE', `${path}/${maintenance}`)).status, 204);
  assert.equal(Math.round(await ratioOf(bench)), 67);
});

test('a report leaves out maintenance whose window was deleted since', async () => {
  await using bench = await setUp();
  const id = await window(bench, { tags: ['shop'] });
  const ratio = await ratioOf(bench, async () => {
    await bench.cp.api('DELETE', `/v1/maintenance-windows/${id}`);
  });
  assert.equal(ratio, 100);
});
