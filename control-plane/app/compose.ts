/** Composes the control plane, top to bottom. Closing it undoes the steps in reverse order. */
import { Registry } from 'prom-client';
import { CodeBundleStore } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { startTimers } from '../core/timers.ts';
import {
  accountsWithoutChannels,
  addressRule,
  openOutgoing,
  startOutboxSender,
  withoutChannels,
} from '../notifications/index.ts';
import { noteAlive, openReception } from '../reception/index.ts';
import { ownedObjects } from '../results/index.ts';
import { noteWebhook } from '../status-pages/index.ts';
import { closeServer, listen } from './listen.ts';
import type { ControlPlaneParts } from './parts.ts';
import { observeState } from './observe-state.ts';
import { openDatabase } from './open-database.ts';
import { openServices, openSignals } from './open-services.ts';
import { repeatedOperations } from './repeated-operations.ts';
import { serveAll } from './serve-all.ts';
import { serveMetrics } from './serve-metrics.ts';

export interface ControlPlane extends AsyncDisposable {
  /** Base URL of the server, for example `http://127.0.0.1:3000`. */
  url: string;
  /** Port of the metrics about this process; null when they are not served. */
  metricsPort: number | null;
  services: Services;
}

/** The lease of the replica that exports metrics about the stored state. */
const stateMetrics = 'state-metrics';

/** Opens the database, serves the API and starts the timers. Throws when any of this fails. */
export async function startControlPlane(parts: ControlPlaneParts): Promise<ControlPlane> {
  const { config, logger } = parts;
  await using stack = new AsyncDisposableStack();
  const database = await openDatabase(stack, parts);
  const { db, clock, databaseFile, integrity } = database;
  const signals = openSignals(stack, parts, database);
  const listening = await listen(stack, config);
  const services = await openServices(stack, parts, database, signals, listening.url);
  const { metrics, replicas, writes, losses, hub } = services;
  const stateRegistry = new Registry();
  observeState(stateRegistry, { db, hub, clock, databaseFile });
  const scraped =
    config.METRICS_PORT === undefined
      ? null
      : stack.use(
          await serveMetrics(
            // The state is the same for all replicas: sums over them count it once.
            () => [metrics.registry, ...(replicas.holds(stateMetrics) ? [stateRegistry] : [])],
            config,
          ),
        );
  await openReception(services);
  await services.readPool.start();
  await hub.open();

  const codeBundles = new CodeBundleStore({
    ...{ db, clock, commits: services.commits, objects: ownedObjects(services) },
    quotaBytes: config.BUNDLE_MIB * 1_048_576,
  });
  const serving = { parts, database, signals, services, codeBundles };
  const { deletions, deployments, closeStreams } = await serveAll(stack, serving, listening);
  stack.defer(async () => {
    // Records the last moment of reception. Without it the next start would count from an
    // earlier one.
    await noteAlive(services).catch((error: unknown) => {
      if (!writes.noteFailure(error)) logger.warn({ err: error }, 'the end could not be noted');
    });
    await closeServer(listening.server, clock, closeStreams);
  });
  // Before the server closes: clients hear of the end.
  stack.use(deployments);

  const silent = await accountsWithoutChannels(db, config.OPERATOR_CHANNEL_ACCOUNTS);
  if (silent.length > 0) logger.error({ accounts: silent }, withoutChannels);
  stack.use(startOutboxSender({ services, config, onWebhook: noteWebhook }));

  const rule = addressRule(config.OUTGOING_ALLOWED_NETWORKS);
  const reader = stack.use(openOutgoing({ customer: rule, visitor: rule, timeoutMs: 30_000 }));
  const operations = repeatedOperations({
    send: reader.customer,
    ...{ services, config, databaseFile, losses, codeBundles, deletions, deployments },
  });
  const ofOne = operations.filter(({ on }) => on === 'one').map(({ name }) => name);
  await replicas.want([...ofOne, stateMetrics]);
  const timersLogger = logger.child({ subsystem: 'timers' });
  stack.use(startTimers(operations, clock, timersLogger, metrics, writes, replicas));

  integrity.start();
  const opened = stack.move();
  return {
    url: listening.url,
    metricsPort: scraped?.port ?? null,
    services,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
