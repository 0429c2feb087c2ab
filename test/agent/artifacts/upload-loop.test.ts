import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import test from 'node:test';
import { Registry } from 'prom-client';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ArtifactSpool } from '../../../agent/artifacts/artifact-spool.ts';
import { UploadLoop } from '../../../agent/artifacts/upload-loop.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import { openArtifactReceiver, type ArtifactReceiver } from '../../support/artifact-receiver.ts';
import { openRun, openSpool, resultId, silent } from '../../support/artifact-spool.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const refuse =
  (status: number, headers: Record<string, string> = {}) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    const attributes = { code: 'REFUSED' };
    const error = { statusCode: status, error: 'Refused', message: 'no', attributes };
    request.once('end', () => response.writeHead(status, headers).end(JSON.stringify(error)));
  };

interface Given {
  spool: ArtifactSpool;
  loop: UploadLoop;
  receiver: ArtifactReceiver;
  clock: TestClock;
  folder: string;
  /** Takes files of a run and hands its result in. */
  add(files: Record<string, string>, contentType?: string, id?: string): Promise<void>;
  metric(name: string): Promise<string>;
  /** Moves the clock in small steps until the condition holds. */
  advanceUntil(condition: () => boolean): Promise<void>;
}

async function setUp(): Promise<Given & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder()).path;
  const receiver = stack.use(await openArtifactReceiver());
  const clock = new TestClock(1_000_000);
  const spool = await openSpool(folder, { clock });
  const metrics = createMetrics(new Registry(), '0.0.0');
  const loop = openLoop(spool, receiver, clock, metrics);
  stack.defer(() => loop.stop());
  const opened = stack.move();
  return {
    ...{ spool, loop, receiver, clock, folder },
    async add(files, contentType = 'application/zip', id = resultId) {
      const run = openRun(spool, null, id);
      for (const [name, content] of Object.entries(files)) {
        const path = join(folder, 'made');
        writeFileSync(path, content);
        await run.add({ path, name, type: 'file', contentType });
      }
      await run.finish();
      spool.commit(id);
    },
    async metric(name) {
      const line = (await metrics.registry.metrics())
        .split('\n')
        .find((text) => text.startsWith(`monitor_agent_${name}`));
      return line?.split(' ').at(-1) ?? 'absent';
    },
    async advanceUntil(condition) {
      while (!condition()) {
        clock.advance(100);
        await new Promise(setImmediate);
      }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function openLoop(
  spool: ArtifactSpool,
  { client }: ArtifactReceiver,
  clock: Clock,
  metrics = createMetrics(new Registry(), '0.0.0'),
): UploadLoop {
  return new UploadLoop({ spool, client, clock, random: () => 0.5, logger: silent, metrics });
}

test('files are uploaded with their digest, text as gzip, and then removed', async () => {
  await using given = await setUp();
  given.loop.start();
  await given.add({ 'shots/a b.zip': 'x'.repeat(5_000) });
  await given.add({ 'run.log': 'line\n'.repeat(5_000) }, 'text/plain', 'other-result');
  await given.advanceUntil(() => given.spool.state().files === 0);
  await given.loop.stop();
  const paths = given.receiver.received.map(({ path, headers, content }) => [
    path,
    headers['content-encoding'],
    content.length,
  ]);
  assert.deepEqual(paths.sort(), [
    [`/v1/agent/artifacts/${resultId}/shots%2Fa%20b.zip`, undefined, 5_000],
    ['/v1/agent/artifacts/other-result/run.log', 'gzip', 25_000],
  ]);
  assert.equal(given.receiver.received[0]?.headers.authorization, 'Bearer pl_test_key');
  assert.equal(await given.metric('artifact_uploads_total'), '2');
  assert.equal(await given.metric('artifact_uploaded_bytes_total'), '30000');
  assert.equal(await given.metric('artifact_spool_bytes'), '0');
});

test('files whose result has not arrived wait, and those of others go on', async () => {
  await using given = await setUp();
  const { receiver } = given;
  receiver.answer = (request, response) => {
    if (request.url?.includes(resultId) === true) {
      refuse(404)(request, response);
      return;
    }
    request.resume();
    request.once('end', () => response.writeHead(204).end());
  };
  given.loop.start();
  await given.add({ 'a.zip': 'a' });
  await given.add({ 'b.zip': 'b' }, 'application/zip', 'other-result');
  await given.advanceUntil(() => receiver.requests >= 4 && given.spool.state().files === 1);
  receiver.answer = null;
  await given.advanceUntil(() => given.spool.state().files === 0);
  assert.equal(given.spool.state().droppedTotal, 0);
});

test('during an outage files are kept, and follow when it is over', async () => {
  await using given = await setUp();
  const { receiver } = given;
  receiver.answer = (request) => request.socket.destroy();
  given.loop.start();
  await given.add({ 'a.zip': 'a', 'b.zip': 'b', 'c.zip': 'c' });
  await given.advanceUntil(() => receiver.requests >= 3);
  receiver.answer = refuse(503, { 'retry-after': '7' });
  const before = receiver.requests;
  await given.advanceUntil(() => receiver.requests > before + 2);
  assert.equal(given.spool.state().files, 3);
  receiver.answer = null;
  await given.advanceUntil(() => given.spool.state().files === 0);
  assert.equal(receiver.received.length, 3);
});

test('what a kill in the middle of an upload leaves is uploaded after the restart', async () => {
  await using given = await setUp();
  const { receiver, clock, folder } = given;
  // Takes the request and never answers.
  receiver.answer = () => undefined;
  given.loop.start();
  await given.add({ 'a.zip': 'a', 'b.zip': 'b' });
  await given.advanceUntil(() => receiver.requests === 2);
  await given.loop.stop();
  receiver.answer = null;
  const restarted = await openSpool(folder, { clock });
  const loop = openLoop(restarted, receiver, clock);
  loop.start();
  await given.advanceUntil(() => restarted.state().files === 0);
  await loop.stop();
  assert.deepEqual(receiver.received.map(({ content }) => content.toString()).sort(), ['a', 'b']);
});

test('a file that is refused as wrong is tried again, then given up and counted', async () => {
  await using given = await setUp();
  given.receiver.answer = refuse(400);
  given.loop.start();
  await given.add({ 'a.zip': 'a' });
  await given.advanceUntil(() => given.spool.state().files === 0);
  assert.equal(given.receiver.requests, 3);
  assert.equal(given.spool.state().droppedTotal, 1);
  await given.loop.stop();
  assert.equal(await given.metric('artifact_uploads_total{outcome="dropped"}'), '1');
});

for (const status of [302, 400, 401, 403, 404, 409, 413]) {
  test(`a page with ${status} of something in between gives up no file, and the others go on`, async () => {
    await using given = await setUp();
    const blocked = 'blocked-result';
    given.receiver.answer = (request, response) => {
      request.resume();
      const isBlocked = request.url?.includes(blocked) === true;
      request.once('end', () => response.writeHead(isBlocked ? status : 204).end());
    };
    given.loop.start();
    await given.add({ 'a.zip': 'a' }, 'application/zip', blocked);
    await given.add({ 'b.zip': 'b', 'c.zip': 'c' });
    await given.advanceUntil(() => given.receiver.requests >= 8);
    assert.deepEqual(
      [...given.spool.committed()].map((entry) => entry.resultId),
      [blocked],
    );
    given.receiver.answer = null;
    await given.advanceUntil(() => given.spool.state().files === 0);
    assert.equal(given.spool.state().droppedTotal, 0);
  });
}

test('files of a run that another agent made as well are removed, neither tried again nor counted as lost', async () => {
  await using given = await setUp();
  given.receiver.answer = refuse(409);
  given.loop.start();
  await given.add({ 'a.zip': 'a', 'b.zip': 'b' });
  await given.advanceUntil(() => given.spool.state().files === 0);
  assert.equal(given.receiver.requests, 2);
  assert.equal(given.spool.state().droppedTotal, 0);
  await given.loop.stop();
  assert.equal(await given.metric('artifact_uploads_total{outcome="unneeded"}'), '2');
});

test('a file whose body was cut off on the way is not refused: it is tried until it is taken', async () => {
  await using given = await setUp();
  given.receiver.answer = refuse(408);
  given.loop.start();
  await given.add({ 'a.zip': 'a' });
  await given.advanceUntil(() => given.receiver.requests > 4);
  given.receiver.answer = null;
  await given.advanceUntil(() => given.spool.state().files === 0);
  assert.equal(given.spool.state().droppedTotal, 0);
});

test('a file that is refused as too large is given up at once', async () => {
  await using given = await setUp();
  given.receiver.answer = refuse(413);
  given.loop.start();
  await given.add({ 'a.zip': 'a' });
  await given.advanceUntil(() => given.spool.state().files === 0);
  assert.equal(given.receiver.requests, 1);
});

test('a file that our disk lost is given up; the others go on', async () => {
  await using given = await setUp();
  await given.add({ 'a.zip': 'a', 'b.zip': 'b' });
  rmSync(given.spool.pathOf(resultId, '0'));
  given.loop.start();
  await given.advanceUntil(() => given.spool.state().files === 0);
  assert.deepEqual(
    given.receiver.received.map(({ content }) => content.toString()),
    ['b'],
  );
  assert.equal(given.spool.state().droppedTotal, 1);
});

test('eight uploads are under way at once, of which two of large files, and no more', async () => {
  await using given = await setUp();
  const held: ServerResponse[] = [];
  given.receiver.answer = (request, response) => {
    request.resume();
    request.once('end', () => held.push(response));
  };
  given.loop.start();
  const named = (count: number, text: string, content: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${text}${n}.zip`, content]));
  // The large ones are older, and do not keep the small ones from going.
  await given.add({ ...named(3, 'large', 'x'.repeat(262_144)), ...named(9, 'small', 'x') });
  await given.advanceUntil(() => held.length === 8);
  for (let look = 0; look < 20; look += 1) await new Promise(setImmediate);
  assert.equal(given.receiver.requests, 8);
  for (const response of held.splice(0)) response.writeHead(204).end();
  await given.advanceUntil(() => held.length === 4 && given.spool.state().files === 4);
  for (const response of held.splice(0)) response.writeHead(204).end();
  await given.advanceUntil(() => given.spool.state().files === 0);
});

for (const status of [404, 503]) {
  test(`eight uploads that fail at once with ${status} are one failure, with the pause of one`, async () => {
    await using given = await setUp();
    const held: ServerResponse[] = [];
    given.receiver.answer = (request, response) => {
      request.resume();
      request.once('end', () => held.push(response));
    };
    given.loop.start();
    const names = Array.from({ length: 8 }, (_, number) => `${number}.zip`);
    await given.add(Object.fromEntries(names.map((name) => [name, 'x'])));
    await given.advanceUntil(() => held.length === 8);
    given.receiver.answer = null;
    const failed = async (count: number): Promise<void> => {
      for (const response of held.splice(0, count))
        response.writeHead(status).end('{"message":"no"}');
      const all = String(8 - held.length);
      while ((await given.metric('artifact_upload_failures_total')) !== all)
        await new Promise(setImmediate);
    };
    await failed(4);
    // What fails later began before the first had failed.
    given.clock.advance(1_000);
    await failed(4);
    given.clock.advance(1_000);
    while (given.spool.state().files > 0) await new Promise(setImmediate);
  });
}

test('flushing uploads what waits, without the waits, and says what is left', async () => {
  await using given = await setUp();
  given.receiver.answer = refuse(404);
  given.loop.start();
  await given.add({ 'a.zip': 'a', 'b.zip': 'b', 'c.zip': 'c' });
  await given.advanceUntil(() => given.receiver.requests > 0);
  given.receiver.answer = null;
  assert.equal(await given.loop.flush(5_000), 0);
  assert.equal(given.receiver.received.length, 3);
});

test('flushing ends at once when files are refused, and in time when nothing answers', async () => {
  await using given = await setUp();
  given.receiver.answer = (request) => request.socket.destroy();
  given.loop.start();
  await given.add({ 'a.zip': 'a' });
  assert.equal(await given.loop.flush(5_000), 1);

  await using silentOne = await setUp();
  const asked = Promise.withResolvers<undefined>();
  silentOne.receiver.answer = () => {
    asked.resolve(undefined);
  };
  silentOne.loop.start();
  await silentOne.add({ 'a.zip': 'a' });
  const left = silentOne.loop.flush(5_000);
  await asked.promise;
  silentOne.clock.advance(5_000);
  assert.equal(await left, 1);
});
