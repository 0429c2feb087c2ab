/** The next slots of a schedule that is not saved. Nothing is read: slots follow from their inputs. */
import {
  type schedulePreviewRoutes,
  shownSlots,
} from '@monitor/shared/contract/schedule-preview.ts';
import {
  frequencyOffsetProblem,
  locationsOfSlot,
  scheduleOf,
  slotAtOrAfter,
} from '@monitor/shared/domain/frequency.ts';
import { locationsOf } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { toTimestamp } from '../db/columns.ts';
import type { Handlers } from '../http/handlers.ts';

/** Any id: without one only the order of the locations is known. */
const someId = '00000000-0000-4000-8000-000000000000';

export function schedulePreviewHandlers({
  clock,
}: Services): Handlers<typeof schedulePreviewRoutes> {
  return {
    previewSchedule: ({ body }) => {
      const { checkId, frequency, frequencyOffset, runParallel } = body;
      const isKept = frequencyOffsetProblem(frequency, frequencyOffset) === null;
      // Intervals below a minute follow from the offset, which is then all that is asked for.
      const offset = isKept && frequencyOffset !== undefined ? frequencyOffset : null;
      const schedule = scheduleOf({
        checkId: checkId ?? someId,
        frequency,
        frequencyOffset: offset ?? 10,
      });
      const locations = locationsOf(body as never);
      const isKnown = checkId !== undefined && offset !== null;
      const first = slotAtOrAfter(schedule, isKnown ? clock.now() : schedule.phaseMs);
      const slots = Array.from({ length: shownSlots }, (_, index) => {
        const slot = first + index * schedule.intervalMs;
        return {
          at: isKnown ? toTimestamp(slot) : null,
          locations: [...locationsOfSlot(schedule, slot, locations, runParallel)],
        };
      });
      return Promise.resolve({ intervalMs: schedule.intervalMs, slots });
    },
  };
}
