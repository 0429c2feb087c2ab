/**
 * What an agent and the control plane say to each other, under `/v1/agent/*` with the raw key of a
 * location as bearer. Unknown fields are ignored on both sides, so neighbouring versions live
 * together. Instants are integer milliseconds since the epoch.
 */
import { z } from 'zod';
import { retryStrategy } from './check.ts';
import { apiCheckResult, missedReason, resultType } from './check-result.ts';
import { defineRoute } from './route.ts';

export const protocolVersion = 1;

/** Longest a check-in waits for news. */
export const longPollMs = 25_000;
/** A lease on a job: renewed every 20 s, lost after 60. */
export const leaseMs = 60_000;
export const leaseRenewMs = 20_000;
/** Most results in one batch. */
export const maxBatchItems = 500;

const instant = z.number().int();
const tag = 'Agent protocol';

/** A check as an agent runs it: everything merged, nothing to look up. */
export const assignedCheck = z.object({
  id: z.uuid(),
  /** Changes with every change of the check. */
  revision: z.int(),
  /** A string, not an enum: an agent answers types it does not know with an error result. */
  type: z.string(),
  name: z.string(),
  frequency: z.int(),
  frequencyOffset: z.int(),
  runParallel: z.boolean(),
  /** All locations of the check, in the order round robin follows. */
  locations: z.array(z.string()),
  /** Slots before this instant do not exist. */
  scheduleFrom: instant,
  /** Already resolved: null means no retries. */
  retryStrategy: retryStrategy.nullable(),
  /** Type-specific: request, limits, shouldFail. */
  definition: z.record(z.string(), z.unknown()),
  /** Proxy of the location for checks, or null. */
  proxyUrl: z.string().nullable(),
});
export type AssignedCheck = z.output<typeof assignedCheck>;

/** A run that is not on the schedule. */
export const job = z.object({
  id: z.uuid(),
  runId: z.uuid(),
  check: assignedCheck,
  source: z.string(),
  /** The slot, when the job continues a scheduled run in another location. */
  scheduledFor: instant.nullable(),
  /** The location whose slot this is; results name both it and where they ran. */
  slotLocation: z.string(),
  /** Number of the attempt to make; 1 unless it continues a run. */
  attempt: z.int().min(1),
  /** Start of the first attempt of the run, when it continues one. */
  sequenceStartedAt: instant.nullable(),
  notBefore: instant,
  leaseUntil: instant,
});
export type Job = z.output<typeof job>;

const capabilities = z.object({
  checkTypes: z.array(z.string()),
  runtimes: z.array(z.string()),
  icmp: z.enum(['datagram', 'relay', 'ping', 'none']),
  capture: z.boolean(),
  traceroute: z.boolean(),
  browsers: z.array(z.string()),
});
export type Capabilities = z.output<typeof capabilities>;

export const checkInRequest = z.object({
  agentId: z.uuid(),
  protocol: z.int(),
  version: z.string().max(64),
  startedAt: instant,
  capabilities,
  capacity: z.object({ light: z.int().min(0), heavy: z.int().min(0) }),
  running: z.int().min(0),
  outbox: z.object({
    depth: z.int().min(0),
    oldestAt: instant.nullable(),
    droppedTotal: z.int().min(0),
  }),
  /** What the last answer called its state; null asks for everything. */
  snapshot: z.string().nullable(),
  /** How long to wait for news; 0 answers at once. */
  waitMs: z.int().min(0).max(longPollMs),
  clock: z.object({
    sentAt: instant,
    /** Control plane minus agent, measured at the last check-in. */
    offsetMs: z.number().nullable(),
  }),
});
export type CheckInRequest = z.output<typeof checkInRequest>;

export const checkInAnswer = z.object({
  serverTime: z.object({ receivedAt: instant, sentAt: instant }),
  /** Code of the location the key belongs to. */
  location: z.string(),
  /** Grows whenever the set of agents of the location changes. */
  epoch: z.int(),
  snapshot: z.string(),
  /** True when `upserts` is everything and whatever else the agent holds is gone. */
  full: z.boolean(),
  upserts: z.array(assignedCheck),
  removals: z.array(z.uuid()),
  jobs: z.array(job),
  cancellations: z.array(z.uuid()),
});
export type CheckInAnswer = z.output<typeof checkInAnswer>;

export const checkIn = defineRoute({
  operationId: 'agentCheckIn',
  method: 'POST',
  path: '/v1/agent/check-in',
  tag,
  summary: 'Report for work; answered at once when something changed, otherwise after the wait',
  authentication: 'locationKey',
  body: checkInRequest,
  status: 200,
  response: checkInAnswer,
  errors: [400],
});

