/**
 * The protocol between agents and the control plane, under `/v1/agent/*` with the raw key of a
 * location as bearer token. Both sides ignore unknown fields, so that neighbouring versions are
 * compatible. Instants are integer milliseconds since the epoch.
 */
import { z } from 'zod';
import { maxBaselinesOfCheck, sha256Hex, snapshotPath } from './baseline.ts';
import { retryStrategy } from './check.ts';
import { maxShards } from './checks/playwright.ts';
import { controlPlaneWatch, peerAddress } from './control-plane-watch.ts';
import { submittedEncryptedResult, resultPublicKey } from './encrypted-result.ts';
import {
  artifactType,
  missedReason,
  playwrightCheckResult,
  resultType,
  submittedResults,
} from './check-result.ts';
import { pathId } from './primitives.ts';
import { protocolVersion } from './protocol-version.ts';
import { defineRoutes, get, post, put } from './route.ts';
import { workSignature } from './work-signature.ts';

export { oldestProtocol, protocolVersion } from './protocol-version.ts';
/** The header with the protocol version of an agent. */
export const protocolHeader = 'agent-protocol';

/** Longest wait of a check-in. */
const longPollMs = 25_000;
/** A check-in that offers nothing and waits no longer is a visit, as `doctor` makes it: it leaves no trace. */
export const maxVisitMs = 15_000;
/** A lease on a job: renewed every 20 s, lost after 60. */
export const leaseMs = 60_000;
export const leaseRenewMs = 20_000;
/** Most results in one batch. */
export const maxBatchItems = 500;

/** Longest name that a host can have in DNS. */
export const maxHostNameLength = 253;
/** Limit of one submission as JSON; the events of a browser run fit into it. */
export const maxItemBytes = 26_214_400;
/** Limit of attempts of a run; no retry strategy makes more. */
const maxAttempts = 100;
/** Longest response time in ms: 24 days. */
const maxResponseTimeMs = 2_147_483_647;

/** The last instant with a year of four digits. */
const latestInstant = Date.UTC(10_000, 0) - 1;
const instant = z.int().min(0).max(latestInstant);
const tag = 'Agent protocol';

/** Most bytes of one artifact, 150 MB. Spec: Limits. */
export const maxArtifactBytes = 157_286_400;

/** One variable of a run. A secret never leaves the agent, in any encoding. */
const environmentEntry = z.object({ key: z.string(), value: z.string(), secret: z.boolean() });
export type EnvironmentEntry = z.output<typeof environmentEntry>;

/** Customer code with its name for errors and logs. */
const namedScript = z.object({ name: z.string(), source: z.string() });
export type NamedScript = z.output<typeof namedScript>;

/** Spec: Client certificate, with its key. */
export const assignedCertificate = z.object({
  host: z.string(),
  cert: z.string(),
  key: z.string(),
  passphrase: z.string().nullable(),
  ca: z.string().nullable(),
});
export type AssignedCertificate = z.output<typeof assignedCertificate>;

/** What an agentic check learned in an earlier run, with the prompt. */
export const learnedScript = z.object({
  promptHash: z.string().max(64),
  /** JSON; opaque to the control plane. */
  script: z.string().max(524_288),
});
export type LearnedScript = z.output<typeof learnedScript>;

/** An approved image, which is laid over what was deployed, unless that is another file by now. */
const assignedBaseline = z.object({
  path: snapshotPath,
  platform: z.string().max(40),
  digest: sha256Hex,
  deployedDigest: sha256Hex.nullable(),
});
export type AssignedBaseline = z.output<typeof assignedBaseline>;

/** Maintenance: slots of a check in `[from, to)` are not run. */
const pause = z.object({ from: instant, to: instant });
export type Pause = z.output<typeof pause>;
/** The server whose certificate is watched. */
const certificateTarget = z.object({
  host: z.string().min(1).max(255),
  port: z.int().min(1).max(65_535),
  /** Server name for the handshake (SNI); null where `host` is an address. */
  servername: z.string().max(255).nullable(),
});
export type CertificateTarget = z.output<typeof certificateTarget>;

