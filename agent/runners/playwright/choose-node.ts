import type { RunnerContext } from '../runner.ts';
import type { SuiteSettings } from './settings.ts';
import type { SuiteLog } from './suite-log.ts';

/** Runtimes by the major version of their Node. */
const runtimeOfMajor: Readonly<Record<string, string>> = { '24': '2026.04', '22': '2025.04' };

/** The Node that runs a suite: of the version it asks for where a runtime has it, else the agent's own. */
export async function chooseNode(
  settings: SuiteSettings,
  context: RunnerContext,
  log: SuiteLog,
): Promise<string> {
  const own = process.execPath;
  if (settings.engine === 'bun') {
    // Under Bun's own runtime Playwright's command line ends at once without running a test.
    log.add(`bun is there for commands and installations; Playwright runs on ${process.version}`);
  }
  const wanted = settings.engine === 'bun' ? null : settings.engineVersion;
  const major = /^v?(\d+)/.exec(wanted ?? '')?.[1];
  if (major === undefined || process.version.startsWith(`v${major}.`)) return own;
  const runtimeId = runtimeOfMajor[major];
  if (runtimeId !== undefined) {
    const runtime = await context
      .scripting()
      .runtime(runtimeId)
      .catch(() => null);
    if (runtime?.id === runtimeId) return runtime.nodePath;
  }
  log.add(`Node ${major} is not on this machine; the suite runs with ${process.version}`, 'WARN');
  return own;
}
