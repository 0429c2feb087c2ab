/** Alerts by cause: groups of alerts, and outages without one. */
import type { z } from 'zod';
import type { AlertChannelType } from '@monitor/shared/contract/alert-channel.ts';
import {
  type alertOverview,
  type alertOverviewRoutes,
  defaultOverviewWindowMs,
  maxOverviewWindowMs,
  type OutageState,
  outageStates,
} from '@monitor/shared/contract/alert-overview.ts';
import { windowOf } from '../../core/query-window.ts';
import type { Services } from '../../core/services.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { notFound } from '../../errors/api-error.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { Handlers } from '../../http/handlers.ts';
import { slowness } from '../../notifications/index.ts';
import { muteOf } from '../../maintenance/index.ts';
import { causeOf } from '../alert-groups/store.ts';
import { openFactsOf } from '../alerts/open-alerts.ts';
import { findCauses } from '../../root-causes/index.ts';
import { alsoFailing } from '../also-failing.ts';
import { causeText } from '../decide/causes-of.ts';
import { type AlertType, subjectOf } from '../decide/decision.ts';
import {
  alertsAsked,
  alertsOfGroup,
  alertsOfWindow,
  type Asked,
  factsOfChecks,
  groupsOfAlerts,
  historyOf,
  notifiedSince,
  outagesOf,
  type StoredOutage,
} from './store.ts';
import { timelineOf } from './timeline.ts';

type Overview = z.input<typeof alertOverview>;
type Outage = Overview['outages'][number];

const startOf = ({ first }: StoredOutage): number => first.started_at ?? first.created_at;
const keyOf = (row: { check_id: string; incident_key: string | null }): string =>
  `${row.check_id}/${row.incident_key}`;
const byState = (left: { state: OutageState }, right: { state: OutageState }): number =>
  outageStates.indexOf(left.state) - outageStates.indexOf(right.state);
const byStart = (left: { startedAt: string }, right: { startedAt: string }): number =>
  right.startedAt.localeCompare(left.startedAt);

function stateOf(
  type: AlertType,
  isMuted: boolean,
  { open, acknowledgement }: Awaited<ReturnType<typeof openFactsOf>>[number],
  now: number,
): OutageState {
  if (subjectOf(type) === 'certificate') return 'NOTICE';
  if (!open) return 'OVER';
  if (isMuted) return 'MUTED';
  if (acknowledgement === null) return 'OPEN';
  if (acknowledgement.kind === 'ACKNOWLEDGED') return 'ACKNOWLEDGED';
  const isAsleep = acknowledgement.until !== null && Date.parse(acknowledgement.until) > now;
  return isAsleep ? 'SNOOZED' : 'OPEN';
}

/** The end of the last outage; null while one lasts or its end is not known. */
function endOf(outages: readonly Outage[]): string | null {
  const ends = outages.flatMap(({ endedAt }) => endedAt ?? []);
  return ends.length === outages.length ? (ends.sort().at(-1) ?? null) : null;
}