/** A check for an agent: everything is merged, nothing has to be looked up. */
export const assignedCheck = z.object({
  id: z.uuid(),
  accountId: z.string().default(''),
  /** Changes with every change of the check. */
  revision: z.int(),
  /** A string instead of an enum: an agent answers unknown types with an error result. */
  type: z.string(),
  name: z.string(),
  frequency: z.int(),
  frequencyOffset: z.int(),
  runParallel: z.boolean(),
  /** All locations of the check in round-robin order. */
  locations: z.array(z.string()),
  /** Slots before this instant are not run. */
  scheduleFrom: instant,
  /** The newest slot with a FINAL result, if it is recent: who takes the check over goes on after it. */
  finishedSlot: instant.exactOptional(),
  /** The effective strategy; null means no retries. */
  retryStrategy: retryStrategy.nullable(),
  /** Type-specific fields: request, limits, shouldFail. */
  definition: z.record(z.string(), z.unknown()),
  /** Proxy of the location for checks, or null. */
  proxyUrl: z.string().nullable(),
  /** Merged variables of account, group and check; only for types that use variables. */
  environment: z.array(environmentEntry).default([]),
  /** The runtime of check, group or account; null leaves the choice to the agent. */
  runtimeId: z.string().nullable().default(null),
  /** Before the request of an API check, in order: group, then check. */
  setupScripts: z.array(namedScript).default([]),
  /** After the request, in order: check, then group. */
  teardownScripts: z.array(namedScript).default([]),
  /** What scripts can import as `./snippets/<name>.js`. */
  snippets: z.array(namedScript).default([]),
  /** Newest first; more than one only where the host is not known before the run. */
  clientCertificates: z.array(assignedCertificate).default([]),
  /** Values that look like secrets are removed, even if nobody declared them. */
  detectSecrets: z.boolean().default(true),
  learnedScript: learnedScript.nullable().default(null),
  /** What people approved in this location. */
  baselines: z.array(assignedBaseline).max(maxBaselinesOfCheck).exactOptional(),
  /**
   * Pauses of the coming days, in order and without overlaps; updated before they run out. Jobs
   * ignore them.
   */
  pauses: z.array(pause).default([]),
  certificateTarget: certificateTarget.nullable().default(null),
  /** For agents that run only signed work; absent for a check that nobody signed. */
  signature: workSignature.exactOptional(),
});
export type AssignedCheck = z.output<typeof assignedCheck>;

/** Limit of what the outcomes of the shards of one run take as JSON: each gets its part. */
export const maxShardsBytes = 16_777_216;
const shardIndex = z.int().min(1).max(maxShards);

/** The part of a suite that one agent runs, as `--shard` of Playwright counts it. */
export const shard = z.object({ index: shardIndex, total: z.int().min(2).max(maxShards) });
export type Shard = z.output<typeof shard>;

/** A run that is not on the schedule. */
export const job = z.object({
  id: z.uuid(),
  runId: z.uuid(),
  check: assignedCheck,
  source: z.string(),
  /** The slot, when the job continues a scheduled run of another location. */
  scheduledFor: instant.nullable(),
  /** The location of the slot; results contain it and the location where they ran. */
  slotLocation: z.string(),
  /** Number of the attempt; 1 unless the job continues a run. */
  attempt: z.int().min(1),
  /** Start of the first attempt of a continued run. */
  sequenceStartedAt: instant.nullable(),
  notBefore: instant,
  leaseUntil: instant,
  /** `ENVIRONMENT_URL` of a triggered run. */
  environmentUrl: z.string().nullable().default(null),
  /** The agent sends what the script prints while it runs; older agents do not. */
  streamsLogs: z.boolean().exactOptional(),
  /** The run makes its snapshots anew, for a client that stores them. */
  updatesSnapshots: z.boolean().exactOptional(),
  /** Its outcome goes to `finishShard`. `source` is empty for the shard of a scheduled run. */
  shard: shard.exactOptional(),
});
export type Job = z.output<typeof job>;

