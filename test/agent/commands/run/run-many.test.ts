// Own process: it starts many programs, one of them with a browser.
/** `monitor-agent run` with tests, modules, folders, patterns, variables, reports and changes. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { agent } from '../../../support/agent-command.ts';
import { Program } from '../../../../proof/program.ts';
import { agentProgram } from '../../../support/programs.ts';
import { httpServer } from '../../../support/servers.ts';
import { temporaryFolder } from '../../../support/system.ts';

/** A folder with these files. */
function folderWith(files: Record<string, string>) {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(resolve(folder.path, name, '..'), { recursive: true });
    writeFileSync(join(folder.path, name), text);
  }
  const environment = { AGENT_WORK_DIR: join(folder.path, '.runs') };
  return {
    path: folder.path,
    run: (...args: string[]) => agent(['run', ...args], environment, folder.path),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const answering = () =>
  httpServer((request, response) => {
    response.writeHead(request.url === '/ok' ? 200 : 503).end();
  });

test('a test runs as a browser check, with its imports, its configuration and variables of a file', async () => {
  using folder = folderWith({
    'playwright.config.ts':
      "import { defineConfig } from '@playwright/test';\nexport default defineConfig({ use: { locale: 'fr-FR' } });\n",
    'tests/shop.spec.ts': [
      "import { test, expect } from '@playwright/test';",
      "import { expectNumber } from '../pages/number.js';",
      "test('the shop opens', async ({ page }) => {",
      "  expect(await page.evaluate('navigator.language')).toBe('fr-FR');",
      "  expectNumber(process.env.NUMBER ?? '');",
      '});',
    ].join('\n'),
    'pages/number.ts': [
      "import { expect } from '@playwright/test';",
      'export function expectNumber(text: string): void {',
      '  expect(Number(text)).toBe(7);',
      '}',
    ].join('\n'),
    'wrong.env': 'NUMBER=8\n',
  });
  const failed = await folder.run(
    ...['tests/shop.spec.ts', '--env-file', 'wrong.env', '--files', 'kept'],
    ...['--report', 'github', '--report', 'junit=report.xml'],
  );
  assert.equal(failed.code, 1, failed.out + failed.error);
  assert.match(failed.out, /> 3 \| {3}expect\(Number\(text\)\)\.toBe\(7\);/);
  assert.match(
    failed.out,
    /^::error title=.*,file=pages\/number\.ts,line=3,col=24::Error: expect/m,
  );
  const xml = readFileSync(join(folder.path, 'report.xml'), 'utf8');
  assert.match(xml, /<testsuite .*tests="1" failures="1" errors="0"/);
  assert.match(
    xml,
    /classname="tests\/shop\.spec\.ts"[^>]*>\s*<failure message="expect\(received\)\.toBe: expected 7, received 8"/,
  );
  assert.match(xml, /&gt; 3 \|/);
  assert.ok(readFileSync(join(folder.path, 'kept', 'trace.zip')).length > 0);
});

test('a file of variables that is too long is named with its limit', async () => {
  using folder = folderWith({ 'long.env': `A=${'x'.repeat(1_048_576)}` });
  const { code, error } = await folder.run('http://127.0.0.1:9/', '--env-file', 'long.env');
  assert.equal(code, 2, error);
  assert.match(error, /"long\.env" cannot be read: .* 1048576 bytes/);
});

test('a test is read as its project reads it: aliases of tsconfig.json, and modules', async () => {
  const spec = [
    "import { test, expect } from '@playwright/test';",
    "import { two } from '@lib/two';",
    "import four from '~four';",
    "import { three } from 'more/three.js';",
    "test('adds', () => { expect(two + three + four).toBe(9); });",
  ].join('\n');
  const base = `{
    // Of all projects here.
    "compilerOptions": { "baseUrl": ".", "paths": { "@lib/*": ["nowhere/*", "lib/*"], "~four": ["lib/four.ts"], }, },
  }`;
  const files = {
    'tests/a.spec.ts': spec,
    'tests/tsconfig.json': '{ "extends": "../tsconfig.base" }',
    'tsconfig.json': '{ "extends": ["./tsconfig.base.json"] }',
    'tsconfig.base.json': base,
    'lib/two/index.ts': "import '@lib/unused';\nexport const two: number = 2;\n",
    'lib/unused.ts': '',
    'lib/four.ts': 'export default 4;\n',
    'more/three.ts': 'export const three: number = 3;\n',
  };
  using plain = folderWith(files);
  const passed = await plain.run('tests/a.spec.ts');
  assert.equal(passed.code, 0, passed.out + passed.error);
  using modules = folderWith({
    'package.json': '{ "name": "x", "type": "module" }',
    'a.spec.js': [
      "import { test, expect } from '@playwright/test';",
      "import { where } from './where.js';",
      "test('is a module', () => { expect(where).toMatch(/^file:.*where.js$/); });",
    ].join('\n'),
    'where.js': 'export const where = import.meta.url;\n',
  });
  const asModule = await modules.run('a.spec.js');
  assert.equal(asModule.code, 0, asModule.out + asModule.error);
});

test('a folder, a pattern and a module give the checks they hold, each once', async () => {
  await using server = await answering();
  const check = (name: string, path: string) => ({
    ...{ checkType: 'URL', name },
    request: { url: `${server.url}${path}` },
  });
  using folder = folderWith({
    'checks/a.check.json': JSON.stringify(check('first', '/ok')),
    'checks/deep/b.check.ts': [
      `const url: string = '${server.url}/broken';`,
      "console.log('loaded');",
      "export default { checkType: 'URL', name: 'second', request: { url } };",
      `export const others = [${JSON.stringify(check('third', '/ok'))}];`,
    ].join('\n'),
    'checks/node_modules/c.check.json': 'not read',
    'checks/note.txt': 'not read',
  });
  const all = await folder.run('checks', 'checks/**/*.check.json', '--json');
  assert.equal(all.code, 1, all.error);
  const { counts, checks } = JSON.parse(all.out) as {
    counts: Record<string, number>;
    checks: { name: string; place: string; verdict: string }[];
  };
  assert.deepEqual(counts, { passed: 2, degraded: 0, failed: 1, error: 0 });
  assert.deepEqual(
    checks.map(({ name, place, verdict }) => [name, place, verdict]),
    [
      ['first', 'checks/a.check.json', 'passed'],
      ['second', 'checks/deep/b.check.ts', 'failed'],
      ['third', 'checks/deep/b.check.ts', 'passed'],
    ],
  );
  assert.match(all.error, /loaded/);
  const listed = await folder.run('checks');
  assert.match(listed.out, /\n2 passed, 1 failed in \d+\.\d s\n$/);
});

test('GitHub acts on annotations, and on nothing that a target or a script prints', async () => {
  await using server = await answering();
  using folder = folderWith({
    'a.check.json': JSON.stringify({
      ...{ checkType: 'URL', name: 'x\n::add-mask::e' },
      request: { url: `${server.url}/broken` },
    }),
  });
  const seen = await folder.run('a.check.json', '--report', 'github');
  const [, token = ''] = /^::stop-commands::(\S{32,})\n/.exec(seen.out) ?? [];
  assert.notEqual(token, '', seen.out);
  const [before = '', after = ''] = seen.out.split(`\n::${token}::\n`);
  assert.match(before, /^\s*::add-mask::e/m);
  assert.match(after, /^::error title=x%0A%3A%3Aadd-mask%3A%3Ae,file=a\.check\.json::[^\n]+\n$/);
});

test('where one of several cannot be run, nothing runs', async () => {
  using folder = folderWith({
    'good.check.json': '{ "checkType": "URL", "request": { "url": "http://127.0.0.1:9" } }',
  });
  const { code, out, error } = await folder.run('good.check.json', 'nowhere.json', '--json');
  const failure = JSON.parse(out) as { error: string; exitCode: number };
  assert.deepEqual([code, failure.exitCode], [2, 2]);
  for (const text of [failure.error, error]) assert.match(text, /nowhere\.json/);
});

test('with --watch a check runs again when its file changes, until it is interrupted', async () => {
  await using server = await answering();
  const check = (path: string) =>
    JSON.stringify({ checkType: 'URL', name: 'shop', request: { url: `${server.url}${path}` } });
  using folder = folderWith({ 'a.check.json': check('/ok') });
  const file = join(folder.path, 'a.check.json');
  await using program = new Program([resolve(agentProgram), 'run', file, '--watch'], {});
  const isWaiting = (times: number) => program.line('waiting for changes', times);
  await program.line('PASSED  shop');
  await isWaiting(1);
  writeFileSync(file, '{');
  await program.line('is not JSON');
  await isWaiting(2);
  writeFileSync(file, check('/broken'));
  await program.line('FAILED  shop');
  await isWaiting(3);
  program.signal('SIGINT');
  assert.deepEqual(await program.exited, { code: 1, signal: null });
});
