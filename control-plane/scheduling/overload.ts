/** Overloaded locations, as their agents report. The reported reason is cut to one line. */
import type { CheckInRequest } from '@monitor/shared/contract/agent-protocol.ts';
import { fromJson } from '../db/columns.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { oneLine } from '../core/escape.ts';

interface Place {
  accountId: string;
  location: string;
}

export type AgentLoad = NonNullable<CheckInRequest['load']>;

export interface Overload {
  since: number;
  reason: string | null;
  /** When the last agent recovered; null while one is overloaded. */
  endedAt: number | null;
}

/** The last reported load of an agent; null for agents that report none. */
export function loadOf({ load_json: json }: { load_json: string | null }): AgentLoad | null {
  if (json === null) return null;
  const load = fromJson<AgentLoad>(json);
  return { ...load, reason: load.reason === null ? null : oneLine(load.reason) };
}

type AgentRow = Pick<
  RowOf<'agents'>,
  'load_json' | 'overloaded_since' | 'overload_ended_at' | 'gone_at'
>;

/**
 * The overloads of locations that have a present or recent one; of an account, or of one location. The overload of an
 * agent ends when it leaves: an agent that is too busy for its check-ins comes and goes.
 */
export async function overloadsByLocation(
  db: Db,
  { accountId, location = null }: { accountId: string; location?: string | null },
): Promise<Map<string, Overload>> {
  const rows = await db
    .selectFrom('agents')
    .select(['location', 'load_json', 'overloaded_since', 'overload_ended_at', 'gone_at'])
    .where('account_id', '=', accountId)
    .$if(location !== null, (query) => query.where('location', '=', location ?? ''))
    .where((where) =>
      where.or([
        where('overloaded_since', 'is not', null),
        where('overload_ended_at', 'is not', null),
      ]),
    )
    .orderBy('overloaded_since')
    .execute();
  const ofLocations = [...Map.groupBy(rows, (row) => row.location)].flatMap(([name, agents]) => {
    const overload = overloadAmong(agents);
    return overload === null ? [] : [[name, overload] as const];
  });
  return new Map(ofLocations);
}

/** The overload of a location; null without a present or recent one. */
export async function overloadOf(db: Db, place: Place): Promise<Overload | null> {
  return (await overloadsByLocation(db, place)).get(place.location) ?? null;
}

/** Of agents by the begin of their overload. */
function overloadAmong(rows: readonly AgentRow[]): Overload | null {
  const first = rows.find(
    ({ overloaded_since: since, gone_at: goneAt }) => since !== null && goneAt === null,
  );
  if (first?.overloaded_since != null) {
    return {
      since: first.overloaded_since,
      reason: loadOf(first)?.reason ?? null,
      endedAt: null,
    };
  }
  const ended = rows.flatMap((row) => {
    const at = row.overload_ended_at ?? row.gone_at;
    return at === null ? [] : [at];
  });
  return ended.length === 0 ? null : { since: 0, reason: null, endedAt: Math.max(...ended) };
}