/** Names of capabilities of an agent. */
const abilityNames = z.array(z.string().max(200)).max(100);
const count = z.int().min(0);

export const capabilities = z.object({
  checkTypes: abilityNames,
  runtimes: abilityNames,
  // compatibility: agents of protocol 2 report a raw socket as `relay`, by what once held it.
  icmp: z.enum(['datagram', 'raw', 'relay', 'ping', 'none']),
  capture: z.boolean(),
  traceroute: z.boolean(),
  browsers: abilityNames,
  /** Without it, an agent gets no checks of a location that has keys for results. */
  encryptsResults: z.boolean().exactOptional(),
  /** A run whose runtime is missing gets another one, and says so. */
  substitutesRuntimes: z.boolean().exactOptional(),
  /** Without it, an agent gets no shards of suites: it would run the whole suite. */
  runsShards: z.boolean().exactOptional(),
  /** Absent where no other machine reaches the health port. */
  peer: peerAddress.optional(),
});
export type Capabilities = z.output<typeof capabilities>;

/** Opaque to agents: it comes with stored results and is sent back with later check-ins. */
const acknowledgement = z.string().max(512);

export const checkInRequest = z.object({
  agentId: z.uuid(),
  protocol: z.int().meta({ example: protocolVersion }),
  version: z.string().max(64),
  /** Of the machine or the container, for people; older agents do not send it. */
  hostName: z.string().max(maxHostNameLength).exactOptional(),
  startedAt: instant,
  capabilities,
  capacity: z.object({ light: count, heavy: count }),
  running: count,
  /** How many shards it would begin at once: one that waits for its turn keeps the others waiting. */
  roomForShards: count.exactOptional(),
  outbox: z.object({ depth: count, oldestAt: instant.nullable(), droppedTotal: count }),
  /** The snapshot id of the last answer; null asks for everything. */
  snapshot: z.string().max(100).nullable(),
  /** How long to wait for changes; 0 answers at once. */
  waitMs: z.int().min(0).max(longPollMs),
  clock: z.object({
    sentAt: instant,
    /** Clock of the control plane minus clock of the agent, measured at the last check-in. */
    offsetMs: z.number().min(-latestInstant).max(latestInstant).nullable(),
    /** How wrong the offset can be: half of the time that the way took. */
    uncertaintyMs: z.number().min(0).max(latestInstant).exactOptional(),
  }),
  /** Load of the agent; absent from agents that do not report it. */
  load: z
    .object({
      /** Null while it is not overloaded. */
      overloadedSince: instant.nullable(),
      reason: z.string().max(300).nullable(),
      /** Share of time in which its threads waited for a CPU. */
      cpuWaitRatio: z.number().min(0).max(1).nullable(),
      lastSuspension: z.object({ endedAt: instant, lastedMs: z.number().min(0) }).nullable(),
    })
    .exactOptional(),
  /** The newest acknowledgement of this agent. */
  acknowledged: acknowledgement.exactOptional(),
  /** Digest of what it holds to watch the control plane; null for nothing. Absent from older agents. */
  watch: z.string().max(64).nullable().exactOptional(),
});
export type CheckInRequest = z.output<typeof checkInRequest>;

