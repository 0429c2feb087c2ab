/** Whether a cluster kept its promises: read from the database, and from what webhooks received. */
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';

type Query = <Row extends object>(text: string) => Promise<Row[]>;

export interface Audit {
  slots: number;
  finals: number;
  /** Missed slots by their reason. */
  missed: Record<string, number>;
  /** Slots with neither, as `check@instant`. */
  open: string[];
  /** Slots, results, alerts or failures of heartbeats that are there more than once. */
  doubled: string[];
  results: number;
  /** Results in the sums, and those that are noted for them. */
  summed: number;
  alerts: number;
  /** Rows of the outbox that are still to be sent. */
  waiting: number;
}

interface Period {
  check_id: string;
  frequency: number;
  frequency_offset: number;
  starts_at: string;
  ends_at: string | null;
}

/** The slots of all checks up to an instant, as `check@instant`. */
async function slotsUntil(query: Query, until: number): Promise<Set<string>> {
  const slots = new Set<string>();
  const periods = await query<Period>(
    'select check_id, frequency, frequency_offset, starts_at, ends_at from schedule_periods',
  );
  for (const period of periods) {
    const schedule = scheduleOf({
      checkId: period.check_id,
      frequency: Number(period.frequency),
      frequencyOffset: Number(period.frequency_offset),
    });
    const end = Math.min(until, period.ends_at === null ? until : Number(period.ends_at));
    const first = slotAtOrAfter(schedule, Number(period.starts_at) + 1);
    for (let slot = first; slot <= end; slot += schedule.intervalMs) {
      slots.add(`${period.check_id}@${slot}`);
    }
  }
  return slots;
}

const slotsOf = `select check_id || '@' || scheduled_for as slot, state, missed_reason
  from check_runs where scheduled_for is not null`;

/** Statements that find what is there more than once, by what it is. */
const doubles = {
  'the FINAL of run': `select check_run_id as key, count(*) from check_results
    where result_type = 'FINAL' group by check_run_id having count(*) > 1`,
  'the attempt of run': `select check_run_id || '/' || attempt as key, count(*) from check_results
    where result_type != 'LATE' group by check_run_id, attempt having count(*) > 1`,
  'the alert of state': `select check_id || ' ' || alert_type || ' ' || started_at as key, count(*)
    from check_alerts group by check_id, alert_type, started_at having count(*) > 1`,
  'the failure of heartbeat': `select check_id || ' ' || happened_at as key, count(*)
    from heartbeat_events where state = 'FAILING' group by check_id, happened_at having count(*) > 1`,
};

/** Counts everything about the slots up to an instant, and what is doubled anywhere. */
export async function audit(query: Query, until: number): Promise<Audit> {
  const expected = await slotsUntil(query, until);
  const runs = await query<{ slot: string; state: string; missed_reason: string | null }>(slotsOf);
  const ended = new Map(
    runs.filter(({ state }) => state !== 'RUNNING').map((run) => [run.slot, run]),
  );
  const missed: Record<string, number> = {};
  let finals = 0;
  const open: string[] = [];
  for (const slot of expected) {
    const run = ended.get(slot);
    if (run === undefined) open.push(slot);
    else if (run.state === 'FINAL') finals += 1;
    else missed[run.missed_reason ?? ''] = (missed[run.missed_reason ?? ''] ?? 0) + 1;
  }
  const doubled: string[] = [];
  for (const [what, text] of Object.entries(doubles)) {
    for (const { key, count } of await query<{ key: string; count: string }>(text)) {
      doubled.push(`${what} ${key} is there ${count} times`);
    }
  }
  // One statement sees one moment.
  const [now] = await query<
    Record<'results' | 'summed' | 'unsummed' | 'alerts' | 'waiting', string>
  >(
    `select
      (select count(*) from check_results
        where result_type in ('FINAL', 'ATTEMPT') and is_cancelled = 0) as results,
      (select coalesce(sum(finals + retries), 0) from roll_ups where hours = 1) as summed,
      (select coalesce(sum(
          coalesce(json_array_length(results_json::json -> 'finals'), 0)
          + coalesce(json_array_length(results_json::json -> 'attempts'), 0)
        ), 0) from roll_up_inbox) as unsummed,
      (select count(*) from check_alerts) as alerts,
      (select count(*) from outbox) as waiting`,
  );
  return {
    ...{ slots: expected.size, finals, missed, open, doubled },
    results: Number(now?.results),
    summed: Number(now?.summed) + Number(now?.unsummed),
    alerts: Number(now?.alerts),
    waiting: Number(now?.waiting),
  };
}

/** What is wrong, as sentences; empty when every promise was kept. */
export function complaints({ open, doubled, results, summed }: Audit): string[] {
  return [
    ...(open.length === 0 ? [] : [`${open.length} slots have no end, as ${open[0] ?? ''}`]),
    ...doubled,
    ...(results === summed ? [] : [`${results} results are ${summed} in the sums`]),
  ];
}
