/** Maintenance for visitors: one notice per occurrence of a window. */
import type { Occurrence } from '../../maintenance/decide/maintenance.ts';
import { heldBetween, type PlannedWindow } from '../../maintenance/decide/planned-maintenance.ts';
import type { ServiceFacts, WindowFacts } from './facts.ts';

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
  status: 'scheduled' | 'in_progress' | 'completed';
  services: { id: string; name: string }[];
  /** When this version was planned. */
  plannedAt: number;
}

function statusOf(notice: { startsAt: number; endsAt: number }, now: number): NoticeView['status'] {
  if (notice.endsAt <= now) return 'completed';
  return notice.startsAt <= now ? 'in_progress' : 'scheduled';
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
): Occurrence[] {
  const { id, plannedAt, withdrawnAt } = window;
  const held = (one: PlannedWindow) => heldBetween(one, from, to);
  const stood = held(window).filter(({ endsAt }) => endsAt > plannedAt);
  if (withdrawnAt === null) return stood;
  const next = windows.find((one) => one.id === id && one.plannedAt === withdrawnAt);
  const goesOn =
    next !== undefined &&
    held(next).some(({ startsAt, endsAt }) => startsAt <= withdrawnAt && endsAt > withdrawnAt);
  return stood.flatMap(({ startsAt, endsAt }) => {
    if (startsAt >= withdrawnAt) return [];
    if (endsAt <= withdrawnAt) return [{ startsAt, endsAt }];
    return goesOn ? [] : [{ startsAt, endsAt: withdrawnAt }];
  });
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
    .flatMap(({ window, serviceIds }) =>
      occurrencesOf(window, planned, held).map(({ startsAt, endsAt }) => ({
        id: `${window.id}-${startsAt}`,
        windowId: window.id,
        name: window.name,
        description: window.description,
        startsAt,
        endsAt,
        status: statusOf({ startsAt, endsAt }, now),
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
