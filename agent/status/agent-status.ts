/** What a running agent says of itself to its operator: no target, no URL of one, no secret. */
import { z } from 'zod';
import { recipientsStatus } from '../encryption/recipients.ts';

const instant = z.number();
const pool = z.object({ running: z.number(), queued: z.number(), places: z.number() });

/** Instants are milliseconds since the epoch. */
export const agentStatus = z.object({
  pid: z.number(),
  hostname: z.string(),
  version: z.string(),
  protocol: z.number(),
  agentId: z.string(),
  startedAt: instant,
  /** By the agent's clock: what ages are counted from. */
  now: instant,
  state: z.enum(['starting', 'ready', 'draining', 'stopped']),
  /** Why readiness is 503. */
  notReady: z.string().nullable(),
  location: z.string().nullable(),
  controlPlane: z.string(),
  healthPort: z.number(),
  /** Masked; older agents do not say. */
  key: z.string().default(''),
  link: z.object({
    state: z.enum(['unknown', 'up', 'down', 'refused']),
    /** Since when it is in this state. */
    since: instant,
    lastAnswerAt: instant.nullable(),
    lastFailure: z.object({ at: instant, code: z.string(), message: z.string() }).nullable(),
    clockOffsetMs: z.number().nullable(),
    clockUncertaintyMs: z.number().nullable().default(null),
    cutPolls: z
      .object({ count: z.number(), afterMs: z.number() })
      .default({ count: 0, afterMs: 0 }),
  }),
  checks: z.number(),
  pools: z.object({ light: pool, heavy: pool }),
  outbox: z.object({
    depth: z.number(),
    bytes: z.number(),
    maxBytes: z.number(),
    oldestAt: instant.nullable(),
    droppedTotal: z.number(),
    setAsideTotal: z.number().default(0),
    setAsideAt: instant.nullable().default(null),
    lastDeliveredAt: instant.nullable(),
  }),
  artifacts: z.object({
    files: z.number(),
    bytes: z.number(),
    maxBytes: z.number(),
    droppedTotal: z.number(),
  }),
  runtimes: z.array(z.string()),
  browsers: z.array(z.string()),
  /** Why it runs no code and so needs neither; older agents do not say. */
  scriptingProblem: z.string().nullable().default(''),
  /** For each: the way, or why there is none. */
  network: z.object({ icmp: z.string(), capture: z.string(), traceroute: z.string() }),
  /** Whether the agent gets the CPU it needs. */
  load: z.object({
    overloadedSince: instant.nullable(),
    reason: z.string().nullable(),
    /** Of the time in which the main thread wanted a CPU, over the last minute. */
    cpuWaitRatio: z.number().nullable(),
    lastSuspension: z.object({ endedAt: instant, lastedMs: z.number() }).nullable(),
  }),
  /** The last ones that it could not judge; older agents do not say. */
  undecidedRuns: z
    .array(z.object({ at: instant, checkId: z.string(), runId: z.string(), attempt: z.number() }))
    .default([]),
  /** Lines of the log that are being lost. */
  logProblem: z.string().nullable().default(null),
  /** Why AGENT_DATA_DIR cannot be written now; older agents do not say. */
  dataProblem: z.string().nullable().default(null),
  /** Files of the agent that were found damaged since the start; older agents do not say. */
  damages: z
    .array(
      z.object({
        at: instant,
        file: z.string(),
        found: z.string(),
        aside: z.string().nullable(),
        salvaged: z.number(),
        lost: z.number(),
        lostSlots: z.array(z.object({ checkId: z.string(), scheduledFor: instant.nullable() })),
      }),
    )
    .default([]),
  /** Who can read its results, by its memory of what the control plane said; older agents do not say. */
  encryption: recipientsStatus,
  /** Since the start, by code. */
  internalErrors: z.record(z.string(), z.number()),
});
export type AgentStatus = z.output<typeof agentStatus>;
