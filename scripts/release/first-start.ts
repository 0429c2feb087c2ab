/** The second command of the README: `npm start` in the clone, until it says that everything runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../proof/program.ts';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';

const limitMs = 300_000;
const running = 'are running';

export async function firstStart({ checkout, work, logs }: ReleaseContext): Promise<Finding> {
  // Three targets and two agents take ports in a row.
  const first = await freePort(6);
  const file = join(logs, 'npm-start.log');
  const log = createWriteStream(file);
  const startedAt = performance.now();
  const child = spawn('npm', ['start'], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      ...process.env,
      PORT: String(first),
      AGENT_HEALTH_PORT: String(first + 1),
      DEMO_TARGET_PORT: String(first + 3),
      DEMO_DATA_DIR: join(work, 'demo'),
    },
  });
  const closed = once(child, 'close') as Promise<[number | null, string | null]>;
  // As Ctrl-C in a terminal does: to all of its group.
  const stop = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  };
  const timer = setTimeout(() => {
    stop('SIGKILL');
  }, limitMs);
  child.stderr.pipe(log);
  let isRunning = false;
  for await (const line of createInterface({ input: child.stdout })) {
    log.write(`${line}\n`);
    if (isRunning || !line.includes(running)) continue;
    isRunning = true;
    stop('SIGINT');
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const [code, signal] = await closed;
  clearTimeout(timer);
  log.end();
  if (!isRunning || (code !== 0 && signal !== 'SIGINT')) {
    throw new StepFailure(
      `npm start ended with ${signal ?? code}${isRunning ? '' : ' before everything was running'}`,
      `read ${file}`,
    );
  }
  return { summary: `npm start ran everything and stopped, in ${seconds.toFixed(0)} s` };
}
