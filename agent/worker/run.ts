/** A run of a check between attempts, in memory and on disk. */
import {
  assignedCheck,
  shard,
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
  updatesSnapshots: z.boolean().exactOptional(),
  /** It is only this part of the run, whose result another agent makes. */
  shard: shard.exactOptional(),
});
export type Run = z.output<typeof run>;

/** What may be read with any key of a run of the schedule that waits: all but its check. */
const slotRun = run
  .pick({ runId: true, slotLocation: true, attempt: true, sequenceStartedAt: true, epoch: true })
  .extend({ checkId: z.uuid(), scheduledFor: z.number() });
export type SlotRun = z.output<typeof slotRun>;
const waitingRun = z.object({ sealed: z.string(), slot: slotRun.nullable() });

/** Encrypted, since the check has its variables, secrets among them. */
export function encryptRun(of: Run, encrypt: (text: string) => string): string {
  const slot = of.jobId === null ? { ...of, checkId: of.check.id } : null;
  return JSON.stringify(waitingRun.parse({ sealed: encrypt(JSON.stringify(of)), slot }));
}

/** One of an older agent is encrypted as a whole. */
export function encryptedRun(payload: string): z.output<typeof waitingRun> {
  try {
    return waitingRun.parse(JSON.parse(payload));
  } catch {
    return { sealed: payload, slot: null };
  }
}

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
  const { id: jobId, environmentUrl } = job;
  const source = job.shard !== undefined && job.source === '' ? null : job.source;
  return {
    ...{ check, runId, slotLocation, runLocation: location, scheduledFor, jobId, attempt },
    ...{ sequenceStartedAt, epoch, source, environmentUrl },
    ...(job.streamsLogs === true ? { streamsLogs: true } : {}),
    ...(job.updatesSnapshots === true ? { updatesSnapshots: true } : {}),
    ...(job.shard === undefined ? {} : { shard: job.shard }),
  };
}

/** Identifies it among all that this agent makes: several of them may be shards of one run. */
export function keyOfRun({ runId, jobId, shard: part }: Run): string {
  return part === undefined || jobId === null ? runId : jobId;
}

/** A run in progress as it is reported to the control plane. */
export function openRunOf(of: Run, startedAt: number): OpenRun {
  const { check, runId, slotLocation, scheduledFor, attempt } = of;
  return {
    ...{ runId, checkId: check.id, slotLocation, scheduledFor, attempt },
    startedAt: Math.round(startedAt),
  };
}
