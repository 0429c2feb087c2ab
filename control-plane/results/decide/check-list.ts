/** The list of checks: which of them match, in which order, and in which groups. */
import {
  checkStatuses,
  type CheckList,
  type CheckListOrder,
  type CheckOverview,
  type CheckStatus,
} from '@monitor/shared/contract/check-overview.ts';

/** `locations` and `unserved` are numbers of its locations, and of those without an agent. */
interface StatusFacts extends Pick<CheckOverview, 'state' | 'activated' | 'hasErrors'> {
  isInMaintenance: boolean;
  /** It has no location and no runs of its own. */
  isPinged: boolean;
  locations: number;
  unserved: number;
}

/** The most important thing to say about a check. */
export function statusOf(check: StatusFacts): CheckStatus {
  if (!check.activated) return 'INACTIVE';
  if (check.isInMaintenance) return 'MAINTENANCE';
  if (check.state === 'FAILING' || check.state === 'DEGRADED') return check.state;
  if (!check.isPinged) {
    if (check.locations === 0) return 'UNPLACED';
    if (check.unserved === check.locations) return 'UNSERVED';
  }
  return check.hasErrors ? 'ERROR' : check.state;
}

export interface ListedCheck {
  id: string;
  name: string;
  type: string;
  groupId: number | null;
  status: CheckStatus;
  /** In ms since the epoch. */
  lastRunAt: number | null;
}

/** In percent and milliseconds, of the last day. */
export interface ListedFigures {
  availability: number | null;
  p95: number | null;
}

/** Ids of groups; null for the checks without one. */
type GroupId = number | null;
type StatusCounts = CheckList['statusCounts'];
export type ListLine =
  | { checkId: string; group?: never }
  | { group: { id: GroupId; statusCounts: StatusCounts }; checkId?: never };

const digits = /0*(\d+)/g;
const marks = /\p{M}/gu;
const isPlain = /^[\0-\x7f]*$/;

/** Letters without case and accents, for texts that are searched and sorted. */
export function plainLetters(text: string): string {
  const letters = isPlain.test(text) ? text : text.normalize('NFKD').replaceAll(marks, '');
  return letters.toLowerCase();
}

/** Names compare by it as people read them: 9 comes before 10. A number stands behind its length. */
function nameKey(name: string): string {
  return plainLetters(name).replaceAll(
    digits,
    (_all, number: string) => String.fromCharCode(48 + number.length) + number,
  );
}

type Value = number | string | null;

const valueBy = (
  order: CheckListOrder,
  figures: ReadonlyMap<string, ListedFigures>,
): ((check: ListedCheck) => Value) => {
  const negative = (value: number | null | undefined): Value => (value == null ? null : -value);
  const values: Record<CheckListOrder, (check: ListedCheck) => Value> = {
    status: ({ status }) => checkStatuses.indexOf(status),
    name: ({ name }) => nameKey(name),
    type: ({ type }) => type,
    lastRun: ({ lastRunAt }) => negative(lastRunAt),
    availability: ({ id }) => figures.get(id)?.availability ?? null,
    p95: ({ id }) => negative(figures.get(id)?.p95),
  };
  return values[order];
};

function compare(left: Value, right: Value): number {
  if (left === right) return 0;
  return (left ?? '') < (right ?? '') ? -1 : 1;
}

/** Missing values are last in both directions, and equal ones are in the order of their names. */
export function inOrder(
  checks: readonly ListedCheck[],
  { sort, reversed }: { sort: CheckListOrder; reversed: boolean },
  figures: ReadonlyMap<string, ListedFigures>,
): ListedCheck[] {
  const valueOf = valueBy(sort, figures);
  const direction = reversed ? -1 : 1;
  return checks
    .map((check) => ({ check, value: valueOf(check), key: nameKey(check.name) }))
    .sort((left, right) => {
      const isMissing = Number(left.value === null) - Number(right.value === null);
      return (
        isMissing ||
        direction * compare(left.value, right.value) ||
        compare(left.key, right.key) ||
        compare(left.check.id, right.check.id)
      );
    })
    .map(({ check }) => check);
}

export function countStatuses(checks: readonly ListedCheck[]): StatusCounts {
  const counts = Map.groupBy(checks, ({ status }) => status);
  return checkStatuses.flatMap((status) => {
    const amount = counts.get(status)?.length;
    return amount === undefined ? [] : [{ status, checks: amount }];
  });
}

/** Groups in the order of their first checks, each above its own; none where no check is in one. */
export function linesOf(checks: readonly ListedCheck[], folded: ReadonlySet<GroupId>): ListLine[] {
  const groups = Map.groupBy(checks, ({ groupId }) => groupId);
  const isGrouped = groups.size > 1 || !groups.has(null);
  return [...groups].flatMap(([id, members]): ListLine[] => [
    ...(isGrouped ? [{ group: { id, statusCounts: countStatuses(members) } }] : []),
    ...(isGrouped && folded.has(id) ? [] : members.map((check) => ({ checkId: check.id }))),
  ]);
}
