/** Everything a running agent is made of, top to bottom. Stopping undoes it in reverse. */
import { resolve } from 'node:path';
import { Registry } from 'prom-client';
import { leaseRenewMs, type CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import { tightenTree } from '@monitor/shared/private-files.ts';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { MissedReason } from '@monitor/shared/contract/check-result.ts';
import type { Logger } from 'pino';
import { ArtifactSpool } from './artifacts/artifact-spool.ts';
import { openRunArtifacts } from './artifacts/run-artifacts.ts';
import { UploadLoop } from './artifacts/upload-loop.ts';
import { requireKey, type AgentConfig } from './config.ts';
import { secretsOf } from './config-secrets.ts';
import { ControlPlaneClient } from './link/control-plane-client.ts';
import { createDispatcher } from './link/dispatcher.ts';
import { readCertificate } from './net/read-certificate.ts';
import { startErrorReports } from './observability/error-reports.ts';
import type { LogRing } from './observability/log-ring.ts';
import { linkRemarks } from './status/link-remarks.ts';
import { loadRemarks } from './status/load-remarks.ts';
import { createMetrics, measureDisks } from './observability/metrics.ts';
import { serveProbes } from './status/probes.ts';
import { serveStatus } from './status/status-socket.ts';
import { tellStatus } from './status/collect-status.ts';
import { openTraces } from './observability/tracing/open-traces.ts';
import { openProbeEndpoint } from './probe/probe-endpoint.ts';
import { canRunCode, runnersFor, type RunnerRegistry } from './runners/index.ts';
import type { NetworkAccess } from './net/network-access.ts';
import { createScrubber } from './scrub/create-scrubber.ts';
import { runFolderOf } from './script-host/work-folder.ts';
import { openScripting } from './scripting.ts';
import { version } from './version.ts';
import { Acknowledgement } from './link/acknowledgement.ts';
import { CertificateWatch } from './worker/certificate-watch.ts';
import { CheckInLoop } from './worker/check-in-loop.ts';
import { CorrectedClock } from './worker/corrected-clock.ts';
import { damageInWords, Damages } from './damage.ts';
import { hasEndedUncleanly, markRun } from './worker/last-end.ts';
import { Executor } from './worker/execute-run.ts';
import { openKernelTime } from './worker/kernel-time.ts';
import { notReadyReason, stepLifecycle, type LifecycleState } from './worker/lifecycle.ts';
import { OpenRunReports } from './worker/open-runs.ts';
import { Outbox } from './worker/outbox.ts';
import { RunIds } from './worker/run-ids.ts';
import { ProcessTime } from './worker/process-time.ts';
import { ScheduleCache } from './worker/schedule-cache.ts';
import { Seal } from './worker/seal.ts';
import { Scheduler } from './worker/scheduler.ts';
import { SubmitLoop } from './worker/submit-loop.ts';
import { tryUntil } from './worker/try-until.ts';

export interface AgentParts {
  config: AgentConfig;
  /** Files that hold secrets; no run may see them. */
  secretFiles?: readonly string[];
  logger: Logger;
  network: NetworkAccess;
  /** The last lines of the log, for support bundles. */
  logRing?: LogRing;
  clock?: Clock;
  random?: () => number;
  runners?: RunnerRegistry;
}

export interface RunningAgent extends AsyncDisposable {
  agentId: string;
  healthPort: number;
  /** Resolves when the agent follows a schedule. */
  ready: Promise<void>;
  /**
   * Ends gracefully: readiness turns 503 at once, running checks finish within the drain timeout,
   * results are handed in. Gives the number of results that stay for the next start.
   */
  drain(): Promise<number>;
  /** Ends what is measuring, without results. What is in the outbox stays there. */
  abort(): void;
}

/** The scheduler loop is stuck when a wake-up is overdue by this much. */
const stuckAfterMs = 15_000;
const maintainEveryMs = 10_000;
const inspectEveryMs = 60_000;
const flushWithinMs = 10_000;
/** Results matter more than traces when time is short. */
const tracesWithinMs = 2_000;
/** Soon enough that a crash right after an assignment finds it; late enough to gather a burst. */
const cacheWithinMs = 100;

/** Runs something again and again until the returned function is called. */
function repeat(clock: Clock, everyMs: number, work: () => void): () => void {
  let cancel: () => void = () => undefined;
  const turn = (): void => {
    cancel = clock.after(everyMs, () => {
      work();
      turn();
    });
  };
  turn();
  return () => {
    cancel();
  };
}

/** Starts an agent. Throws an AgentError when its data directory or its health port cannot be used. */
export async function startAgent(parts: AgentParts): Promise<RunningAgent> {
  const { config, logger, network, secretFiles = [] } = parts;
  const { clock: rawClock = systemClock, random = Math.random } = parts;
  const runners = runnersFor(config.AGENT_CHECK_TYPES, parts.runners);
  const apiKey = requireKey(config);
  await using stack = new AsyncDisposableStack();

  const kernel = openKernelTime();
  const clock = new CorrectedClock(rawClock, () => kernel.boot());
  // What this very process did not have is a matter of real time.
  const processTime = stack.use(
    new ProcessTime({ clock: systemClock, now: () => clock.now(), kernel }),
  );
  const startedAt = rawClock.now();
  const metrics = createMetrics(new Registry(), version);
  tightenTree(
    resolve(config.AGENT_DATA_DIR),
    [config.AGENT_WORK_DIR, config.AGENT_RUNTIMES_DIR].map((folder) => resolve(folder)),
  );
  measureDisks(metrics.registry, { data: config.AGENT_DATA_DIR, work: config.AGENT_WORK_DIR });
  const damages = new Damages(
    () => clock.now(),
    logger.child({ subsystem: 'damage' }),
    ({ file, lost }) => {
      metrics.damages.inc({ file });
      metrics.damagedRecords.inc({ file }, lost);
    },
  );
  const outbox = stack.use(
    new Outbox({
      directory: config.AGENT_DATA_DIR,
      maxBytes: config.OUTBOX_MAX_BYTES,
      maxAgeMs: config.OUTBOX_MAX_AGE_HOURS * 3_600_000,
      clock,
      logger: logger.child({ subsystem: 'outbox' }),
      hasEndedUncleanly: hasEndedUncleanly(config.AGENT_DATA_DIR),
      damages,
    }),
  );
  stack.use(markRun(config.AGENT_DATA_DIR, { now: startedAt, logger }));
  network.capture?.onTrouble((fault) => {
    metrics.internalErrors.inc({ code: fault.code });
    logger.warn({ err: fault, subsystem: 'capture' }, 'packets are not kept for a moment');
  });
  const cache = new ScheduleCache(config.AGENT_DATA_DIR, apiKey, logger, damages);
  const dispatcher = createDispatcher(config);
  stack.defer(() => dispatcher.destroy());
  const client = new ControlPlaneClient({
    baseUrl: config.CONTROL_PLANE_URL.replace(/\/+$/, ''),
    apiKey,
    dispatcher,
    agentId: outbox.agentId,
    acknowledgement: new Acknowledgement(config.AGENT_DATA_DIR),
    version,
    // Nobody was silent while this process was stopped.
    clock: processTime.running(rawClock),
  });

  const spool = await ArtifactSpool.open({
    directory: config.AGENT_DATA_DIR,
    maxBytes: config.ARTIFACTS_MAX_BYTES,
    maxAgeMs: config.OUTBOX_MAX_AGE_HOURS * 3_600_000,
    clock,
    logger: logger.child({ subsystem: 'artifacts' }),
    damages,
  });
  const code = canRunCode(runners)
    ? stack.use(
        await openScripting({
          config,
          logger,
          clock: rawClock,
          hidden: [config.AGENT_DATA_DIR, ...secretFiles],
          metrics,
          downloadCodeBundle: (checkId, file, signal) =>
            client.downloadCodeBundle(checkId, file, signal),
        }),
      )
    : null;

  const traces = stack.use(
    openTraces({
      ...{ config, version, random, metrics, agentId: outbox.agentId, clock: rawClock },
      logger: logger.child({ subsystem: 'traces' }),
    }),
  );

  let location: string | null = null;
  let epoch = 0;
  let state: LifecycleState = 'starting';
  const { promise: ready, resolve: becomeReady } = Promise.withResolvers<void>();

  const ids = new RunIds();
  const missedReason = (lateMs: number): MissedReason =>
    processTime.wasSuspendedWithin(lateMs) ? 'agent-suspended' : 'agent-overloaded';
  const executor: Executor = new Executor({
    clock,
    ids,
    runners,
    network,
    processTime,
    missedReason,
    outbox,
    metrics,
    logger: logger.child({ subsystem: 'runs' }),
    lightConcurrency: config.UPTIME_CONCURRENCY,
    heavyConcurrency: config.JOB_CONCURRENCY,
    isLinkUp: () => checkIns.state === 'up',
    seal: new Seal(apiKey, 'waiting runs v1'),
    scripting: code?.scripting ?? null,
    scriptingProblem: code === null ? 'AGENT_CHECK_TYPES names no type with code' : null,
    artifactsOf: (resultId, scrubber) =>
      openRunArtifacts({
        spool,
        resultId,
        scrubber,
        logger,
        within: (path) => runFolderOf(config.AGENT_WORK_DIR, path),
      }),
    onStored: ({ id }) => {
      spool.commit(id);
    },
    onAttempt: (attempt) => {
      traces.record(attempt);
    },
    onScrubbed: () => {
      metrics.scrubbed.inc();
    },
  });
  const scheduler = new Scheduler({
    clock,
    finishedSlots: outbox.finishedSlots(),
    onSlot(check, scheduledFor, lateMs) {
      metrics.slotLateness.observe(lateMs / 1000);
      if (location !== null) executor.startSlot(check, scheduledFor, location, epoch);
    },
    onMissed(check, scheduledFor, lateMs) {
      if (location !== null) executor.miss(check, scheduledFor, location, missedReason(lateMs));
    },
    onClockSet(byMs) {
      logger.warn({ byMs: Math.round(byMs) }, 'clock was set, all slots are planned anew');
    },
  });

  const certificates = new CertificateWatch({
    clock,
    read: readCertificate,
    store: (entry) => outbox.put(entry),
    seen: outbox.seenCertificates(),
    logger: logger.child({ subsystem: 'certificates' }),
  });

  let cancelCaching: (() => void) | null = null;
  const saveSchedule = (): void => {
    cancelCaching = null;
    if (location !== null)
      cache.save({ location, epoch, idKey: ids.key, checks: scheduler.checks() });
  };

  const jobRuns = new Map<string, string>();
  const onAnswer = (answer: CheckInAnswer): void => {
    if (state === 'draining') {
      for (const runId of answer.cancellations) executor.cancel(runId);
      return;
    }
    if (answer.full) openRuns.forget();
    const idKey = answer.idKey ?? null;
    const isSame = answer.location === location && answer.epoch === epoch && idKey === ids.key;
    ({ location, epoch } = answer);
    ids.use(idKey);
    scheduler.apply(location, answer.upserts, answer.removals, answer.full);
    metrics.assignedChecks.set(scheduler.size);
    for (const job of answer.jobs) {
      jobRuns.set(job.id, job.runId);
      executor.startJob(job, location, epoch);
    }
    for (const runId of answer.cancellations) executor.cancel(runId);
    if (!isSame || answer.full || answer.upserts.length > 0 || answer.removals.length > 0) {
      certificates.follow(scheduler.checks());
      cancelCaching ??= rawClock.after(cacheWithinMs, saveSchedule);
    }
    state = stepLifecycle(state, 'schedule-known');
    becomeReady();
  };

  const checkIns: CheckInLoop = new CheckInLoop({
    client,
    clock,
    rawClock,
    random,
    logger: logger.child({ subsystem: 'check-in' }),
    metrics,
    agentId: outbox.agentId,
    version,
    capabilities: {
      checkTypes: Object.keys(runners),
      runtimes: code?.runtimes ?? [],
      icmp: network.icmp?.way ?? 'none',
      capture: network.capture !== null,
      traceroute: network.traceroute !== null,
      browsers: code?.browsers ?? [],
    },
    capacity: { light: config.UPTIME_CONCURRENCY, heavy: config.JOB_CONCURRENCY },
    running: () => executor.running,
    outboxState: () => outbox.state(),
    load: () => processTime.load,
    onAnswer,
  });
  const openRuns = stack.use(
    new OpenRunReports({
      runs: () => executor.openRuns(),
      client,
      clock,
      isLinkUp: () => checkIns.state === 'up',
      logger: logger.child({ subsystem: 'runs' }),
    }),
  );
  const submitLoop = new SubmitLoop({
    outbox,
    client,
    clock: rawClock,
    random,
    logger: logger.child({ subsystem: 'submit' }),
    metrics,
  });

  const uploads = new UploadLoop({
    spool,
    client,
    clock: rawClock,
    random,
    logger: logger.child({ subsystem: 'artifacts' }),
    metrics,
  });

  const observe = (): void => {
    const { depth, bytes, oldestAt, droppedTotal } = outbox.state();
    metrics.outboxRecords.set(depth);
    metrics.outboxBytes.set(bytes);
    metrics.outboxOldest.set(oldestAt === null ? 0 : (clock.now() - oldestAt) / 1000);
    metrics.outboxDropped.set(droppedTotal);
    executor.observe();
    uploads.observe();
    const { overloadedSince, cpuWaitRatio } = processTime.load;
    metrics.overloaded.set(overloadedSince === null ? 0 : 1);
    metrics.cpuWait.set(cpuWaitRatio ?? 0);
  };
  metrics.outboxMaxBytes.set(config.OUTBOX_MAX_BYTES);
  const abilities = {
    icmp: network.icmp,
    capture: network.capture,
    traceroute: network.traceroute,
  };
  for (const [ability, means] of Object.entries(abilities)) {
    metrics.abilities.set({ ability }, means === null ? 0 : 1);
  }
  metrics.abilities.set({ ability: 'browser' }, (code?.browsers ?? []).length > 0 ? 1 : 0);
  // Logs and refusals hold no secret by the rules of the house; here they leave by other doors.
  const scrubber = createScrubber({ secrets: secretsOf(config), detect: true });
  const probes = stack.use(
    await serveProbes(
      {
        notReady: () => notReadyReason(state),
        notAlive: () =>
          scheduler.overdueMs() > stuckAfterMs ? 'the scheduler does not wake up' : null,
        observe,
        remarks: () => {
          const damage = damageInWords(damages.noted);
          return {
            ...linkRemarks(checkIns.history, (text) => scrubber.text(text)),
            ...loadRemarks(processTime.load),
            ...(damage === null ? {} : { damage }),
          };
        },
        probe: await openProbeEndpoint({
          ...{ config, network, metrics, clock: rawClock },
          logger: logger.child({ subsystem: 'probe' }),
        }),
      },
      metrics.registry,
      config.AGENT_HEALTH_HOST,
      config.AGENT_HEALTH_PORT,
    ),
  );

  stack.use(
    await serveStatus({
      directory: config.AGENT_DATA_DIR,
      status: () =>
        tellStatus({
          ...{ config, clock, rawClock, network, state, location },
          ...{ outbox, spool, executor, checkIns, submitLoop, metrics, processTime },
          damages: damages.noted,
          startedAt,
          healthPort: probes.port,
          checks: scheduler.size,
          runtimes: code?.runtimes ?? [],
          browsers: code?.browsers ?? [],
        }),
      log: () => scrubber.text(parts.logRing?.text() ?? ''),
      registry: metrics.registry,
      logger: logger.child({ subsystem: 'status' }),
    }),
  );

  const cached = cache.load(clock.now());
  if (cached !== null) {
    ({ location, epoch } = cached);
    ids.use(cached.idKey);
    scheduler.apply(location, cached.checks, [], true);
    certificates.follow(cached.checks);
    metrics.assignedChecks.set(scheduler.size);
    state = stepLifecycle(state, 'schedule-known');
    becomeReady();
    logger.info({ checks: cached.checks.length }, 'cached schedule is being followed');
  }
  executor.resume(outbox.pendingRetries());
  submitLoop.start();
  uploads.start();
  checkIns.start();

  const maintain = (): void => {
    outbox.dropAged();
    observe();
  };
  stack.defer(repeat(rawClock, maintainEveryMs, maintain));
  let inspectedUpTo = 0;
  stack.defer(
    repeat(rawClock, inspectEveryMs, () => {
      inspectedUpTo = outbox.inspect(inspectedUpTo);
    }),
  );
  const renewLeases = async (): Promise<void> => {
    const jobIds = executor.activeJobs;
    for (const id of jobRuns.keys()) if (!jobIds.includes(id)) jobRuns.delete(id);
    if (jobIds.length === 0) return;
    const { lost } = await client.renewLeases(jobIds);
    executor.loseJobs(lost, (id) => jobRuns.get(id));
  };
  stack.defer(
    repeat(rawClock, leaseRenewMs, () => {
      // A renewal that fails is made up by the next one; three fit into a lease.
      void renewLeases().catch(() => undefined);
    }),
  );
  processTime.onSuspension(({ lastedMs }) => {
    metrics.suspensions.inc();
    metrics.suspendedTime.inc(lastedMs / 1_000);
    logger.warn(
      { lastedMs: Math.round(lastedMs) },
      'the process was stopped or the machine slept, open attempts are void',
    );
    // Leases may be lost by now: known before anything else is made of their jobs.
    void renewLeases().catch(() => undefined);
  });
  processTime.watch();
  if (config.EXTERNAL_OBSERVABILITY) stack.use(startErrorReports(metrics, client, rawClock));

  const opened = stack.move();
  let draining: Promise<number> | null = null;
  let disposing: Promise<void> | null = null;

  const drain = async (): Promise<number> => {
    state = stepLifecycle(state, 'stop-asked');
    metrics.draining.set(1);
    logger.info({ running: executor.running }, 'draining');
    scheduler.stop();
    certificates.stop();
    if (executor.running > 0) checkIns.standDown();
    const timeout = rawClock.after(config.DRAIN_TIMEOUT_SECONDS * 1000, () => {
      logger.warn({ running: executor.running }, 'drain timeout reached, running checks are ended');
      void executor.abort();
    });
    await executor.drain();
    timeout();
    await checkIns.stop();
    if (cancelCaching !== null) {
      (cancelCaching as () => void)();
      saveSchedule();
    }
    const until = rawClock.monotonic() + flushWithinMs;
    const left = await tryUntil(
      rawClock,
      until,
      () => submitLoop.flush(Math.max(0, until - rawClock.monotonic())),
      (waiting) => waiting === 0,
    );
    const filesLeft = await uploads.flush(flushWithinMs);
    await traces.flush(tracesWithinMs);
    const jobIds = executor.activeJobs;
    const sayGoodbye = async (): Promise<unknown> => {
      try {
        if (jobIds.length > 0) await client.release(jobIds);
        await client.goodbye();
        return null;
      } catch (error) {
        return error;
      }
    };
    const problem = await tryUntil(rawClock, until, sayGoodbye, (failure) => failure === null);
    if (problem !== null) {
      logger.warn({ err: problem }, 'goodbye not heard; the control plane notices by itself');
    }
    state = stepLifecycle(state, 'work-finished');
    logger.info({ left, filesLeft }, 'drained');
    return left;
  };

  const dispose = async (): Promise<void> => {
    scheduler.stop();
    certificates.stop();
    const stored = executor.abort();
    cancelCaching?.();
    await checkIns.stop();
    await stored;
    await submitLoop.flush(0);
    await uploads.stop();
    await opened.disposeAsync();
  };

  return {
    agentId: outbox.agentId,
    healthPort: probes.port,
    ready,
    drain: () => (draining ??= drain()),
    abort() {
      void executor.abort();
    },
    [Symbol.asyncDispose]: () => (disposing ??= dispose()),
  };
}
