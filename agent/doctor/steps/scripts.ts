import { AgentError } from '../../errors.ts';
import { openLibc } from '../../native/libc.ts';
import { createScriptHost } from '../../script-host/create-script-host.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Check } from '../step.ts';

const mebibyte = 1_048_576;
const limits = {
  memoryBytes: 256 * mebibyte,
  diskBytes: 16 * mebibyte,
  files: 100,
  processes: 16,
  outputBytes: mebibyte,
};

const wayOf = { user: 'user of its own', namespaces: 'namespace of its own' };

/**
 * How runs are kept apart, by having prepared one. `nativeProblem` is why system calls cannot be made;
 * null where they can.
 */
export function judgeScripts(
  isolation: 'user' | 'namespaces' | 'process-group',
  nativeProblem: string | null,
): Finding[] {
  if (isolation === 'process-group') {
    return warn(
      'runs of code share the user of the agent and could read what it can read',
      'install bubblewrap, and allow user namespaces (kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, a seccomp profile that allows unshare), or start the agent as root',
    );
  }
  if (nativeProblem !== null) {
    return warn(
      `each run of code is kept apart by a ${wayOf[isolation]}, but descriptors that the agent was started with are open to it`,
      nativeProblem,
    );
  }
  return ok(`each run of code is kept apart by a ${wayOf[isolation]}`);
}

export const checkScripts: Check = async ({ config }) => {
  const native = openLibc();
  await using host = await createScriptHost({ workFolder: config.AGENT_WORK_DIR, limits });
  try {
    await using workspace = await host.open();
    return judgeScripts(workspace.isolation, native.libc === null ? native.problem : null);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return fail(error.message, 'until then every check with code ends with an error');
  }
};
