/** Notifications as alerting makes them, and how they end. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AlertFacts, NotificationFacts } from '../../control-plane/notifications/facts.ts';
import { enqueueAlert, enqueueForChannel } from '../../control-plane/notifications/outbox.ts';
import type { Services } from '../../control-plane/core/services.ts';
import type { TestControlPlane } from './control-plane.ts';

const at = Date.parse('2026-11-21T08:30:00Z');

/** The failure of a check, unless the fields say something else. */
export function alertFacts(fields: Partial<AlertFacts> = {}): AlertFacts {
  return {
    kind: 'alert',
    alertId: randomUUID(),
    alertType: 'ALERT_FAILURE',
    at,
    check: {
      id: '7c8a0f3e-58c9-4b44-9a2c-2d0e1f3a4b5c',
      name: 'Checkout',
      type: 'URL',
      description: 'Buys a pair of shoes',
      tags: ['team:web', 'critical'],
      groupName: 'Shop',
    },
    result: {
      id: '1f0e2d3c-4b5a-4978-8695-a4b3c2d1e0f1',
      location: 'eu-central-1',
      startedAt: at - 2_000,
      responseTimeMs: 812.6,
      statusCode: '503',
      statusText: 'Service Unavailable',
      error: 'expected status to equal 200, it was 503',
    },
    since: at - 62_000,
    isReminder: false,
    reminderSequence: 0,
    ssl: null,
    incidentKey: 'check-7c8a0f3e-1',
    recentRuns: [
      { startedAt: at - 122_000, responseTimeMs: 120, state: 'passing' },
      { startedAt: at - 62_000, responseTimeMs: 1_900, state: 'degraded' },
      { startedAt: at - 2_000, responseTimeMs: 812, state: 'failing' },
    ],
    ...fields,
  };
}

export function recoveryFacts(fields: Partial<AlertFacts> = {}): AlertFacts {
  const { result } = alertFacts();
  return alertFacts({
    alertType: 'ALERT_RECOVERY',
    result: result && { ...result, error: null, statusCode: '200', statusText: 'OK' },
    ...fields,
  });
}

export const locationFacts = {
  kind: 'location',
  at,
  location: 'office-berlin',
  locationName: 'Office Berlin',
  isServed: false,
  unservedSince: at - 300_000,
  checks: [{ id: randomUUID(), name: 'Intranet' }],
  incidentKey: 'location-office-berlin-1',
} as const satisfies NotificationFacts;

export const agentHealthFacts = {
  kind: 'faults',
  at,
  location: 'office-berlin',
  locationName: 'Office Berlin',
  code: null,
  isOver: false,
  isConclusive: false,
  since: at - 660_000,
  runs: 22,
  mostCommonCode: 'NETWORK_UNAVAILABLE',
  message: 'the gateway 10.0.0.1 of eth0 does not answer',
  checks: [{ id: randomUUID(), name: 'Intranet' }],
  incidentKey: 'faults/office-berlin/all/1',
} as const satisfies NotificationFacts;

export const testFacts = { kind: 'test', at } as const satisfies NotificationFacts;

export async function makeChannel(
  cp: TestControlPlane,
  type: string,
  config: Record<string, unknown>,
): Promise<number> {
  const { status, body } = await cp.api('POST', '/v1/alert-channels', { type, config });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as number;
}

/** Puts a notification into the outbox, as operations do, and gives its id. */
export async function enqueue(
  services: Services,
  accountId: string,
  channelId: number,
  facts: NotificationFacts,
  id = randomUUID() as string,
): Promise<string> {
  const { commits, db, clock, outbox } = services;
  const envelope = { id, accountId, now: clock.now() };
  const channel = await db
    .selectFrom('alert_channels')
    .selectAll()
    .where('id', '=', channelId)
    .executeTakeFirstOrThrow();
  await commits.run((unit) =>
    facts.kind === 'alert'
      ? enqueueAlert(
          unit,
          { id: channelId, type: channel.type, configJson: channel.config_json },
          facts,
          envelope,
        )
      : enqueueForChannel(unit, channelId, facts, envelope),
  );
  outbox.wake();
  return id;
}

/** Sends something through a channel and gives what came of it. */
export async function notify(
  cp: TestControlPlane,
  channelId: number,
  facts: NotificationFacts = alertFacts(),
): Promise<{ status: string; result: string; id: string }> {
  const { services } = cp.controlPlane;
  const id = randomUUID();
  const ending = services.outbox.whenEnded(id, AbortSignal.timeout(60_000));
  await enqueue(services, cp.accountId, channelId, facts, id);
  const outcome = await ending;
  assert.ok(outcome !== null, 'the notification has not ended');
  return { ...outcome, id };
}

/** The record of a notification, once it satisfies the test. */
export async function recordWhen(
  { db }: Services,
  id: string,
  test: (record: { status: string; result: string | null; attempts: number }) => boolean,
) {
  for (const until = performance.now() + 60_000; performance.now() < until;) {
    const record = await db
      .selectFrom('alert_notifications')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    if (test(record)) return record;
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  throw new Error(`notification ${id} never got there`);
}
