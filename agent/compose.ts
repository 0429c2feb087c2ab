/** Everything a running agent is made of, top to bottom. Stopping undoes it in reverse. */
import { resolve } from 'node:path';
import { Registry } from 'prom-client';
import { leaseRenewMs, type Capabilities } from '@monitor/shared/contract/agent-protocol.ts';
import { tightenTree } from '@monitor/shared/private-files.ts';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { LogOutput } from '@monitor/shared/log-output.ts';
import type { Logger } from 'pino';
import { ArtifactSpool } from './artifacts/artifact-spool.ts';
import { openRunArtifacts } from './artifacts/run-artifacts.ts';
import { UploadLoop } from './artifacts/upload-loop.ts';
import { recipientRemarks, Recipients } from './encryption/recipients.ts';
import { ResultEncryption } from './encryption/result-encryption.ts';
import { requireKey, type AgentConfig, type KeySource } from './config.ts';
import { secretsOf } from './config-secrets.ts';
import { ControlPlaneClient } from './link/control-plane-client.ts';
import { createDispatcher } from './link/dispatcher.ts';
import { renewTrust } from './link/extra-authorities.ts';
import { LinkProblem } from './link/link-problem.ts';
import { LocationKey } from './link/location-key.ts';
import { maskedKey } from './key-problem.ts';
import { readCertificate } from './net/read-certificate.ts';
import { startErrorReports } from './observability/error-reports.ts';
import type { LogRing } from './observability/log-ring.ts';
import { createMetrics, measureDisks } from './observability/metrics.ts';
import { serveProbes } from './status/probes.ts';
import { serveStatus } from './status/status-socket.ts';
import { collectStatus } from './status/collect-status.ts';
import { setAbilities, updateGauges } from './status/gauges.ts';
import { isFull, probeDataFolder, probeFolder, type FolderProblem } from './status/probe-folder.ts';
import { unusableFolder } from './worker/outbox-file.ts';
import { describeSetAside, healthRemarks } from './status/remarks.ts';
import { openTraces } from './observability/tracing/open-traces.ts';
import { openProbeEndpoint } from './probe/probe-endpoint.ts';
import { canRunCode, runnersFor, type RunnerRegistry } from './runners/index.ts';
import type { NetworkAccess } from './net/network-access.ts';
import { createScrubber } from './scrub/create-scrubber.ts';
import { runFolderOf } from './script-host/work-folder.ts';
import { version } from './version.ts';
import { Acknowledgement } from './link/acknowledgement.ts';
import { CertificateWatch } from './worker/certificate-watch.ts';
import { CheckInLoop } from './worker/check-in-loop.ts';
import { CorrectedClock } from './worker/corrected-clock.ts';
import { Damages } from './damage.ts';
import { hasEndedUncleanly, markRun } from './worker/previous-shutdown.ts';
import { Executor } from './worker/executor.ts';
import { openKernelTime } from './worker/kernel-time.ts';
import { OpenRunReports } from './worker/open-runs.ts';
import { Outbox } from './worker/outbox.ts';
import { RunIds } from './worker/run-ids.ts';
import { Overload } from './worker/overload.ts';
import { ProcessTime } from './worker/process-time.ts';
import { ScheduleCache } from './worker/schedule-cache.ts';
import { AgentSession } from './worker/agent-session.ts';
import { Cipher } from './worker/cipher.ts';
import { LeaseBook } from './worker/lease-book.ts';
import { LiveLogs } from './worker/live-logs.ts';
import { repeat } from './worker/repeat.ts';
import { Scheduler } from './worker/scheduler.ts';
import { SubmitLoop } from './worker/submit-loop.ts';

export interface AgentParts {
  config: AgentConfig;
  /** Files that hold secrets; no run may see them. */
  secretFiles?: readonly string[];
  /** Where the key is read again when it is refused. */
  keySource?: KeySource;
  /** Runs no code where runs could see them all the same. */
  mustHideFiles?: boolean;
  logger: Logger;
  network: NetworkAccess;
  log?: LogOutput;
  /** The last lines of the log, for support bundles. */
  logRing?: LogRing;
  clock?: Clock;
  random?: () => number;
  runners?: RunnerRegistry;
  /** For npm, which fetches runtimes that are missing; without it none is fetched. */
  environment?: Readonly<Record<string, string | undefined>>;
}

export interface RunningAgent extends AsyncDisposable {
  agentId: string;
  healthPort: number;
  /** Resolves when the agent follows a schedule. */
  ready: Promise<void>;
  /**
   * Ends gracefully: readiness turns 503 at once, running checks finish within the drain timeout,
   * results are submitted. Gives the number of results that stay for the next start.
   */
  drain(): Promise<number>;
  /** Ends what is measuring, without results. What is in the outbox stays there. */
  abort(): void;
}

