/** Maintenance for visitors: one notice per occurrence of a window. */
import {
  heldBetween,
  occurrenceAt,
  statusOf as statusOfOccurrence,
  type HeldOccurrence,
  type PlannedWindow,
} from '../../maintenance/decide/planned-maintenance.ts';
import type { ServiceFacts, Severity, WindowFacts, WindowUpdateFacts } from './facts.ts';

const dayMs = 86_400_000;
/** How far back and ahead maintenance is shown. */
const knownBackMs = 30 * dayMs;
export const knownAheadMs = 90 * dayMs;

export interface NoticeView {
  /** Stable as long as the start of the occurrence does not change. */
  id: string;
  windowId: number;
  name: string;
  description: string | null;
  startsAt: number;
  endsAt: number;
  status: 'scheduled' | 'in_progress' | 'verifying' | 'completed' | 'cancelled';
  /** Null where nobody has chosen one. */
  severity: Severity | null;
  services: { id: string; name: string }[];
  /** Whether visitors read which services it affects. */
  isNamed: boolean;
  /** Newest first. */
  updates: Pick<WindowUpdateFacts, 'status' | 'description' | 'createdAt'>[];
  /** When this version was planned. */
  plannedAt: number;
}

/** `IN_PROGRESS` as pages have it. */
export const noticeStatusOf = (status: string): NoticeView['status'] =>
  status.toLowerCase() as NoticeView['status'];

function statusOf(window: PlannedWindow, held: HeldOccurrence, now: number): NoticeView['status'] {
  const occurrence = occurrenceAt(window, held.scheduledAt);
  if (window.visibility !== null && window.withdrawnAt === null && occurrence !== undefined) {
    const status = noticeStatusOf(statusOfOccurrence(window, occurrence, now));
    // One that was called off midway has taken place until then.
    return status === 'cancelled' ? 'completed' : status;
  }
  if (held.endsAt <= now) return 'completed';
  return held.startsAt <= now ? 'in_progress' : 'scheduled';
}

interface Held {
  from: number;
  to: number;
}

/**
 * The occurrences of one version of a window. Occurrences before the version was planned do not
 * count. When a window is changed during an occurrence, the rest of it belongs to the new version;
 * when the change cancels it, it ends there.
 */
function occurrencesOf(
  window: PlannedWindow,
  windows: readonly PlannedWindow[],
  { from, to }: Held,
): HeldOccurrence[] {
  const { id, plannedAt, withdrawnAt } = window;
  const held = (one: PlannedWindow) => heldBetween(one, from, to);
  const stood = held(window).filter(({ endsAt }) => endsAt > plannedAt);
  if (withdrawnAt === null) return stood;
  const next = windows.find((one) => one.id === id && one.plannedAt === withdrawnAt);
  const goesOn =
    next !== undefined &&
    held(next).some(({ startsAt, endsAt }) => startsAt <= withdrawnAt && endsAt > withdrawnAt);
  return stood.flatMap((occurrence) => {
    if (occurrence.startsAt >= withdrawnAt) return [];
    if (occurrence.endsAt <= withdrawnAt) return [occurrence];
    return goesOn ? [] : [{ ...occurrence, endsAt: withdrawnAt }];
  });
}

/** The stretch of an occurrence before it was opened again has an id of its own. */
function idOf(
  { id, withdrawnAt }: PlannedWindow,
  windows: readonly PlannedWindow[],
  { scheduledAt }: HeldOccurrence,
): string {
  const isEarlierStretch =
    withdrawnAt !== null &&
    windows.some((one) => {
      const { resumedAt = null } = one.changes.get(scheduledAt) ?? {};
      return one.id === id && resumedAt !== null && resumedAt >= withdrawnAt;
    });
  return isEarlierStretch ? `${id}-${scheduledAt}-${withdrawnAt}` : `${id}-${scheduledAt}`;
}

/** Past occurrences since an instant, and those of the next three months, by start. */
export function viewNotices(
  windows: readonly WindowFacts[],
  services: ReadonlyMap<string, Pick<ServiceFacts, 'id' | 'name'>>,
  since: number,
  now: number,
): NoticeView[] {
  const held = { from: since, to: now + knownAheadMs };
  const planned = windows.map(({ window }) => window);
  return windows
    .flatMap(({ window, serviceIds, updates }) =>
      occurrencesOf(window, planned, held).map((occurrence) => ({
        id: idOf(window, planned, occurrence),
        windowId: window.id,
        name: window.name,
        description: window.description,
        startsAt: occurrence.startsAt,
        endsAt: occurrence.endsAt,
        status: statusOf(window, occurrence, now),
        severity: window.visibility?.severity ?? null,
        isNamed: window.visibility?.showAffectedServices ?? true,
        updates: updates.filter(({ scheduledAt }) => scheduledAt === occurrence.scheduledAt),
        services: serviceIds.flatMap((id) => {
          const service = services.get(id);
          return service === undefined ? [] : [{ id, name: service.name }];
        }),
        plannedAt: window.plannedAt,
      })),
    )
    .sort((left, right) => left.startsAt - right.startsAt || left.windowId - right.windowId);
}

/** Notices that are shown; older ones count only for the uptime. */
export function shownNotices(notices: readonly NoticeView[], now: number): NoticeView[] {
  return notices.filter(({ endsAt }) => endsAt > now - knownBackMs);
}

/** Whether work goes on. */
export const isHeld = ({ status }: Pick<NoticeView, 'status'>): boolean =>
  status === 'in_progress' || status === 'verifying';

/** The affected services that visitors read of. */
export const namedServices = ({ isNamed, services }: NoticeView): NoticeView['services'] =>
  isNamed ? services : [];
