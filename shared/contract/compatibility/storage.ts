/** Files that existing clients upload before they deploy. */
import { z } from 'zod';
import { defineRoute } from '../route.ts';

const tag = 'Compatibility';
const byKey = z.object({ key: z.string().min(1).max(1024) });

const storedCodeBundle = z
  .object({
    key: z.string().meta({ description: 'For `codeBundlePath` of a suite' }),
    lastModified: z.iso.datetime(),
    contentLength: z.int().min(0),
    checksumSha256: z.string().meta({ description: 'In Base64' }),
  })
  .meta({ id: 'StoredCodeBundle' });

const uploadCodeBundleOfClient = defineRoute({
  operationId: 'uploadCodeBundleOfClient',
  method: 'POST',
  path: '/next/checkly-storage/upload-code-bundle',
  tag,
  summary: 'Upload a code bundle',
  authentication: 'apiKey',
  bodyStream: true,
  status: 201,
  response: storedCodeBundle,
  errors: [400, 413],
});

const peekCodeBundle = defineRoute({
  operationId: 'peekCodeBundle',
  method: 'POST',
  path: '/next/checkly-storage/peek-code-bundle',
  tag,
  summary: 'Whether a code bundle is there',
  authentication: 'apiKey',
  onlyReads: true,
  role: 'READ_ONLY',
  body: byKey,
  status: 200,
  response: storedCodeBundle,
  errors: [400, 404],
});

const uploadFile = defineRoute({
  operationId: 'uploadFile',
  method: 'POST',
  path: '/next/checkly-storage/upload',
  tag,
  summary: 'Upload a file of a project, such as a snapshot',
  authentication: 'apiKey',
  bodyStream: true,
  status: 201,
  response: byKey,
  errors: [400, 413],
});

const downloadFile = defineRoute({
  operationId: 'downloadFile',
  method: 'POST',
  path: '/next/checkly-storage/download',
  tag,
  summary: 'Download a file of a project',
  authentication: 'apiKey',
  onlyReads: true,
  role: 'READ_ONLY',
  body: byKey,
  status: 200,
  responseStream: 'application/octet-stream',
  errors: [400, 404],
});

export const clientStorageRoutes = {
  uploadCodeBundleOfClient,
  peekCodeBundle,
  uploadFile,
  downloadFile,
};
