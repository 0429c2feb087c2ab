/** What the cases of `npm run proof` share: their options, their figures, and what they count. */
import type { Delivery } from '../../test/support/webhook.ts';
import type { CheckWire, System } from '../../test/support/system.ts';
import { slotsUntil } from '../../test/support/system.ts';

export interface ProofOptions {
  rounds: number;
  seed: number;
  /** Agents in each location. */
  agents: number;
  minutes: number;
  /** One line of progress. */
  say: (line: string) => void;
}

export interface Proof {
  figures: Record<string, unknown>;
  /** What did not hold, each as a sentence; empty when all held. */
  violations: string[];
}

export type ProofCase = (options: ProofOptions) => Promise<Proof>;

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** A channel that every check notifies; its messages name the type of the alert and the check. */
export async function subscribeWebhook(system: System, url: string): Promise<void> {
  await system.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: {
      name: 'proof',
      url,
      method: 'POST',
      template: `{ "type": "{{ALERT_TYPE}}", "check": "{{CHECK_NAME}}", "error": "{{CHECK_ERROR_MESSAGE}}" }`,
    },
    autoSubscribe: true,
  });
}

/** Alerts that claim something about a target, by type; a notice about an agent is none. */
export function alertsAboutTargets(deliveries: readonly Delivery[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { body } of new Map(deliveries.map((each) => [each.id, each])).values()) {
    const type = /"type":\s*"([^"]*)"/.exec(body)?.[1] ?? 'unreadable';
    if (/FAILURE|DEGRADED|RECOVERY|unreadable/.test(type)) counts[type] = (counts[type] ?? 0) + 1;
  }
  return counts;
}

/** How runs ended: verdicts of FINAL results, and reasons of slots that were missed. */
export function endingsOf(system: System, checks: readonly CheckWire[]): Record<string, number> {
  const ids = checks.map(({ id }) => `'${id}'`).join(',');
  const rows = system.query<{ ending: string; count: number }>(
    `select case when has_failures = 1 then 'failed' when is_degraded = 1 then 'degraded'
       when has_errors = 1 then 'agent error' else 'passed' end as ending, count(*) as count
     from check_results where result_type != 'LATE' and check_id in (${ids}) group by 1
     union all
     select 'missed: ' || missed_reason, count(*) from check_runs
     where state = 'MISSED' and check_id in (${ids}) group by 1`,
  );
  return Object.fromEntries(rows.map(({ ending, count }) => [ending, count]));
}

/** What is known of results that say something against healthy targets, one line each. */
export function untrueResults(system: System, checks: readonly CheckWire[]): string[] {
  const names = new Map(checks.map(({ id, name }) => [id, name]));
  const ids = checks.map(({ id }) => `'${id}'`).join(',');
  const rows = system.query<Record<string, unknown>>(
    `select check_id, started_at, response_time_ms, agent_wait_ms, under_load, has_failures, attempt
     from check_results where (has_failures = 1 or is_degraded = 1) and check_id in (${ids})
     order by started_at limit 20`,
  );
  return rows.map(({ check_id: id, started_at: at, ...row }) => {
    const when = new Date(Number(at)).toISOString().slice(11, 23);
    return `${names.get(String(id)) ?? ''} ${when} ${JSON.stringify(row)}`;
  });
}

/** Slots up to an instant that have neither a FINAL nor a record of why they were missed. */
export function unaccountedSlots(
  system: System,
  checks: readonly CheckWire[],
  until: number,
): string[] {
  const known = new Set(
    system
      .runs()
      .filter(({ state }) => state !== 'RUNNING')
      .map(({ check_id: id, scheduled_for: at }) => `${id}@${at}`),
  );
  return [...slotsUntil(checks, until)].filter((slot) => !known.has(slot));
}

/** Waits until every slot up to now is accounted for; gives those that are not by then. */
export async function accountFor(
  system: System,
  checks: readonly CheckWire[],
  until: number,
  withinMs: number,
): Promise<string[]> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const open = unaccountedSlots(system, checks, until);
    if (open.length === 0 || performance.now() > deadline) return open;
    await pause(2_000);
  }
}

/** Adds a violation for each figure that must be zero and is not. */
export function mustBeZero(figures: Record<string, number>): string[] {
  return Object.entries(figures).flatMap(([name, value]) =>
    value === 0 ? [] : [`${name}: ${value}, must be 0`],
  );
}
