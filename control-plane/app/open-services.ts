/** Builds what operations and handlers depend on. */
import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { systemClock } from '@monitor/shared/clock.ts';
import {
  alertOn,
  alertsOfChecks,
  dropFromPolicies,
  lookAtHolds,
  wakeStates,
  moveAlertStates,
  recordErrorStreaks,
} from '../alerting/index.ts';
import { certificatesOfChecks, moveCertificateDays } from '../certificates/index.ts';
import { Bus } from '../core/bus.ts';
import type { Config } from '../core/config.ts';
import { uuidOfTime } from '../core/keys.ts';
import { Quotas } from '../core/quotas.ts';
import type { Services } from '../core/services.ts';
import { version } from '../core/version.ts';
import { WriteWatch } from '../core/write-watch.ts';
import { CommitQueue } from '../db/commit-queue.ts';
import { engineOf } from '../db/engine.ts';
import { PostgresListener } from '../db/postgres.ts';
import { heartbeatTimers, moveHeartbeats, resumeHeartbeats } from '../heartbeats/index.ts';
import { incidentsOfChecks, moveIncidents } from '../incidents/index.ts';
import { dropFromWindows } from '../maintenance/index.ts';
import { messagesOfAgents, moveClaims, OutboxSignal } from '../notifications/index.ts';
import { createMetrics } from '../observability/metrics.ts';
import { machineClocks, noMachineClocks, Reception } from '../reception/index.ts';
import { Replicas } from '../replicas/index.ts';
import {
  ArtifactLinks,
  moveRuns,
  openArtifactStore,
  RecordLosses,
  resolveReferences,
  StatusCache,
  statusesOfChecks,
} from '../results/index.ts';
import {
  ControlPlaneWatches,
  LocationHub,
  moveSchedule,
  newsOfChecks,
  openIdKeys,
  RunSignals,
  scheduleOfChecks,
} from '../scheduling/index.ts';
import { sessionsOfChecks } from '../sessions/index.ts';
import { StatusPageDomains, systemResolver } from '../status-pages/index.ts';
import type { ControlPlaneParts } from './parts.ts';
import { announceResults } from './console-events.ts';
import type { OpenDatabase } from './open-database.ts';
import { traceViewerUrl } from './trace-viewer.ts';

/** What replicas tell each other through the database; null on SQLite, and when it is switched off. */
function openListener(
  config: Config,
  { db, replicaId }: OpenDatabase,
  logger: ControlPlaneParts['logger'],
): PostgresListener | null {
  const url = config.DATABASE_LISTEN_URL ?? config.DATABASE_URL;
  if (url === undefined || !config.DATABASE_NOTIFY) return null;
  return new PostgresListener(db, {
    url,
    applicationName: `monitor/${replicaId}`,
    onRefused(error) {
      logger.warn(
        { err: error },
        'messages of other replicas are not heard, their changes are read every second',
      );
    },
  });
}

/** Signals between requests, replicas and agents; open before the server takes connections. */
export function openSignals(
  stack: AsyncDisposableStack,
  parts: ControlPlaneParts,
  database: OpenDatabase,
) {
  const { config, logger } = parts;
  const { db, clock, secrets, replicaId } = database;
  const { clock: ownClock = systemClock } = parts;
  const { machine = ownClock === systemClock ? machineClocks() : noMachineClocks } = parts;
  const failoverMs = config.DATABASE_FAILOVER_SECONDS * 1_000;
  const writes = new WriteWatch(clock, logger, config.DATABASE_URL === undefined ? 0 : failoverMs);
  const reception = stack.use(
    new Reception({ clock, machine, writes, logger: logger.child({ subsystem: 'reception' }) }),
  );
  const metrics = createMetrics(new Registry(), version, () => parts.log?.dropped ?? 0);
  const commits = new CommitQueue(db, {
    clock,
    onCommit({ tookMs, writes, isDurable }) {
      metrics.commitDuration.observe(tookMs / 1000);
      metrics.commitWrites.observe(writes);
      if (!isDurable) metrics.commitFailures.inc();
    },
  });
  const busLogger = logger.child({ subsystem: 'bus' });
  const listener = openListener(config, database, busLogger);
  if (listener !== null) stack.use(listener);
  const bus = stack.use(new Bus({ clock, logger: busLogger, replicaId, listener }));
  const runs = new RunSignals({ db, clock, bus, logger: busLogger });
  const hub = new LocationHub({
    ...{ db, clock, commits, secrets, reception, writes, bus, replicaId },
    logger: logger.child({ subsystem: 'agents' }),
  });
  stack.defer(() => hub.idle());
  stack.defer(() => {
    hub.close();
  });
  return { writes, reception, metrics, commits, bus, runs, hub };
}

