/** Badges of checks and groups, for accounts that enabled them. */
import type { badgeRoutes } from '@monitor/shared/contract/badge.ts';
import { notFound } from '../../errors/api-error.ts';
import { fromFlag, fromJson } from '../../db/columns.ts';
import { ownRows } from '../../db/own-rows.ts';
import type { Db } from '../../db/tables.ts';
import type { Handlers } from '../../http/handlers.ts';
import { isKnown } from '../../results/index.ts';
import type { Services } from '../../core/services.ts';
import { loadBadgeMaker } from '../badge.ts';

type State = 'failing' | 'degraded' | 'passing' | 'unknown';

/** Worst first; `unknown` means without results. */
const severity: readonly State[] = ['failing', 'degraded', 'passing', 'unknown'];

const themes = {
  default: { label: '#555', failing: '#e05d44', degraded: '#dfb317', passing: '#4c1' },
  light: { label: '#eaecf0', failing: '#d92d20', degraded: '#f79009', passing: '#12b76a' },
  dark: { label: '#101828', failing: '#b42318', degraded: '#b54708', passing: '#027a48' },
} as const;

type Style = 'flat' | 'plastic' | 'flat-square' | 'for-the-badge' | 'social';

interface BadgeQuery {
  style: Style;
  theme: keyof typeof themes;
  responseTime: boolean;
}

async function draw(
  label: string,
  state: State,
  responseTime: number | null,
  query: BadgeQuery,
): Promise<string> {
  const makeBadge = await loadBadgeMaker();
  const colors = themes[query.theme];
  const time = query.responseTime && responseTime !== null ? ` | ${responseTime} ms` : '';
  return makeBadge({
    label,
    message: state + time,
    labelColor: colors.label,
    color: state === 'unknown' ? '#9f9f9f' : colors[state],
    style: query.style,
  });
}

interface CheckState {
  state: State;
  responseTime: number | null;
}

export function badgeHandlers({ readPool, db: primary }: Services): Handlers<typeof badgeRoutes> {
  const hasBadges = async (db: Db, accountId: string): Promise<boolean> => {
    const account = await db
      .selectFrom('accounts')
      .select('settings_json')
      .where('id', '=', accountId)
      .executeTakeFirst();
    const settings = fromJson<{ badges?: boolean }>(account?.settings_json ?? '{}');
    return settings.badges === true;
  };

  const stateOf = async (db: Db, accountId: string, checkId: string): Promise<CheckState> => {
    const status = await ownRows(db, 'check_statuses', accountId)
      .where('check_id', '=', checkId)
      .executeTakeFirst();
    if (!isKnown(status)) return { state: 'unknown', responseTime: null };
    const last = await db
      .selectFrom('check_results')
      .select('response_time_ms')
      .where('account_id', '=', accountId)
      .where('check_id', '=', checkId)
      .where('result_type', '=', 'FINAL')
      .where('has_errors', '=', 0)
      .where('is_cancelled', '=', 0)
      .orderBy('started_at', 'desc')
      .limit(1)
      .executeTakeFirst();
    const state = fromFlag(status.has_failures)
      ? 'failing'
      : fromFlag(status.is_degraded)
        ? 'degraded'
        : 'passing';
    return { state, responseTime: last?.response_time_ms ?? null };
  };

  return {
    getCheckBadge: async ({ params, query }) => {
      const check = await primary
        .selectFrom('checks')
        .select(['id', 'account_id', 'name'])
        .where('id', '=', params.checkId)
        .where('is_trial', '=', 0)
        .executeTakeFirst();
      if (check === undefined || !(await hasBadges(primary, check.account_id))) {
        throw notFound('badge', params.checkId);
      }
      const { state, responseTime } = await readPool.read(check.account_id, (db) =>
        stateOf(db, check.account_id, check.id),
      );
      return draw(check.name, state, responseTime, query);
    },

    getGroupBadge: async ({ params, query }) => {
      const group = await primary
        .selectFrom('check_groups')
        .select(['id', 'account_id', 'name'])
        .where('badge_token', '=', params.groupId)
        .executeTakeFirst();
      if (group === undefined || !(await hasBadges(primary, group.account_id))) {
        throw notFound('badge', params.groupId);
      }
      const states = await readPool.read(group.account_id, async (db) => {
        const checks = await db
          .selectFrom('checks')
          .select('id')
          .where('account_id', '=', group.account_id)
          .where('group_id', '=', group.id)
          .where('activated', '=', 1)
          .execute();
        return Promise.all(checks.map(({ id }) => stateOf(db, group.account_id, id)));
      });
      const worst = severity.find((state) => states.some((each) => each.state === state));
      const times = states.flatMap(({ responseTime }) =>
        responseTime === null ? [] : [responseTime],
      );
      const slowest = times.length === 0 ? null : Math.max(...times);
      return draw(group.name, worst ?? 'unknown', slowest, query);
    },
  };
}
