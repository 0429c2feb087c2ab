import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemClock } from '@monitor/shared/clock.ts';
import type { Config } from '../../core/config.ts';
import type { ArtifactStore } from '../../core/artifact-store.ts';
import { makeTemporaryFolder } from '../../db/temporary-folder.ts';
import { openFolderStore } from './folder-store.ts';

type StoreConfig = Pick<
  Config,
  | 'ARTIFACTS_DIR'
  | 'ARTIFACTS_S3_ACCESS_KEY_ID'
  | 'ARTIFACTS_S3_BUCKET'
  | 'ARTIFACTS_S3_ENDPOINT'
  | 'ARTIFACTS_S3_PREFIX'
  | 'ARTIFACTS_S3_REGION'
  | 'ARTIFACTS_S3_SECRET_ACCESS_KEY'
  | 'ARTIFACTS_SHARED'
  | 'DATABASE_FILE'
>;

/** The configured store; a temporary one for a database in memory. */
export async function openArtifactStore(config: StoreConfig): Promise<ArtifactStore> {
  if (config.ARTIFACTS_S3_BUCKET !== undefined) {
    // Few have one, and its client takes longer to load than the rest of a start.
    const { openS3Store } = await import('./s3-store.ts');
    return openS3Store({
      bucket: config.ARTIFACTS_S3_BUCKET,
      region: config.ARTIFACTS_S3_REGION,
      prefix: config.ARTIFACTS_S3_PREFIX,
      endpoint: config.ARTIFACTS_S3_ENDPOINT ?? null,
      accessKeyId: config.ARTIFACTS_S3_ACCESS_KEY_ID ?? null,
      secretAccessKey: config.ARTIFACTS_S3_SECRET_ACCESS_KEY ?? null,
    });
  }
  if (config.ARTIFACTS_DIR !== undefined) {
    return openFolderStore(config.ARTIFACTS_DIR, {
      isShared: config.ARTIFACTS_SHARED,
      now: systemClock.now(),
    });
  }
  if (config.DATABASE_FILE !== ':memory:') {
    return openFolderStore(join(dirname(config.DATABASE_FILE), 'artifacts'));
  }
  const folder = makeTemporaryFolder('control-plane-artifacts-');
  const store = await openFolderStore(folder);
  return {
    put: (key, chunks) => store.put(key, chunks),
    open: (key, range) => store.open(key, range),
    delete: (keys) => store.delete(keys),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
