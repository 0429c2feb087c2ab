import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { maxLiveLogLength } from '@monitor/shared/contract/agent-protocol.ts';
import { CallFailure } from '../../../agent/link/control-plane-client.ts';
import { LiveLogs } from '../../../agent/worker/live-logs.ts';
import { TestClock } from '../../support/test-clock.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

function setUp() {
  const clock = new TestClock(10_000);
  const sent: { runId: string; position: number; messages: string[] }[] = [];
  const link = { failure: null as Error | null };
  const logs = new LiveLogs({
    clock,
    logger: pino({ level: 'silent' }),
    client: {
      sendLogs: (runId, position, lines) => {
        if (link.failure !== null) return Promise.reject(link.failure);
        sent.push({ runId, position, messages: lines.map(({ message }) => message) });
        return Promise.resolve();
      },
    },
  });
  const pass = async (times: number) => {
    for (let count = 0; count < times; count += 1) {
      clock.advance(250);
      await settle();
    }
  };
  return { sent, link, logs, pass };
}

test('what a run prints is sent in pieces, at most four times a second', async () => {
  const { sent, logs, pass } = setUp();
  using _logs = logs;
  logs.add('a', 'one');
  logs.add('a', 'two');
  assert.equal(sent.length, 0);
  await pass(1);
  logs.add('a', 'x'.repeat(maxLiveLogLength));
  logs.add('a', 'y');
  await pass(2);
  assert.deepEqual(
    sent.map(({ position, messages }) => [position, messages.map((message) => message[0])]),
    [
      [0, ['o', 't']],
      [1, ['x']],
      [2, ['y']],
    ],
  );
});

test('what could not be sent is sent again, and what comes too fast is counted', async () => {
  const { sent, link, logs, pass } = setUp();
  using _logs = logs;
  link.failure = new CallFailure('CONTROL_PLANE_UNREACHABLE', 'away', {});
  for (let count = 0; count < 6; count += 1) logs.add('a', 'x'.repeat(maxLiveLogLength));
  await pass(2);
  link.failure = null;
  await pass(6);
  const messages = sent.flatMap((piece): string[] => piece.messages);
  assert.equal(messages.filter((message) => message.startsWith('x')).length, 4);
  assert.match(messages.at(-1) ?? '', /^2 lines are left out/);
});

test('empty lines fill no memory, and are counted', async () => {
  const { sent, link, logs, pass } = setUp();
  using _logs = logs;
  link.failure = new CallFailure('CONTROL_PLANE_UNREACHABLE', 'away', {});
  for (let count = 0; count < 10_000; count += 1) logs.add('a', '');
  await pass(2);
  link.failure = null;
  await pass(8);
  const messages = sent.flatMap((piece): string[] => piece.messages);
  assert.equal(messages.filter((message) => message === '').length, 8_000);
  assert.match(messages.at(-1) ?? '', /^2000 lines are left out/);
});

test('a further attempt uses no position of the one before', async () => {
  const { sent, logs } = setUp();
  using _logs = logs;
  for (const attempt of [1, 2]) {
    logs.add('a', `attempt ${attempt}`, attempt);
    await logs.finish('a');
  }
  const positions = sent.map(({ position }) => position);
  assert.deepEqual(positions, [0, 10_000]);
});

test('nothing is sent of a run that nobody watches, and its end does not wait', async () => {
  const { sent, link, logs, pass } = setUp();
  using _logs = logs;
  link.failure = new CallFailure('CONTROL_PLANE_REFUSED', 'nobody', { statusCode: 404 });
  logs.add('a', 'one');
  await pass(1);
  link.failure = null;
  logs.add('a', 'two');
  await logs.finish('a');
  await pass(4);
  assert.deepEqual(sent, []);
});
