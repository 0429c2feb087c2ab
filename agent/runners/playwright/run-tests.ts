/** The test command, with what a run of the service adds to it: traces, our reporter, its limits. */
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { Shard } from '@monitor/shared/contract/agent-protocol.ts';
import type { ProgramEnd, Workspace } from '../../script-host/script-host.ts';
import type { RunPictures } from '../../browsers/pictures.ts';
import { nameOfShard } from './shard.ts';
import { assertEnded } from './program-failure.ts';
import type { SuiteSettings } from './settings.ts';
import { SuiteFailure } from './suite-failure.ts';
import { ownFolder, type SuiteShell } from './suite-shell.ts';

const maxTestMs = 1_800_000;
/** Those of browser checks too come first. The suite's own Node reads them, which may be an older one. */
const insideParts = [
  ...[
    'vitals',
    'pictures/watch-browsers',
    'pictures/filter',
    'pictures/guard',
    'pictures/drawn-text',
    'pictures/masks',
  ].map((name) => `../../../browsers/inside/${name}.cjs`),
  'page-meter.cjs',
];

/** Where the reporter writes, relative to the workspace. */
export const eventsFile = posix.join(ownFolder, 'events.jsonl');
const reportFile = posix.join(ownFolder, 'report.json');
/** Where the meter of pages writes. */
export const pagesFile = posix.join(ownFolder, 'pages.jsonl');

export interface TestRun {
  readonly end: ProgramEnd;
  /** Set when the command was ended rather than ending. */
  readonly failure: Failure | null;
  readonly reportFile: string;
}

async function place(workspace: Workspace, name: string): Promise<string> {
  const path = posix.join(ownFolder, posix.basename(name));
  await workspace.write(path, await readFile(new URL(`inside/${name}`, import.meta.url)));
  return join(workspace.folder, path);
}

export async function runTests(
  settings: SuiteSettings,
  suite: { workspace: Workspace; shell: SuiteShell; workingDir: string; shard: Shard | null },
  variables: Readonly<Record<string, string>>,
  pictures: RunPictures,
  leftMs: number,
): Promise<TestRun> {
  const { workspace, shell, workingDir, shard } = suite;
  for (const name of insideParts) await place(workspace, name);
  await pictures.write(workspace, ownFolder);
  const { screenshotMasks: masks = [] } = settings;
  await workspace.write(posix.join(ownFolder, 'masks.json'), JSON.stringify(masks));
  const reporter = await place(workspace, 'reporter.cjs');
  const preload = await place(workspace, 'preload.cjs');
  const timeoutMs = Math.min(maxTestMs, leftMs);
  const end = await shell.run({
    command: settings.testCommand,
    folder: workingDir,
    environment: {
      FORCE_COLOR: '0',
      ...variables,
      NODE_OPTIONS:
        `--require ${JSON.stringify(preload)} ${variables['NODE_OPTIONS'] ?? ''}`.trim(),
      PW_TEST_REPORTER: reporter,
      MONITOR_EVENTS_FILE: join(workspace.folder, eventsFile),
      MONITOR_REPORT_FILE: join(workspace.folder, reportFile),
      ...(shard === null ? {} : { MONITOR_SHARD: nameOfShard(shard) }),
    },
    timeoutMs,
  });
  try {
    assertEnded('test', end, timeoutMs);
    return { end, failure: null, reportFile };
  } catch (error) {
    if (!(error instanceof SuiteFailure)) throw error;
    return { end, failure: error.failure, reportFile };
  }
}