export const checkInAnswer = z.object({
  serverTime: z.object({ receivedAt: instant, sentAt: instant }),
  /** Code of the location the key belongs to. */
  location: z.string(),
  /** Grows with every change of the set of agents of the location. */
  epoch: z.int(),
  /**
   * Key for ids of runs and results of this location, 32 bytes in base64; see `domain/run-id.ts`.
   * Agents of protocol 1 do not get it.
   */
  idKey: z.string().exactOptional(),
  /** Public keys for which results are encrypted; an agent with keys of its own ignores them. */
  resultKeys: z.array(resultPublicKey).exactOptional(),
  snapshot: z.string(),
  /** True when `upserts` contains all checks, so the agent drops all others. */
  full: z.boolean(),
  upserts: z.array(assignedCheck),
  removals: z.array(z.uuid()),
  jobs: z.array(job),
  cancellations: z.array(z.uuid()),
  /** The database has lost what was stored before: agents hand in again what they still have. */
  lostUntil: instant.exactOptional(),
  /** For an agent that offers no check type: whether the others know of the checks that it held. */
  handedOver: z.boolean().exactOptional(),
  /** Null where no channel is for agents any more; absent while nothing has changed. */
  watch: controlPlaneWatch.nullable().exactOptional(),
});
export type CheckInAnswer = z.output<typeof checkInAnswer>;

/** A relative path of one or two parts without `..`: `trace.zip`, `screenshots/after-failure.png`. */
export const artifactName = z
  .string()
  .max(200)
  .regex(/^(?!\.)[\w.-][\w .()-]*(\/(?!\.)[\w.-][\w .()-]*)?$/, 'must be a plain file name');

/** A file of a result, announced with the result. */
const artifactDeclaration = z.object({
  name: artifactName,
  type: artifactType,
  contentType: z.string().max(255),
  /** Size of the file before compression for the transfer. */
  size: z.int().min(0),
  /** SHA-256 of the file in base64; only this file is accepted. Agents of protocol 1 do not send it. */
  digest: z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=$/)
    .exactOptional(),
  /** Why the file stays on the agent: secrets could not be removed, or it is too large. */
  withheld: z.string().max(1000).nullable().default(null),
});
export type ArtifactDeclaration = z.output<typeof artifactDeclaration>;

/** Code of a location. */
const locationCode = z.string().max(64);

/** Of a run or a result. Databases that store ids as numbers give them back in lower case. */
const storedId = z.uuid().lowercase();

/** One attempt of a run, as the agent submits it. */
export const resultSubmission = z.object({
  kind: z.literal('result'),
  /** Derived from run and attempt; see `domain/run-id.ts`. */
  id: storedId,
  runId: storedId,
  checkId: z.uuid(),
  checkRevision: z.int(),
  checkType: z.string().max(64),
  name: z.string().max(1_000),
  /** The location of the slot. */
  slotLocation: locationCode,
  runLocation: locationCode,
  scheduledFor: instant.nullable(),
  jobId: z.uuid().nullable(),
  attempt: z.int().min(1).max(maxAttempts),
  resultType,
  /**
   * Set on an ATTEMPT whose retry another location should run: its earliest start, and the start of
   * the run. `retryElsewhere` is a name of the wire.
   */
  retryElsewhere: z.object({ notBefore: instant, sequenceStartedAt: instant }).nullable(),
  startedAt: instant,
  stoppedAt: instant,
  responseTime: z.number().min(0).max(maxResponseTimeMs),
  hasFailures: z.boolean(),
  hasErrors: z.boolean(),
  /**
   * Code of the agent error in the agent's catalogue, for a result with `hasErrors`. `faultCode` is
   * a name of the wire.
   */
  faultCode: z.string().max(64).exactOptional(),
  isDegraded: z.boolean(),
  overMaxResponseTime: z.boolean(),
  underLoad: z.boolean(),
  /** Milliseconds of the attempt in which the agent waited for a CPU or was stopped. */
  agentWaitMs: z.number().min(0).exactOptional(),
  /** Epoch of the assignment under which the run began. */
  epoch: z.int(),
  /** A user cancelled the run; it counts for nothing. */
  isCancelled: z.boolean().default(false),
  ...submittedResults,
  /** In the place of the details, messages and scripts, where the location has keys for results. */
  encryptedResult: submittedEncryptedResult.nullable().exactOptional(),
  /** Messages for error groups, each at most 16 KiB; empty for a pass. */
  errorMessages: z.array(z.string().max(16_384)).max(100).default([]),
  /** Files that follow or were withheld. */
  artifacts: z.array(artifactDeclaration).max(200).default([]),
  learnedScript: learnedScript.nullable().default(null),
  /** The agent had no room for the result details: only the verdict and the times remain. */
  isPayloadDropped: z.boolean().exactOptional(),
});
export type ResultSubmission = z.output<typeof resultSubmission>;

