// Own process: it starts many programs.
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { AgentError } from '../../../../agent/errors.ts';
import { planInstall } from '../../../../agent/runners/playwright/install-plan.ts';
import { runPlaywright } from '../../../../agent/runners/playwright/run-playwright.ts';
import { inLongTier, isLong } from '../../../support/random.ts';
import { httpServer } from '../../../support/servers.ts';
import { openSuiteWorld, suiteOf, type SuiteWorld } from '../../../support/suite-context.ts';

/** A project whose one dependency it carries itself, so that no registry is asked for it. */
const project = (fields: object = {}) => ({
  'package.json': JSON.stringify({
    ...{ name: 'app', version: '1.0.0', private: true },
    devDependencies: { tiny: 'file:./tiny' },
    ...fields,
  }),
  'tiny/package.json': JSON.stringify({ name: 'tiny', version: '1.0.0', main: 'index.js' }),
  'tiny/index.js': "module.exports = 'tiny works';",
});

const npmLock = JSON.stringify({
  ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
  packages: {
    '': { name: 'app', version: '1.0.0', devDependencies: { tiny: 'file:./tiny' } },
    'node_modules/tiny': { resolved: 'tiny', link: true },
    tiny: { version: '1.0.0', dev: true },
  },
});

const pnpmLock = `lockfileVersion: '9.0'
settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false
importers:
  .:
    devDependencies:
      tiny:
        specifier: file:./tiny
        version: file:tiny
packages:
  tiny@file:tiny:
    resolution: {directory: tiny, type: directory}
snapshots:
  tiny@file:tiny: {}
`;

const yarnLock = `# yarn lockfile v1


"tiny@file:./tiny":
  version "1.0.0"
`;

const bunLock = `{
  "lockfileVersion": 1,
  "workspaces": { "": { "name": "app", "devDependencies": { "tiny": "file:./tiny" } } },
  "packages": { "tiny": ["tiny@file:tiny", {}] }
}`;

const useTiny = `node -e "console.log(require('tiny')); process.exit(4)"`;

/** Installs and uses the dependency; the test command ends with 4, as nothing here runs Playwright. */
async function run(
  world: SuiteWorld,
  files: Record<string, string>,
  fields: Record<string, unknown> = {},
  change: Parameters<SuiteWorld['context']>[1] = {},
) {
  const context = world.context(await world.bundle(files), change);
  const seen = await runPlaywright(suiteOf({ testCommand: useTiny, ...fields }), context);
  const metrics = seen.details?.playwrightCheckResult?.metrics;
  return { seen, log: context.logged.join('\n'), isCacheHit: metrics?.cacheHit };
}

for (const [tool, files, command, options = {}] of [
  ['npm with a lock file', { ...project(), 'package-lock.json': npmLock }, 'npm ci'],
  ['npm with a shrinkwrap', { ...project(), 'npm-shrinkwrap.json': npmLock }, 'npm ci', inLongTier],
  ['npm without a lock file', project(), 'npm install'],
  [
    'pnpm',
    { ...project({ packageManager: 'pnpm@10.34.9' }), 'pnpm-lock.yaml': pnpmLock },
    'pnpm install --frozen-lockfile',
  ],
  ['yarn', { ...project(), 'yarn.lock': yarnLock }, 'yarn install --frozen-lockfile', inLongTier],
  ['bun', { ...project(), 'bun.lock': bunLock }, 'bun install --frozen-lockfile', inLongTier],
] as const) {
  test(`dependencies are installed by ${tool}, also those for development`, options, async () => {
    await using world = await openSuiteWorld();
    const { seen, log } = await run(world, files);
    assert.equal(
      seen.failure?.code,
      'TEST_COMMAND_FAILED',
      `this test needs npm, and for pnpm, yarn and bun a registry that npm can reach:\n${log}`,
    );
    assert.match(log, new RegExp(`^installing with: ${command}`, 'm'));
    assert.match(log, /^\[test\] tiny works$/m);
  });
}

test('an installation that fails is a failure of the suite with the words of its installer', async () => {
  await using world = await openSuiteWorld();
  const broken = { ...project(), 'package.json': '{ "name": ' };
  const { seen, log } = await run(world, broken);
  assert.equal(seen.failure?.code, 'INSTALL_FAILED', log);
  assert.equal(seen.failure.phase, 'install');
  assert.match(seen.failure.message, /npm error/);
  const outOfStep = JSON.stringify({ ...JSON.parse(npmLock), packages: { '': { name: 'app' } } });
  const frozen = await run(world, { ...project(), 'package-lock.json': outOfStep });
  assert.equal(frozen.seen.failure?.code, 'INSTALL_FAILED', 'a lock file is kept to');
});

