/** A control plane with a result in it, and the API of its files: real HTTP, a real store. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import {
  agentArtifactRoutes,
  type ArtifactDeclaration,
} from '@monitor/shared/contract/agent-protocol.ts';
import { artifactRoutes } from '@monitor/shared/contract/check-result-routes.ts';
import { resultIdOfAttempt, runIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { buildApp } from '../../control-plane/app/app.ts';
import { sha256Hex } from '../../control-plane/core/keys.ts';
import { WriteWatch } from '../../control-plane/core/write-watch.ts';
import type { ArtifactStore } from '../../control-plane/core/artifact-store.ts';
import { openFolderStore } from '../../control-plane/results/artifacts/folder-store.ts';
import { ArtifactLinks } from '../../control-plane/results/artifacts/links.ts';
import { bind } from '../../control-plane/http/handlers.ts';
import { implement } from '../../control-plane/http/implement.ts';
import { serveTraceViewer, traceViewerUrl } from '../../control-plane/app/trace-viewer.ts';
import { announceArtifacts } from '../../control-plane/results/announce-artifacts.ts';
import {
  agentArtifactHandlers,
  artifactHandlers,
} from '../../control-plane/results/artifacts/handlers.ts';
import { KeyStore } from '../../control-plane/accounts/keys/store.ts';
import type { Services } from '../../control-plane/core/services.ts';
import { now, setUp, type Bench } from './results.ts';
import { temporaryFolder } from './system.ts';
import { listening } from './servers.ts';

export const sha256Base64 = (content: Uint8Array): string =>
  createHash('sha256').update(content).digest('base64');

export function declaration(
  name: string,
  size: number,
  fields: Partial<ArtifactDeclaration> = {},
): ArtifactDeclaration {
  return {
    name,
    type: 'file',
    contentType: 'application/octet-stream',
    size,
    withheld: null,
    ...fields,
  };
}

export interface ArtifactApi extends AsyncDisposable {
  bench: Bench;
  services: Services;
  url: string;
  /** Folder of the store, when it is one. */
  folder: string;
  checkId: string;
  resultId: string;
  location: string;
  locationKey: string;
  announce(...artifacts: ArtifactDeclaration[]): Promise<void>;
  upload(
    name: string,
    content: Uint8Array<ArrayBuffer>,
    headers?: Record<string, string>,
  ): Promise<Response>;
  /** What the asset list says about one file. */
  asset(name: string): Promise<Record<string, unknown>>;
}

export async function openArtifactApi(
  options: { store?: ArtifactStore } = {},
): Promise<ArtifactApi> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder()).path;
  const bench = stack.use(await setUp());
  const { accountId, apiKey, controlPlane } = bench.cp;
  const location = 'eu-west-1';
  const checkId = await bench.check('url');
  await bench.submit(checkId, 'URL', now, { runLocation: location });
  const runId = runIdOfSlot({ checkId, location, scheduledFor: now }, sha256Hex);
  const resultId = resultIdOfAttempt(runId, 1, sha256Hex);
  const locationKey = await bench.cp.locationKey(location);

  const server = createServer();
  const { url } = stack.use(await listening(server));
  const { clock, db, secrets } = controlPlane.services;
  const viewerUrl = traceViewerUrl(undefined, url);
  const links = new ArtifactLinks(secrets, url, viewerUrl);
  const services: Services = {
    ...controlPlane.services,
    artifacts: options.store ?? (await openFolderStore(join(folder, 'artifacts'))),
    links,
    publicUrl: url,
  };
  const api = implement(
    [
      ...bind(artifactRoutes, artifactHandlers(services)),
      ...bind(agentArtifactRoutes, agentArtifactHandlers(services)),
    ],
    {
      keys: new KeyStore(db, clock),
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      checkResponses: true,
      requestsPerMinute: 0,
    },
  );
  const logger = pino({ level: 'silent' });
  server.on(
    'request',
    buildApp({
      publicUrl: 'http://127.0.0.1',
      before: [serveTraceViewer({ viewerUrl, publicUrl: url, links, now: () => clock.now() }), api],
      doors: {} as never,
      trustedProxies: [],
      logger,
      writes: new WriteWatch(clock, logger),
    }),
  );

  const opened = stack.move();
  return {
    bench,
    services,
    url,
    folder: join(folder, 'artifacts'),
    checkId,
    resultId,
    location,
    locationKey,
    announce: (...artifacts) =>
      announceArtifacts(db, [
        { accountId, location, resultId, runDay: 0, artifacts, now: clock.now() },
      ]),
    upload: (name, content, headers = {}) =>
      fetch(`${url}/v1/agent/artifacts/${resultId}/${encodeURIComponent(name)}`, {
        method: 'PUT',
        headers: {
          authorization: `Bearer ${locationKey}`,
          digest: `sha-256=${sha256Base64(content)}`,
          ...headers,
        },
        body: content,
      }),
    async asset(name) {
      const answer = await fetch(
        `${url}/v1/check-results/${checkId}/${resultId}/assets?name=${encodeURIComponent(name)}`,
        { headers: { authorization: `Bearer ${apiKey}` } },
      );
      const { assets } = (await answer.json()) as { assets: Record<string, unknown>[] };
      if (assets[0] === undefined) throw new Error(`there is no file ${name}`);
      return assets[0];
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
