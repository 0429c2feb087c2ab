/** Once a day it is said where verdicts differed, that none did, or why nothing could be compared. */
import type { ShadowDifference } from '@monitor/shared/contract/shadow.ts';
import { oneLine, shorten } from '../core/escape.ts';
import { namedUuid } from '../core/keys.ts';
import type { Services } from '../core/services.ts';
import { LeaseLost } from '../core/timers.ts';
import { eachNumberOf } from '../db/expressions.ts';
import { lockRows } from '../db/lock.ts';
import { ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import {
  count,
  enqueueForChannel,
  enqueueMessages,
  instantText,
  linkToResult,
  mailTo,
  messageOf,
  type ReportFacts,
} from '../notifications/index.ts';
import { gapIn } from './decide/gap.ts';
import {
  differencesOf,
  hostOf,
  presentDifference,
  presentShadow,
  recipientsOf,
  type ShadowRow,
} from './store.ts';

const dayMs = 86_400_000;
const shownDifferences = 20;
const shownReasons = 10;
const maxError = 200;

/** What each side measured, with links to the results of this installation. */
function evidenceText(of: ShadowDifference, publicUrl: string): string {
  const at = (text: string) => instantText(Date.parse(text));
  const [who, other] = of.failedAt === 'OURS' ? ['we', 'they'] : ['they', 'we'];
  const sawText = (saw: ShadowDifference['saw'], isOurs: boolean): string => {
    const { status, location, responseTime, error, resultId } = saw;
    const time = responseTime === null ? '' : ` in ${responseTime} ms`;
    const why = error === null ? '' : `: ${shorten(oneLine(error), maxError)}`;
    const where = isOurs ? linkToResult(publicUrl, of.checkId, resultId) : `result ${resultId}`;
    return `${status} at ${at(saw.at)} from ${location}${time}${why} (${where})`;
  };
  const until = of.results === 1 ? '' : ` to ${at(of.lastAt)}, ${of.results} results`;
  const brief = of.fitsBetweenRuns ? '; no run of the other lies between' : '';
  return [
    `only ${who} saw it failing: ${at(of.firstAt)}${until}${brief}`,
    `${who}: ${sawText(of.saw, who === 'we')}`,
    `${other}: ${of.othersSaw.map((saw) => sawText(saw, other === 'we')).join('; ')}`,
  ].join('. ');
}

/** `state` has what was compared since the last report. */
function reportOf(
  state: Parameters<typeof gapIn>[0],
  differences: readonly ShadowDifference[],
  { host, since, now, publicUrl }: { host: string; since: number; now: number; publicUrl: string },
): Omit<ReportFacts, 'incidentKey'> {
  const results = count(state.compared, 'result');
  const total = differences.length;
  const [label, title] =
    total > 0
      ? ['VERDICTS DIFFER', `${count(total, 'difference')} to ${host}, ${results} compared`]
      : state.compared > 0
        ? ['NONE DIFFERED', `No verdict differed from ${host}, ${results} compared`]
        : ['NOT COMPARED', `Verdicts could not be compared with ${host}`];
  const gap = gapIn(state, now);
  const reasons = Map.groupBy(state.notCompared, ({ why }) => why);
  const compared = `${results} of ${count(state.checks, 'check')}`;
  const past: [string, string][] = [['History', oneLine(state.history ?? '')]];
  const lines: [string, string][] = [
    ['Since', instantText(since)],
    ['Compared', `${compared}; ${state.undecided} had none beside them`],
    ...[...reasons]
      .slice(0, shownReasons)
      .map(([why, of]): [string, string] => [
        'Not compared',
        oneLine(`${count(of.length, 'check')}: ${why}`),
      ]),
    ...(state.historyRefused === 0 ? [] : past),
    ...differences
      .slice(0, shownDifferences)
      .map((of): [string, string] => [oneLine(of.name), evidenceText(of, publicUrl)]),
  ];
  if (total > shownDifferences || reasons.size > shownReasons) {
    lines.push(['More', 'control-plane shadow show']);
  }
  return {
    ...{ kind: 'report', at: now, label, title },
    reason: state.problem === null ? (gap ?? '') : oneLine(`${String(gap)}: ${state.problem}`),
    details: lines.map(([name, value]) => ({ label: name, value })),
    link: { url: `${publicUrl}/console/#/checks`, text: 'Open the checks' },
  };
}

/** What was compared since the last report, of each check that is still there; it counts as reported. */
async function comparedSince(unit: Db, accountId: string) {
  const rows = await lockRows(ownRows(unit, 'shadow_checks', accountId)).execute();
  await updateOwnRows(unit, 'shadow_checks', accountId)
    .set(({ ref }) => ({
      ...{ reported_compared: ref('compared'), reported_undecided: ref('undecided') },
    }))
    .execute();
  return {
    compared: rows.reduce((sum, row) => sum + row.compared - row.reported_compared, 0),
    undecided: rows.reduce((sum, row) => sum + row.undecided - row.reported_undecided, 0),
  };
}

/** False where another replica has reported it, or somebody has ended it. */
async function reportOne(services: Services, unit: Db, row: ShadowRow): Promise<boolean> {
  const { publicUrl } = services;
  const now = services.clock.now();
  const { account_id: accountId, reported_at: reportedAt } = row;
  const since = reportedAt ?? row.created_at;
  const { numUpdatedRows } = await updateOwnRows(unit, 'shadows', accountId)
    .set({
      // At the same time of each day. Days without this control plane have no report of their own.
      reported_at: since + Math.floor((now - since) / dayMs) * dayMs,
    })
    .where('id', '=', row.id)
    .where('reported_at', reportedAt === null ? 'is' : '=', reportedAt)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const differing = await differencesOf(unit, accountId).where('is_reported', '=', 0).execute();
  await updateOwnRows(unit, 'shadow_differences', accountId)
    .set({ is_reported: 1 })
    .where('id', 'in', eachNumberOf(differing.map(({ id }) => id)))
    .execute();
  const state = await presentShadow(unit, accountId);
  const facts = {
    ...reportOf(
      { ...state, ...(await comparedSince(unit, accountId)) },
      differing.map(presentDifference),
      {
        ...{ host: hostOf(row), since, now, publicUrl },
      },
    ),
    incidentKey: `shadow/${accountId}/${since}`,
  };
  const idFor = (to: number | string) => namedUuid(`${facts.incidentKey}/${to}`);
  const { channels, people } = await recipientsOf(unit, row);
  if (channels.length + people.length === 0) {
    services.logger.warn({ accountId }, 'nobody gets the daily report of shadow mode');
  }
  for (const { id } of channels) {
    await enqueueForChannel(unit, id, facts, { id: idFor(id), accountId, now });
  }
  const mails = people.map(({ email }) => ({
    ...{ id: idFor(email), orderingKey: `shadow/${email}` },
    mail: mailTo(email, messageOf(facts, idFor(email), publicUrl)),
  }));
  await enqueueMessages(unit, accountId, mails, now);
  return true;
}

export async function reportVerdicts(services: Services): Promise<void> {
  const { db, clock, commits, outbox, logger } = services;
  const due = await db
    .selectFrom('shadows')
    .selectAll()
    .where(({ fn }) => fn.coalesce('reported_at', 'created_at'), '<=', clock.now() - dayMs)
    .execute();
  for (const row of due) {
    try {
      if (await commits.run((unit) => reportOne(services, unit, row))) outbox.wake();
    } catch (error) {
      if (error instanceof LeaseLost) throw error;
      // Neither the reports of others nor the comparison, which comes next, wait for this one.
      const { account_id: accountId } = row;
      logger.error({ err: error, accountId }, 'the daily report of shadow mode was not made');
    }
  }
}
