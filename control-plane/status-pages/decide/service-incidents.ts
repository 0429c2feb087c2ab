/**
 * Which incidents services open, and which recover. Pure.
 *
 * DRAFT      a person publishes or dismisses it; → OPENED, DISMISSED; gone when its services recover
 * OPENED     an incident is public; resolved when the last of its services recovers
 * DISMISSED  nothing more is opened until its services recovered
 */
import type { z } from 'zod';
import { severity } from '@monitor/shared/contract/primitives.ts';
import type { openedIncident } from '@monitor/shared/contract/status-page.ts';
import { followedState, type Override, type Run, type ServiceRule } from './follow-checks.ts';

export type OpenedIncident = z.output<typeof openedIncident>;

export interface StoredRule extends ServiceRule {
  /** Absent in rules of earlier builds. */
  opens?: OpenedIncident | null;
}

/**
 * Whether a service has trouble, has recovered, or neither can be said: a person shows something in place of its
 * checks, a check has no conclusive run any more, or its runs are planned work. `noChecks` is one that nothing reports
 * on any more.
 */
export function judge(
  service: {
    rule: ServiceRule | null;
    override: Override | null;
    runs: ReadonlyMap<string, readonly Run[]>;
  },
  planned: ReadonlySet<string>,
  now: number,
): 'trouble' | 'recovered' | 'noChecks' | 'undecided' {
  const { rule, override, runs } = service;
  if (override !== null && now < override.until) return 'undecided';
  if (rule === null || runs.size === 0) return 'noChecks';
  const counted = [...runs].flatMap(([id, each]) => (planned.has(id) ? [] : [each]));
  if (followedState(rule, counted, now) !== 'operational') return 'trouble';
  const ran = counted.filter((each) => each.length > 0);
  const isKnown =
    counted.length === runs.size &&
    ran.length > 0 &&
    ran.every((each) => each.some(({ outcome }) => outcome !== 'inconclusive'));
  return isKnown ? 'recovered' : 'undecided';
}

export interface Troubled {
  id: string;
  /** Checks that are bad at one of their locations. */
  checkIds: readonly string[];
  /** One for services with one cause; null where nothing was found. */
  cause: string | null;
  /** A service joins only what is as public as what it opens itself. */
  isPublic: boolean;
  /** Its pages: who reads of one service of an incident reads of all. */
  pages: string;
  /** What it is part of; null for a new one. */
  groupId: string | null;
  /** Whether others may join that: it is neither dismissed nor resolved. */
  isOpen: boolean;
}

/** New services, by what they join (null for one of their own): those that share a cause or a failing check. */
export function grouped(services: readonly Troubled[]): { joins: string | null; ids: string[] }[] {
  const waiting = services.filter(({ groupId }) => groupId === null);
  const members = services.filter(({ groupId, isOpen }) => groupId !== null && isOpen);
  const isLike = (one: Troubled, other: Troubled): boolean =>
    one.isPublic === other.isPublic &&
    one.pages === other.pages &&
    ((one.cause !== null && one.cause === other.cause) ||
      one.checkIds.some((id) => other.checkIds.includes(id)));
  const groups: { joins: string | null; ids: string[] }[] = [];
  for (let [first] = waiting; first !== undefined; [first] = waiting) {
    const of = [first];
    waiting.shift();
    for (const one of of) {
      const like = waiting.filter((other) => isLike(one, other));
      for (const other of like) waiting.splice(waiting.indexOf(other), 1);
      of.push(...like);
    }
    const joins = members.find((member) => of.some((one) => isLike(one, member)))?.groupId ?? null;
    groups.push({ joins, ids: of.map(({ id }) => id) });
  }
  return groups;
}

const worstOf = (given: readonly OpenedIncident['severity'][]): OpenedIncident['severity'] =>
  severity.options.find((one) => given.includes(one)) ?? 'MINOR';

/** The text of one incident for several services: that of the first, as severe as the worst, for all who are notified. */
export function textOf(opens: readonly OpenedIncident[]): OpenedIncident | null {
  const [first] = opens;
  if (first === undefined) return null;
  return {
    ...first,
    severity: worstOf(opens.map((each) => each.severity)),
    notifySubscribers: opens.some(({ notifySubscribers }) => notifySubscribers),
  };
}

/** The services that leave what they opened: all of it together while it is open, else each by itself. */
export function leaving(
  members: readonly { id: string; groupId: string; isOpen: boolean }[],
  over: ReadonlySet<string>,
): string[] {
  return [...Map.groupBy(members, ({ groupId }) => groupId).values()].flatMap((group) => {
    const ids = group.filter(({ id }) => over.has(id)).map(({ id }) => id);
    const isOpen = group.some((member) => member.isOpen);
    return isOpen && ids.length < group.length ? [] : ids;
  });
}
