/** Code bundles: users upload them, agents download them. */
import type { agentCodeBundleRoutes } from '@monitor/shared/contract/agent-protocol.ts';
import type { codeBundleRoutes } from '@monitor/shared/contract/code-bundle.ts';
import { ApiError, notFound } from '../../errors/api-error.ts';
import { asStream } from '../../http/answer.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { CodeBundleStore } from './store.ts';

export function codeBundleHandlers(store: CodeBundleStore): Handlers<typeof codeBundleRoutes> {
  return {
    uploadCodeBundle: async (_input, { principal, body, headers, signal }) => {
      const announced = headers['content-length'];
      const row = await store.receive(
        principal.accountId,
        body,
        announced === undefined ? undefined : Number(announced),
        signal,
      );
      return { codeBundlePath: row.path, cacheHash: row.digest, size: row.size_bytes };
    },
  };
}

export function agentCodeBundleHandlers(
  store: CodeBundleStore,
): Handlers<typeof agentCodeBundleRoutes> {
  return {
    downloadCodeBundle: async ({ params }, { principal }) => {
      const path = await store.pathForCheck(principal, params.checkId);
      if (path === undefined) throw notFound('suite', params.checkId);
      const bundle = await store.open(principal.accountId, path);
      if (bundle === undefined) {
        throw new ApiError(
          'NOT_FOUND',
          `there is no code bundle "${path}" in this account: it was never uploaded, or no check used it for a day; upload it again with POST /v1/code-bundles`,
          { codeBundlePath: path },
        );
      }
      const { stream, row } = bundle;
      return asStream(stream, {
        'Content-Length': row.size_bytes,
        Digest: `sha-256=${Buffer.from(row.digest, 'hex').toString('base64')}`,
      });
    },

    downloadBaseline: async ({ params: { checkId, digest } }, { principal }) => {
      const path = await store.pathOfImage(principal, checkId, digest);
      const image = path === undefined ? undefined : await store.open(principal.accountId, path);
      if (image === undefined) throw notFound('baseline', digest);
      return asStream(image.stream, { 'Content-Length': image.row.size_bytes });
    },
  };
}
