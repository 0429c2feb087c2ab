/** What `doctor` says of the runtimes. */
import type { AgentConfig } from '../config.ts';
import { builtinRuntime } from '../runtimes/builtin-runtime.ts';
import { listRuntimes, type RuntimeOnDisk } from '../runtimes/installed-runtimes.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

function findingOf({ id, state, folder, verification }: RuntimeOnDisk): Finding {
  const name = `runtime ${id}`;
  switch (state) {
    case 'ready': {
      const count = Object.keys(verification?.packages ?? {}).length;
      return ok(
        name,
        `${count} packages load on Node ${verification?.nodeVersion ?? ''}, Playwright ${verification?.playwrightVersion ?? 'none'}`,
      );
    }
    case 'broken': {
      const packages = verification?.failures.map((failure) => failure.package).join(', ');
      return fail(
        name,
        `does not load ${packages ?? 'its packages'}`,
        `monitor-agent runtime install --force ${id}; checks that name it are not run until then`,
      );
    }
    case 'untested':
      return warn(
        name,
        `${folder} was never tested, or changed since`,
        `monitor-agent runtime verify ${id}; otherwise the agent does so when it starts`,
      );
    case 'unfinished':
      return warn(
        name,
        `an installation was interrupted in ${folder}`,
        `monitor-agent runtime install ${id} goes on, monitor-agent runtime remove ${id} clears it away`,
      );
  }
}

/** One line for each runtime, or one that says there is none. */
export function checkRuntimes(config: AgentConfig): Finding[] {
  const findings = listRuntimes(config.AGENT_RUNTIMES_DIR).map(findingOf);
  if (findings.length > 0) return findings;
  const builtin = builtinRuntime();
  if (builtin !== null) {
    return [
      ok(
        'runtimes',
        `none is installed; scripts use Playwright ${builtin.packages['playwright'] ?? ''} of the agent itself`,
      ),
    ];
  }
  return [
    warn(
      'runtimes',
      'none is installed, and the agent carries no Playwright',
      'checks with code need one: monitor-agent runtime install 2026.04',
    ),
  ];
}
