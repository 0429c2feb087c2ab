/** Everything a control plane is made of, top to bottom. Closing it undoes it in reverse. */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { agentRoutes } from '@monitor/shared/contract/agent-protocol.ts';
import { checkResultRoutes } from '@monitor/shared/contract/check-result.ts';
import { checkRoutes, heartbeatRoutes } from '@monitor/shared/contract/check-routes.ts';
import { checkStatusRoutes } from '@monitor/shared/contract/check-status.ts';
import {
  locationRoutes,
  privateLocationRoutes,
} from '@monitor/shared/contract/private-location.ts';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import { migrateToLatest } from './db/migrate.ts';
import { openDatabase } from './db/open.ts';
import { serveDocs } from './http/docs.ts';
import { bind, implement } from './http/implement.ts';
import { LocationHub } from './location-hub.ts';
import { recordAgentsChanged } from './operations/agent-presence.ts';
import { expireJobs } from './operations/expire-jobs.ts';
import { excuseDowntime, noteAlive, sweepHeartbeats } from './operations/heartbeats.ts';
import { ResultIntake } from './operations/ingest-results.ts';
import { restoreAgents } from './operations/restore-agents.ts';
import { sweepSlots } from './operations/sweep-slots.ts';
import { agentHandlers } from './resources/agents/handlers.ts';
import { checkResultHandlers } from './resources/check-results/handlers.ts';
import { checkStatusHandlers } from './resources/check-statuses/handlers.ts';
import { checkHandlers, checkTypeBindings } from './resources/checks/handlers.ts';
import { heartbeatHandlers } from './resources/heartbeats/handlers.ts';
import { createLocationKey, KeyStore } from './resources/keys/store.ts';
import { locationHandlers } from './resources/locations/handlers.ts';
import { privateLocationHandlers } from './resources/private-locations/handlers.ts';
import type { Services } from './services.ts';
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

  const server = createServer();
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = 30_000;
  server.requestTimeout = 120_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.PORT, config.HOST, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  const url = `http://${host}:${port}`;
  const publicUrl = (config.PUBLIC_URL ?? url).replace(/\/+$/, '');

  const services: Services = { db, clock, random, newId: randomUUID, hub, logger, publicUrl };
  await restoreAgents(services);
  await excuseDowntime(services);
  const keys = new KeyStore(db, clock);
  const intake = new ResultIntake(services);
  const locationKeys = {
    create: (accountId: string, location: string, privateLocationId: string) =>
      createLocationKey(services, accountId, location, privateLocationId),
    forget: () => {
      keys.forget();
    },
  };

  const api = implement(
    [
      ...checkTypeBindings(services, config.LENIENT_DNS_BODY),
      ...bind(checkRoutes, checkHandlers(services)),
      ...bind(heartbeatRoutes, heartbeatHandlers(services)),
      ...bind(checkResultRoutes, checkResultHandlers(services)),
      ...bind(checkStatusRoutes, checkStatusHandlers(services)),
      ...bind(privateLocationRoutes, privateLocationHandlers(services, locationKeys)),
      ...bind(locationRoutes, locationHandlers),
      ...bind(agentRoutes, agentHandlers(services, intake)),
    ],
    { keys, now: () => clock.now(), checkResponses: config.CHECK_RESPONSES },
  );
  server.on('request', buildApp({ routers: [api, serveDocs(publicUrl)], logger }));
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
