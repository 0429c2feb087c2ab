// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { installRuntime, removeRuntime } from '../../../agent/runtimes/install-runtime.ts';
import { listRuntimes } from '../../../agent/runtimes/installed-runtimes.ts';
import { explainNpm } from '../../../agent/runtimes/npm.ts';
import { oneAtATime } from '../../../agent/runtimes/one-at-a-time.ts';
import { knownRuntimeIds, planOf, thisPlatform } from '../../../agent/runtimes/runtime-plan.ts';
import { openRuntimes } from '../../../agent/runtimes/runtimes.ts';
import { verifyRuntime } from '../../../agent/runtimes/verify-runtime.ts';
import { fakePlan, npmEnvironment, writePackage } from '../../support/fake-runtime.ts';
import { temporaryFolder } from '../../support/system.ts';

const now = () => Date.parse('2026-11-21T08:00:00Z');

function packagesThatLoad(folder: string): Record<string, string> {
  return {
    'for-require': writePackage(folder, 'for-require', { 'index.js': 'module.exports = 1;' }),
    'for-import': writePackage(folder, 'for-import', {
      'package.json': '{"name":"for-import","version":"1.0.0","type":"module","exports":"./i.js"}',
      'i.js': 'export const one = await Promise.resolve(1);',
    }),
  };
}

test('a runtime is installed, tested and offered; a second time nothing happens', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const options = {
    plan: fakePlan(folder.path, packagesThatLoad(folder.path)),
    ...{ directory, environment: npmEnvironment, now },
  };
  const phases = new Set<string>();
  const first = await installRuntime({ ...options, onProgress: ({ phase }) => phases.add(phase) });
  assert.equal(first.isNew, true);
  assert.deepEqual([...phases], ['packages', 'verification']);
  assert.deepEqual(first.verification.failures, []);
  assert.equal(first.verification.nodeVersion, process.versions.node);
  assert.deepEqual(readdirSync(directory).sort(), ['.lock', '2026.04']);
  const problems: unknown[] = [];
  const runtimes = await openRuntimes({
    ...{ directory, builtin: null, now },
    onUnusable: (problem) => problems.push(problem),
  });
  assert.deepEqual([runtimes.ids, problems], [['2026.04'], []]);
  const chosen = runtimes.choose(null);
  assert.deepEqual(chosen.packages, { 'for-import': '1.0.0', 'for-require': '1.0.0' });
  assert.ok(existsSync(chosen.nodePath));
  assert.equal((await installRuntime(options)).isNew, false);
  assert.equal((await installRuntime({ ...options, force: true })).isNew, true);
  assert.equal(await removeRuntime(directory, '2026.04'), true);
  assert.equal(await removeRuntime(directory, '2026.04'), false);
  assert.deepEqual([await runtimes.refresh(), runtimes.ids], [true, []]);
});

test('what a private program installs can be read by every user, and what runs cannot start is not offered', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const plan = fakePlan(folder.path, packagesThatLoad(folder.path));
  const before = process.umask(0o077);
  try {
    await installRuntime({ plan, directory, environment: npmEnvironment, now });
  } finally {
    process.umask(before);
  }
  const installed = join(directory, '2026.04');
  for (const path of ['', '2026.04', '2026.04/node_modules', '2026.04/node_modules/.bin']) {
    assert.equal(statSync(join(directory, path)).mode & 0o755, 0o755, path);
  }
  const asked: string[] = [];
  const problems: string[] = [];
  const runtimes = await openRuntimes({
    ...{ directory, builtin: null, now },
    problemOfRuns: (program) => Promise.resolve(asked.push(program) > 1 ? null : 'no way there'),
    onUnusable: ({ problem }) => problems.push(problem),
  });
  assert.deepEqual(runtimes.ids, []);
  assert.match(problems.join(), /no way there.*AGENT_RUNTIMES_DIR/);
  await runtimes.refresh();
  assert.deepEqual(runtimes.ids, ['2026.04']);
  assert.deepEqual(asked, Array(2).fill(join(installed, 'node_modules', '.bin', 'node')));
});

