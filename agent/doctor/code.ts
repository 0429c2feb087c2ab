/** What `doctor` says of running code and browsers: by doing it. */
import type { AgentConfig } from '../config.ts';
import { findBrowser } from '../browsers/find-browser.ts';
import { AgentError } from '../errors.ts';
import { builtinRuntime } from '../runtimes/builtin-runtime.ts';
import { createScriptHost } from '../script-host/create-script-host.ts';
import { findPerl } from '../script-host/isolation.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const mebibyte = 1_048_576;
const limits = {
  memoryBytes: 256 * mebibyte,
  diskBytes: 16 * mebibyte,
  files: 100,
  processes: 16,
  outputBytes: mebibyte,
};

/** Whether code of checks can run here, and how well it is kept apart. */
export async function checkScripts(config: AgentConfig): Promise<Finding> {
  const name = 'scripts';
  await using host = await createScriptHost({ workFolder: config.AGENT_WORK_DIR, limits });
  try {
    await using workspace = await host.open();
    if (findPerl() === null) {
      return warn(
        name,
        'perl is not installed: runs of code are neither limited nor kept apart from the agent',
        'install perl; checks without code are not affected',
      );
    }
    if (workspace.isolation === 'process-group') {
      return warn(
        name,
        'runs of code share the user of the agent and could read what it can read',
        'start the agent as root, or allow user namespaces (see agent/script-host/README.md)',
      );
    }
    return ok(name, `each run of code is kept apart by a ${wayOf[workspace.isolation]}`);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return fail(name, error.message, 'until then every check with code ends with an error');
  }
}

const wayOf = { user: 'user of its own', namespaces: 'namespace of its own' };

/** Which browser checks would get. None is a choice; one that was chosen and does not work is not. */
export async function checkBrowser(config: AgentConfig): Promise<Finding> {
  const name = 'browser';
  try {
    const { executablePath, version } = await findBrowser({
      packagesFolder: builtinRuntime()?.folder ?? import.meta.dirname,
      chosenPath: config.AGENT_CHROMIUM_PATH,
    });
    return ok(name, `${executablePath}, version ${version}`);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const affected = 'only checks that drive a browser are affected';
    return config.AGENT_CHROMIUM_PATH === undefined
      ? warn(name, error.message, affected)
      : fail(name, error.message, affected);
  }
}
