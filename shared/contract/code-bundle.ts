/** Code bundles of Playwright suites, each a gzip-compressed tar. spec: open */
import { z } from 'zod';
import { defineRoutes, post } from './route.ts';

/** Limit of a bundle in compressed bytes. */
export const maxCodeBundleBytes = 157_286_400;

/** Bundles that were uploaded here are named after what they hold: the SHA-256 in hex. */
export function digestOfBundle(path: string): string | undefined {
  return /^bundles\/([0-9a-f]{64})\.tgz$/.exec(path)?.[1];
}

export const codeBundle = z
  .object({
    codeBundlePath: z.string().meta({ description: 'For `codeBundlePath` of a suite' }),
    cacheHash: z.string().meta({ description: 'SHA-256 of the bundle in hex' }),
    size: z.int().min(0),
  })
  .meta({ id: 'CodeBundle' });

export const codeBundleRoutes = defineRoutes('Checks', {
  uploadCodeBundle: post(
    '/v1/code-bundles',
    'Upload the code of a Playwright suite: a gzip-compressed tar of its project',
    {
      description:
        'At most 150 MB, and all bundles and files of an account within a quota of the operator. The same bundle twice is stored once. Bundles that no check has used for a day are deleted.',
      bodyStream: true,
      response: codeBundle,
      errors: [413],
    },
  ),
});
