/** Composes the control plane, top to bottom. Closing it undoes the steps in reverse order. */
import { HeldDeletions } from '../deletions/index.ts';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { IncomingMessage, RequestListener, Server, ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { hasOneHost, openServer } from '@monitor/shared/open-server.ts';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { LogOutput } from '@monitor/shared/log-output.ts';
import { actorOf, recordDone } from '../audit/index.ts';
import { Passwords, type PeopleDeps } from '../people/index.ts';
import { bindApi } from './api.ts';
import { buildApp, visitorAt } from './app.ts';
import {
  ArtifactLinks,
  moveRuns,
  openArtifactStore,
  ownedObjects,
  RecordLosses,
  resolveReferences,
  ResultIntake,
  StatusCache,
  statusesOfChecks,
} from '../results/index.ts';
import { Deployments } from '../projects/index.ts';
import { Bus } from '../core/bus.ts';
import { uuidOfTime } from '../core/keys.ts';
import type { Config } from '../core/config.ts';
import { CommitQueue } from '../db/commit-queue.ts';
import { PostgresListener } from '../db/postgres.ts';
import { ReadPool } from '../db/read-pool.ts';
import type { Database } from '../db/tables.ts';
import {
  encryptStoredCredentials,
  IntegrityWatch,
  openFittingKey,
  openStandby,
  openWhole,
} from '../integrity/index.ts';
import {
  accountsWithoutChannels,
  moveClaims,
  OutboxSignal,
  startOutboxSender,
  withoutChannels,
} from '../notifications/index.ts';
import { askDatabase, DatabaseClock } from '../core/database-clock.ts';
import { WriteWatch } from '../core/write-watch.ts';
import { engineOf } from '../db/engine.ts';
import { Replicas } from '../replicas/index.ts';
import { ConsoleCookie } from '../http/console-cookie.ts';
import { announceResults, ConsoleEvents, serveConsoleEvents } from './console-events.ts';
import { serveConsoleSessions } from './console-session.ts';
import { serveAlertLinks } from './serve-alert-links.ts';
import { serveConsole } from './console.ts';
import { serveDocs } from './docs.ts';
import { serveGuide } from './guide.ts';
import { serveHealth } from './health.ts';
import { implement } from '../http/implement.ts';
import { measureRequests } from '../http/measure-requests.ts';
import { Quotas } from '../core/quotas.ts';
import { RateLimiter } from '../http/rate-limit.ts';
import { secureHeaders } from '../http/secure-headers.ts';
import {
  type DomainResolver,
  noteWebhook,
  readPage,
  serveStatusPages,
  Snapshots,
  StatusPageDomains,
  systemResolver,
} from '../status-pages/index.ts';
import { serveTraceViewer, traceViewerUrl } from './trace-viewer.ts';
import {
  LocationHub,
  moveSchedule,
  newsOfChecks,
  openIdKeys,
  RunSignals,
  scheduleOfChecks,
} from '../scheduling/index.ts';
import {
  machineClocks,
  type MachineClocks,
  noMachineClocks,
  noteAlive,
  openReception,
  Reception,
} from '../reception/index.ts';
import { alertOn, alertsOfChecks, moveAlertStates, recordErrorStreaks } from '../alerting/index.ts';
import {
  certificatesOfChecks,
  moveCertificateDays,
  recordCertificate,
} from '../certificates/index.ts';
import { heartbeatTimers, moveHeartbeats, resumeHeartbeats } from '../heartbeats/index.ts';
import { isForBroker, ResultBroker } from '../compat/index.ts';
import { incidentsOfChecks, moveIncidents } from '../incidents/index.ts';
import { sessionsOfChecks } from '../sessions/index.ts';
import { createMetrics } from '../observability/metrics.ts';
import { observeState } from './observe-state.ts';
import { serveMetrics } from './serve-metrics.ts';
import { CodeBundleStore, folderOfBundles } from '../checks/index.ts';
import { createApiKey, createLocationKey, KeyStore } from '../accounts/index.ts';
import type { Services } from '../core/services.ts';
import { startTimers } from '../core/timers.ts';
import { version } from '../core/version.ts';
import { repeatedOperations } from './repeated-operations.ts';

export interface ControlPlaneParts {
  config: Config;
  logger: Logger;
  clock?: Clock;
  /** Whether the time is that of a PostgreSQL; by default when `clock` is the system clock. */
  followsDatabase?: boolean;
  /** Clocks beside `clock`; by default those of this machine when `clock` is the system clock. */
  machine?: MachineClocks;
  random?: () => number;
  /** Resolves the DNS records that prove domains; the system resolver by default. */
  resolver?: DomainResolver;
  /** Accepts a key that does not fit the encrypted values of the database. */
  acceptNewKey?: boolean;
  /** Where the log goes. */
  log?: LogOutput;
}

export interface ControlPlane extends AsyncDisposable {
  /** Base URL of the server, for example `http://127.0.0.1:3000`. */
  url: string;
  /** Port of the metrics about this process; null when they are not served. */
  metricsPort: number | null;
  services: Services;
}

/** How long answers in progress may take after the process was asked to stop. */
const closeWithinMs = 5_000;
const closeIdleEveryMs = 50;
/** The lease of the replica that exports metrics about the stored state. */
const stateMetrics = 'state-metrics';
const dayMs = 86_400_000;

/** What replicas tell each other through the database; null on SQLite, and when it is switched off. */
function openListener(
  config: Config,
  { db, replicaId, logger }: { db: Kysely<Database>; replicaId: string; logger: Logger },
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

/** Opens the database, serves the API and starts the timers. Throws when any of this fails. */
export async function startControlPlane(parts: ControlPlaneParts): Promise<ControlPlane> {
  const { config, logger, clock: ownClock = systemClock, random = Math.random } = parts;
  const { machine = ownClock === systemClock ? machineClocks() : noMachineClocks } = parts;
  const { acceptNewKey = false, followsDatabase = ownClock === systemClock } = parts;
  await using stack = new AsyncDisposableStack();

  // A server has no file here, as a database in memory.
  const databaseFile = config.DATABASE_URL === undefined ? config.DATABASE_FILE : ':memory:';
  if (databaseFile !== ':memory:') {
    mkdirSync(dirname(databaseFile), { recursive: true, mode: 0o700 });
  }
  const integrity = stack.use(
    new IntegrityWatch({
      databaseFile,
      clock: ownClock,
      logger: logger.child({ subsystem: 'integrity' }),
    }),
  );
  const replicaId = randomUUID();
  const db = await openWhole(config, integrity, {
    ...{ replicaId, logger, clock: ownClock },
    // Others would go on with the lost key, and what they encrypt would be lost as well.
    mustBeAlone: acceptNewKey,
  });
  stack.defer(() => db.destroy());
  const databaseClock =
    engineOf(db) === 'postgres' && followsDatabase
      ? stack.use(await DatabaseClock.open(ownClock, () => askDatabase(db), logger))
      : null;
  const clock: Clock = databaseClock ?? ownClock;
  const secrets = await openFittingKey(db, config, acceptNewKey);
  const standbyLogger = logger.child({ subsystem: 'standby' });
  const standby = await openStandby(config, db, replicaId);
  stack.defer(() => standby?.destroy());
  const readPool = stack.use(
    new ReadPool({ primary: db, standby, clock, replicaId, logger: standbyLogger }),
  );
  const encrypted = await encryptStoredCredentials(db, secrets);
  if (encrypted?.isRewritten === false) {
    logger.warn(
      { database: databaseFile },
      'credentials are encrypted now, but pages that were freed before may still hold old values: run VACUUM on the file once',
    );
  }

  const failoverMs = config.DATABASE_FAILOVER_SECONDS * 1_000;
  const writes = new WriteWatch(clock, logger, config.DATABASE_URL === undefined ? 0 : failoverMs);
  const reception = new Reception({
    ...{ clock, machine, writes },
    logger: logger.child({ subsystem: 'reception' }),
  });
  stack.use(reception);
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
  const listener = openListener(config, { db, replicaId, logger: busLogger });
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

  // Clients that send headers or bodies too slowly are disconnected.
  const requestTimeout = config.REQUEST_TIMEOUT_SECONDS * 1000;
  const limits: ServerOptions = {
    keepAliveTimeout: 65_000,
    headersTimeout: Math.min(30_000, requestTimeout),
    // Uploads may take longer than any other body: each route sets its own limit.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(5_000, requestTimeout),
    shouldUpgradeCallback: (request) =>
      server.listenerCount('upgrade') > 0 && hasOneHost(request) && isForBroker(request),
  };
  // A client that connects before everything is open waits for it, instead of hanging for ever.
  const opening = Promise.withResolvers<RequestListener>();
  let handle: RequestListener | null = null;
  const server: Server = openServer(limits, (request, response) => {
    if (handle === null) void opening.promise.then((opened) => opened(request, response));
    else handle(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      // A kernel without IPv6 has no `::`: listen on all IPv4 addresses instead.
      if (config.HOST !== '::' || error.code !== 'EAFNOSUPPORT') reject(error);
      else server.once('error', reject).listen(config.PORT, '0.0.0.0', resolve);
    });
    server.listen(config.PORT, config.HOST, resolve);
  });
  // If the start fails below, the process must be able to end.
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  const url = `http://${host}:${port}`;
  const replicas = stack.use(
    new Replicas({
      ...{ db, clock, version, url, id: replicaId },
      logger: logger.child({ subsystem: 'replicas' }),
      ...(databaseClock === null ? {} : { databaseClock }),
    }),
  );
  if (!replicas.isAlone) metrics.registry.setDefaultLabels({ replica: replicaId });
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
  const publicUrl = (config.PUBLIC_URL ?? url).replace(/\/+$/, '');

  const artifacts = stack.use(await openArtifactStore(config));
  const viewerUrl = traceViewerUrl(config.TRACE_VIEWER_URL, publicUrl);
  const links = new ArtifactLinks(secrets, publicUrl, viewerUrl);
  const losses = await RecordLosses.open({
    ...{ db, secrets, clock, metrics },
    markFile: databaseFile === ':memory:' ? null : `${databaseFile}.mark`,
    logger: logger.child({ subsystem: 'integrity' }),
  });
  const forget = (): void => {
    bus.send('k');
  };
  const services: Services = {
    db,
    readPool,
    writes,
    reception,
    losses,
    commits,
    metrics,
    secrets,
    artifacts,
    links,
    domains: new StatusPageDomains(
      parts.resolver ?? systemResolver(),
      config.STATUS_PAGE_DOMAINS,
      publicUrl,
      [config.HOST, ...(viewerUrl === null ? [] : [new URL(viewerUrl).hostname])],
    ),
    resolveReferences: (json, resultId) =>
      resolveReferences(json, (name) => links.to(resultId, name, clock.now())),
    clock,
    random,
    newId: randomUUID,
    newRunId: () => uuidOfTime(clock.now()),
    ids: await openIdKeys(db, secrets, acceptNewKey),
    hub,
    runs,
    quotas: new Quotas(
      config,
      () => clock.monotonic(),
      () => replicas.shareOfLimit(),
    ),
    statuses: new StatusCache(clock, engineOf(db) === 'sqlite' ? Infinity : 1_000),
    outbox: new OutboxSignal(bus),
    replicas,
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
    onWindowWithdrawn: resumeHeartbeats,
    afterDeployment: {
      forgetKeys: forget,
      announce(accountId, what) {
        bus.send('p', accountId);
        for (const each of what) bus.send('e', `${accountId}/${each}`);
      },
    },
    logger,
    publicUrl,
  };
  await openReception(services);
  await readPool.start();
  await hub.open();
  const keys = new KeyStore(db, clock);
  const resultsKeptMs = config.RESULT_RETENTION_DAYS * dayMs;
  const intake = new ResultIntake(services, {
    keptMs: resultsKeptMs,
    takeCertificate: recordCertificate,
  });
  const bundleParts = {
    ...{ db, clock, commits: services.commits, objects: ownedObjects(services) },
    folder: folderOfBundles(config),
    quotaBytes: config.BUNDLE_MIB * 1_048_576,
  };
  const codeBundles = new CodeBundleStore(bundleParts);
  bus.on('k', () => {
    keys.forget();
  });
  const snapshots = new Snapshots({
    clock,
    logger: logger.child({ subsystem: 'status-pages' }),
    read: (address, now, accountId) =>
      // A page that is not known yet may have been made a moment ago.
      accountId === null
        ? readPage(db, address, now)
        : readPool.read(accountId, (unit) => readPage(unit, address, now)),
  });
  bus.on('p', (accountId) => {
    if (accountId !== '*') readPool.noteChange(accountId);
    snapshots.expire(accountId === '*' ? null : accountId);
  });
  const consoleCookie = new ConsoleCookie(publicUrl);
  const people: PeopleDeps = {
    ...services,
    passwords: new Passwords(),
    attempts: new RateLimiter(
      () => clock.monotonic(),
      () => replicas.shareOfLimit(),
    ),
    canMail: config.SMTP_URL !== undefined,
    forget,
  };
  const onChange = (accountId: string, what: string | null): void => {
    bus.send('p', accountId);
    if (what !== null) bus.send('e', `${accountId}/${what}`);
  };
  const deployments = new Deployments(services);
  await deployments.abandon();
  const routes = bindApi({
    services,
    config,
    intake,
    codeBundles,
    locationKeys: {
      create: (db, accountId, location, privateLocationId) =>
        createLocationKey({ ...services, db }, accountId, location, privateLocationId),
      forget,
    },
    apiKeys: {
      create: (db, accountId, key) => createApiKey({ ...services, db }, accountId, key),
      forget,
    },
    people,
    deployments,
  });
  const deletions = new HeldDeletions(services, routes, onChange);
  const api = implement(routes, {
    deletions,
    keys,
    consoleCookie,
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    shareOfLimit: () => replicas.shareOfLimit(),
    checkResponses: config.CHECK_RESPONSES,
    requestsPerMinute: config.REQUESTS_PER_MINUTE,
    bodyWithinMs: requestTimeout,
    audit: ({ principal, ...call }) =>
      recordDone(services, {
        ...call,
        accountId: principal.accountId,
        actor: actorOf(principal),
      }),
    onChange,
  });
  const events = stack.use(new ConsoleEvents({ db, clock, bus, hub, keys, logger }));
  const statusPages = serveStatusPages({
    services,
    snapshots,
    canSubscribe: config.SMTP_URL !== undefined,
    host: config.HOST,
  });
  // Status pages come first: on its own domain, a page takes every path.
  const app = buildApp({
    before: [measureRequests(metrics, clock), secureHeaders(publicUrl)],
    doors: {
      traceViewer: serveTraceViewer({ viewerUrl, publicUrl, links, now: () => clock.now() }),
      health: serveHealth(
        db,
        clock,
        { reception, replicas },
        () =>
          writes.problem ??
          integrity.problem ??
          losses.problem ??
          reception.clockProblem ??
          databaseClock?.problem ??
          parts.log?.problem ??
          null,
      ),
      statusPages,
      api,
      session: serveConsoleSessions(people, keys, consoleCookie, config),
      events: serveConsoleEvents(events, keys, consoleCookie),
      alertLinks: serveAlertLinks(services, people.attempts, onChange),
      console: serveConsole(publicUrl),
      docs: serveDocs(publicUrl),
      guide: serveGuide(),
    },
    trustedProxies: config.TRUSTED_PROXIES,
    logger,
    writes,
  });
  handle = app;
  opening.resolve(handle);
  const visitorOf = (request: IncomingMessage): string => visitorAt(app, request);
  const broker = stack.use(new ResultBroker({ server, services, keys, bus, logger, visitorOf }));
  stack.defer(async () => {
    // Records the last moment of reception. Without it the next start would count from an
    // earlier one.
    await noteAlive(services).catch((error: unknown) => {
      if (!writes.noteFailure(error)) logger.warn({ err: error }, 'the end could not be noted');
    });
    // Agents poll again as soon as they are answered. On keep-alive connections they would delay
    // the shutdown until they are disconnected.
    server.prependListener('request', (_request, response) => {
      response.setHeader('connection', 'close');
    });
    const closingIdle = setInterval(() => {
      server.closeIdleConnections();
    }, closeIdleEveryMs);
    await new Promise<void>((resolve) => {
      const cancelClosing = clock.after(closeWithinMs, () => {
        server.closeAllConnections();
      });
      server.close(() => {
        cancelClosing();
        resolve();
      });
      server.closeIdleConnections();
      hub.close();
      events.close();
      broker.close();
      services.runs.close();
    });
    clearInterval(closingIdle);
  });

  // Before the server closes: clients hear of the end.
  stack.use(deployments);

  const silent = await accountsWithoutChannels(db, config.OPERATOR_CHANNEL_ACCOUNTS);
  if (silent.length > 0) logger.error({ accounts: silent }, withoutChannels);
  stack.use(startOutboxSender({ services, config, onWebhook: noteWebhook }));

  const operations = repeatedOperations({
    ...{ services, config, databaseFile, losses, codeBundles, bundleParts, deletions, deployments },
  });
  const ofOne = operations.filter(({ on }) => on === 'one').map(({ name }) => name);
  await replicas.want([...ofOne, stateMetrics]);
  stack.use(
    startTimers(
      operations,
      clock,
      logger.child({ subsystem: 'timers' }),
      metrics,
      writes,
      replicas,
    ),
  );

  integrity.start();
  const opened = stack.move();
  return {
    url,
    metricsPort: scraped?.port ?? null,
    services,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
