/** Serves what an agent says of itself: probes and metrics over HTTP, its status on a socket. */
import { secretsOf } from '../config-secrets.ts';
import { ownAddress } from '../control-plane-watch/peers.ts';
import { recipientRemarks } from '../encryption/recipients.ts';
import { maskedKey } from '../key-problem.ts';
import { openProbeEndpoint } from '../probe/probe-endpoint.ts';
import { createScrubber } from '../scrub/create-scrubber.ts';
import { collectStatus } from '../status/collect-status.ts';
import type { DataFolderWatch } from '../status/data-folder-watch.ts';
import { setAbilities, updateGauges } from '../status/gauges.ts';
import { serveProbes } from '../status/probes.ts';
import { describeSetAside, healthRemarks } from '../status/remarks.ts';
import { serveStatus } from '../status/status-socket.ts';
import type { OpenSession } from './open-session.ts';
import type { Storage } from './open-storage.ts';
import type { AgentParts } from './parts.ts';

/** The scheduler loop is stuck when a wake-up is overdue by this much. */
const stuckAfterMs = 15_000;

/** Throws an AgentError when the health port cannot be used. */
export async function serveState(
  stack: AsyncDisposableStack,
  parts: AgentParts,
  storage: Storage,
  opened: OpenSession,
  dataFolder: DataFolderWatch,
) {
  const { config, logger, network } = parts;
  const { rawClock, clock, overload, startedAt, metrics, damages, outbox, key, spool } = storage;
  const { session, executor, scheduler, recipients, signedWork, code, scriptingProblem } = opened;
  const { checkIns, submitLoop, uploads, watch } = opened;
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
          ...watch.remarks,
          ...signedWork?.remarks,
          ...describeSetAside(outbox.state(), clock.now()),
          ...dataFolder.remarks,
          ...(parts.log?.problem == null ? {} : { log: parts.log.problem }),
        }),
        peerAnswer: (nonce) => watch.answer(nonce),
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

  watch.address = ownAddress(config.AGENT_HEALTH_HOST, probes.port);

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
  return { healthPort: probes.port, observe };
}
