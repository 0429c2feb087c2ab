/** The next slots of a check as somebody has typed it, before it is saved. */
import { z } from 'zod';
import { scheduledCheckFields } from './check.ts';
import { timestamp } from './primitives.ts';
import { defineRoutes, post } from './route.ts';

export const shownSlots = 5;
const { frequency, frequencyOffset, locations, privateLocations, runParallel } =
  scheduledCheckFields;

export const schedulePreviewRoutes = defineRoutes('Checks', {
  previewSchedule: post('/v1/schedule-previews', 'The next slots of a schedule', {
    onlyReads: true,
    description:
      'By the computation of the scheduler. Slots depend on the id of the check and on `frequencyOffset`: without either, and where the offset does not fit the frequency, they are chosen when the check is saved, and `at` is null.',
    role: 'READ_ONLY',
    rateLimit: { requests: 60, seconds: 60 },
    body: z.object({
      checkId: z.uuid().exactOptional(),
      ...{ frequency, frequencyOffset, locations, privateLocations, runParallel },
    }),
    status: 200,
    response: z
      .object({
        intervalMs: z.int(),
        slots: z
          .array(
            z.object({
              at: timestamp.nullable(),
              locations: z.array(z.string()).meta({ description: 'The locations that run in it' }),
            }),
          )
          .max(shownSlots),
      })
      .meta({ id: 'SchedulePreview' }),
  }),
});