/** A slot that the agent knows it has missed. */
export const missedSubmission = z.object({
  kind: z.literal('missed'),
  id: storedId,
  runId: storedId,
  checkId: z.uuid(),
  slotLocation: locationCode,
  scheduledFor: instant,
  reason: missedReason,
});
export type MissedSubmission = z.output<typeof missedSubmission>;

/** Problems of a certificate besides its expiry. */
const certificateProblem = z.enum([
  'expired',
  'not-yet-valid',
  'self-signed',
  'wrong-host',
  'untrusted',
]);
export type CertificateProblem = z.output<typeof certificateProblem>;

/** A certificate that a server presented in the location of the agent, valid or not. */
const certificateSubmission = z.object({
  kind: z.literal('certificate'),
  id: z.uuid(),
  checkId: z.uuid(),
  /** As in the target of the check. */
  host: z.string().min(1).max(255),
  port: z.int().min(1).max(65_535),
  measuredAt: instant,
  validFrom: instant,
  validTo: instant,
  /** On one line: `C=US, O=Authority, CN=R3`. */
  issuer: z.string().max(2048),
  subject: z.string().max(2048),
  fingerprint256: z.string().max(128),
  /** A problem that only newer agents know counts as untrusted. */
  problem: certificateProblem.nullable().catch('untrusted'),
});
export type CertificateSubmission = z.output<typeof certificateSubmission>;

export const submission = z.discriminatedUnion('kind', [
  resultSubmission,
  missedSubmission,
  certificateSubmission,
]);
export type Submission = z.output<typeof submission>;

const itemOutcome = z.object({
  id: z.string().nullable(),
  outcome: z.enum(['accepted', 'duplicate', 'late', 'refused']),
  reason: z.string().exactOptional(),
});
export type ItemOutcome = z.output<typeof itemOutcome>;

const jobIds = z.array(z.uuid()).max(1000);

/** What one shard of a run came to, without secrets. */
export const shardOutcome = resultSubmission
  .pick({ startedAt: true, stoppedAt: true, responseTime: true, hasFailures: true })
  .extend({
    ...resultSubmission.pick({ hasErrors: true, faultCode: true, isDegraded: true }).shape,
    ...resultSubmission.pick({ overMaxResponseTime: true, underLoad: true }).shape,
    ...resultSubmission.pick({ agentWaitMs: true, errorMessages: true, artifacts: true }).shape,
    playwrightCheckResult: playwrightCheckResult.nullable(),
    /** Why it is not a clean pass. */
    reason: z.string().max(16_384).nullable(),
  });
export type ShardOutcome = z.output<typeof shardOutcome>;

/** The run whose shards are meant, as its coordinator has it. */
const shardedRun = z.object({
  checkId: z.uuid(),
  checkRevision: z.int(),
  runId: z.uuid(),
  attempt: z.int().min(1).max(maxAttempts),
  slotLocation: locationCode,
  scheduledFor: instant.nullable(),
  jobId: z.uuid().nullable(),
});
export type ShardedRun = z.output<typeof shardedRun>;

const shardAnswer = z.object({
  /** Why the run is not shared; null where it is. */
  refusal: z.string().nullable(),
  total: z.int().min(0).max(maxShards),
  /** A shard that this agent has leased now. */
  claim: z.object({ jobId: z.uuid(), index: shardIndex }).nullable(),
  /** `outcome` is a `shardOutcome` as JSON. */
  outcomes: z.array(z.object({ index: shardIndex, outcome: z.string() })),
});
export type ShardAnswer = z.output<typeof shardAnswer>;

