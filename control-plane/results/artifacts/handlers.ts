/** Files of results: listed, downloaded by link, uploaded by agents. */
import { Readable } from 'node:stream';
import type { agentArtifactRoutes } from '@monitor/shared/contract/agent-protocol.ts';
import { maxArtifactBytes } from '@monitor/shared/contract/agent-protocol.ts';
import type { artifactRoutes } from '@monitor/shared/contract/check-result-routes.ts';
import { ApiError, notFound } from '../../errors/api-error.ts';
import { tooLarge } from './receive-artifact.ts';
import { acceptsGzip, isUnchanged } from '../../http/accepted.ts';
import { asStream } from '../../http/answer.ts';
import type { Handlers } from '../../http/handlers.ts';
import { encryptsResults } from '../../scheduling/index.ts';
import { storeArtifact } from '../store-artifact.ts';
import type { Services } from '../../core/services.ts';
import { decoded, headersOf, rangeOf } from './download.ts';
import { matchesGlob } from './glob.ts';
import { findAnnounced, findLinked, findResult, isStored, listArtifacts, toWire } from './store.ts';

type ArtifactServices = Pick<
  Services,
  'artifacts' | 'clock' | 'commits' | 'db' | 'links' | 'logger' | 'quotas'
>;

const nothing = (): Readable => Readable.from([]);

/** For users: the list of files of a result, and the files by their links. */
export function artifactHandlers(services: ArtifactServices): Handlers<typeof artifactRoutes> {
  const { artifacts, clock, db, links, logger } = services;
  return {
    listCheckResultAssets: async ({ params, query }, { principal }) => {
      const { accountId } = principal;
      const { checkId, checkResultId } = params;
      const result = await findResult(db, accountId, checkId, checkResultId);
      if (result === undefined) throw notFound('result', checkResultId);
      const { type, name } = query;
      const rows = (await listArtifacts(db, accountId, checkResultId)).filter(
        (row) =>
          (type === undefined || row.type === type) &&
          (name === undefined || matchesGlob(row.name, name)),
      );
      const now = clock.now();
      return {
        assets: rows.map((row) => toWire(row, result, links, now)),
        truncated: false,
        entriesReturned: rows.length,
        entriesTotal: rows.length,
      };
    },

    downloadArtifact: async ({ params, query }, { headers, setStatus }) => {
      const { resultId, name } = params;
      const worth = links.check({ resultId, name, ...query }, clock.now());
      if (worth !== 'valid') {
        const what =
          worth === 'expired'
            ? 'the link has expired'
            : 'the link is not one that this control plane gave';
        throw new ApiError(
          'FORBIDDEN',
          `${what}; read the result or its assets again for a new one`,
        );
      }
      const row = await findLinked(db, resultId, name);
      if (row?.state !== 'STORED' || row.object_key === null) throw notFound('file', name);
      const { size_bytes: size, encoding, digest } = row;

      const sent = headersOf(row);
      const etag = `"${digest ?? row.id}"`;
      const range = rangeOf(headers, size, etag);
      const isZipped =
        encoding === 'gzip' && range === null && acceptsGzip(headers['accept-encoding']);
      sent['ETag'] = isZipped ? `${etag.slice(0, -1)}-gzip"` : etag;
      if (isUnchanged(headers, sent['ETag'])) {
        setStatus(304);
        return asStream(nothing(), sent);
      }
      if (range === 'outside') {
        setStatus(416);
        return asStream(nothing(), { ...sent, 'Content-Range': `bytes */${size}` });
      }

      const isCutByStore = range !== null && encoding === null;
      const stored = await artifacts.open(row.object_key, isCutByStore ? range : undefined);
      if (stored === null) {
        logger.error({ key: row.object_key }, 'file of a result is not in the store');
        throw notFound('file', name);
      }
      const content = encoding === null || isZipped ? stored : decoded(stored, range);
      if (range !== null) {
        setStatus(206);
        sent['Content-Range'] = `bytes ${range.start}-${range.end}/${size}`;
        sent['Content-Length'] = range.end - range.start + 1;
      } else if (isZipped) {
        sent['Content-Encoding'] = 'gzip';
        if (row.stored_bytes !== null) sent['Content-Length'] = row.stored_bytes;
      } else {
        sent['Content-Length'] = size;
      }
      return asStream(content, sent);
    },
  };
}

function badHeader(name: string, problem: string): ApiError {
  return new ApiError('VALIDATION', `"${name}" ${problem}`, { source: 'headers', keys: [name] });
}

/** RFC 3230, as agents send it. */
function digestIn(header: string | string[] | undefined): Buffer {
  const match = /(?:^|,)\s*sha-256=([A-Za-z0-9+/]{43}=)\s*(?:,|$)/i.exec(String(header ?? ''));
  if (match?.[1] === undefined) {
    throw badHeader('digest', 'must be sha-256= and the SHA-256 of the file in base64');
  }
  return Buffer.from(match[1], 'base64');
}

function encodingIn(header: string | undefined): 'gzip' | null {
  const coding = (header ?? 'identity').trim().toLowerCase();
  if (coding === 'identity') return null;
  if (coding === 'gzip') return 'gzip';
  throw badHeader('content-encoding', 'must be gzip, or absent');
}

/** Two agents ran the same slot; a result shows only files of its own agent. */
function notOfResult(): ApiError {
  return new ApiError('CONFLICT', 'the result came from another agent, without this file');
}

/** For agents: uploads of announced files. */
export function agentArtifactHandlers(
  services: ArtifactServices,
): Handlers<typeof agentArtifactRoutes> {
  return {
    uploadArtifact: async ({ params }, { body, headers, principal }) => {
      const { accountId, location } = principal;
      const digest = digestIn(headers['digest']);
      const encoding = encodingIn(headers['content-encoding']);
      const row = await findAnnounced(services.db, { accountId, location, ...params });
      if (row === undefined) {
        if (await isStored(services.db, { accountId, location, ...params })) throw notOfResult();
        throw notFound('file', params.name);
      }
      if (row.state === 'WITHHELD') {
        throw new ApiError('VALIDATION', `the file was announced as withheld: ${row.reason ?? ''}`);
      }
      // The retention has passed: the agent has nothing left to do.
      if (row.state === 'EXPIRED') return undefined;
      if (row.digest !== null && row.digest !== digest.toString('hex')) throw notOfResult();
      if (row.state === 'STORED') return undefined;
      const length = Number(headers['content-length'] ?? 0);
      if (row.size_bytes > maxArtifactBytes || (encoding === null && length > maxArtifactBytes)) {
        throw tooLarge();
      }
      services.quotas.take(accountId, location, { files: 1, fileBytes: row.size_bytes });
      const isEncrypted = await encryptsResults(services.db, { accountId, location });
      const { size_bytes: sizeBytes } = row;
      await storeArtifact(services, row, body, { encoding, sizeBytes, digest, isEncrypted });
      return undefined;
    },
  };
}