test('a registry that cannot be reached is an error of the agent, one without the package is not', async () => {
  await using world = await openSuiteWorld();
  const needing = (registry: string) => ({
    ...project({ devDependencies: { 'nowhere-to-be-found': '1.0.0' } }),
    '.npmrc': `registry=${registry}\nfetch-retries=0\n`,
  });
  await assert.rejects(run(world, needing('http://127.0.0.1:9/')), (error) => {
    assert.ok(error instanceof AgentError);
    assert.equal(error.code, 'PACKAGES_UNAVAILABLE');
    assert.match(error.message, /cannot be reached .*ECONNREFUSED.*HTTPS_PROXY/);
    return true;
  });
  await using empty = await httpServer((_request, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
  });
  const { seen, log } = await run(world, needing(`${empty.url}/`));
  assert.equal(seen.failure?.code, 'INSTALL_FAILED', log);
  assert.match(seen.failure.message, /E404/);
});

test('an install command of the check outranks lock files, and sees proxies and variables', async () => {
  await using world = await openSuiteWorld();
  const { log } = await run(
    world,
    {
      ...project(),
      'package-lock.json': npmLock,
      '.npmrc': '//registry.example/:_authToken=${TOKEN}',
    },
    { installCommand: 'env | sort; npm config get //registry.example/:_authToken || true' },
    {
      environment: [{ key: 'TOKEN', value: 'npm-token', secret: true }],
      scripting: {
        proxyEnvironment: { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: 'registry.example' },
      },
    },
  );
  for (const line of [
    ...[
      'HTTPS_PROXY=http://proxy:3128',
      'https_proxy=http://proxy:3128',
      'no_proxy=registry.example',
    ],
    ...['npm_config_https_proxy=http://proxy:3128', 'npm_config_noproxy=registry.example'],
    ...['PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1', 'TOKEN=npm-token'],
  ]) {
    assert.ok(log.split('\n').includes(`[install] ${line}`), `${line} is missing from:\n${log}`);
  }
  assert.doesNotMatch(log, /^\[test\].*proxy/m, 'tests are not sent through it');
});

/** What installers do, as far as the cache has to know. */
const installCommand = 'mkdir node_modules && cp -r tiny node_modules';
/** Only a suite that passed is kept, so this one writes what the reporter would. */
const passes = {
  installCommand,
  testCommand: `node -e "require('tiny')" && printf '%s\\n' '${JSON.stringify({
    type: 'begin',
    tests: [{ id: '1', title: 'a', file: 'a', project: '', tags: [] }],
  })}' '${JSON.stringify({ type: 'end', status: 'passed', outcomes: [{ id: '1', outcome: 'expected' }] })}' > "$MONITOR_EVENTS_FILE"`,
};

test('what was installed is used again, until anything that decides it changes', async () => {
  await using world = await openSuiteWorld();
  const cacheFolder = join(world.folder, 'cache');
  const files = { ...project(), 'package-lock.json': npmLock };
  const scripting = { cacheFolder };
  const failed = await run(world, files, { installCommand }, { scripting });
  assert.equal(failed.seen.failure?.code, 'TEST_COMMAND_FAILED');
  await assert.rejects(readdir(cacheFolder), { code: 'ENOENT' }, 'a failed suite keeps nothing');

  const first = await run(world, files, passes, { scripting });
  assert.equal(first.seen.failure, null, first.log);
  assert.equal(first.isCacheHit, false);
  const second = await run(world, { ...files, 'a.spec.js': '// another test' }, passes, {
    scripting,
  });
  assert.equal(second.seen.failure, null, second.log);
  assert.equal(second.isCacheHit, true, 'tests may change');
  assert.doesNotMatch(second.log, /installing with/);

  for (const [what, change, fields, run_] of [
    [
      'a manifest',
      { 'tiny/package.json': '{"name":"tiny","version":"1.0.0","main":"./index.js"}' },
    ],
    ['the account', {}, {}, { accountId: 'another' }],
    ...(isLong
      ? [['the command', {}, { installCommand: `${installCommand} && true` }] as const]
      : []),
  ] as const) {
    const other = await run(
      world,
      { ...files, ...change },
      { ...passes, ...fields },
      { scripting, ...(run_ === undefined ? {} : { run: run_ }) },
    );
    assert.equal(other.isCacheHit, false, what);
  }
  // What suites that nobody signed left in the cache is not used for signed ones.
  const signed = { scripting: { cacheFolder, isWorkSigned: true } };
  const hits = [];
  for (const how of [signed, signed, { scripting }]) {
    hits.push((await run(world, files, passes, how)).isCacheHit);
  }
  assert.deepEqual(hits, [false, true, true]);
});