/** Limit of reported runs in progress; the oldest ones are reported. */
export const maxOpenRuns = 1000;

const openRun = z.object({
  runId: z.uuid(),
  checkId: z.uuid(),
  slotLocation: z.string().max(64),
  scheduledFor: instant.nullable(),
  /** Start of its first attempt. */
  startedAt: instant,
  /** The current or next attempt. */
  attempt: z.int().min(1).max(1000),
});
export type OpenRun = z.output<typeof openRun>;

/** Limit of what is sent at a time of what a run prints, in characters. */
export const maxLiveLogLength = 65_536;

const logLine = z.object({ timestamp: instant, message: z.string().max(maxLiveLogLength) });
export type LiveLogLine = z.output<typeof logLine>;

export const agentRoutes = defineRoutes(tag, {
  checkIn: post(
    '/v1/agent/check-in',
    'Check in; answered at once when something changed, otherwise after the wait',
    {
      operationId: 'agentCheckIn',
      authentication: 'locationKey',
      body: checkInRequest,
      status: 200,
      response: checkInAnswer,
      errors: [409],
    },
  ),
  submitResults: post(
    '/v1/agent/results',
    'Submit results; answered per item, in order, once they are stored durably',
    {
      operationId: 'agentSubmitResults',
      authentication: 'locationKey',
      /** Items are parsed one by one, so that only an invalid item is refused. */
      body: z.object({
        agentId: z.uuid(),
        items: z.array(z.unknown()).max(maxBatchItems),
        acknowledged: acknowledgement.exactOptional(),
      }),
      bodyLimitBytes: 33_554_432,
      status: 200,
      response: z.object({
        items: z.array(itemOutcome),
        acknowledged: acknowledgement.exactOptional(),
      }),
      errors: [409, 413],
    },
  ),
  renewLeases: post('/v1/agent/leases/renew', 'Keep the jobs this agent is working on', {
    operationId: 'agentRenewLeases',
    authentication: 'locationKey',
    body: z.object({ agentId: z.uuid(), jobIds }),
    status: 200,
    response: z.object({ renewed: jobIds, lost: jobIds }),
    errors: [409],
  }),
  releaseJobs: post('/v1/agent/release', 'Release jobs, so that another agent can take them', {
    operationId: 'agentReleaseJobs',
    authentication: 'locationKey',
    body: z.object({ agentId: z.uuid(), jobIds }),
    status: 204,
    errors: [409],
  }),
  /** A check-in may wait long, so runs that last more than a moment are reported separately. */
  reportOpenRuns: post(
    '/v1/agent/open-runs',
    'Report all runs in progress, so that users can see and cancel them',
    {
      operationId: 'agentReportOpenRuns',
      authentication: 'locationKey',
      body: z.object({ agentId: z.uuid(), runs: z.array(openRun).max(maxOpenRuns) }),
      status: 204,
      errors: [409],
    },
  ),
  /** The agent whose run it is shares it, takes part in it and gathers the outcomes. */
  shareRun: post(
    '/v1/agent/shards',
    'Share a run among the agents of the location; claim its shards and gather their outcomes',
    {
      operationId: 'agentShareRun',
      description:
        'The shards of a run and attempt are made once: who asks again gets the same ones, with the outcomes that there are. Answered at once when there is a claim or a new outcome, otherwise after the wait.',
      authentication: 'locationKey',
      body: z.object({
        agentId: z.uuid(),
        run: shardedRun,
        /** The outcomes that it has already. */
        has: z.array(shardIndex).max(maxShards),
        /** It runs a shard next, where one waits. */
        claims: z.boolean(),
        waitMs: z.int().min(0).max(longPollMs),
      }),
      status: 200,
      response: shardAnswer,
      errors: [404, 409],
    },
  ),
  finishShard: post('/v1/agent/shards/outcome', 'Hand in what a leased shard came to', {
    operationId: 'agentFinishShard',
    authentication: 'locationKey',
    body: z.object({
      ...{ agentId: z.uuid(), jobId: z.uuid() },
      /** A `shardOutcome` as JSON. */
      outcome: z.string().max(maxShardsBytes),
    }),
    bodyLimitBytes: 2 * maxShardsBytes,
    status: 200,
    /** `lost`: another agent has the shard, or its run is over. */
    response: z.object({ outcome: z.enum(['accepted', 'duplicate', 'lost']) }),
    errors: [409, 413],
  }),
  /** Only for jobs with `streamsLogs`; secrets have been removed, as from results. */
  sendLogs: post(
    '/v1/agent/logs',
    'Send what a run has printed since, for somebody who watches it',
    {
      operationId: 'agentSendLogs',
      description: '404 when nobody watches the run; the agent then stops sending.',
      authentication: 'locationKey',
      body: z.object({
        agentId: z.uuid(),
        runId: z.uuid(),
        /** Counts the pieces of a run from 0: a piece that comes again is ignored. */
        position: z.int().min(0).max(1_000_000),
        lines: z.array(logLine).min(1).max(2_000),
      }),
      status: 204,
      errors: [404, 409, 413],
    },
  ),
  goodbye: post(
    '/v1/agent/goodbye',
    'Leave the location; assignments move to other agents at once',
    {
      operationId: 'agentGoodbye',
      authentication: 'locationKey',
      body: z.object({ agentId: z.uuid() }),
      status: 204,
      errors: [409],
    },
  ),
  /** Limited technical metadata: never a key, a variable, a check, a URL, a header or a body. */
  reportErrors: post(
    '/v1/agent/reports',
    'Report counts of internal errors; off with EXTERNAL_OBSERVABILITY=off',
    {
      operationId: 'agentReportErrors',
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
              count: z.int().min(1).max(1_000_000_000),
            }),
          )
          .max(100),
      }),
      status: 204,
      errors: [409],
    },
  ),
});