export function alertOverviewHandlers(services: Services): Handlers<typeof alertOverviewRoutes> {
  const { db, clock, secrets } = services;
  const outagesFor = async (
    accountId: string,
    stored: readonly StoredOutage[],
  ): Promise<Outage[]> => {
    const now = clock.now();
    const open = await openFactsOf(
      db,
      stored.map(({ newest }) => newest),
    );
    const checkIds = [...new Set(stored.map(({ newest }) => newest.check_id))];
    const checks = await factsOfChecks(db, checkIds);
    const planned = await muteOf(db, accountId, checkIds, now);
    return stored.map((outage, index): Outage => {
      const { newest } = outage;
      const type = newest.alert_type as AlertType;
      const { isMuted = false, tags = [] } = checks.get(newest.check_id) ?? {};
      const facts = open[index] ?? { open: false, acknowledgement: null };
      const isRecovery = subjectOf(type) === 'recovery';
      const window = planned.get(newest.check_id);
      const alerted = isRecovery ? outage.first : newest;
      const isSlow = subjectOf(alerted.alert_type as AlertType) === 'degraded';
      const state = stateOf(type, isMuted || window !== undefined, facts, now);
      return {
        checkAlertId: newest.id,
        checkId: newest.check_id,
        name: newest.name,
        tags,
        alertType: type,
        error:
          alerted.error ??
          (isSlow ? slowness(alerted.check_type, alerted.response_time_ms ?? 0) : null),
        runLocation: newest.run_location,
        state,
        maintenance:
          state === 'MUTED' && window !== undefined
            ? { name: window.name, endsAt: toTimestamp(window.endsAt) }
            : null,
        acknowledgement: facts.acknowledgement,
        startedAt: toTimestamp(startOf(outage)),
        endedAt: toTimestampOrNull(isRecovery && !facts.open ? newest.created_at : null),
      };
    });
  };

  const overviewOf = async (
    accountId: string,
    asked: Asked,
    since: number | null,
    groupId?: string,
  ) => {
    const stored = await outagesOf(db, asked);
    const groups = await groupsOfAlerts(
      db,
      stored.flatMap(({ first, newest }) => [first.id, newest.id]),
      groupId,
    );
    const outages = await outagesFor(accountId, stored);
    if (stored.length === 0) return { stored, causes: [] };
    const oldest = Math.min(...stored.map(({ first }) => first.created_at));
    const notified = Map.groupBy(await notifiedSince(db, accountId, since ?? oldest), keyOf);
    const entries = Map.groupBy(
      stored.map((outage, index) => ({
        outage,
        wire: outages[index] as Outage,
        group: groups.get(outage.first.id) ?? groups.get(outage.newest.id) ?? null,
      })),
      ({ outage, group }) => group?.id ?? outage.first.id,
    );
    const causes = [...entries].map(([id, members]): Overview => {
      const group = members[0]?.group ?? null;
      const cause = group && causeOf(group);
      const inside = members.map(({ wire }) => wire).sort((a, b) => byState(a, b) || byStart(a, b));
      const state = inside[0]?.state ?? 'OVER';
      const taken = inside.flatMap((one) => (one.state === state && one.acknowledgement) || []);
      const channels = members.flatMap(({ outage }) => notified.get(keyOf(outage.newest)) ?? []);
      return {
        id,
        alertGroupId: group?.id ?? null,
        cause: cause && { ...cause, text: causeText(cause) },
        state,
        acknowledgement:
          taken.sort((a, b) => b.created_at.localeCompare(a.created_at)).at(0) ?? null,
        startedAt: inside.map(({ startedAt }) => startedAt).sort()[0] ?? '',
        endedAt: endOf(inside),
        maintenance: inside[0]?.maintenance ?? null,
        outages: inside,
        notified: [...Map.groupBy(channels, (row) => row.alert_channel_id)].map(
          ([alertChannelId, rows]) => ({
            alertChannelId,
            type: rows[0]?.type as AlertChannelType,
            failed: rows.reduce((sum, { failed }) => sum + Number(failed), 0),
          }),
        ),
      };
    });
    const isOver = ({ state }: Overview) => Number(state === 'OVER' || state === 'NOTICE');
    return {
      stored,
      causes: causes.sort((a, b) => isOver(a) - isOver(b) || byStart(a, b)),
    };
  };

  /** Of the first outage that began last; all of the group that its minute explains. */
  const causesFor = (accountId: string, stored: readonly StoredOutage[]) => {
    const ordered = stored.toSorted((a, b) => startOf(b) - startOf(a));
    return findCauses(services, db, accountId, {
      checkIds: ordered.map(({ first }) => first.check_id),
      at: ordered[0] === undefined ? 0 : startOf(ordered[0]),
    });
  };

  const detailOf = async ({ accountId, role }: ApiPrincipal, id: string) => {
    const group = await db
      .selectFrom('alert_groups')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .executeTakeFirst();
    const asked =
      group === undefined
        ? alertsAsked(db, accountId).where('id', '=', id)
        : alertsOfGroup(db, accountId, id);
    const { stored, causes } = await overviewOf(accountId, asked, null, group?.id);
    const [cause] = causes;
    if (cause === undefined) throw notFound('alert', id);
    const starts = stored.map(startOf);
    const began = { from: Math.min(...starts), to: Math.max(...starts) };
    const history = await historyOf(db, accountId, { outages: stored, since: began.from });
    const ids = stored.map(({ newest }) => newest.check_id);
    return {
      ...cause,
      timeline: timelineOf(history, { role, secrets }),
      alsoFailing: (await alsoFailing(db, accountId, ids, began)) ?? null,
      rootCauses: cause.state === 'NOTICE' ? [] : await causesFor(accountId, stored),
    };
  };

  return {
    listAlertOverview: async ({ query }, { principal: { accountId } }) => {
      const { checkId } = query;
      const { from, to } = windowOf(
        query,
        clock.now(),
        defaultOverviewWindowMs,
        maxOverviewWindowMs,
      );
      const asked = alertsOfWindow(db, accountId, { from, to, checkId });
      return (await overviewOf(accountId, asked, from)).causes;
    },
    getAlertOverview: ({ params }, { principal }) => detailOf(principal, params.id),
  };
}
