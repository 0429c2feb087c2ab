/**
 * Whether subscribers are told of an update of an incident: once, when it becomes public.
 *
 * NONE     nobody is to be told; → PLANNED while the update is new or not public yet
 * PLANNED  everybody is told at an instant; → NONE when that is taken back, → BEGUN when it has come
 * BEGUN    somebody has been told; for good, whatever is changed about the update
 */

export type AnnouncementState = 'NONE' | 'PLANNED' | 'BEGUN';

export interface AnnouncedUpdate {
  publicAt: number;
  notifySubscribers: boolean;
}

export type AnnouncementEffect = { kind: 'plan'; at: number } | { kind: 'drop' } | { kind: 'keep' };

/** A new update. One that is dated back is announced at once. */
export function announcementOfNew(update: AnnouncedUpdate): AnnouncementEffect {
  return update.notifySubscribers ? { kind: 'plan', at: update.publicAt } : { kind: 'keep' };
}

/**
 * An update that was changed. Asking for subscribers to be told of what has been public for a while
 * tells them nothing: write another update instead.
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
