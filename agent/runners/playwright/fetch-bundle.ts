/** From the control plane to a file that is known to be whole. */
import { stat } from 'node:fs/promises';
import { digestOfBundle } from '@monitor/shared/contract/code-bundle.ts';
import { AgentError } from '../../errors.ts';
import { sha256Of } from '../../script-host/file-digest.ts';
import type { RunnerContext } from '../runner.ts';
import type { SuiteSettings } from './settings.ts';
import { SuiteFailure } from './suite-failure.ts';

async function download(context: RunnerContext, file: string): Promise<void> {
  try {
    await context.scripting().downloadCodeBundle(context.run.checkId, file, context.signal);
  } catch (error) {
    if (error instanceof AgentError && error.code === 'CODE_BUNDLE_NOT_FOUND') {
      throw new SuiteFailure('fetch', 'BUNDLE_NOT_FOUND', `bundle not found: ${error.message}`);
    }
    throw error;
  }
}

/**
 * Downloads the bundle of the check and compares it with what it should be. A download that is not
 * what its own name says is an agent error; one that is not what the check says is the check's.
 */
export async function fetchBundle(
  settings: SuiteSettings,
  context: RunnerContext,
  file: string,
): Promise<{ digest: string; sizeBytes: number }> {
  await download(context, file);
  const named = digestOfBundle(settings.codeBundlePath);
  const digest = await sha256Of(file);
  if (named !== undefined && named !== digest) {
    throw new AgentError(
      'CODE_BUNDLE_UNAVAILABLE',
      `the code bundle ${settings.codeBundlePath} arrived with the SHA-256 ${digest}: it was damaged on the way or where it is stored; upload it again if this repeats`,
    );
  }
  const expected = settings.cacheHash?.toLowerCase() ?? '';
  if (/^[0-9a-f]{64}$/.test(expected) && expected !== digest) {
    throw new SuiteFailure(
      'fetch',
      'BUNDLE_MISMATCH',
      `the SHA-256 of the code bundle is ${digest}, while the check expects ${expected} (cacheHash); save the check with the values that the upload answered`,
    );
  }
  return { digest, sizeBytes: (await stat(file)).size };
}
