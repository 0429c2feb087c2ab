/** A run of a check between attempts, in memory and on disk. */
import {
  assignedCheck,
  type AssignedCheck,
  type Job,
  type OpenRun,
} from '@monitor/shared/contract/agent-protocol.ts';
import { z } from 'zod';

/** Instants are milliseconds since the epoch; null when unknown. Stored between two attempts. */
export const run = z.object({
  check: assignedCheck,
  runId: z.uuid(),
  slotLocation: z.string(),
  runLocation: z.string(),
  scheduledFor: z.number().nullable(),
  jobId: z.uuid().nullable(),
  attempt: z.number(),
  sequenceStartedAt: z.number().nullable(),
  epoch: z.number(),
  source: z.string().nullable().default(null),
  environmentUrl: z.string().nullable().default(null),
  streamsLogs: z.boolean().exactOptional(),
});
export type Run = z.output<typeof run>;

/** The first attempt of a slot of the schedule. */
export function runOfSlot(
  check: AssignedCheck,
  slot: { runId: string; scheduledFor: number; location: string; epoch: number },
): Run {
  const { runId, scheduledFor, location, epoch } = slot;
  return {
    ...{ check, runId, slotLocation: location, runLocation: location, scheduledFor, epoch },
    ...{ jobId: null, attempt: 1, sequenceStartedAt: null, source: null, environmentUrl: null },
  };
}

export function runOfJob(job: Job, location: string, epoch: number): Run {
  const { check, runId, slotLocation, scheduledFor, attempt, sequenceStartedAt } = job;
  const { id: jobId, source, environmentUrl } = job;
  return {
    ...{ check, runId, slotLocation, runLocation: location, scheduledFor, jobId, attempt },
    ...{ sequenceStartedAt, epoch, source, environmentUrl },
    ...(job.streamsLogs === true ? { streamsLogs: true } : {}),
  };
}

/** A run in progress as it is reported to the control plane. */
export function openRunOf(of: Run, startedAt: number): OpenRun {
  const { check, runId, slotLocation, scheduledFor, attempt } = of;
  return {
    ...{ runId, checkId: check.id, slotLocation, scheduledFor, attempt },
    startedAt: Math.round(startedAt),
  };
}
