/**
 * Runs of suites that several agents share. The agent whose run it is, its coordinator, runs shards as long as
 * one waits, then waits for those of others, and makes one outcome of all. One that takes the place of a killed
 * one finds the same shards. While the control plane is away it makes the missing ones itself.
 */
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import {
  leaseMs,
  maxShardsBytes,
  shardOutcome,
  type ShardAnswer,
  type ShardedRun,
  type ShardOutcome,
} from '@monitor/shared/contract/agent-protocol.ts';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import type { Logger } from 'pino';
import type { ArtifactSpool } from '../../artifacts/artifact-spool.ts';
import { CallFailure, type ControlPlaneClient } from '../../link/control-plane-client.ts';
import type { SuitePart } from '../../runners/runner.ts';
import { makeAttempt, outcomeWithoutAttempt } from '../attempt.ts';
import type { Attempt, AttemptOutcome, AttemptTools } from '../attempt.ts';
import type { LeaseBook } from '../lease-book.ts';
import type { Run } from '../run.ts';
import type { Turn } from '../run-queue.ts';
import { fittedOutcome, lineOfShard, mergeShards } from './merge-shards.ts';

/** Shorter than connections in between live. */
const pollMs = 20_000;
const againAfterMs = 2_000;

export interface SharedRunsParts {
  client: Pick<ControlPlaneClient, 'shareRun' | 'finishShard' | 'release'>;
  clock: Clock;
  leases: LeaseBook;
  spool: Pick<ArtifactSpool, 'commit' | 'abandon'>;
  logger: Logger;
}

/** The entry of the spool with the files of a result, or of one shard of its run. */
export const spoolEntryOf = (resultId: string, index?: number): string =>
  index === undefined ? resultId : `${resultId}-${index}`;

function outcomeOf({ faultCode, reason, ...outcome }: AttemptOutcome, total: number): ShardOutcome {
  const known = shardOutcome.parse({
    ...{ ...outcome, ...(faultCode !== null && { faultCode }) },
    reason: reason?.slice(0, 16_384) ?? null,
  });
  return fittedOutcome(known, Math.floor(maxShardsBytes / total));
}

/** Null for a run that may be shared. */
function whyWhole({ check, encrypter = null, updatesSnapshots = false }: Attempt): string | null {
  if (encrypter !== null)
    return 'its results are encrypted, and one agent cannot read those of another';
  if (updatesSnapshots) return 'its snapshots are made anew, for one client';
  if (check.definition['shouldFail'] === true) return 'shouldFail is about the suite as a whole';
  const isNamed = /--shard\b/.test(String(check.definition['testCommand']));
  return isNamed ? 'testCommand names a shard itself' : null;
}

/** One run while it is shared. */
interface Sharing {
  readonly attempt: Attempt;
  readonly tools: AttemptTools;
  readonly signal: AbortSignal;
  readonly run: ShardedRun;
  readonly outcomes: Map<number, ShardOutcome>;
  readonly log: { time: number; msg: string; level: string }[];
  total: number;
}

export class SharedRuns {
  readonly #parts: SharedRunsParts;

  constructor(parts: SharedRunsParts) {
    this.#parts = parts;
  }

  /** Makes a run with other agents; gives what part of it is to be made here where there are none. */
  async make(
    current: Run,
    attempt: Attempt,
    tools: AttemptTools,
    signal: AbortSignal,
  ): Promise<AttemptOutcome | SuitePart | undefined> {
    const type = findAgentType(current.check.type);
    if (current.shard !== undefined) return { shard: current.shard };
    if (type === undefined || (type.shardsOf?.(current.check.definition) ?? 1) < 2)
      return undefined;
    const made =
      whyWhole(attempt) ?? (await this.#share(current, attempt, tools, signal, type.maxRunMs));
    return typeof made === 'string' ? { whyWhole: made } : made;
  }

  async #share(
    { check, runId, attempt: number, slotLocation, scheduledFor, jobId }: Run,
    attempt: Attempt,
    tools: AttemptTools,
    signal: AbortSignal,
    maxMs: number,
  ): Promise<AttemptOutcome | string> {
    const { clock } = this.#parts;
    const startedAt = clock.now();
    const begunAt = clock.monotonic();
    const run = {
      ...{ checkId: check.id, checkRevision: check.revision, runId, attempt: number },
      ...{ slotLocation, scheduledFor, jobId },
    };
    const sharing: Sharing = {
      ...{ attempt, tools, signal, run, outcomes: new Map(), log: [], total: 0 },
    };
    let awaySince: number | null = null;
    for (;;) {
      const now = clock.monotonic();
      const leftMs = begunAt + maxMs - now;
      if (signal.aborted || leftMs <= 0) break;
      const answer = await this.#ask(sharing, leftMs);
      if (typeof answer === 'string') {
        if (sharing.total === 0) return answer;
        awaySince ??= now;
      } else {
        awaySince = null;
        if (answer.refusal !== null) return answer.refusal;
        this.#take(sharing, answer);
      }
      if (sharing.outcomes.size === sharing.total) break;
      const offered = typeof answer === 'string' ? null : answer.claim;
      const claim = offered ?? this.#claimAway(sharing, awaySince);
      if (claim !== null) await this.#makeShard(sharing, claim, begunAt + maxMs);
      else if (typeof answer === 'string') await sleep(clock, againAfterMs, signal);
    }
    const tookMs = Math.ceil(clock.monotonic() - begunAt);
    if (signal.aborted) return outcomeWithoutAttempt(startedAt + tookMs);
    const { total, outcomes, log } = sharing;
    const shards = Array.from({ length: total }, (_, index) => outcomes.get(index + 1) ?? null);
    return mergeShards(shards, { startedAt, stoppedAt: startedAt + tookMs, log });
  }

