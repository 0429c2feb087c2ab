import { AgentError } from '../../errors.ts';
import { builtinRuntime } from '../../runtimes/builtin-runtime.ts';
import { listRuntimes, type RuntimeOnDisk } from '../../runtimes/installed-runtimes.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Check } from '../step.ts';

/** What the state of a runtime means. */
export function judgeRuntime({ id, state, folder, verification }: RuntimeOnDisk): Finding[] {
  switch (state) {
    case 'ready': {
      const count = Object.keys(verification?.packages ?? {}).length;
      const { nodeVersion = '', playwrightVersion } = verification ?? {};
      return ok(
        `${id}: ${count} packages load on Node ${nodeVersion}, Playwright ${playwrightVersion ?? 'none'}`,
      );
    }
    case 'broken': {
      const packages = verification?.failures.map((failure) => failure.package).join(', ');
      return fail(
        `${id} does not load ${packages ?? 'its packages'}`,
        `monitor-agent runtime install --force ${id}; checks that name it are not run until then`,
      );
    }
    case 'untested':
      return warn(
        `${id} in ${folder} was never tested, or changed since`,
        `monitor-agent runtime verify ${id}; otherwise the agent does so when it starts`,
      );
    case 'unfinished':
      return warn(
        `an installation of ${id} was interrupted in ${folder}`,
        `monitor-agent runtime install ${id} goes on, monitor-agent runtime remove ${id} clears it away`,
      );
  }
}

/** One finding for each runtime, or one that says there is none. */
export function judgeRuntimes(
  found: readonly RuntimeOnDisk[],
  playwright: string | null,
): Finding[] {
  if (found.length > 0) return found.flatMap(judgeRuntime);
  return playwright === null
    ? warn(
        'none is installed, and the agent carries no Playwright',
        'checks with code need one: monitor-agent runtime install 2026.04',
      )
    : ok(`none is installed; scripts use Playwright ${playwright} of the agent itself`);
}

export const checkRuntimes: Check = ({ config }) => {
  try {
    const found = listRuntimes(config.AGENT_RUNTIMES_DIR);
    return judgeRuntimes(found, builtinRuntime()?.packages['playwright'] ?? null);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return fail(error.message, 'the agent does not start until then');
  }
};
