import assert from 'node:assert/strict';
import test from 'node:test';
import pino from 'pino';
import { markRun } from '../../../agent/worker/previous-shutdown.ts';
import { temporaryFolder } from '../../support/system.ts';

const bootFile = '/proc/sys/kernel/random/boot_id';
const slice = '/sys/fs/cgroup/system.slice/memory.events';

/** Two agents after each other in one folder; gives what the second says. */
function saidAfter(
  before: Record<string, string>,
  after: Record<string, string>,
  { isTold = false } = {},
): string[] {
  using folder = temporaryFolder();
  const said: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => said.push(line) });
  const start = (files: Record<string, string>): Disposable => {
    const all: Record<string, string> = {
      '/proc/self/cgroup': '0::/system.slice/monitor-agent.service\n',
      ...files,
    };
    return markRun(folder.path, { now: 0, logger, reader: { read: (path) => all[path] ?? null } });
  };
  const first = start(before);
  if (isTold) first[Symbol.dispose]();
  start(after);
  return said.map((line) => (JSON.parse(line) as { msg: string }).msg);
}

test('an agent that was stopped leaves no finding', () => {
  assert.deepEqual(saidAfter({}, {}, { isTold: true }), []);
});

test('after one that the kernel may have killed for memory, the next one says so, and that others count too', () => {
  const files = { [bootFile]: 'one\n', [slice]: 'oom_kill 2\n' };
  const [said = ''] = saidAfter(files, { ...files, [slice]: 'oom_kill 3\n' });
  assert.match(
    said,
    /agent of 1970-01-01T00:00:00\.000Z did not end by itself: it was killed, or crashed. It may have been for want of memory: .* ended 1 processes around this agent/,
  );
});

test('after one that was killed otherwise, memory is not blamed', () => {
  const files = { [bootFile]: 'one\n', [slice]: 'oom_kill 2\n' };
  const [said = ''] = saidAfter(files, files);
  assert.doesNotMatch(said, /memory/);
  assert.match(said, /it was killed, or crashed/);
});

test('a reboot of the machine is recognised', () => {
  const [said = ''] = saidAfter(
    { [bootFile]: 'one\n', [slice]: 'oom_kill 0\n' },
    { [bootFile]: 'two\n', [slice]: 'oom_kill 5\n' },
  );
  assert.match(said, /the machine was started again/);
});
