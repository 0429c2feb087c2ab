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
      const file = await store.open(principal.accountId, key);
      if (file === undefined) throw notFound('file', key);
      return asStream(file.stream, { 'Content-Length': file.row.size_bytes });
    },
  };
}
