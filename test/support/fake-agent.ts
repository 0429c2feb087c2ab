/** Speaks the agent protocol by hand, as agents of protocol 1 do: checks in, takes jobs, submits results. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type {
  CheckInAnswer,
  CheckInRequest,
  ItemOutcome,
  Job,
  ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { resultIdOfAttempt, runIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { sha256Hex } from '../../control-plane/core/keys.ts';
import type { TestControlPlane } from './control-plane.ts';
import { withLeases } from './leased-runs.ts';
import { withoutDetails } from './plain.ts';

const start = Date.parse('2026-11-21T08:00:00Z');

/** What an agent sends that reports for work and does not wait, unless the fields say otherwise. */
export function checkInOf(
  fields: Partial<CheckInRequest> = {},
  checkTypes: string[] = [],
  runtimes: string[] = [],
  browsers: string[] = [],
): CheckInRequest {
  return {
    agentId: '11111111-1111-4111-8111-111111111111',
    ...{ protocol: 1, version: '0.1.0', startedAt: start },
    capabilities: {
      ...{ checkTypes, runtimes, icmp: 'none', capture: false, traceroute: false, browsers },
    },
    capacity: { light: 10, heavy: 1 },
    running: 0,
    outbox: { depth: 0, oldestAt: null, droppedTotal: 0 },
    ...{ snapshot: null, waitMs: 0, clock: { sentAt: start, offsetMs: null } },
    ...fields,
  };
}

export class FakeAgent {
  readonly id = randomUUID();
  readonly #cp: TestControlPlane;
  readonly #key: string;
  snapshot: string | null = null;

  constructor(cp: TestControlPlane, key: string) {
    this.#cp = cp;
    this.#key = key;
  }

  async call<T>(path: string, body: unknown, expected = 200): Promise<T> {
    const answer = await this.#cp.api('POST', `/v1/agent/${path}`, body, {
      authorization: `Bearer ${this.#key}`,
    });
    assert.equal(answer.status, expected, JSON.stringify(answer.body));
    return answer.body as T;
  }

  async checkIn(
    types = ['URL', 'TCP', 'DNS', 'ICMP'],
    runtimes: string[] = [],
    browsers: string[] = [],
  ): Promise<CheckInAnswer> {
    const fields = { agentId: this.id, snapshot: this.snapshot };
    const request = checkInOf(fields, types, runtimes, browsers);
    const answer = await this.call<CheckInAnswer>('check-in', request);
    this.snapshot = answer.snapshot;
    return answer;
  }

  /** Hands in results of runs at any instant, as if jobs for them had been leased. */
  async submit(...items: unknown[]): Promise<ItemOutcome[]> {
    const { controlPlane, accountId } = this.#cp;
    return this.handIn(...(await withLeases(controlPlane.services, accountId, items)));
  }

  /** Hands in what is given as it is. */
  async handIn(...items: unknown[]): Promise<ItemOutcome[]> {
    return (await this.call<{ items: ItemOutcome[] }>('results', { agentId: this.id, items }))
      .items;
  }
}

/** A passing result of a URL monitor at a slot, unless the fields say otherwise. */
export function resultOf(
  checkId: string,
  fields: Partial<ResultSubmission> = {},
): ResultSubmission {
  const scheduledFor = fields.scheduledFor ?? start;
  const location = fields.slotLocation ?? 'eu-west-1';
  const runId = fields.runId ?? runIdOfSlot({ checkId, location, scheduledFor }, sha256Hex);
  const attempt = fields.attempt ?? 1;
  return {
    kind: 'result',
    id: resultIdOfAttempt(runId, attempt, sha256Hex),
    ...{ runId, checkId, checkRevision: 1, checkType: 'URL', name: 'a', slotLocation: location },
    runLocation: location,
    scheduledFor: fields.scheduledFor === null ? null : scheduledFor,
    ...{ jobId: null, attempt, resultType: 'FINAL', retryElsewhere: null, startedAt: start },
    ...{ stoppedAt: start + 20, responseTime: 20.9, hasFailures: false, hasErrors: false },
    ...{ isDegraded: false, overMaxResponseTime: false, underLoad: false, epoch: 1 },
    ...withoutDetails,
    apiCheckResult: null,
    ...fields,
  };
}

/** The result of a job that ran. */
export function resultOfJob(job: Job, fields: Partial<ResultSubmission> = {}): ResultSubmission {
  return resultOf(job.check.id, {
    checkType: job.check.type as ResultSubmission['checkType'],
    ...{ runId: job.runId, jobId: job.id, scheduledFor: null, slotLocation: job.slotLocation },
    runLocation: job.slotLocation,
    ...fields,
  });
}
