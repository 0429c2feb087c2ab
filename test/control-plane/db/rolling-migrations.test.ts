// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { Operator } from '../../support/control-plane-command.ts';
import { controlPlaneOfNextVersion } from '../../support/another-version.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { eventually, temporaryFolder } from '../../support/system.ts';

/** A table gets a column that older builds know nothing of. */
const added = {
  name: '9000-later',
  oldestBuild: '0050-baseline',
  statement: 'alter table private_locations add column later text',
};

const copies = temporaryFolder();
after(() => {
  copies[Symbol.dispose]();
});
const anotherVersion = join(copies.path, 'another');

/** Status of a read of that table; with a body, of a write. */
async function statusOf(url: string, rawKey: string, body?: object): Promise<number> {
  const response = await fetch(`${url}/v1/private-locations`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Writes and reads again and again until it is stopped; gives how many answers were what they should be. */
function keepAsking(url: string, rawKey: string) {
  let isOver = false;
  let answers = 0;
  const ended = (async () => {
    while (!isOver) {
      const name = `location-${answers}`;
      assert.equal(await statusOf(url, rawKey, { name, slugName: name }), 201);
      assert.equal(await statusOf(url, rawKey), 200);
      answers += 1;
    }
  })();
  // An answer that is wrong is thrown when it is waited for.
  ended.catch(() => undefined);
  return {
    answers: () => answers,
    async stop() {
      isOver = true;
      await ended;
    },
  };
}

test('replicas of the version before serve while the next one migrates, and can be gone back to', async () => {
  using folder = temporaryFolder();
  await using database = await createTestDatabase({ isReused: false });
  const settings = {
    DATABASE_FILE: '',
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: 'k'.repeat(40),
    PUBLIC_URL: 'http://monitor.example',
    ARTIFACTS_DIR: folder.path,
    ARTIFACTS_SHARED: 'true',
  };
  const before = new Operator(folder.path, settings);
  const program = controlPlaneOfNextVersion(anotherVersion, added);
  const next = new Operator(folder.path, settings, program);
  const { rawKey } = await before.json<{ rawKey: string }>('keys', 'create', '--name', 'a');
  await using old = await before.serve();
  const asking = keepAsking(old.url, rawKey);
  {
    await using updated = await next.serve();
    assert.equal(await statusOf(updated.url, rawKey), 200);
    const during = asking.answers();
    await eventually(
      () => asking.answers() > during + 20,
      () => 'the old replica no longer answers',
    );
    await using another = await before.serve();
    assert.equal(await statusOf(another.url, rawKey), 200, 'an old one that starts afterwards');
  }
  await asking.stop();
  assert.equal((await before.json<unknown[]>('keys', 'list')).length, 1);
  assert.deepEqual((await before.json<{ applied: string[] }>('migrate')).applied, []);
  assert.deepEqual((await next.json<{ applied: string[] }>('migrate')).applied, []);
});

test('a database in a file goes back to the version before, unless the migration forbids it', async () => {
  using folder = temporaryFolder();
  const before = new Operator(folder.path);
  await before.json('migrate');
  const next = new Operator(folder.path, {}, controlPlaneOfNextVersion(anotherVersion, added));
  assert.deepEqual((await next.json<{ applied: string[] }>('migrate')).applied, [added.name]);
  await before.json('accounts', 'create', '--name', 'Shop');
  await using serving = await before.serve();
  assert.notEqual(serving.url, '');
  serving.signal('SIGTERM');
  await serving.exited;
  const breaking = { name: '9001-breaking', statement: added.statement };
  const fresh = join(folder.path, 'fresh');
  const last = controlPlaneOfNextVersion(anotherVersion, breaking);
  await new Operator(fresh, {}, last).json('migrate');
  for (const command of [['serve'], ['keys', 'list']]) {
    assert.match(
      await new Operator(fresh).refused(1, ...command),
      /has migrations that this build does not know \(9001-breaking\): run the newer build/,
    );
  }
});
