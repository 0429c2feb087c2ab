/** Builds what follows a schedule: it runs checks, hands in their results and keeps the link. */
import type { Capabilities } from '@monitor/shared/contract/agent-protocol.ts';
import { openRunArtifacts } from '../artifacts/run-artifacts.ts';
import { UploadLoop } from '../artifacts/upload-loop.ts';
import { WatchOfControlPlane } from '../control-plane-watch/control-plane-watch.ts';
import { askPeers } from '../control-plane-watch/peers.ts';
import { isReady, sendMessage } from '../control-plane-watch/send-message.ts';
import { Recipients } from '../encryption/recipients.ts';
import { ResultEncryption } from '../encryption/result-encryption.ts';
import type { NetworkAccess } from '../net/network-access.ts';
import { readCertificate } from '../net/read-certificate.ts';
import { openTraces, type Traces } from '../observability/tracing/open-traces.ts';
import { canRunCode, type RunnerRegistry, runnersFor } from '../runners/index.ts';
import { runFolderOf } from '../script-host/work-folder.ts';
import { SignedWork } from '../signed-work/signed-work.ts';
import { version } from '../version.ts';
import { AgentSession } from '../worker/agent-session.ts';
import { CertificateWatch } from '../worker/certificate-watch.ts';
import { CheckInLoop } from '../worker/check-in-loop.ts';
import { Cipher } from '../worker/cipher.ts';
import { Executor } from '../worker/executor.ts';
import { LeaseBook } from '../worker/lease-book.ts';
import { LiveLogs } from '../worker/live-logs.ts';
import { OpenRunReports } from '../worker/open-runs.ts';
import { RunIds } from '../worker/run-ids.ts';
import { Scheduler } from '../worker/scheduler.ts';
import { SharedRuns, spoolEntryOf } from '../worker/shards/shared-runs.ts';
import { SubmitLoop } from '../worker/submit-loop.ts';
import type { Storage } from './open-storage.ts';
import type { AgentParts } from './parts.ts';

/** compatibility: control planes of protocol 2 may not know `raw`, and call it by what once held the socket. */
function reportedIcmp({ icmp }: NetworkAccess): Capabilities['icmp'] {
  return icmp?.way === 'raw' ? 'relay' : (icmp?.way ?? 'none');
}

/** Null where the agent runs no type with code: those start and live without it. */
async function openCode(
  stack: AsyncDisposableStack,
  parts: AgentParts,
  { rawClock: clock, metrics, client }: Storage,
) {
  const { config, logger, secretFiles = [] } = parts;
  const { openScripting } = await import('../scripting.ts');
  return stack.use(
    await openScripting({
      ...{ config, logger, clock, metrics },
      hidden: [config.AGENT_DATA_DIR, ...secretFiles],
      mustHide: parts.mustHideFiles === true,
      ...(parts.environment !== undefined && { environment: parts.environment }),
      downloadCodeBundle: (checkId, file, signal) =>
        client.downloadCodeBundle(checkId, file, signal),
      downloadBaseline: (checkId, digest, signal) =>
        client.downloadBaseline(checkId, digest, signal),
    }),
  );
}

type Code = Awaited<ReturnType<typeof openCode>> | null;

function openEncryption({ config, logger }: AgentParts, { clock, rawClock, damages }: Storage) {
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
  return { recipients, encryption };
}

async function openSignedWork({ config, logger }: AgentParts, { clock }: Storage) {
  const { SIGNED_WORK_POLICY_FILE: file, AGENT_DATA_DIR: directory } = config;
  if (file === undefined) return null;
  const options = { file, directory, clock, logger: logger.child({ subsystem: 'signed-work' }) };
  return SignedWork.open(options);
}

function openExecutor(
  stack: AsyncDisposableStack,
  parts: AgentParts,
  storage: Storage,
  wired: {
    runners: RunnerRegistry;
    code: Code;
    encryption: ResultEncryption;
    signedWork: SignedWork | null;
    traces: Traces;
    isLinkUp(): boolean;
  },
) {
  const { config, logger, network } = parts;
  const { apiKey, clock, processTime, overload, outbox, metrics, client, spool } = storage;
  const { runners, code, encryption, signedWork, traces, isLinkUp } = wired;
  const scriptingProblem = code === null ? 'AGENT_CHECK_TYPES names no type with code' : null;
  const ids = new RunIds();
  const leases = new LeaseBook();
  const liveLogs = stack.use(
    new LiveLogs({ client, clock, logger: logger.child({ subsystem: 'runs' }) }),
  );
  const sharedRuns = new SharedRuns({
    ...{ client, clock, leases, spool },
    logger: logger.child({ subsystem: 'runs' }),
  });
  const executor = new Executor({
    clock,
    encryption,
    signedWork,
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
    isLinkUp,
    cipher: new Cipher(apiKey, 'waiting runs v1'),
    scripting: code?.scripting ?? null,
    scriptingProblem,
    sharedRuns,
    artifactsOf: (resultId, scrubber, encrypter, shard) =>
      openRunArtifacts({
        spool,
        resultId: spoolEntryOf(resultId, shard?.index),
        ofResult: resultId,
        scrubber,
        encrypter,
        logger,
        within: (path) => runFolderOf(config.AGENT_WORK_DIR, path),
      }),
    onStored: ({ id }) => spool.commit(id),
    onAttempt: (attempt) => traces.record(attempt),
    onScrubbed: () => metrics.scrubbed.inc(),
  });
  return { ids, leases, executor, scriptingProblem };
}

