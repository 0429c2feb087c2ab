/** The browser that checks would get: found, complete, and really started. */
import { rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { AgentError } from '../../errors.ts';
import { systemNames, usualPath, type FoundBrowser } from '../../browsers/find-browser.ts';
import { missingLibraries, packagesFor } from '../browser-libraries.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Ended, Machine } from '../machine.ts';
import type { Check } from '../step.ts';
import { makeTemporaryFolder } from '../../temporary-folder.ts';

const only = 'only checks that drive a browser are affected';
/** Long: on a busy machine a browser takes its time, and that is no finding. */
const startWithinMs = 19_000;
/** Shorter, so that the program ends the browser by itself. */
const launchWithinMs = 18_000;
const program = join(import.meta.dirname, '../../browsers/inside/print-empty-page.cjs');
/** With less shared memory browsers are given files in its place. */
const usedSharedBytes = 512 * 1_048_576;

/** What is said where no browser works. One that was chosen and does not is a failure; none is a choice. */
export function judgeMissing(
  isChosen: boolean,
  message: string,
  libraries: { path: string; missing: readonly string[] } | null,
): Finding[] {
  const verdict = isChosen ? fail : warn;
  if (libraries !== null && libraries.missing.length > 0) {
    return verdict(
      `${libraries.path} does not start: it lacks ${libraries.missing.join(', ')}`,
      `${packagesFor(libraries.missing)}; ${only}`,
    );
  }
  const [what = '', ...tried] = message.split('\n').map((line) => line.trim());
  const install = tried.pop() ?? '';
  return verdict(
    [what, tried.join('; ')].filter((part) => part !== '').join(' '),
    `${install} ${only}`.trim(),
  );
}

/** What a browser that was asked for an empty page answered. */
export function judgeStart(
  { executablePath, version, args }: Pick<FoundBrowser, 'executablePath' | 'version' | 'args'>,
  ended: Ended,
): Finding[] {
  const found = `${executablePath}, version ${version}`;
  const said = `${ended.stderr}\n${ended.stdout}`;
  if (/<html>/i.test(ended.stdout)) {
    const sandbox = args.includes('--no-sandbox')
      ? 'without its own sandbox (runs are kept apart by the agent)'
      : 'in its sandbox';
    return ok(`${found}, starts ${sandbox}`);
  }
  const missing = missingLibraries(said);
  if (missing.length > 0) return judgeMissing(true, '', { path: executablePath, missing });
  if (ended.isTimeout || /Timeout \d+ms exceeded/.test(said)) {
    return fail(
      `${found}, shows no empty page within ${launchWithinMs / 1_000} s`,
      `see CPU and memory limits above; ${only}`,
      'TIMEOUT',
    );
  }
  if (/sandbox|user namespace|setuid|zygote/i.test(said)) {
    return fail(
      `${found}, does not start its sandbox`,
      `allow user namespaces (kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, a seccomp profile that allows clone and unshare); ${only}`,
    );
  }
  if (/shared memory|\/dev\/shm|No space left/i.test(said)) {
    return fail(
      `${found}, ends for want of shared memory or disk`,
      `see the line work-directory, and make room in /dev/shm (docker --shm-size=512m); ${only}`,
    );
  }
  const line =
    said
      .split('\n')
      .map((one) => one.trim())
      .find((one) => /error|fatal|cannot|failed/i.test(one)) ?? '';
  const how =
    ended.problem ?? (ended.exitCode === null ? 'a signal' : `exit code ${ended.exitCode}`);
  return fail(
    `${found}, ends with ${how} in place of showing an empty page${line === '' ? '' : `: ${line.slice(0, 200)}`}`,
    `start it by hand to see more: ${executablePath} --headless --no-sandbox --remote-debugging-port=0 prints "DevTools listening" when it works; ${only}`,
  );
}

/** The first browser that is there, whether or not it works, and the libraries it lacks. */
async function lookForLibraries(
  machine: Machine,
  chosen: string | undefined,
): Promise<{ path: string; missing: string[] } | null> {
  const candidates =
    chosen === undefined
      ? systemNames.flatMap((name) =>
          usualPath.split(delimiter).map((folder) => join(folder, name)),
        )
      : [chosen];
  const path = candidates.find((candidate) => machine.may(candidate, 'execute'));
  if (path === undefined) return null;
  // What ldd does: the loader lists what it would load, and what it cannot find. A script in front of
  // the browser hides that; then the browser's own complaint is left.
  const environments = [{ LD_TRACE_LOADED_OBJECTS: '1' }, {}];
  const outputs = await Promise.all(
    environments.map((environment) =>
      machine.run(path, ['--version'], { environment, timeoutMs: 3_000 }),
    ),
  );
  const said = outputs.map(({ stdout, stderr }) => `${stdout}\n${stderr}`).join('\n');
  return { path, missing: missingLibraries(said) };
}

/** Why there is no browser that checks could use. */
export async function judgeUnusable(
  { message }: AgentError,
  machine: Machine,
  chosenPath: string | undefined,
): Promise<Finding[]> {
  const libraries = await lookForLibraries(machine, chosenPath);
  return judgeMissing(chosenPath !== undefined, message, libraries);
}

/** As runs start it: a browser that prints a page by itself takes another way, which may hang. */
async function start(machine: Machine, found: FoundBrowser): Promise<Ended> {
  const home = await makeTemporaryFolder('doctor-browser-');
  const { executablePath, args, environment } = found;
  const settings = { executablePath, args, environment, timeoutMs: launchWithinMs };
  try {
    return await machine.run(process.execPath, [program], {
      environment: { HOME: home, TMPDIR: home, MONITOR_BROWSER: JSON.stringify(settings) },
      timeoutMs: startWithinMs,
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

export const checkBrowser: Check = async ({ config, machine, browser: find }) => {
  const chosenPath = config.AGENT_CHROMIUM_PATH;
  const found = await find();
  if (found instanceof AgentError) return judgeUnusable(found, machine, chosenPath);
  const sharedBytes = machine.fileSystem('/dev/shm')?.totalBytes ?? 0;
  if (sharedBytes >= usedSharedBytes && !machine.may('/dev/shm', 'write')) {
    const fix = `chmod 1777 /dev/shm, or mount a tmpfs there; ${only}`;
    return fail('/dev/shm cannot be written: browsers crash', fix);
  }
  return judgeStart(found, await start(machine, found));
};
