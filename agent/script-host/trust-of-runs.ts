/** The authorities that programs of runs trust: files in the home of each run, and what points to them. */
import type { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { trustDatabase } from './trust-database.ts';

export interface TrustOfRuns {
  /** Relative to the folder of the run, which is its home. */
  readonly files: readonly { readonly path: string; readonly content: string | Uint8Array }[];
  environment(folder: string): Readonly<Record<string, string>>;
}

export const nothingTrusted: TrustOfRuns = { files: [], environment: () => ({}) };

const bundle = '.authorities.pem';
/** Where Chromium on Linux looks for what its user trusts. */
const database = '.pki/nssdb/cert9.db';

/**
 * Of the authorities of this network, and the one of the gateway in PEM. Browsers get the
 * gateway by its key; the database is for the others.
 */
export async function trustOfRuns(
  extra: readonly X509Certificate[],
  gateway: string,
): Promise<TrustOfRuns> {
  const pem = [...extra.map(String), gateway].join('');
  const files = [{ path: bundle, content: pem as string | Uint8Array }];
  if (extra.length > 0) files.push({ path: database, content: await trustDatabase(extra) });
  return {
    files,
    environment: (folder) => ({ NODE_EXTRA_CA_CERTS: join(folder, bundle) }),
  };
}