interface LoopParts {
  watch: WatchOfControlPlane;
  runners: RunnerRegistry;
  code: Code;
  executor: Executor;
  encryption: ResultEncryption;
  onAnswer: ConstructorParameters<typeof CheckInLoop>[0]['onAnswer'];
}

function openLoops(
  stack: AsyncDisposableStack,
  { config, logger, network, random = Math.random }: AgentParts,
  { rawClock, clock, overload, metrics, outbox, client, spool }: Storage,
  { runners, code, executor, onAnswer, watch, encryption }: LoopParts,
) {
  const checkIns = new CheckInLoop({
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
      runsShards: true,
      get peer() {
        return watch.address;
      },
    },
    capacity: { light: config.UPTIME_CONCURRENCY, heavy: config.JOB_CONCURRENCY },
    running: () => executor.running,
    roomForShards: () => (encryption.isOn ? 0 : executor.roomForShards),
    outboxState: () => outbox.state(),
    load: () => overload.load,
    onAnswer,
    watchDigest: () => watch.digest,
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
  const delivery = { client, clock: rawClock, random, metrics };
  const submitLoop = new SubmitLoop({
    ...{ ...delivery, outbox },
    logger: logger.child({ subsystem: 'submit' }),
  });
  const uploads = new UploadLoop({
    ...{ ...delivery, spool },
    logger: logger.child({ subsystem: 'artifacts' }),
  });
  return { checkIns, openRuns, submitLoop, uploads };
}

export async function openSession(
  stack: AsyncDisposableStack,
  parts: AgentParts,
  storage: Storage,
) {
  const { config, logger, random = Math.random } = parts;
  const { rawClock, clock, metrics, outbox, client, cache } = storage;
  const runners = runnersFor(config.AGENT_CHECK_TYPES, parts.runners);
  const code = canRunCode(runners) ? await openCode(stack, parts, storage) : null;
  const traces = stack.use(
    openTraces({
      ...{ config, version, random, metrics, agentId: outbox.agentId, clock: rawClock },
      logger: logger.child({ subsystem: 'traces' }),
    }),
  );

  const { recipients, encryption } = openEncryption(parts, storage);
  const signedWork = await openSignedWork(parts, storage);
  const { ids, leases, executor, scriptingProblem } = openExecutor(stack, parts, storage, {
    ...{ runners, code, encryption, signedWork, traces },
    isLinkUp: () => loops.checkIns.state === 'up',
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
    mayFollow: async (checkId) => {
      const check = scheduler.find(checkId);
      if (signedWork === null || check === undefined) return signedWork === null;
      const where = { location: session.location ?? '', environmentUrl: null, source: null };
      return signedWork.allows({ check, ...where });
    },
    store: (entry) => outbox.put(entry),
    seen: outbox.seenCertificates(),
    logger: logger.child({ subsystem: 'certificates' }),
    isEncrypted: () => encryption.isOn,
  });

  const watch = stack.use(
    new WatchOfControlPlane({
      ...{ apiKey: storage.apiKey, agentId: outbox.agentId, clock: rawClock },
      directory: config.AGENT_DATA_DIR,
      logger: logger.child({ subsystem: 'watch' }),
      link: () => loops.checkIns.state,
      reaches: () => isReady(config.CONTROL_PLANE_URL, storage.dispatcher),
      ask: askPeers,
      send: (message) => sendMessage(message, storage.dispatcher),
    }),
  );
  // It would send messages that nobody signed.
  if (signedWork !== null) watch.take(null);
  const loops = openLoops(stack, parts, storage, {
    ...{ runners, code, executor, watch, encryption },
    onAnswer: (answer) => {
      session.answer(answer);
      if (answer.watch !== undefined && signedWork === null) watch.take(answer.watch);
      if (answer.lostUntil !== undefined) outbox.handInAgain(answer.lostUntil);
    },
  });
  const session: AgentSession = new AgentSession({
    ...{ clock, rawClock, logger, metrics, client, outbox, cache, ids, leases, executor },
    ...{ encryption, scheduler, certificates, traces, ...loops },
    drainTimeoutMs: config.DRAIN_TIMEOUT_SECONDS * 1000,
  });
  return {
    session,
    executor,
    scheduler,
    recipients,
    signedWork,
    code,
    scriptingProblem,
    watch,
    ...loops,
  };
}

export type OpenSession = Awaited<ReturnType<typeof openSession>>;
