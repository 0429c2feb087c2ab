/**
 * Announcement of an incident update to subscribers: once, when the update becomes public.
 *
 * NONE     subscribers are not notified; → PLANNED while the update is new or not public yet
 * PLANNED  subscribers are notified at an instant; → NONE when that is reverted, → BEGUN then
 * BEGUN    some subscribers have been notified; no change of the update reverts this
 */

export type AnnouncementState = 'NONE' | 'PLANNED' | 'BEGUN';

export interface AnnouncedUpdate {
  publicAt: number;
  notifySubscribers: boolean;
}

export type AnnouncementEffect = { kind: 'plan'; at: number } | { kind: 'drop' } | { kind: 'keep' };

/** Plans the announcement of a new update. A backdated update is announced at once. */
export function announcementOfNew(update: AnnouncedUpdate): AnnouncementEffect {
  return update.notifySubscribers ? { kind: 'plan', at: update.publicAt } : { kind: 'keep' };
}

/**
 * Plans the announcement of a changed update. An update that has been public for a while is not
 * announced afterwards: write a new update instead.
 */
export function announcementOfChanged(
  state: AnnouncementState,
  before: AnnouncedUpdate,
  after: AnnouncedUpdate,
  now: number,
): AnnouncementEffect {
  if (state === 'BEGUN') return { kind: 'keep' };
  if (!after.notifySubscribers) return state === 'PLANNED' ? { kind: 'drop' } : { kind: 'keep' };
  const isOld = state === 'NONE' && before.publicAt <= now && after.publicAt <= now;
  return isOld ? { kind: 'keep' } : { kind: 'plan', at: after.publicAt };
}
