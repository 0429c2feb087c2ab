/**
 * Runs of suites that several agents share. The agent whose run it is, its coordinator, runs shards as long as
 * one waits, then waits for those of others, and makes one outcome of all. One that takes the place of a killed
 * one finds the same shards. While the control plane is away it makes the missing ones itself, and once each one
 * that ended in an agent error at another agent: one sick agent does not decide about a run.
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
import { makeAttempt, outcomeWithoutAttempt, outcomeWithoutDefinition } from '../attempt.ts';
import type { Attempt, AttemptOutcome, AttemptTools } from '../attempt.ts';
import type { LeaseBook } from '../lease-book.ts';
import type { Run } from '../run.ts';
import type { Turn } from '../run-queue.ts';
import {
  brokenShard,
  failedByItself,
  fittedOutcome,
  lineOfShard,
  mergeShards,
} from './merge-shards.ts';

/** Shorter than connections in between live. */
const pollMs = 20_000;
const againAfterMs = 2_000;
/** The first question may have been heard although nobody hears its answer: its shards are then made in vain. */
const firstAnswerMs = 10_000;
const notAsked = 'the control plane cannot be asked';

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
  const known = shardOutcome.safeParse({
    ...{ ...outcome, ...(faultCode !== null && { faultCode }) },
    reason: reason?.slice(0, 16_384) ?? null,
  });
  return known.success
    ? fittedOutcome(known.data, Math.floor(maxShardsBytes / total))
    : brokenShard(
        outcome.stoppedAt,
        `what it came to is not what others read: ${known.error.message}`,
      );
}

