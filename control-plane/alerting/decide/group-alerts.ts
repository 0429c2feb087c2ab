/**
 * Which waiting alerts of a channel become one notification, and when. An alert belongs to the group
 * of its outage (the same incident key), else to a group that shares a cause with it, else to a new
 * one. A group has one notification in `updateMinutes`, a channel `maxPerHour` in an hour: before the
 * last of them is used, new groups become one of several causes.
 */
import { keyOfCause, rankOf, type Cause } from './causes-of.ts';

/** A reminder neither begins nor ends a problem. */
export type AlertEffect = 'PROBLEM' | 'REMINDER' | 'CLOSING';

export interface Grouping {
  windowSeconds: number;
  updateMinutes: number;
  maxPerHour: number;
}

export interface WaitingAlert {
  id: string;
  incidentKey: string;
  causes: readonly Cause[];
  joinedAt: number;
}

export interface KnownGroup {
  id: string;
  /** Null for several causes. */
  cause: Cause | null;
  openedAt: number;
  lastSentAt: number;
  /** None of its outages lasts. */
  isOver: boolean;
}

export interface PlannedMessage {
  /** Null for a new group. */
  groupId: string | null;
  cause: Cause | null;
  ids: string[];
  /** How many of these alerts waited because of `maxPerHour`. */
  heldBack: number;
  /** No further notification is allowed before this instant; null while some are. */
  limitedUntil: number | null;
}

export interface Plan {
  messages: PlannedMessage[];
  /** When the alerts that go on waiting must be looked at; null when none do. */
  nextAt: number | null;
}

const hourMs = 3_600_000;
/** A group takes further alerts of its cause this long after its last notification, at least. */
const joinMs = hourMs;
/** After this time a group takes only what belongs to its own outages. */
export const maxAgeMs = 24 * hourMs;
/** How far back sent notifications matter. */
export const countedMs = 2 * hourMs;

interface Unit {
  group: KnownGroup | null;
  cause: Cause | null;
  alerts: WaitingAlert[];
  dueAt: number;
}

interface Cluster {
  cause: Cause | null;
  outages: WaitingAlert[][];
}

/** New outages by cause: the cause that explains most and that at least two of them share, large ones first. */
function clustersOf(outages: readonly WaitingAlert[][]): Cluster[] {
  const byCause = new Map<string, { cause: Cause; outages: WaitingAlert[][] }>();
  for (const outage of outages) {
    const causes = new Map(
      outage.flatMap((alert) => alert.causes.map((cause) => [keyOfCause(cause), cause] as const)),
    );
    for (const [key, cause] of causes) {
      const known = byCause.get(key);
      if (known === undefined) byCause.set(key, { cause, outages: [outage] });
      else known.outages.push(outage);
    }
  }
  const found: Cluster[] = [];
  const left = new Set(outages);
  const inOrder = [...byCause.values()].sort(
    (a, b) => rankOf(a.cause) - rankOf(b.cause) || b.outages.length - a.outages.length,
  );
  for (const { cause, outages: sharing } of inOrder) {
    const together = sharing.filter((outage) => left.has(outage));
    if (together.length < 2) continue;
    for (const outage of together) left.delete(outage);
    found.push({ cause, outages: together });
  }
  for (const outage of left) found.push({ cause: outage[0]?.causes[0] ?? null, outages: [outage] });
  return found;
}

/** Whether a group takes an outage that it would be notified of at this instant: one that is over is closed. */
function takesMore(
  { openedAt, lastSentAt, isOver }: KnownGroup,
  at: number,
  withinMs: number,
): boolean {
  return !isOver && lastSentAt >= at - withinMs && openedAt >= at - maxAgeMs;
}

/** How long after its last notification a group takes alerts: until its next one is due, at least. */
export function joinsWithinMs({ windowSeconds, updateMinutes }: Grouping): number {
  return Math.max(joinMs, updateMinutes * 60_000 + windowSeconds * 1000);
}