test('a package that does not load keeps the runtime from being offered, and is named', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const packages = {
    ...packagesThatLoad(folder.path),
    'of-tomorrow': writePackage(folder.path, 'of-tomorrow', {
      'index.js': 'throw new Error("needs a newer Node");',
    }),
  };
  const options = {
    ...{ plan: fakePlan(folder.path, packages), directory, environment: npmEnvironment, now },
  };
  await assert.rejects(installRuntime(options), {
    code: 'RUNTIME_BROKEN',
    message: /not offered to checks:\n {2}of-tomorrow: Error: needs a newer Node/,
  });
  // What did not work is not built upon.
  assert.deepEqual(listRuntimes(directory), []);
  writePackage(folder.path, 'of-tomorrow', { 'index.js': '' });
  assert.equal((await installRuntime(options)).isNew, true);
});

test('what an interrupted installation left half written is cleared away by the next one', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const plan = fakePlan(folder.path, packagesThatLoad(folder.path));
  const options = { plan, directory, environment: npmEnvironment, now };
  const partial = join(directory, '2026.04.partial');
  const stopping = new AbortController();
  const interrupted = installRuntime({
    ...{ ...options, signal: stopping.signal },
    onUnpacked: (place) => {
      // npm takes a package with its folder for installed, as after a crash while it was unpacked.
      const half = join(place, 'node_modules', 'for-require');
      rmSync(half, { recursive: true });
      mkdirSync(half);
      writeFileSync(join(half, 'package.json'), '{"name":"for-require","version":"1.0.0"}');
      stopping.abort();
    },
  });
  await assert.rejects(interrupted);
  assert.ok(existsSync(partial));
  assert.equal((await installRuntime(options)).isNew, true);
  assert.ok(!existsSync(partial));
});

test('a running agent offers a runtime that was installed meanwhile, and not one that was removed', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const runtimes = await openRuntimes({
    ...{ directory, builtin: null, now },
    onUnusable: ({ problem }) => assert.fail(problem),
  });
  const offered = async (): Promise<readonly string[]> => {
    runtimes.lookAgain();
    await runtimes.refresh();
    return runtimes.ids;
  };
  assert.deepEqual(await offered(), []);
  const plan = fakePlan(folder.path, packagesThatLoad(folder.path));
  await installRuntime({ plan, directory, environment: npmEnvironment, now });
  runtimes.lookAgain();
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = setInterval(() => {
    runtimes.lookAgain();
    if (runtimes.ids.length > 0) resolve();
  }, 20);
  await promise;
  clearInterval(look);
  assert.deepEqual(runtimes.ids, ['2026.04']);
  await removeRuntime(directory, '2026.04');
  assert.deepEqual(await offered(), []);
});

test('a runtime that changed after its test is tested again, and dropped when it broke', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const packages = packagesThatLoad(folder.path);
  const plan = fakePlan(folder.path, packages);
  await installRuntime({ plan, directory, environment: npmEnvironment, now });
  const installed = join(directory, '2026.04');
  const manifest = readFileSync(join(installed, 'package.json'), 'utf8');
  writeFileSync(join(installed, 'package.json'), `${manifest}\n`);
  assert.equal(listRuntimes(directory)[0]?.state, 'untested');
  writeFileSync(join(folder.path, 'packages', 'for-require', 'index.js'), 'missing();');
  const problems: { id: string; problem: string }[] = [];
  const open = () =>
    openRuntimes({ directory, builtin: null, now, onUnusable: (each) => problems.push(each) });
  assert.deepEqual((await open()).ids, []);
  assert.match(problems[0]?.problem ?? '', /does not load for-require/);
  assert.equal(listRuntimes(directory)[0]?.state, 'broken');
  writeFileSync(join(folder.path, 'packages', 'for-require', 'index.js'), '');
  await verifyRuntime({ id: '2026.04', folder: installed, now });
  assert.deepEqual((await open()).ids, ['2026.04']);
});

