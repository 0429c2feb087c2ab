/** Files that clients upload before they deploy: code bundles, and others such as snapshots. */
import type { z } from 'zod';
import type { clientStorageRoutes } from '@monitor/shared/contract/compatibility/storage.ts';
import type { CodeBundleRow, CodeBundleStore } from '../checks/index.ts';
import { toTimestamp } from '../db/columns.ts';
import { notFound } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import type { CallContext } from '../http/call-context.ts';
import { asStream } from '../http/answer.ts';
import type { Handlers } from '../http/handlers.ts';
import type { Services } from '../core/services.ts';
import { openFileOfResult } from '../results/index.ts';
import { nameOfSnapshot } from './test-sessions/snapshots.ts';

type Stored = z.input<typeof clientStorageRoutes.peekCodeBundle.response>;

function toWire(row: CodeBundleRow): Stored {
  return {
    key: row.path,
    lastModified: toTimestamp(row.created_at),
    contentLength: row.size_bytes,
    checksumSha256: Buffer.from(row.digest, 'hex').toString('base64'),
  };
}

export function clientStorageHandlers(
  services: Pick<Services, 'artifacts' | 'db'>,
  store: CodeBundleStore,
): Handlers<typeof clientStorageRoutes> {
  const receive = (
    { principal, body, headers, signal }: CallContext<ApiPrincipal>,
    kind: 'bundle' | 'file',
  ) => {
    const announced = headers['content-length'];
    const bytes = announced === undefined ? undefined : Number(announced);
    return store.receive(principal.accountId, body, bytes, signal, kind);
  };
  return {
    uploadCodeBundleOfClient: async (_input, call) => toWire(await receive(call, 'bundle')),

    peekCodeBundle: async ({ body: { key } }, { principal }) => {
      const row = await store.find(principal.accountId, key);
      if (row === undefined) throw notFound('code bundle', key);
      return toWire(row);
    },

    uploadFile: async (_input, call) => ({ key: (await receive(call, 'file')).path }),

    downloadFile: async ({ body: { key } }, { principal }) => {
      const { accountId } = principal;
      const ofResult = nameOfSnapshot(key);
      if (ofResult !== null) {
        const { resultId, name } = ofResult;
        const stream = await openFileOfResult(services, accountId, resultId, name);
        if (stream === null) throw notFound('file', key);
        return asStream(stream, {});
      }
      const file = await store.open(accountId, key);
      if (file === undefined) throw notFound('file', key);
      return asStream(file.stream, { 'Content-Length': file.row.size_bytes });
    },
  };
}
