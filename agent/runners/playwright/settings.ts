/** What a suite is, as its check defines it. */
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';

export interface SuiteSettings {
  readonly codeBundlePath: string;
  readonly cacheHash: string | null;
  readonly playwrightVersion: string | null;
  /** Relative to the root of the bundle. */
  readonly workingDir: string | null;
  readonly testCommand: string;
  /** Empty and null leave the choice to the lock file. */
  readonly installCommand: string | null;
  readonly browsers: readonly ('chromium' | 'firefox' | 'webkit')[];
  readonly engine: 'node' | 'bun' | null;
  readonly engineVersion: string | null;
  readonly screenshotMasks?: readonly string[];
  readonly quarantinedTests: readonly { test: string; until: string }[];
}

/** The definition has been parsed with the schema of its type. */
export function suiteSettings(definition: CheckDefinition): SuiteSettings {
  return definition as unknown as SuiteSettings;
}
