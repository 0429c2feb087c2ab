import { AgentError } from '../../errors.ts';
import { createScriptHost } from '../../script-host/create-script-host.ts';
import { findOfSystem } from '../../system/find-program.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Step } from '../step.ts';

const mebibyte = 1_048_576;
const limits = {
  memoryBytes: 256 * mebibyte,
  diskBytes: 16 * mebibyte,
  files: 100,
  processes: 16,
  outputBytes: mebibyte,
};

const wayOf = { user: 'user of its own', namespaces: 'namespace of its own' };

/** How runs are kept apart, by having prepared one. */
export function judgeScripts(
  hasPerl: boolean,
  isolation: 'user' | 'namespaces' | 'process-group',
): Finding[] {
  if (!hasPerl) {
    return [
      warn(
        'perl is not installed: runs of code are neither limited nor kept apart from the agent',
        'install perl; checks without code are not affected',
      ),
    ];
  }
  if (isolation === 'process-group') {
    return [
      warn(
        'runs of code share the user of the agent and could read what it can read',
        'start the agent as root, or allow user namespaces (kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, a seccomp profile that allows unshare)',
      ),
    ];
  }
  return [ok(`each run of code is kept apart by a ${wayOf[isolation]}`)];
}

export const scripts: Step = {
  id: 'scripts',
  name: 'scripts',
  needs: ['work-directory'],
  limitMs: 8_000,
  isSlow: true,
  async check({ config }) {
    await using host = await createScriptHost({ workFolder: config.AGENT_WORK_DIR, limits });
    try {
      await using workspace = await host.open();
      return judgeScripts(findOfSystem('perl') !== null, workspace.isolation);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      return [fail(error.message, 'until then every check with code ends with an error')];
    }
  },
};
