/** Opens what an agent keeps on disk, and its link, with the clocks that they go by. */
import { resolve } from 'node:path';
import { Registry } from 'prom-client';
import { systemClock } from '@monitor/shared/clock.ts';
import { tightenTree } from '@monitor/shared/private-files.ts';
import { ArtifactSpool } from '../artifacts/artifact-spool.ts';
import { requireKey } from '../config.ts';
import { Damages } from '../damage.ts';
import { Acknowledgement } from '../link/acknowledgement.ts';
import { ControlPlaneClient } from '../link/control-plane-client.ts';
import { createDispatcher } from '../link/dispatcher.ts';
import { renewTrust } from '../link/extra-authorities.ts';
import { LinkProblem } from '../link/link-problem.ts';
import { LocationKey } from '../link/location-key.ts';
import { createMetrics, measureDisks } from '../observability/metrics.ts';
import { isFull, probeFolder } from '../status/probe-folder.ts';
import { version } from '../version.ts';
import { CorrectedClock } from '../worker/corrected-clock.ts';
import { openKernelTime } from '../worker/kernel-time.ts';
import { Outbox } from '../worker/outbox.ts';
import { unusableFolder } from '../worker/outbox-file.ts';
import { Overload } from '../worker/overload.ts';
import { hasEndedUncleanly, markRun } from '../worker/previous-shutdown.ts';
import { ProcessTime } from '../worker/process-time.ts';
import { ScheduleCache } from '../worker/schedule-cache.ts';
import type { AgentParts } from './parts.ts';

/** What `stack` closes again. Throws an AgentError when the data directory cannot be used. */
export async function openStorage(stack: AsyncDisposableStack, parts: AgentParts) {
  const { config, logger, network, clock: rawClock = systemClock } = parts;
  const apiKey = requireKey(config);
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
  return {
    ...{ apiKey, rawClock, clock, processTime, overload, startedAt, metrics, damages },
    ...{ outbox, cache, key, client, spool, dispatcher },
  };
}

export type Storage = Awaited<ReturnType<typeof openStorage>>;
