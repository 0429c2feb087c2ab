/** An S3-compatible store with one empty bucket. */
import { join } from 'node:path';
import S3rver from 's3rver';
import { temporaryFolder } from './system.ts';

export interface TestS3 extends AsyncDisposable {
  /** What a control plane needs to use it. */
  settings: Record<string, string>;
  /** The objects of the bucket as files; their metadata stand beside them. */
  folder: string;
}

export async function startS3(): Promise<TestS3> {
  const folder = temporaryFolder();
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: folder.path,
    configureBuckets: [{ name: 'files', configs: [] }],
  });
  const { port } = await server.run();
  return {
    settings: {
      ARTIFACTS_S3_BUCKET: 'files',
      ARTIFACTS_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      ARTIFACTS_S3_ACCESS_KEY_ID: 'S3RVER',
      ARTIFACTS_S3_SECRET_ACCESS_KEY: 'S3RVER',
    },
    folder: join(folder.path, 'files'),
    async [Symbol.asyncDispose]() {
      await server.close();
      folder[Symbol.dispose]();
    },
  };
}
