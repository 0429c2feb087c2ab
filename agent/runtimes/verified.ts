/** `verified.json`: what the self-test of a runtime found, and of which installation. */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { thisPlatform } from './runtime-plan.ts';

const file = 'verified.json';

const verification = z.object({
  id: z.string(),
  /** Of the installation that was tested; another one has to be tested again. */
  fingerprint: z.string(),
  verifiedAt: z.number(),
  nodeVersion: z.string(),
  /** Null for a runtime without Playwright. */
  playwrightVersion: z.string().nullable(),
  /** Versions by package, as they are installed. */
  packages: z.record(z.string(), z.string()),
  failures: z.array(z.object({ package: z.string(), error: z.string() })),
  sizeBytes: z.number(),
});
export type Verification = z.output<typeof verification>;

/** Names what is installed: the wanted packages, what npm put there, and the platform. */
export function fingerprintOf(folder: string): string {
  const hash = createHash('sha256').update(thisPlatform);
  for (const name of ['package.json', 'package-lock.json', 'node_modules/.package-lock.json']) {
    hash.update(`\n${name}\n`);
    try {
      hash.update(readFileSync(join(folder, name)));
    } catch {
      hash.update('absent');
    }
  }
  return hash.digest('hex');
}

/** What the last self-test found; null when there was none that can be read. */
export function readVerification(folder: string): Verification | null {
  try {
    return verification.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
  } catch {
    return null;
  }
}

export function writeVerification(folder: string, found: Verification): void {
  const target = join(folder, file);
  writeFileSync(`${target}.new`, `${JSON.stringify(found, null, 2)}\n`, { flush: true });
  renameSync(`${target}.new`, target);
}
