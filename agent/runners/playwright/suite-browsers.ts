/** The browsers of this machine, where the suite's own Playwright looks for them. */
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { z } from 'zod';
import { AgentError } from '../../errors.ts';
import type { Workspace } from '../../script-host/script-host.ts';
import type { RunnerContext } from '../runner.ts';
import type { FoundBrowser } from '../../browsers/find-browser.ts';
import type { SuiteSettings } from './settings.ts';
import type { SuiteLog } from './suite-log.ts';
import { ownFolder, projectFolder } from './suite-shell.ts';

const prepareMs = 60_000;

const answer = z.object({
  playwright: z.string().nullable(),
  ready: z.array(z.string()),
  hasVideo: z.boolean(),
});

/** Folders with installed Playwright browsers: `…/chromium-1161/chrome-linux/chrome`. */
function installationsOf(browser: FoundBrowser | null): string[] {
  if (browser === null) return [];
  const named = browser.environment['PLAYWRIGHT_BROWSERS_PATH'];
  const folders = named === undefined ? [] : [named];
  let folder = dirname(browser.executablePath);
  while (folder !== dirname(folder)) {
    if (/^(chromium|firefox|webkit)(_headless_shell)?-\d+$/.test(basename(folder))) {
      folders.push(dirname(folder));
    }
    folder = dirname(folder);
  }
  return folders;
}

/** Environment that makes every Playwright of the suite find its browsers. */
export async function prepareBrowsers(
  settings: SuiteSettings,
  context: RunnerContext,
  workspace: Workspace,
  log: SuiteLog,
  { workingDir, nodePath }: { workingDir: string; nodePath: string },
): Promise<Record<string, string>> {
  const needsChromium = settings.browsers.includes('chromium');
  const browser = needsChromium ? await context.scripting().browser() : null;
  const folder = join(workspace.folder, ownFolder, 'browsers');
  const script = posix.join(ownFolder, 'prepare-browsers.cjs');
  const source = new URL('inside/prepare-browsers.cjs', import.meta.url);
  await workspace.write(script, await readFile(source));
  const environment = {
    PLAYWRIGHT_BROWSERS_PATH: folder,
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  };
  const messages: unknown[] = [];
  const end = await workspace.start({
    command: nodePath,
    args: [join(workspace.folder, script)],
    environment: {
      ...environment,
      MONITOR_BROWSERS: JSON.stringify({
        folder,
        own: installationsOf(browser),
        chromium: browser,
      }),
    },
    cwd: posix.join(projectFolder, workingDir),
    timeoutMs: prepareMs,
    signal: context.signal,
    onMessage: (message) => messages.push(message),
  }).done;
  const parsed = answer.safeParse(messages[0]);
  if (!parsed.success) {
    log.add(
      `browsers could not be made ready for the suite: ${end.explanation ?? end.stderr.slice(-500)}`,
      'WARN',
    );
    return environment;
  }
  report(settings, parsed.data, browser, log);
  return environment;
}

function report(
  settings: SuiteSettings,
  { playwright, ready, hasVideo }: z.output<typeof answer>,
  browser: FoundBrowser | null,
  log: SuiteLog,
): void {
  if (playwright === null) {
    log.add('Playwright is not among the dependencies of the suite', 'WARN');
    return;
  }
  const missing = settings.browsers.filter((name) => !ready.includes(name));
  if (missing.length > 0) {
    throw new AgentError(
      'BROWSER_MISSING',
      `the suite asks for ${missing.join(' and ')}, which this machine does not have for Playwright ${playwright}; install it for the agent with "npx playwright@${playwright} install ${missing.join(' ')}", or take it out of "browsers" of the check`,
    );
  }
  if (browser !== null) {
    log.add(
      `Playwright ${playwright} runs with ${basename(browser.executablePath)} ${browser.version}`,
    );
  }
  if (!hasVideo) log.add('videos are not recorded: there is no ffmpeg on this machine', 'WARN');
  const wanted = settings.playwrightVersion;
  if (wanted !== null && wanted !== playwright) {
    log.add(`the check names Playwright ${wanted}, the suite installed ${playwright}`, 'WARN');
  }
}