/** compatibility: control planes of protocol 2 may not know `raw`, and call it by what once held the socket. */
function reportedIcmp({ icmp }: NetworkAccess): Capabilities['icmp'] {
  return icmp?.way === 'raw' ? 'relay' : (icmp?.way ?? 'none');
}

/** The scheduler loop is stuck when a wake-up is overdue by this much. */
const stuckAfterMs = 15_000;
const maintainEveryMs = 10_000;
const inspectEveryMs = 60_000;

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
  const overload = new Overload({
    clock: { now: () => clock.now(), monotonic: () => systemClock.monotonic() },
    processTime,
  });
  const startedAt = rawClock.now();
  const metrics = createMetrics(new Registry(), version);
  const unwritable = probeFolder(config.AGENT_DATA_DIR);
  // Where the disk is full results are kept in memory.
  if (unwritable !== null && !isFull(unwritable))
    throw unusableFolder(config.AGENT_DATA_DIR, unwritable.message);
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
  network.capture?.onFailure((fault) => {
    metrics.internalErrors.inc({ code: fault.code });
    logger.warn({ err: fault, subsystem: 'capture' }, 'packets are not kept for a moment');
  });
  const cache = new ScheduleCache(config.AGENT_DATA_DIR, apiKey, logger, damages);
  const dispatcher = createDispatcher(config);
  stack.defer(() => dispatcher.destroy());
  const key = new LocationKey(apiKey, parts.keySource ?? null, logger.child({ subsystem: 'link' }));
  const client = new ControlPlaneClient({
    baseUrl: config.CONTROL_PLANE_URL,
    apiKey: key,
    renew: ({ code, cause }, used) =>
      code === 'KEY_REFUSED'
        ? key.renew(used)
        : cause instanceof LinkProblem &&
          (cause.kind === 'untrusted' || cause.kind === 'expired') &&
          renewTrust(config.NODE_EXTRA_CA_CERTS),
    dispatcher,
    agentId: outbox.agentId,
    acknowledgement: stack.use(new Acknowledgement(config.AGENT_DATA_DIR)),
    version,
    // Time in which this process was stopped does not count as silence of the link.
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
        // Agents of uptime types start and live without it.
        await (
          await import('./scripting.ts')
        ).openScripting({
          config,
          logger,
          clock: rawClock,
          hidden: [config.AGENT_DATA_DIR, ...secretFiles],
          mustHide: parts.mustHideFiles === true,
          metrics,
          ...(parts.environment !== undefined && { environment: parts.environment }),
          downloadCodeBundle: (checkId, file, signal) =>
            client.downloadCodeBundle(checkId, file, signal),
        }),
      )
    : null;
  const scriptingProblem = code === null ? 'AGENT_CHECK_TYPES names no type with code' : null;

  const traces = stack.use(
    openTraces({
      ...{ config, version, random, metrics, agentId: outbox.agentId, clock: rawClock },
      logger: logger.child({ subsystem: 'traces' }),
    }),
  );

  const ids = new RunIds();
  const recipients = new Recipients({
    ...{ directory: config.AGENT_DATA_DIR, clock, damages },
    mayBecomeReadable: config.RESULTS_MAY_BECOME_READABLE,
    logger: logger.child({ subsystem: 'encryption' }),
  });
  const pinned = config.RESULT_ENCRYPTION_KEYS?.reveal().split(',') ?? null;
  const encryption = new ResultEncryption({
    ...(pinned === null ? { pinned, recipients } : { pinned }),
    clock: rawClock,
    logger: logger.child({ subsystem: 'encryption' }),
  });
  const leases = new LeaseBook();
  const liveLogs = stack.use(
    new LiveLogs({ client, clock, logger: logger.child({ subsystem: 'runs' }) }),
  );
  const executor: Executor = new Executor({
    clock,
    encryption,
    liveLogs,
    ids,
    runners,
    network,
    leases,
    processTime,
    overload,
    missedReason: (lateMs) =>
      processTime.wasSuspendedWithin(lateMs) ? 'agent-suspended' : 'agent-overloaded',
    outbox,
    metrics,
    logger: logger.child({ subsystem: 'runs' }),
    lightConcurrency: config.UPTIME_CONCURRENCY,
    heavyConcurrency: config.JOB_CONCURRENCY,
    isLinkUp: () => checkIns.state === 'up',
    cipher: new Cipher(apiKey, 'waiting runs v1'),
    scripting: code?.scripting ?? null,
    scriptingProblem,
    artifactsOf: (resultId, scrubber, encrypter) =>
      openRunArtifacts({
        spool,
        resultId,
        scrubber,
        encrypter,
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
      session.startSlot(check, scheduledFor, lateMs);
    },
    onMissed(check, scheduledFor, lateMs) {
      session.missSlot(check, scheduledFor, lateMs);
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
    isEncrypted: () => encryption.isOn,
  });

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
      get runtimes() {
        return code?.runtimes() ?? [];
      },
      ...(config.RUNTIME_POLICY !== 'strict' && { substitutesRuntimes: true }),
      icmp: reportedIcmp(network),
      capture: network.capture !== null,
      traceroute: network.traceroute !== null,
      browsers: code?.browsers ?? [],
      encryptsResults: true,
    },
    capacity: { light: config.UPTIME_CONCURRENCY, heavy: config.JOB_CONCURRENCY },
    running: () => executor.running,
    outboxState: () => outbox.state(),
    load: () => overload.load,
    onAnswer: (answer) => {
      session.answer(answer);
      if (answer.lostUntil !== undefined) outbox.handInAgain(answer.lostUntil);
    },
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

  const session: AgentSession = new AgentSession({
    ...{ clock, rawClock, logger, metrics, client, outbox, cache, ids, leases, executor },
    ...{ encryption, scheduler, certificates, checkIns, openRuns, submitLoop, uploads, traces },
    drainTimeoutMs: config.DRAIN_TIMEOUT_SECONDS * 1000,
  });

  metrics.outboxMaxBytes.set(config.OUTBOX_MAX_BYTES);
  setAbilities(metrics, network, code?.browsers ?? []);
  const observe = (): void => {
    updateGauges(metrics, { clock, outbox, executor, uploads, overload });
    metrics.logDropped.set(parts.log?.dropped ?? 0);
  };
  // Logs and refusals hold no secret by the rules of the house; here they leave by other doors.
  const scrubber = createScrubber({ secrets: secretsOf(config), detect: true });
  const probes = stack.use(
    await serveProbes(
      {
        notReady: () => session.notReady,
        notAlive: () =>
          scheduler.overdueMs() > stuckAfterMs ? 'the scheduler does not wake up' : null,
        observe,
        remarks: () => ({
          ...healthRemarks(
            ...([checkIns.history, overload.load, damages.noted] as const),
            recipientRemarks(recipients.status, clock.now()),
            (text) => scrubber.text(text),
          ),
          ...describeSetAside(outbox.state(), clock.now()),
          ...(parts.log?.problem == null ? {} : { log: parts.log.problem }),
        }),
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
        collectStatus({
          ...{ config, clock, rawClock, network, session },
          ...{ outbox, spool, executor, checkIns, submitLoop, metrics, overload },
          damages: damages.noted,
          logProblem: parts.log?.problem ?? null,
          encryption: recipients.status,
          startedAt,
          healthPort: probes.port,
          key: maskedKey(key.reveal()),
          checks: scheduler.size,
          runtimes: code?.runtimes() ?? [],
          browsers: code?.browsers ?? [],
          scriptingProblem,
        }),
      log: () => scrubber.text(parts.logRing?.text() ?? ''),
      registry: metrics.registry,
      logger: logger.child({ subsystem: 'status' }),
    }),
  );

  session.start();
  const maintain = (): void => {
    outbox.dropAged();
    observe();
  };
  const renewLeases = (): void => {
    session.renewLeases();
  };
  let inspectedUpTo = 0;
  let dataProblem: FolderProblem | null = null;
  const inspect = (): void => {
    inspectedUpTo = outbox.inspect(inspectedUpTo);
    // With nothing to write, nobody else notices.
    const problem = probeDataFolder(config.AGENT_DATA_DIR);
    if (problem?.code === dataProblem?.code) return;
    dataProblem = problem;
    if (problem === null) logger.info('AGENT_DATA_DIR can be written again');
    else logger.error(problem, 'AGENT_DATA_DIR cannot be written, results cannot be kept');
  };
  stack.defer(repeat(rawClock, maintainEveryMs, maintain));
  stack.defer(repeat(rawClock, inspectEveryMs, inspect));
  stack.defer(repeat(rawClock, leaseRenewMs, renewLeases));
  processTime.onSuspension(({ lastedMs }) => {
    metrics.suspensions.inc();
    metrics.suspendedTime.inc(lastedMs / 1_000);
    logger.warn(
      { lastedMs: Math.round(lastedMs) },
      'the process was stopped or the machine slept, open attempts are void',
    );
    // Leases may be lost by now: known before anything else is made of their jobs.
    renewLeases();
  });
  processTime.watch();
  if (config.EXTERNAL_OBSERVABILITY) stack.use(startErrorReports(metrics, client, rawClock));

  const opened = stack.move();
  let disposing: Promise<void> | null = null;
  return {
    agentId: outbox.agentId,
    healthPort: probes.port,
    ready: session.ready,
    drain: () => session.drain(),
    abort() {
      session.abort();
    },
    [Symbol.asyncDispose]: () => (disposing ??= session.stop().then(() => opened.disposeAsync())),
  };
}