/** Sorts the waiting alerts into the known groups and new ones. */
function unitsOf(
  waiting: readonly WaitingAlert[],
  groupOfKey: ReadonlyMap<string, string>,
  groups: readonly KnownGroup[],
  grouping: Grouping,
): Unit[] {
  const { windowSeconds, updateMinutes } = grouping;
  const windowEnd = (alerts: readonly WaitingAlert[]): number =>
    Math.min(...alerts.map(({ joinedAt }) => joinedAt)) + windowSeconds * 1000;
  const updateDueAt = (group: KnownGroup, alerts: readonly WaitingAlert[]): number =>
    Math.max(windowEnd(alerts), group.lastSentAt + updateMinutes * 60_000);
  const byId = new Map(groups.map((group) => [group.id, group]));
  const byCause = Map.groupBy(
    groups.toSorted((a, b) => b.lastSentAt - a.lastSentAt),
    ({ cause }) => (cause === null ? '' : keyOfCause(cause)),
  );
  const withinMs = joinsWithinMs(grouping);
  const joining = new Map<KnownGroup, WaitingAlert[]>();
  const unknown: WaitingAlert[][] = [];
  for (const [key, outage] of Map.groupBy(waiting, ({ incidentKey }) => incidentKey)) {
    const group =
      byId.get(groupOfKey.get(key) ?? '') ??
      outage
        .flatMap(({ causes }) => causes.flatMap((cause) => byCause.get(keyOfCause(cause)) ?? []))
        // A group that is closed by then would only make it wait.
        .find((found) => takesMore(found, updateDueAt(found, outage), withinMs));
    if (group === undefined) unknown.push(outage);
    else joining.set(group, [...(joining.get(group) ?? []), ...outage]);
  }
  return [
    ...[...joining].map(([group, alerts]) => ({
      group,
      cause: group.cause,
      alerts,
      dueAt: updateDueAt(group, alerts),
    })),
    ...clustersOf(unknown).map(({ cause, outages }) => {
      const alerts = outages.flat();
      return { group: null, cause, alerts, dueAt: windowEnd(alerts) };
    }),
  ].sort((a, b) => a.dueAt - b.dueAt);
}

/** The due units within the limit; the last place takes all new causes that are left. */
function withinLimit(due: readonly Unit[], places: number, several: KnownGroup | null): Unit[] {
  if (due.length <= places) return [...due];
  const chosen = due.slice(0, Math.max(0, places - 1));
  const rest = due.slice(chosen.length);
  if (places === 0) return chosen;
  const fresh = rest.filter(({ group }) => group === null || group === several);
  const [first] = fresh;
  if (first === undefined || fresh.length === 1) return [...chosen, ...rest.slice(0, 1)];
  const alerts = fresh.flatMap((unit) => unit.alerts);
  return [...chosen, { group: several, cause: null, alerts, dueAt: first.dueAt }];
}

/**
 * Plans the notifications of a channel. `groupOfKey` has the groups of outages that were notified
 * before, `sentAt` the instants of its notifications in the last `countedMs`.
 */
export function planMessages(
  waiting: readonly WaitingAlert[],
  groupOfKey: ReadonlyMap<string, string>,
  groups: readonly KnownGroup[],
  sentAt: readonly number[],
  grouping: Grouping,
  now: number,
): Plan {
  const { maxPerHour, windowSeconds } = grouping;
  const inHourBefore = (at: number): number[] =>
    sentAt.filter((sent) => sent > at - hourMs && sent <= at);
  const units = unitsOf(waiting, groupOfKey, groups, grouping);
  const places = Math.max(0, maxPerHour - inHourBefore(now).length);
  const withinMs = joinsWithinMs(grouping);
  const several =
    groups.find((group) => group.cause === null && takesMore(group, now, withinMs)) ?? null;
  const due = units.filter(({ dueAt }) => dueAt <= now);
  const chosen = withinLimit(due, places, several);
  const sent = [...inHourBefore(now), ...chosen.map(() => now)].sort((a, b) => a - b);
  const freeAt = sent.length < maxPerHour ? null : (sent[sent.length - maxPerHour] ?? now) + hourMs;
  const isHeld = ({ joinedAt }: WaitingAlert): boolean =>
    inHourBefore(joinedAt + windowSeconds * 1000).length >= maxPerHour;
  const taken = new Set(chosen.flatMap(({ alerts }) => alerts));
  const later = units.flatMap(({ alerts, dueAt }) =>
    alerts.every((alert) => taken.has(alert))
      ? []
      : [Math.max(dueAt, dueAt <= now ? (freeAt ?? now) : 0)],
  );
  return {
    messages: chosen.map(({ group, cause, alerts }, index) => ({
      groupId: group?.id ?? null,
      cause,
      ids: alerts.map(({ id }) => id),
      heldBack: alerts.filter(isHeld).length,
      limitedUntil: index === chosen.length - 1 ? freeAt : null,
    })),
    nextAt: later.length === 0 ? null : Math.min(...later),
  };
}
