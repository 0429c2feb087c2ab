/** Everything a control plane is made of, top to bottom. Closing it undoes it in reverse. */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { bindApi } from './api.ts';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import { CommitQueue } from './db/commit-queue.ts';
import { migrateToLatest } from './db/migrate.ts';
import { openDatabase } from './db/open.ts';
import { serveDocs } from './http/docs.ts';
import { implement } from './http/implement.ts';
import { LocationHub } from './location-hub.ts';
import { recordAgentsChanged } from './operations/agent-presence.ts';
import { expireJobs } from './operations/expire-jobs.ts';
import { excuseDowntime, noteAlive, sweepHeartbeats } from './operations/heartbeats.ts';
import { ResultIntake } from './operations/ingest-results.ts';
import { forgetSessions } from './operations/forget-sessions.ts';
import { sampleQueues } from './operations/sample-queues.ts';
import { restoreAgents } from './operations/restore-agents.ts';
import { sweepSlots } from './operations/sweep-slots.ts';
import { createApiKey, createLocationKey, KeyStore } from './resources/keys/store.ts';
import { RunSignals } from './run-signals.ts';
import { openSecretBox } from './secret-box.ts';
import type { Services } from './services.ts';
import { StatusCache } from './status-cache.ts';
import { startTimers } from './timers.ts';

export interface ControlPlaneParts {
  config: Config;
  logger: Logger;
  clock?: Clock;
  random?: () => number;
}

export interface ControlPlane extends AsyncDisposable {
  /** Where it listens, for example `http://127.0.0.1:3000`. */
  url: string;
  services: Services;
}

/** How long answers in progress may take once the process is asked to stop. */
const closeWithinMs = 5_000;

/** Opens the database, serves the API and starts the timers. Throws when any of it cannot be done. */
export async function startControlPlane(parts: ControlPlaneParts): Promise<ControlPlane> {
  const { config, logger, clock = systemClock, random = Math.random } = parts;
  await using stack = new AsyncDisposableStack();

  if (config.DATABASE_FILE !== ':memory:') {
    mkdirSync(dirname(config.DATABASE_FILE), { recursive: true, mode: 0o700 });
  }
  const db = openDatabase(config.DATABASE_FILE);
  stack.defer(() => db.destroy());
  await migrateToLatest(db);

  let presence = Promise.resolve();
  const hub = new LocationHub(clock, (change) => {
    presence = presence
      .then(() => recordAgentsChanged({ db, clock }, change))
      .catch((error: unknown) => {
        logger.error({ err: error, location: change.location }, 'agents changed, not recorded');
      });
  });
  stack.defer(() => presence);
  stack.defer(() => {
    hub.close();
  });

  // Whoever sends headers or a body drop by drop is hung up on.
  const requestTimeout = config.REQUEST_TIMEOUT_SECONDS * 1000;
  const server = createServer({
    keepAliveTimeout: 65_000,
    headersTimeout: Math.min(30_000, requestTimeout),
    requestTimeout,
    connectionsCheckingInterval: Math.min(5_000, requestTimeout),
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.PORT, config.HOST, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  const url = `http://${host}:${port}`;
  const publicUrl = (config.PUBLIC_URL ?? url).replace(/\/+$/, '');

  const services: Services = {
    db,
    commits: new CommitQueue(db),
    secrets: openSecretBox(config.ENCRYPTION_KEY, config.DATABASE_FILE),
    clock,
    random,
    newId: randomUUID,
    hub,
    runs: new RunSignals(clock),
    statuses: new StatusCache(),
    logger,
    publicUrl,
  };
  await restoreAgents(services);
  await excuseDowntime(services);
  const keys = new KeyStore(db, clock);
  const intake = new ResultIntake(services);
  const forget = (): void => {
    keys.forget();
  };
  const api = implement(
    bindApi({
      services,
      config,
      intake,
      locationKeys: {
        create: (accountId, location, privateLocationId) =>
          createLocationKey(services, accountId, location, privateLocationId),
        forget,
      },
      apiKeys: {
        create: (accountId, key) => createApiKey(services, accountId, key),
        forget,
      },
    }),
    {
      keys,
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      checkResponses: config.CHECK_RESPONSES,
      requestsPerMinute: config.REQUESTS_PER_MINUTE,
    },
  );
  server.on('request', buildApp({ steps: [api, serveDocs(publicUrl)], logger }));
  stack.defer(async () => {
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeIdleConnections();
      hub.close();
      clock.after(closeWithinMs, () => {
        server.closeAllConnections();
      });
    });
  });

  stack.use(
    startTimers(
      [
        { name: 'sweep-slots', everyMs: 5_000, run: () => sweepSlots(services) },
        { name: 'sweep-heartbeats', everyMs: 1_000, run: () => sweepHeartbeats(services) },
        { name: 'note-alive', everyMs: 5_000, run: () => noteAlive(services) },
        { name: 'expire-jobs', everyMs: 10_000, run: () => expireJobs(services) },
        { name: 'sample-queues', everyMs: 60_000, run: () => sampleQueues(services) },
        { name: 'forget-sessions', everyMs: 3_600_000, run: () => forgetSessions(services) },
      ],
      clock,
      logger.child({ subsystem: 'timers' }),
    ),
  );

  const opened = stack.move();
  return {
    url,
    services,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
