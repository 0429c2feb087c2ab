/** The files of a run: script, dependencies, snippets, and the configuration of the test runner. */
import { join, posix } from 'node:path';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { NamedScript } from '@monitor/shared/contract/agent-protocol.ts';
import { insideFolder } from '../../browsers/script-sessions.ts';
import type { Workspace } from '../../script-host/script-host.ts';
import { failureOfScript } from './run-failure.ts';

/** Folder of customer files in the workspace; files of the agent are in `monitor/`. */
const checkFolder = 'check';

export interface ScriptSource {
  readonly script: string;
  readonly scriptPath: string | null;
  readonly dependencies: readonly { readonly path: string; readonly content: string }[];
  readonly snippets: readonly NamedScript[];
}

export interface WrittenScript {
  /** Relative to the folder of the check. */
  readonly file: string;
  /** Run by the test runner rather than by Node alone. */
  readonly isTest: boolean;
  readonly configFile: string | null;
}

/** Also when it is only imported through a file of the check: a check that has a test runner runs tests. */
const usesTestRunner = /['"]@playwright\/test['"]|['"]playwright\/test['"]/;
const definesTest = /\btest(\.(describe|only|skip|step|extend|beforeEach|use))?\s*\(/;
const usesPlainLibrary = /['"]playwright(-core|-chromium)?['"]/;

/** TypeScript when it needs to be: annotations and `import type` mean nothing to Node's own parser. */
const looksLikeTypeScript =
  /^\s*(import\s+type\s|interface\s+\w+|type\s+\w+\s*=|enum\s+\w+|declare\s)|\bas const\b|[),\w]\s*:\s*(string|number|boolean|Page|any|void|Promise<)/m;

function isTestScript(script: string): boolean {
  if (usesTestRunner.test(script)) return true;
  return !usesPlainLibrary.test(script) && definesTest.test(script);
}

/** A path inside the folder; null when it leads out of it or into files of the agent. */
function insideOnly(path: string): string | null {
  const normal = posix.normalize(path.replaceAll('\\', '/')).replace(/^(\.\/)+/, '');
  const steps = normal.split('/');
  const isOutside = posix.isAbsolute(normal) || steps.includes('..') || /^[a-z]:/i.test(normal);
  return isOutside || steps[0] === 'node_modules' || normal === '.' || path.includes('\0')
    ? null
    : normal;
}

function refuse(path: string): Failure {
  return failureOfScript(
    'SCRIPT_INVALID',
    `the file ${JSON.stringify(path)} of the check cannot be used: its path leaves the folder of the check or is in node_modules`,
  );
}

/** Writes them; gives a failure when the check names files it may not have. */
export async function writeScript(
  workspace: Workspace,
  source: ScriptSource,
): Promise<WrittenScript | Failure> {
  const isTest = isTestScript(source.script);
  const extension = looksLikeTypeScript.test(source.script) ? 'ts' : 'js';
  const wanted = source.scriptPath ?? (isTest ? `script.spec.${extension}` : `script.${extension}`);
  const file = insideOnly(wanted);
  if (file === null) return refuse(wanted);
  const files: { path: string; content: string }[] = [
    ...source.snippets.map(({ name, source: content }) => ({
      path: posix.join(posix.dirname(file), 'snippets', `${name}.js`),
      content,
    })),
    ...source.dependencies,
    { path: file, content: source.script },
  ];
  let configFile: string | null = null;
  for (const { path, content } of files) {
    const inside = insideOnly(path);
    if (inside === null) return refuse(path);
    if (/^playwright\.config\.[cm]?[jt]s$/.test(inside)) configFile = inside;
    await workspace.write(posix.join(checkFolder, inside), content);
  }
  return { file, isTest, configFile };
}

export interface TestRunnerOptions {
  readonly folder: string;
  readonly written: WrittenScript;
  /** Configuration in the check itself, instead of that in a file. */
  readonly given: Readonly<Record<string, unknown>> | null;
  readonly hasBrowser: boolean;
  readonly canRecordVideo: boolean;
  /** Snapshots are made anew. */
  readonly updatesSnapshots: boolean;
  /** `http://127.0.0.1:port`, or null. */
  readonly proxyServer: string | null;
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The text of the configuration the test runner is given. */
export function testRunnerConfig(options: TestRunnerOptions): string {
  const { folder, written, hasBrowser } = options;
  const own = {
    testDir: join(folder, checkFolder),
    outputDir: join(folder, 'monitor', 'results'),
    snapshotPathTemplate: '{testDir}/{testFileDir}/{testFileName}-snapshots/{arg}{ext}',
    workers: 1,
    retries: 0,
    ...(options.updatesSnapshots && { updateSnapshots: 'all' }),
    reporter: [
      [join(insideFolder, 'reporter.cjs')],
      ['json', { outputFile: join(folder, 'monitor', 'report.json') }],
    ],
    use: {
      ...(hasBrowser
        ? {
            trace: 'retain-on-failure',
            screenshot: 'only-on-failure',
            ...(options.canRecordVideo ? { video: 'retain-on-failure' } : {}),
          }
        : { trace: 'off' }),
      ...(options.proxyServer === null ? {} : { proxy: { server: options.proxyServer } }),
    },
  };
  const given =
    options.given !== null || written.configFile === null
      ? `JSON.parse(${JSON.stringify(JSON.stringify(options.given ?? {}))})`
      : `defaultOf(require(${JSON.stringify(join(folder, checkFolder, written.configFile))}))`;
  const pattern = `${escapeRegExp(join(folder, checkFolder, written.file))}$`;
  return [
    `const { mergeConfig, defaultOf } = require(${JSON.stringify(join(insideFolder, 'config-subset.cjs'))});`,
    `const own = ${JSON.stringify(own)};`,
    `own.testMatch = new RegExp(${JSON.stringify(pattern)});`,
    `module.exports = mergeConfig(own, ${given});`,
  ].join('\n');
}
