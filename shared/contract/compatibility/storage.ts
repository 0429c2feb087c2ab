/** Files that existing clients upload before they deploy. */
import { z } from 'zod';
import { defineRoutes, post } from '../route.ts';

const byKey = z.object({ key: z.string().min(1).max(1024) });

const storedCodeBundle = z
  .object({
    key: z.string().meta({ description: 'For `codeBundlePath` of a suite' }),
    lastModified: z.iso.datetime(),
    contentLength: z.int().min(0),
    checksumSha256: z.string().meta({ description: 'In Base64' }),
  })
  .meta({ id: 'StoredCodeBundle' });

export const clientStorageRoutes = defineRoutes('Compatibility', {
  uploadCodeBundleOfClient: post(
    '/next/checkly-storage/upload-code-bundle',
    'Upload a code bundle',
    { bodyStream: true, response: storedCodeBundle, errors: [413] },
  ),
  peekCodeBundle: post('/next/checkly-storage/peek-code-bundle', 'Whether a code bundle is there', {
    onlyReads: true,
    role: 'READ_ONLY',
    body: byKey,
    status: 200,
    response: storedCodeBundle,
    errors: [404],
  }),
  uploadFile: post(
    '/next/checkly-storage/upload',
    'Upload a file of a project, such as a snapshot',
    { bodyStream: true, response: byKey, errors: [413] },
  ),
  downloadFile: post('/next/checkly-storage/download', 'Download a file of a project', {
    onlyReads: true,
    role: 'READ_ONLY',
    body: byKey,
    status: 200,
    responseStream: 'application/octet-stream',
    errors: [404],
  }),
});
