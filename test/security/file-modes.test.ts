// Own process: it changes the mode of new files.
/** What agent and control plane keep on disk is read by no other user, also where it lay open before. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Operator } from '../support/control-plane-command.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

const nobody = 65_534;

function everythingIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    join(entry.parentPath, entry.name),
  );
}

const isFile = (path: string): boolean => lstatSync(path).isFile();

/** As any version before, or anybody's umask, may have left it. */
function layOpen(folder: string): void {
  chmodSync(folder, 0o755);
  for (const path of everythingIn(folder)) chmodSync(path, isFile(path) ? 0o644 : 0o755);
}

function assertPrivate(folder: string, paths: readonly string[]): void {
  chmodSync(folder, 0o755);
  const open = paths.filter((path) => (lstatSync(path).mode & 0o077) !== 0);
  assert.deepEqual(open, []);
  // Modes are what counts; where this is root, another user tries it too.
  if (process.getuid?.() !== 0) return;
  for (const path of paths.filter(isFile)) {
    const { status } = spawnSync('cat', [path], { uid: nobody, gid: nobody, stdio: 'ignore' });
    assert.notEqual(status, 0, `another user reads ${path}`);
  }
}

const agentFiles = (folder: string): string[] => {
  const data = join(folder, 'agent');
  return [data, ...everythingIn(data).filter((path) => !lstatSync(path).isSocket())];
};
const controlPlaneFiles = (folder: string): string[] =>
  everythingIn(folder).filter((path) => !path.startsWith(join(folder, 'agent')));

test('database, key, outbox, schedule and files are private, made new or found open', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  // Made by somebody else, for everybody to read.
  chmodSync(folder.path, 0o755);
  mkdirSync(join(folder.path, 'agent'), { mode: 0o755 });
  const before = process.umask(0o022);
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  await system.createUrlCheck(`${target.url}/ok`, {
    name: 'a',
    locations: [],
    privateLocations: ['here'],
  });
  const settings = { AGENT_WORK_DIR: join(folder.path, 'work') };
  const agent = system.startAgent('agent', key, settings);
  process.umask(before);
  await eventually(
    () => target.visits.size > 0,
    () => 'the check runs',
  );
  await eventually(
    () => everythingIn(join(folder.path, 'agent')).some((path) => path.endsWith('schedule.bin')),
    () => 'the schedule is kept',
  );
  const names = controlPlaneFiles(folder.path).map((path) => path.slice(folder.path.length + 1));
  for (const name of ['control-plane.db', 'control-plane.db-wal', 'control-plane.db.key'])
    assert.ok(names.includes(name), name);
  assertPrivate(
    folder.path,
    controlPlaneFiles(folder.path).filter((path) => !path.startsWith(join(folder.path, 'work'))),
  );
  assertPrivate(folder.path, agentFiles(folder.path));

  // Killed, so that nothing is tidied up, and laid open.
  agent.signal('SIGKILL');
  system.controlPlane.signal('SIGKILL');
  await Promise.all([agent.exited, system.controlPlane.exited]);
  layOpen(folder.path);
  await system.restartControlPlane();
  const again = system.startAgent('agent', key, settings);
  await again.log('agent has started');
  assertPrivate(
    folder.path,
    controlPlaneFiles(folder.path).filter((path) => !path.startsWith(join(folder.path, 'work'))),
  );
  assertPrivate(folder.path, agentFiles(folder.path));
});

test('a backup, and a database that is restored from one, are private', async () => {
  using folder = temporaryFolder();
  chmodSync(folder.path, 0o755);
  const before = process.umask(0o022);
  const operator = new Operator(folder.path);
  await operator.spawn('keys', 'create', '--name', 'a');
  const backup = join(folder.path, 'backup.db');
  assert.equal((await operator.spawn('backup', backup)).code, 0);
  assert.equal((await operator.spawn('restore', '--yes', backup)).code, 0);
  process.umask(before);
  assertPrivate(folder.path, everythingIn(folder.path));
});
