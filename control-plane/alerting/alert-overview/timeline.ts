/** The timeline of a cause: what failed, who was notified, who took it, what the escalation policy did. */
import type { z } from 'zod';
import type { alertOverviewRoutes } from '@monitor/shared/contract/alert-overview.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import type { SecretCipher } from '../../core/secret-cipher.ts';
import { fromJson, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { toNotification } from '../alerts/store.ts';
import type { AlertType } from '../decide/decision.ts';
import type { DecisionDetails } from '../decision-rows.ts';
import type { historyOf } from './store.ts';

type Event = z.input<typeof alertOverviewRoutes.getAlertOverview.response>['timeline'][number];
interface Happened extends Omit<Event, 'at' | 'checks' | 'more'> {
  at: number;
  check: { id: string; name: string };
  /** The same for what is one event of several checks. */
  sameAs: string;
}

const maxEvents = 200;
const maxNamed = 5;
const togetherMs = 60_000;

function toEvent(happened: readonly [Happened, ...Happened[]]): Event {
  const [{ at, check: _check, sameAs: _sameAs, ...event }] = happened;
  const checks = [...new Map(happened.map(({ check }) => [check.id, check])).values()];
  return {
    ...event,
    at: toTimestamp(at),
    checks: checks.slice(0, maxNamed),
    more: Math.max(0, checks.length - maxNamed),
  };
}

/** Joins what is the same and happened within a minute of its first. */
function joined(all: readonly Happened[]): Event[] {
  const events: [Happened, ...Happened[]][] = [];
  const open = new Map<string, [Happened, ...Happened[]]>();
  for (const one of all) {
    const before = open.get(one.sameAs);
    if (before !== undefined && one.at - before[0].at < togetherMs) {
      before.push(one);
      continue;
    }
    const event: [Happened, ...Happened[]] = [one];
    open.set(one.sameAs, event);
    events.push(event);
  }
  return events.slice(-maxEvents).map(toEvent);
}

export function timelineOf(
  { alerts, acknowledgements, notifications, escalations }: Awaited<ReturnType<typeof historyOf>>,
  { role, secrets }: { role: Role; secrets: SecretCipher },
): Event[] {
  const names = new Map(alerts.map((row) => [row.check_id, row.name]));
  const checkOf = (id: string) => ({ id, name: names.get(id) ?? '' });
  const nothing = { alertType: null, text: null, acknowledgement: null, notification: null };
  const happened: Happened[] = [
    ...alerts.map((row) => ({
      ...nothing,
      kind: 'ALERT' as const,
      at: row.created_at,
      alertType: row.alert_type as AlertType,
      text: row.error,
      check: checkOf(row.check_id),
      sameAs: `${row.alert_type} ${row.error}`,
    })),
    ...acknowledgements.map((row) => ({
      ...nothing,
      kind: 'ACKNOWLEDGEMENT' as const,
      at: row.created_at,
      acknowledgement: {
        kind: row.kind,
        by: row.made_by,
        until: toTimestampOrNull(row.until_at),
      },
      check: checkOf(row.check_id),
      sameAs: `${row.kind} ${row.made_by} ${row.until_at}`,
    })),
    ...notifications.map((row) => ({
      ...nothing,
      kind: 'NOTIFICATION' as const,
      at: row.sent_at,
      text: row.result,
      notification: toNotification(row, role, secrets),
      check: checkOf(row.check_id),
      sameAs: `${row.alert_channel_id} ${row.status} ${row.result}`,
    })),
    ...escalations.map((row) => {
      const text = fromJson<DecisionDetails>(row.details_json).explanation;
      return {
        ...{ ...nothing, kind: 'ESCALATION' as const, at: row.decided_at, text },
        ...{ check: checkOf(row.check_id), sameAs: text },
      };
    }),
  ];
  const rank = ['ALERT', 'NOTIFICATION', 'ESCALATION', 'ACKNOWLEDGEMENT'] as const;
  const byTime = (a: Happened, b: Happened) =>
    a.at - b.at || rank.indexOf(a.kind) - rank.indexOf(b.kind);
  return joined(happened.sort(byTime));
}
