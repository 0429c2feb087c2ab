/** Binds the API and the pages to the server, in the order in which they are tried. */
import type { IncomingMessage } from 'node:http';
import { createApiKey, createLocationKey, KeyStore } from '../accounts/index.ts';
import { actorOf, recordDone } from '../audit/index.ts';
import { recordCertificate } from '../certificates/index.ts';
import { type CodeBundleStore } from '../checks/index.ts';
import { ResultBroker } from '../compat/index.ts';
import type { Services } from '../core/services.ts';
import { HeldDeletions } from '../deletions/index.ts';
import { ConsoleCookie } from '../http/console-cookie.ts';
import { implement } from '../http/implement.ts';
import { measureRequests } from '../http/measure-requests.ts';
import { RateLimiter } from '../http/rate-limit.ts';
import { secureHeaders } from '../http/secure-headers.ts';
import { Passwords, type PeopleDeps } from '../people/index.ts';
import { Deployments } from '../projects/index.ts';
import { ResultIntake } from '../results/index.ts';
import { serveSignIn } from '../sign-in/index.ts';
import { readPage, serveStatusPages, Snapshots } from '../status-pages/index.ts';
import { bindApi } from './api.ts';
import { buildApp, visitorAt } from './app.ts';
import type { ControlPlaneParts } from './parts.ts';
import { serveMcp } from './serve-mcp.ts';
import { serveOAuth } from './serve-oauth.ts';
import { ConsoleEvents, serveConsoleEvents } from './console-events.ts';
import { serveConsole } from './console.ts';
import { serveDocs } from './docs.ts';
import { serveGuide } from './guide.ts';
import { serveHealth } from './health.ts';
import type { Listening } from './listen.ts';
import type { OpenDatabase } from './open-database.ts';
import type { Signals } from './open-services.ts';
import { serveAlertLinks } from './serve-alert-links.ts';
import { serveTraceViewer, traceViewerUrl } from './trace-viewer.ts';

const dayMs = 86_400_000;

interface Serving {
  parts: ControlPlaneParts;
  database: OpenDatabase;
  signals: Signals;
  services: Services;
  codeBundles: CodeBundleStore;
}

/** What is known of requests beside the services, and the messages of other replicas about it. */
async function openRequests({ parts: { config }, signals: { bus }, services }: Serving) {
  const { db, clock, readPool, replicas, logger } = services;
  const keys = new KeyStore(db, clock);
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
  const people: PeopleDeps = {
    ...services,
    passwords: new Passwords(),
    attempts: new RateLimiter(
      () => clock.monotonic(),
      () => replicas.shareOfLimit(),
    ),
    canMail: config.SMTP_URL !== undefined,
    forget: services.afterDeployment.forgetKeys,
  };
  const onChange = (accountId: string, what: string | null): void => {
    services.afterDeployment.announce(accountId, new Set(what === null ? [] : [what]));
  };
  const deployments = new Deployments(services);
  await deployments.abandon();
  return { keys, snapshots, people, onChange, deployments };
}

type Requests = Awaited<ReturnType<typeof openRequests>>;

function openApi(
  { parts: { config }, services, codeBundles }: Serving,
  { keys, people, onChange, deployments }: Requests,
  consoleCookie: ConsoleCookie,
) {
  const { clock, replicas } = services;
  const { forget } = people;
  const intake = new ResultIntake(services, {
    keptMs: config.RESULT_RETENTION_DAYS * dayMs,
    takeCertificate: recordCertificate,
  });
  const routes = bindApi({
    ...{ services, config, intake, codeBundles, people, deployments },
    locationKeys: {
      create: (db, accountId, location, privateLocationId) =>
        createLocationKey({ ...services, db }, accountId, location, privateLocationId),
      forget,
    },
    apiKeys: {
      create: (db, accountId, key) => createApiKey({ ...services, db }, accountId, key),
      forget,
    },
  });
  const deletions = new HeldDeletions(services, routes, onChange);
  const api = implement(routes, {
    ...{ deletions, keys, consoleCookie, onChange },
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    shareOfLimit: () => replicas.shareOfLimit(),
    checkResponses: config.CHECK_RESPONSES,
    requestsPerMinute: config.REQUESTS_PER_MINUTE,
    bodyWithinMs: config.REQUEST_TIMEOUT_SECONDS * 1000,
    audit: ({ principal, ...call }) =>
      recordDone(services, {
        ...call,
        accountId: principal.accountId,
        actor: actorOf(principal),
      }),
  });
  return { deletions, api };
}

/** From here on the server answers. `closeStreams` ends answers that would never end by themselves. */
export async function serveAll(
  stack: AsyncDisposableStack,
  serving: Serving,
  { server, answerWith }: Listening,
) {
  const { parts, database, signals, services } = serving;
  const { config, logger } = parts;
  const { db, clock, links, publicUrl, writes, reception, replicas, losses, metrics } = services;
  const requests = await openRequests(serving);
  const { keys, snapshots, people, onChange, deployments } = requests;
  const consoleCookie = new ConsoleCookie(publicUrl);
  const { deletions, api } = openApi(serving, requests, consoleCookie);
  const events = stack.use(new ConsoleEvents({ ...signals, db, clock, keys, logger }));
  const viewerUrl = traceViewerUrl(config.TRACE_VIEWER_URL, publicUrl);
  const statusPages = serveStatusPages({
    ...{ services, snapshots, host: config.HOST },
    canSubscribe: config.SMTP_URL !== undefined,
  });
  // Status pages come first: on its own domain, a page takes every path.
  const app = buildApp({
    publicUrl,
    before: [measureRequests(metrics, clock), secureHeaders(publicUrl)],
    doors: {
      traceViewer: serveTraceViewer({ viewerUrl, publicUrl, links, now: () => clock.now() }),
      health: serveHealth(
        db,
        clock,
        { reception, replicas },
        () =>
          writes.problem ??
          database.integrity.problem ??
          losses.problem ??
          reception.clockProblem ??
          database.databaseClock?.problem ??
          parts.log?.problem ??
          null,
      ),
      statusPages,
      api,
      session: serveSignIn(people, keys, consoleCookie, config),
      mcp: serveMcp({
        ...{ keys, publicUrl, attempts: people.attempts, server, logger },
        bodyWithinMs: config.REQUEST_TIMEOUT_SECONDS * 1000,
      }),
      oauth: serveOAuth({
        ...{ services, attempts: people.attempts },
        bodyWithinMs: config.REQUEST_TIMEOUT_SECONDS * 1000,
      }),
      events: serveConsoleEvents(events, keys, consoleCookie),
      alertLinks: serveAlertLinks(services, people.attempts, onChange),
      console: await serveConsole(publicUrl),
      docs: serveDocs(publicUrl),
      guide: serveGuide(),
    },
    trustedProxies: config.TRUSTED_PROXIES,
    ...{ logger, writes },
  });
  answerWith(app);
  const visitorOf = (request: IncomingMessage): string => visitorAt(app, request);
  const { bus } = signals;
  const broker = stack.use(new ResultBroker({ server, services, keys, bus, logger, visitorOf }));
  const closeStreams = (): void => {
    services.hub.close();
    events.close();
    broker.close();
    services.runs.close();
  };
  return { deletions, deployments, closeStreams };
}