export type Signals = ReturnType<typeof openSignals>;

export async function openServices(
  stack: AsyncDisposableStack,
  parts: ControlPlaneParts,
  { db, databaseFile, replicaId, clock, databaseClock, secrets, readPool }: OpenDatabase,
  { bus, ...signals }: Signals,
  url: string,
): Promise<Services> {
  const { config, logger, random = Math.random } = parts;
  const { metrics } = signals;
  const replicas = stack.use(
    new Replicas({
      ...{ db, clock, version, url, id: replicaId },
      logger: logger.child({ subsystem: 'replicas' }),
      ...(databaseClock === null ? {} : { databaseClock }),
    }),
  );
  if (!replicas.isAlone) metrics.registry.setDefaultLabels({ replica: replicaId });
  const publicUrl = (config.PUBLIC_URL ?? url).replace(/\/+$/, '');
  const viewerUrl = traceViewerUrl(config.TRACE_VIEWER_URL, publicUrl);
  const links = new ArtifactLinks(secrets, publicUrl, viewerUrl);
  const ids = await openIdKeys(db, secrets);
  const losses = await RecordLosses.open({
    ...{ db, secrets, clock, metrics },
    markFile: databaseFile === ':memory:' ? null : `${databaseFile}.mark`,
    logger: logger.child({ subsystem: 'integrity' }),
  });
  return {
    ...{ ...signals, db, readPool, losses, secrets, links, clock, random, replicas, logger },
    publicUrl,
    artifacts: stack.use(await openArtifactStore(config)),
    domains: new StatusPageDomains(
      parts.resolver ?? systemResolver(),
      config.STATUS_PAGE_DOMAINS,
      publicUrl,
      [config.HOST, ...(viewerUrl === null ? [] : [new URL(viewerUrl).hostname])],
    ),
    resolveReferences: (json, resultId) =>
      resolveReferences(json, (name) => links.to(resultId, name, clock.now())),
    newId: randomUUID,
    newRunId: () => uuidOfTime(clock.now()),
    ids,
    watches: new ControlPlaneWatches({
      ...{ db, clock, ids },
      awayAfterMs: config.AWAY_AFTER_SECONDS * 1_000,
      messagesOf: (accountId, at) =>
        messagesOfAgents(
          { db, secrets, random, newId: randomUUID, publicUrl },
          config,
          accountId,
          at,
        ),
    }),
    quotas: new Quotas(
      config,
      () => clock.monotonic(),
      () => replicas.shareOfLimit(),
    ),
    statuses: new StatusCache(clock, engineOf(db) === 'sqlite' ? Infinity : 1_000),
    outbox: new OutboxSignal(bus),
    checkConsumers: [
      statusesOfChecks,
      sessionsOfChecks,
      scheduleOfChecks,
      heartbeatTimers,
      certificatesOfChecks,
      alertsOfChecks,
      incidentsOfChecks,
      newsOfChecks,
    ],
    resultConsumers: [recordErrorStreaks, alertOn, announceResults(bus)],
    gapConsumers: [
      moveHeartbeats,
      moveSchedule,
      moveRuns,
      moveAlertStates,
      moveIncidents,
      moveCertificateDays,
      moveClaims,
    ],
    async onWindowWithdrawn(unit, accountId, window, now) {
      await resumeHeartbeats(unit, accountId, window, now);
      await lookAtHolds(unit, accountId, now);
    },
    onAlertSettingsChanged: wakeStates,
    async dropReferences(unit, accountId, table, id) {
      await dropFromWindows(unit, accountId, table, id);
      await dropFromPolicies(unit, accountId, table, id);
    },
    afterDeployment: {
      forgetKeys() {
        bus.send('k');
      },
      announce(accountId, what) {
        bus.send('p', accountId);
        for (const each of what) bus.send('e', `${accountId}/${each}`);
      },
    },
  };
}