  #say({ attempt, log }: Sharing, msg: string): void {
    attempt.onPrinted?.(msg);
    log.push({ time: this.#parts.clock.now(), msg, level: 'INFO' });
  }

  /** A text is why there is no answer. */
  async #ask(sharing: Sharing, leftMs: number): Promise<ShardAnswer | string> {
    const { client, logger } = this.#parts;
    const { run, outcomes, signal, total } = sharing;
    const waitMs = total === 0 ? 0 : Math.round(Math.max(0, Math.min(pollMs, leftMs)));
    try {
      return await client.shareRun(
        { run, has: [...outcomes.keys()], claims: true, waitMs },
        signal,
      );
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      if (!signal.aborted) logger.warn({ err: error, runId: run.runId }, 'run cannot be shared');
      return error.statusCode === 404
        ? 'the control plane does not share it'
        : 'the control plane cannot be asked';
    }
  }

  #take(sharing: Sharing, { total, outcomes }: ShardAnswer): void {
    if (sharing.total === 0) {
      this.#say(sharing, `this run is shared among agents, in ${total} shards`);
      sharing.total = total;
    }
    for (const { index, outcome } of outcomes) {
      if (index > total || sharing.outcomes.has(index)) continue;
      const parsed = shardOutcome.parse(JSON.parse(outcome));
      sharing.outcomes.set(index, parsed);
      this.#say(sharing, lineOfShard(index, total, parsed));
    }
  }

  /** Nobody else hands in anything while the control plane is away for longer than a lease. */
  #claimAway({ total, outcomes }: Sharing, awaySince: number | null) {
    if (awaySince === null || this.#parts.clock.monotonic() - awaySince < leaseMs) return null;
    const all = Array.from({ length: total }, (_, index) => index + 1);
    const index = all.find((one) => !outcomes.has(one));
    return index === undefined ? null : { jobId: null, index };
  }

  async #makeShard(
    sharing: Sharing,
    { jobId, index }: { jobId: string | null; index: number },
    until: number,
  ): Promise<void> {
    const { leases, clock } = this.#parts;
    const { attempt, tools, signal, total, outcomes } = sharing;
    if (jobId !== null) leases.hold(jobId, jobId);
    this.#say(sharing, `shard ${index} of ${total} runs on this agent`);
    const leftMs = Math.max(1, until - clock.monotonic());
    const part = { shard: { index, total } };
    const made = await makeAttempt({ ...attempt, part, leftMs }, tools, signal);
    // Its lease goes with the run.
    if (signal.aborted) return;
    const outcome = outcomeOf(made, total);
    const taken = jobId === null ? 'unsent' : await this.#handIn(jobId, outcome, signal, leaseMs);
    if (jobId !== null) leases.release(jobId);
    await this.#settleFiles(attempt.run.resultId, index, taken);
    if (taken === 'lost') {
      this.#say(sharing, `shard ${index} of ${total}: another agent took it meanwhile`);
      return;
    }
    outcomes.set(index, outcome);
    this.#say(sharing, lineOfShard(index, total, outcome));
  }

  /** What a shard came to, for the agent whose run it is. Nobody there could read it encrypted. */
  async handInFor(
    { jobId, shard }: Run,
    { encrypter = null, run: { resultId } }: Attempt,
    made: AttemptOutcome,
    { signal, isCancelled }: Turn,
  ): Promise<void> {
    if (shard === undefined || jobId === null) return;
    if (encrypter !== null || isCancelled()) this.giveBack(jobId);
    if (encrypter !== null || signal.aborted) return;
    const outcome = outcomeOf(made, shard.total);
    const taken = await this.#handIn(jobId, outcome, signal, Number.POSITIVE_INFINITY);
    await this.#settleFiles(resultId, shard.index, taken === 'unsent' ? 'lost' : taken);
    if (!signal.aborted) this.#parts.leases.release(jobId);
  }

  /** It is nobody's from now on; where that is not heard, its lease runs out. */
  giveBack(jobId: string): void {
    this.#parts.leases.release(jobId);
    void this.#parts.client.release([jobId]).catch(() => undefined);
  }

  #settleFiles(resultId: string, index: number, taken: string): Promise<void> | void {
    const { spool } = this.#parts;
    const entry = spoolEntryOf(resultId, index);
    return taken === 'lost' ? spool.abandon(entry) : spool.commit(entry);
  }

  async #handIn(
    jobId: string,
    outcome: ShardOutcome,
    signal: AbortSignal,
    withinMs: number,
  ): Promise<'accepted' | 'duplicate' | 'lost' | 'unsent'> {
    const { client, clock } = this.#parts;
    const until = clock.monotonic() + withinMs;
    for (;;) {
      try {
        return await client.finishShard(jobId, outcome, signal);
      } catch (error) {
        if (!(error instanceof CallFailure)) throw error;
        if (!error.retryable || signal.aborted || clock.monotonic() >= until) return 'unsent';
        await sleep(clock, againAfterMs, signal);
      }
    }
  }
}
