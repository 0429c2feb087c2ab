import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import test from 'node:test';
import { deleteResultsOfDeletedChecks } from '../../../../control-plane/results/delete-results.ts';
import { pruneArtifacts } from '../../../../control-plane/results/prune-artifacts.ts';
import { declaration, openArtifactApi, type ArtifactApi } from '../../../support/artifact-api.ts';

const day = 86_400_000;
const content = Buffer.from('content');

const objects = (api: ArtifactApi): number =>
  readdirSync(api.folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    .length;

test('files are kept for their time, then their objects are deleted and the list says so', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('a.txt', content.length), declaration('never-came.txt', 5));
  await api.upload('a.txt', content);
  api.bench.clock.advance(30 * day);
  await pruneArtifacts(api.services, 30 * day);
  assert.deepEqual([objects(api), (await api.asset('a.txt'))['state']], [1, 'STORED']);
  api.bench.clock.advance(1);
  assert.equal(await pruneArtifacts(api.services, 30 * day), false);
  assert.equal(objects(api), 0);
  const { state, url } = await api.asset('a.txt');
  assert.deepEqual([state, url], ['EXPIRED', null]);
  assert.equal((await api.asset('never-came.txt'))['state'], 'EXPIRED');
  // An agent that comes back after a month with it may forget it.
  assert.equal((await api.upload('never-came.txt', Buffer.from('hello'))).status, 204);
});

test('the objects of results that are deleted go as well', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('a.txt', content.length), declaration('b.txt', content.length));
  await api.upload('a.txt', content);
  await api.upload('b.txt', content);
  await api.bench.cp.api('DELETE', `/v1/checks/${api.checkId}`);
  while (await deleteResultsOfDeletedChecks(api.services));
  const left = await api.services.db.selectFrom('artifacts').select('id').execute();
  assert.deepEqual([left.length, objects(api)], [0, 2]);
  await pruneArtifacts(api.services, 30 * day);
  assert.equal(objects(api), 0);
  assert.deepEqual(await api.services.db.selectFrom('artifact_garbage').selectAll().execute(), []);
});

test('an object that a crash left between store and row is deleted a day later, not before', async () => {
  await using api = await openArtifactApi();
  const { services } = api;
  const key = `${api.bench.cp.accountId}/${api.resultId}/a.txt.0123`;
  await services.db
    .insertInto('artifact_garbage')
    .values({ object_key: key, due_at: services.clock.now() + day })
    .execute();
  await services.artifacts.put(
    key,
    (async function* () {
      await Promise.resolve();
      yield content;
    })(),
  );
  await pruneArtifacts(services, 30 * day);
  assert.equal(objects(api), 1);
  api.bench.clock.advance(day);
  await pruneArtifacts(services, 30 * day);
  assert.equal(objects(api), 0);
});