export const { checkIn, submitResults, renewLeases, releaseJobs, goodbye, reportErrors } =
  agentRoutes;

export const agentArtifactRoutes = defineRoutes(tag, {
  /**
   * A file of a submitted result. It is sent as it is, or with `Content-Encoding: gzip`; limits and
   * digest apply to the file itself. Uploading the same file twice is accepted.
   */
  uploadArtifact: put(
    '/v1/agent/artifacts/{resultId}/{name}',
    'Upload a file of a result; visible once it is complete and its digest matches',
    {
      operationId: 'agentUploadArtifact',
      description:
        '`Digest: sha-256=<base64>` is required. 404 until the result that announced the file has been submitted. `name` is percent-encoded, including slashes.',
      authentication: 'locationKey',
      params: z.object({ resultId: pathId, name: artifactName }),
      bodyStream: true,
      status: 204,
      errors: [409, 413],
    },
  ),
});
export const agentCodeBundleRoutes = defineRoutes(tag, {
  /** The bundle of a Playwright suite. */
  downloadCodeBundle: get(
    '/v1/agent/code-bundles/{checkId}',
    'Download the code bundle of a suite that runs in this location',
    {
      operationId: 'agentDownloadCodeBundle',
      authentication: 'locationKey',
      params: z.object({ checkId: pathId }),
      responseStream: 'application/gzip',
      errors: [409],
    },
  ),
  downloadBaseline: get(
    '/v1/agent/baselines/{checkId}/{digest}',
    'Download an image that screenshots of a check in this location are compared with',
    {
      operationId: 'agentDownloadBaseline',
      authentication: 'locationKey',
      params: z.object({ checkId: pathId, digest: sha256Hex }),
      responseStream: 'application/octet-stream',
      errors: [409],
    },
  ),
});
