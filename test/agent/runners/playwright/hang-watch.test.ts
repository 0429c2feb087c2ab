import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'node:test';
import { watchForHangs } from '../../../../agent/runners/playwright/hang-watch.ts';
import { processesWith } from '../../../../agent/runners/playwright/processes-of-run.ts';
import { SuiteLog } from '../../../../agent/runners/playwright/suite-log.ts';
import { TestClock } from '../../../support/test-clock.ts';

/** Lets what was begun come to its end; nothing here waits for anything but promises. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function setUp() {
  const clock = new TestClock(0);
  const logged: string[] = [];
  const log = new SuiteLog({ clock, log: (message) => logged.push(message) });
  const progress = { running: ['pays [firefox]'], reported: 1 };
  const watch = watchForHangs({
    clock,
    log,
    progress: () => Promise.resolve({ ...progress }),
    processes: () => [{ pid: 42, command: 'node cli.js test', cpuMs: 1_250 }],
  });
  const advance = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000);
      await settle();
    }
  };
  return { clock, log, logged, progress, watch, advance };
}

test('a suite that says nothing for a minute is described, and again every minute', async () => {
  const { log, logged, progress, watch, advance } = setUp();
  await using _watch = watch;
  await log.during('test', async () => {
    progress.reported = 0;
    await advance(59);
    assert.deepEqual(logged, []);
    await advance(1);
    assert.deepEqual(logged, [
      'nothing was printed or reported for 1 min 0 s; stage test, for 1 min 0 s; tests running: pays [firefox]; processes: 42 node cli.js test (1.3 s of CPU)',
    ]);
    await advance(60);
    assert.equal(logged.length, 2);
    assert.match(logged[1] ?? '', /for 2 min 0 s/);
  });
});

test('whatever is printed or reported is a sign of life', async () => {
  const { log, logged, progress, watch, advance } = setUp();
  progress.reported = 0;
  await advance(50);
  log.output('still here', 'stdout');
  await advance(59);
  assert.equal(logged.length, 1);
  progress.reported = 7;
  await advance(1);
  assert.equal(logged.length, 1, 'reported since, though nothing was printed');
  await watch[Symbol.asyncDispose]();
  await advance(600);
  assert.equal(logged.length, 1, 'once it is over there is nothing to say');
});

test('processes are found by what stands in their environment', async () => {
  const marker = `MONITOR_RUN=test-${process.pid}`;
  const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], {
    env: { MONITOR_RUN: `test-${process.pid}` },
  });
  try {
    await once(child.stdout, 'data');
    const found = processesWith(marker);
    assert.deepEqual(
      found.map(({ pid }) => pid),
      [child.pid],
      'this test needs /proc',
    );
    assert.match(found[0]?.command ?? '', /setInterval/);
    assert.deepEqual(processesWith(`${marker}0`), []);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