test('an installation says what stands in its way: room, another installation, a missing Node', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const plan = fakePlan(folder.path, packagesThatLoad(folder.path));
  const options = { plan, directory, environment: npmEnvironment, now };
  await assert.rejects(installRuntime({ ...options, freeBytes: () => 5_000_000 }), {
    code: 'RUNTIME_BROKEN',
    message: /needs 1600 MB .* has 5 MB; make room/,
  });
  await oneAtATime(directory, async () => {
    await assert.rejects(installRuntime(options), /another process is changing the runtimes/);
  });
  await assert.rejects(installRuntime({ ...options, environment: { PATH: folder.path } }), {
    code: 'RUNTIME_BROKEN',
    message: /npm is not on the PATH/,
  });
  await assert.rejects(
    installRuntime({ ...options, plan: { ...plan, nodePackages: {} } }),
    new RegExp(`the registry has none for ${thisPlatform}`),
  );
  assert.deepEqual(
    listRuntimes(directory).filter(({ state }) => state === 'ready'),
    [],
  );
});

test('what npm says is put into words that help', () => {
  const cases: [string, RegExp][] = [
    ['npm error code ENOSPC', /disk is full/],
    [
      'npm error notarget No matching version found for @a/b@1.2.3.',
      /does not have @a\/b@1\.2\.3;/,
    ],
    ["npm error 404  '@a/b@*' is not in this registry.", /does not have @a\/b@\*;/],
    [
      'npm error code ERESOLVE\nnpm error\nnpm error Could not resolve dependency:\nnpm error peer a@">=2" from b@3.1.0',
      /do not fit together \(peer a@">=2" from b@3\.1\.0\)/,
    ],
    ['npm error code ENEW\nnpm error\nnpm error\nnpm error\nnpm error of c@1', /of c@1/],
    ['npm error code ECONNREFUSED\nnpm error errno -111', /cannot be reached \(ECONNREFUSED\)/],
    ['npm error code SELF_SIGNED_CERT_IN_CHAIN', /NODE_EXTRA_CA_CERTS/],
    ['npm error code EINTEGRITY', /not the one that was locked/],
    ['npm error code E401', /log in with npm/],
    ['npm error code EACCES', /writable/],
    ['npm error something new', /something new/],
  ];
  for (const [output, words] of cases) assert.match(explainNpm(output), words);
});

test('all runtimes of the catalogue are locked, exactly as planned and without hosts', () => {
  for (const id of knownRuntimeIds) {
    const plan = planOf(id);
    assert.ok(plan.lockFolder !== null);
    const lock = JSON.parse(readFileSync(join(plan.lockFolder, 'package-lock.json'), 'utf8')) as {
      packages: Record<
        string,
        { version?: string; resolved?: string; integrity?: string; inBundle?: true }
      >;
    };
    for (const [name, version] of Object.entries({ ...plan.packages, ...plan.nodePackages })) {
      assert.equal(lock.packages[`node_modules/${name}`]?.version, version, `${id} ${name}`);
    }
    for (const [path, entry] of Object.entries(lock.packages)) {
      if (path === '') continue;
      assert.equal(entry.resolved, undefined, path);
      assert.ok(entry.inBundle ?? entry.integrity, path);
    }
  }
  assert.equal(knownRuntimeIds.length, 7);
  assert.throws(() => planOf('2099.01'), /known are 2026\.04, .*2022\.10/);
});

test('exact versions leave the lock and the substitutions aside', () => {
  const exact = planOf('2026.04', { exact: true });
  assert.deepEqual([exact.lockFolder, exact.substitutions], [null, []]);
  assert.equal(exact.packages['mailosaur'], '11.0.2');
  assert.notEqual(planOf('2026.04').packages['mailosaur'], '11.0.2');
});

test('folders that are no runtimes are left alone', () => {
  using folder = temporaryFolder();
  for (const name of ['2026.04.old', 'notes', '2025.04.partial'])
    mkdirSync(join(folder.path, name));
  assert.deepEqual(
    listRuntimes(folder.path).map(({ id, state }) => [id, state]),
    [['2025.04', 'unfinished']],
  );
  assert.deepEqual(listRuntimes(join(folder.path, 'absent')), []);
  assert.throws(() => listRuntimes(import.meta.filename), /ENOTDIR.*AGENT_RUNTIMES_DIR/);
});