/** Null for what this agent cannot read: agents of a location may be of different versions. */
function readOutcome(text: string): ShardOutcome | null {
  try {
    return shardOutcome.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** It stays refused, however often it is sent. */
const isRefusal = ({ statusCode, retryable }: CallFailure): boolean =>
  statusCode === 413 || (statusCode === 400 && !retryable);

/**
 * What became of an outcome. `refused`: an agent error was handed in in its place. `unsure`: it may have been
 * taken, `unsent`: it was not.
 */
type HandedIn = 'accepted' | 'duplicate' | 'lost' | 'refused' | 'unsure' | 'unsent';

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
  /** Agent errors of other agents, which count where this agent does not get to these shards. */
  readonly sick: Map<number, ShardOutcome>;
  readonly log: { time: number; msg: string; level: string }[];
  /** Of a whole run. */
  readonly maxMs: number;
  total: number;
}

export class SharedRuns {
  readonly #parts: SharedRunsParts;

  constructor(parts: SharedRunsParts) {
    this.#parts = parts;
  }

  /**
   * Makes a run with other agents; gives what part of it is to be made here where there are none. Never rejects:
   * an error of the agent is an outcome with `hasErrors`.
   */
  async make(
    current: Run,
    attempt: Attempt,
    tools: AttemptTools,
    signal: AbortSignal,
  ): Promise<AttemptOutcome | SuitePart | undefined> {
    const { clock, logger } = this.#parts;
    const type = findAgentType(current.check.type);
    if (current.shard !== undefined) return { shard: current.shard };
    if (type === undefined || (type.shardsOf?.(current.check.definition) ?? 1) < 2)
      return undefined;
    const startedAt = clock.now();
    try {
      const made =
        whyWhole(attempt) ?? (await this.#share(current, attempt, tools, signal, type.maxRunMs));
      return typeof made === 'string' ? { whyWhole: made } : made;
    } catch (error) {
      if (signal.aborted) return outcomeWithoutAttempt(startedAt);
      logger.error({ err: error, runId: current.runId }, 'shared run broke');
      return outcomeWithoutDefinition(error, current.check, startedAt, clock.now());
    }
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
      ...{ attempt, tools, signal, run, maxMs, log: [], total: 0 },
      ...{ outcomes: new Map(), sick: new Map() },
    };
    let awaySince: number | null = null;
    for (;;) {
      const leftMs = begunAt + maxMs - clock.monotonic();
      if (signal.aborted || leftMs <= 0) break;
      const answer = await this.#ask(sharing, leftMs);
      if (answer instanceof CallFailure) {
        const now = clock.monotonic();
        awaySince ??= now;
        const isGivenUp = !answer.retryable || now - awaySince >= firstAnswerMs;
        if (sharing.total === 0 && isGivenUp) {
          return answer.statusCode === 404 ? 'the control plane does not share it' : notAsked;
        }
      } else {
        awaySince = null;
        if (answer.refusal !== null) return answer.refusal;
        this.#take(sharing, answer);
      }
      if (sharing.total > 0 && sharing.outcomes.size === sharing.total) break;
      const offered = answer instanceof CallFailure ? null : answer.claim;
      const claim = offered ?? this.#claimSick(sharing) ?? this.#claimAway(sharing, awaySince);
      if (claim !== null) await this.#makeShard(sharing, claim, begunAt + maxMs);
      else if (answer instanceof CallFailure) await sleep(clock, againAfterMs, signal);
    }
    const tookMs = Math.ceil(clock.monotonic() - begunAt);
    const { total, outcomes, sick, log } = sharing;
    if (signal.aborted) return outcomeWithoutAttempt(startedAt + tookMs);
    if (total === 0) return notAsked;
    const shards = Array.from(
      { length: total },
      (_, index) => outcomes.get(index + 1) ?? sick.get(index + 1) ?? null,
    );
    return mergeShards(shards, { startedAt, stoppedAt: startedAt + tookMs, log });
  }

  #say({ attempt, log }: Sharing, msg: string): void {
    attempt.onPrinted?.(msg);
    log.push({ time: this.#parts.clock.now(), msg, level: 'INFO' });
  }

  async #ask(sharing: Sharing, leftMs: number): Promise<ShardAnswer | CallFailure> {
    const { client, logger } = this.#parts;
    const { run, outcomes, sick, signal, total } = sharing;
    const isBusy = total === 0 || this.#claimSick(sharing) !== null;
    const waitMs = isBusy ? 0 : Math.round(Math.max(0, Math.min(pollMs, leftMs)));
    const has = [...new Set([...outcomes.keys(), ...sick.keys()])];
    try {
      return await client.shareRun({ run, has, claims: true, waitMs }, signal);
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      if (!signal.aborted) logger.warn({ err: error, runId: run.runId }, 'run cannot be shared');
      return error;
    }
  }

  #take(sharing: Sharing, { total, outcomes }: ShardAnswer): void {
    if (sharing.total === 0) {
      this.#say(sharing, `this run is shared among agents, in ${total} shards`);
      sharing.total = total;
    }
    for (const { index, outcome: text } of outcomes) {
      if (index > total || sharing.outcomes.has(index) || sharing.sick.has(index)) continue;
      const outcome =
        readOutcome(text) ??
        brokenShard(this.#parts.clock.now(), 'what it came to cannot be read by this agent');
      sharing[outcome.hasErrors ? 'sick' : 'outcomes'].set(index, outcome);
      this.#say(sharing, lineOfShard(index, total, outcome));
    }
  }

  /** A shard with an agent error of another agent is run once more by this one. */
  #claimSick({ outcomes, sick }: Sharing) {
    const index = [...sick.keys()].find((one) => !outcomes.has(one));
    return index === undefined ? null : { jobId: null, index };
  }

  /** Nobody else hands in anything while the control plane is away for longer than a lease. */
  #claimAway({ total, outcomes }: Sharing, awaySince: number | null) {
    if (total === 0 || awaySince === null) return null;
    if (this.#parts.clock.monotonic() - awaySince < leaseMs) return null;
    const all = Array.from({ length: total }, (_, index) => index + 1);
    const index = all.find((one) => !outcomes.has(one));
    return index === undefined ? null : { jobId: null, index };
  }

  async #makeShard(
    sharing: Sharing,
    { jobId, index }: { jobId: string | null; index: number },
    until: number,
  ): Promise<void> {
    const { leases } = this.#parts;
    const { total, outcomes, signal } = sharing;
    const { resultId } = sharing.attempt.run;
    if (jobId !== null) leases.hold(jobId, jobId);
    try {
      const made = await this.#attemptShard(sharing, index, until);
      if (made === null || signal.aborted) {
        if (jobId !== null) this.giveBack(jobId);
        await this.#settleFiles(resultId, index, 'unsent');
        return;
      }
      const outcome = outcomeOf(made, total);
      const taken = jobId === null ? null : await this.#handIn(jobId, outcome, signal);
      if (jobId !== null) leases.release(jobId);
      // A failure that was seen is not undone by another agent that saw none.
      const isLost = taken === 'lost' && !outcome.hasFailures;
      await this.#settleFiles(resultId, index, isLost ? 'lost' : 'accepted');
      if (isLost) {
        this.#say(sharing, `shard ${index} of ${total}: another agent took it meanwhile`);
        return;
      }
      outcomes.set(index, outcome);
      this.#say(sharing, lineOfShard(index, total, outcome));
    } catch (error) {
      if (jobId !== null) this.giveBack(jobId);
      throw error;
    }
  }

  /** Null for a shard that had less time than a run has, and was cut off before a test failed: that is no failure. */
  async #attemptShard(
    sharing: Sharing,
    index: number,
    until: number,
  ): Promise<AttemptOutcome | null> {
    const { clock } = this.#parts;
    const { attempt, tools, signal, total, maxMs } = sharing;
    this.#say(sharing, `shard ${index} of ${total} runs on this agent`);
    const leftMs = Math.max(1, until - clock.monotonic());
    const part = { shard: { index, total } };
    const made = await makeAttempt({ ...attempt, part, leftMs }, tools, signal);
    const isCutOff = clock.monotonic() >= until && leftMs < maxMs - leaseMs;
    if (!isCutOff || !made.hasFailures || failedByItself(made)) return made;
    this.#say(sharing, `shard ${index} of ${total}: it began too late to end in time`);
    return null;
  }

  /**
   * What a shard came to, for the agent whose run it is. Nobody there could read it encrypted. Runs that wait
   * here have its place meanwhile, and after a lease its coordinator makes the shard itself.
   */
  async handInFor(
    { jobId, shard }: Run,
    { encrypter = null, run: { resultId } }: Attempt,
    made: AttemptOutcome,
    { signal, isCancelled, releasePermit }: Pick<Turn, 'signal' | 'isCancelled' | 'releasePermit'>,
  ): Promise<void> {
    releasePermit();
    if (shard === undefined || jobId === null) return;
    try {
      const taken =
        encrypter !== null || signal.aborted
          ? 'unsent'
          : await this.#handIn(jobId, outcomeOf(made, shard.total), signal);
      await this.#settleFiles(resultId, shard.index, taken);
      // A lease that was lost may be here again meanwhile, for a new run of the shard.
      const isDropped = signal.aborted && !isCancelled();
      if (isDropped) return;
      if (taken === 'unsent' || taken === 'unsure') this.giveBack(jobId);
      else this.#parts.leases.release(jobId);
    } catch (error) {
      this.#parts.logger.error({ err: error, jobId }, 'shard cannot be handed in');
      this.giveBack(jobId);
    }
  }

  /** It is nobody's from now on; where that is not heard, its lease runs out. */
  giveBack(jobId: string): void {
    this.#parts.leases.release(jobId);
    void this.#parts.client.release([jobId]).catch(() => undefined);
  }

  /** Files that no result announces in the end are removed when they are uploaded. */
  #settleFiles(resultId: string, index: number, taken: HandedIn): Promise<void> | void {
    const { spool } = this.#parts;
    const entry = spoolEntryOf(resultId, index);
    const isKept = taken === 'accepted' || taken === 'duplicate' || taken === 'unsure';
    return isKept ? spool.commit(entry) : spool.abandon(entry);
  }

  /** Goes on for as long as a lease while the control plane is away. */
  async #handIn(jobId: string, outcome: ShardOutcome, signal: AbortSignal): Promise<HandedIn> {
    const { client, clock, logger } = this.#parts;
    const until = clock.monotonic() + leaseMs;
    let sent = outcome;
    let isUnsure = false;
    for (;;) {
      try {
        const answer = await client.finishShard(jobId, sent, signal);
        if (sent !== outcome) return 'refused';
        // The answer to an earlier try was lost: it was taken, and the run may be over since.
        return answer === 'lost' && isUnsure ? 'duplicate' : answer;
      } catch (error) {
        if (!(error instanceof CallFailure)) throw error;
        if (isRefusal(error) && sent === outcome) {
          logger.error({ err: error, jobId }, 'outcome of a shard is refused');
          sent = brokenShard(outcome.stoppedAt, `what it came to was refused: ${error.message}`);
          continue;
        }
        isUnsure ||= error.retryable;
        if (!error.retryable || signal.aborted || clock.monotonic() >= until) {
          return isUnsure ? 'unsure' : 'unsent';
        }
        await sleep(clock, againAfterMs, signal);
      }
    }
  }
}