test('a damaged entry of the cache is thrown away and the suite installed anew', async () => {
  await using world = await openSuiteWorld();
  const cacheFolder = join(world.folder, 'cache');
  const files = { ...project(), 'package-lock.json': npmLock };
  const scripting = { cacheFolder };
  await run(world, files, passes, { scripting });
  const [entry = ''] = await readdir(cacheFolder);
  const bytes = await readFile(join(cacheFolder, entry));
  bytes.writeUInt8((bytes[bytes.length >> 1] ?? 0) ^ 1, bytes.length >> 1);
  await writeFile(join(cacheFolder, entry), bytes);
  const again = await run(world, files, passes, { scripting });
  assert.equal(again.seen.failure, null, again.log);
  assert.equal(again.isCacheHit, false);
  assert.match(again.log, /damaged and were deleted; installing them again/);
  assert.equal((await run(world, files, passes, { scripting })).isCacheHit, true);

  const [old = ''] = await readdir(cacheFolder);
  const { size } = await stat(join(cacheFolder, old));
  await utimes(join(cacheFolder, old), Date.now() / 1000 - 60, Date.now() / 1000 - 60);
  const small = await run(
    world,
    files,
    { ...passes, installCommand: `${installCommand} && true` },
    { scripting: { cacheFolder, cacheMaxBytes: size + 1_024 } },
  );
  assert.equal(small.seen.failure, null);
  assert.equal((await readdir(cacheFolder)).includes(old), false, 'the oldest makes room');
});

test('the nearest lock file decides, from the working folder upwards', () => {
  const plan = (files: string[], folder: string, texts: Record<string, string> = {}) =>
    planInstall(new Set(files), folder, '', (path) => texts[path]);
  assert.deepEqual(plan(['pnpm-lock.yaml', 'apps/web/package.json'], 'apps/web'), {
    ...{ tool: 'pnpm', folder: '.', lockFile: 'pnpm-lock.yaml' },
    command: 'pnpm install --frozen-lockfile',
  });
  assert.equal(plan(['yarn.lock', 'a/package-lock.json'], 'a/b')?.folder, 'a');
  assert.equal(
    plan(['yarn.lock'], '.')?.command,
    'yarn install --frozen-lockfile --non-interactive',
  );
  assert.equal(plan(['bun.lock'], '.')?.command, 'bun install --frozen-lockfile');
  assert.equal(plan(['package.json'], 'a')?.command, 'npm install --include=dev');
  assert.equal(plan(['readme.md'], '.'), null);
  const berry = { 'yarn.lock': '__metadata:\n  version: 8' };
  assert.equal(plan(['yarn.lock'], '.', berry)?.command, 'yarn install --immutable');
  const pinned = { ...berry, '.yarnrc.yml': 'yarnPath: .yarn/releases/yarn-4.1.0.cjs' };
  assert.equal(
    plan(['yarn.lock'], '.', pinned)?.command,
    "node '.yarn/releases/yarn-4.1.0.cjs' install --immutable",
  );
});

/** Says to the agent that its one test has passed, and then does something else. */
const passing = (then: string) => `
const { appendFileSync } = require('node:fs');
for (const event of [
  { type: 'begin', version: '', workers: 1, tests: [{ id: '1', title: 't', file: 'f', project: '', tags: [] }] },
  { type: 'end', status: 'passed', outcomes: [{ id: '1', outcome: 'expected' }] },
]) appendFileSync(process.env.MONITOR_EVENTS_FILE, JSON.stringify(event) + '\\n');
${then}`;

test('a suite cannot make the cache keep files of the agent, or fill its disk', async () => {
  await using world = await openSuiteWorld();
  const cacheFolder = join(world.folder, 'cache');
  const secretFolder = join(world.folder, 'data-of-agent');
  await mkdir(secretFolder, { mode: 0o700 });
  await writeFile(join(secretFolder, 'key'), 'the key of the location');
  const attempt = async (then: string) => {
    const files = { 'package.json': '{"name":"app","version":"1.0.0"}', 'test.js': passing(then) };
    const { seen, log } = await run(
      world,
      files,
      { testCommand: 'node test.js', installCommand: 'true' },
      { scripting: { cacheFolder, cacheMaxBytes: 50_000_000 } },
    );
    assert.equal(seen.failure, null);
    return log;
  };
  const swapped = await attempt(`
    const project = process.cwd();
    process.chdir('/');
    require('node:fs').renameSync(project, project + '-gone');
    require('node:fs').symlinkSync(${JSON.stringify(secretFolder)}, project);`);
  assert.match(swapped, /dependencies could not be kept: .* no longer a folder/);
  const full = await attempt(`
    require('node:fs').writeFileSync('sparse', '');
    require('node:fs').truncateSync('sparse', 900_000_000);`);
  assert.match(full, /dependencies could not be kept: they have more than/);
  assert.deepEqual(await readdir(cacheFolder), []);
});

test('what logs in to the proxy of the agent counts as a secret of the run', async () => {
  await using world = await openSuiteWorld();
  const secrets: string[] = [];
  const { log } = await run(
    world,
    { 'package.json': '{"name":"app","version":"1.0.0"}' },
    { testCommand: 'exit 4', installCommand: 'echo $HTTPS_PROXY' },
    {
      addSecret: (value) => secrets.push(value),
      scripting: { proxyEnvironment: { HTTPS_PROXY: 'http://agent:pass%2Fword@proxy:3128' } },
    },
  );
  assert.match(log, /agent:pass%2Fword@proxy/);
  assert.deepEqual(secrets, ['agent:pass%2Fword', 'pass%2Fword', 'pass/word']);
});