/** One attempt of a run, as the agent hands it in. */
export const resultSubmission = z.object({
  kind: z.literal('result'),
  /** Derived from run and attempt; see `domain/run-id.ts`. */
  id: z.uuid(),
  runId: z.uuid(),
  checkId: z.uuid(),
  checkRevision: z.int(),
  checkType: z.string(),
  name: z.string(),
  /** The location whose slot this is. */
  slotLocation: z.string(),
  runLocation: z.string(),
  scheduledFor: instant.nullable(),
  jobId: z.uuid().nullable(),
  attempt: z.int().min(1),
  resultType,
  /** Set on an ATTEMPT that another location should follow up: when, and since when it runs. */
  retryElsewhere: z.object({ notBefore: instant, sequenceStartedAt: instant }).nullable(),
  startedAt: instant,
  stoppedAt: instant,
  responseTime: z.number().min(0),
  hasFailures: z.boolean(),
  hasErrors: z.boolean(),
  isDegraded: z.boolean(),
  overMaxResponseTime: z.boolean(),
  underLoad: z.boolean(),
  /** Epoch of the assignment under which the run began. */
  epoch: z.int(),
  apiCheckResult: apiCheckResult.nullable(),
});
export type ResultSubmission = z.output<typeof resultSubmission>;

/** A slot the agent knows it did not run. */
export const missedSubmission = z.object({
  kind: z.literal('missed'),
  id: z.uuid(),
  runId: z.uuid(),
  checkId: z.uuid(),
  slotLocation: z.string(),
  scheduledFor: instant,
  reason: missedReason,
});
export type MissedSubmission = z.output<typeof missedSubmission>;

export const submission = z.discriminatedUnion('kind', [resultSubmission, missedSubmission]);
export type Submission = z.output<typeof submission>;

const itemOutcome = z.object({
  id: z.string().nullable(),
  outcome: z.enum(['accepted', 'duplicate', 'late', 'refused']),
  reason: z.string().exactOptional(),
});
export type ItemOutcome = z.output<typeof itemOutcome>;

export const submitResults = defineRoute({
  operationId: 'agentSubmitResults',
  method: 'POST',
  path: '/v1/agent/results',
  tag,
  summary: 'Hand in results; answered per item, in order, once they are stored durably',
  authentication: 'locationKey',
  /** Items are parsed one by one, so that a bad one is refused and the others flow on. */
  body: z.object({
    agentId: z.uuid(),
    items: z.array(z.unknown()).min(1).max(maxBatchItems),
  }),
  bodyLimitBytes: 33_554_432,
  status: 200,
  response: z.object({ items: z.array(itemOutcome) }),
  errors: [400, 413],
});

const jobIds = z.array(z.uuid()).max(1000);

export const renewLeases = defineRoute({
  operationId: 'agentRenewLeases',
  method: 'POST',
  path: '/v1/agent/leases/renew',
  tag,
  summary: 'Keep the jobs this agent is working on',
  authentication: 'locationKey',
  body: z.object({ agentId: z.uuid(), jobIds }),
  status: 200,
  response: z.object({ renewed: jobIds, lost: jobIds }),
  errors: [400],
});

export const releaseJobs = defineRoute({
  operationId: 'agentReleaseJobs',
  method: 'POST',
  path: '/v1/agent/release',
  tag,
  summary: 'Give jobs back, for another agent to take',
  authentication: 'locationKey',
  body: z.object({ agentId: z.uuid(), jobIds }),
  status: 204,
  errors: [400],
});

export const goodbye = defineRoute({
  operationId: 'agentGoodbye',
  method: 'POST',
  path: '/v1/agent/goodbye',
  tag,
  summary: 'Leave; assignments move to other agents at once',
  authentication: 'locationKey',
  body: z.object({ agentId: z.uuid() }),
  status: 204,
  errors: [400],
});

/** Limited technical metadata: never a key, a variable, a check, a URL, a header or a body. */
export const reportErrors = defineRoute({
  operationId: 'agentReportErrors',
  method: 'POST',
  path: '/v1/agent/reports',
  tag,
  summary: 'Report counts of internal errors; off with EXTERNAL_OBSERVABILITY=off',
  authentication: 'locationKey',
  body: z.object({
    agentId: z.uuid(),
    version: z.string().max(64),
    events: z
      .array(
        z.object({
          code: z
            .string()
            .regex(/^[A-Z0-9_]{1,64}$/)
            .meta({ example: 'RUNNER_BROKEN' }),
          count: z.int().min(1),
        }),
      )
      .max(100),
  }),
  status: 204,
  errors: [400],
});

export const agentRoutes = {
  checkIn,
  submitResults,
  renewLeases,
  releaseJobs,
  goodbye,
  reportErrors,
};
