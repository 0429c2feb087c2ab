/** `npm run verify`: every check but the tests that need processes of their own, as many at once as there are processors. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, totalmem } from 'node:os';

/** Scripts of `package.json`, the longest first. */
const steps = [
  ...['format', 'lint', 'types', 'unused', 'lint:statements', 'openapi', 'boundaries'],
  ...['docs', 'words', 'lines'],
];
/** They take about 3.5 and 2.5 GB each: a machine with less than this runs them one after the other. */
const isRoomy = totalmem() > 12 * 2 ** 30;

/** Runs a script and prints what it said in one piece; true when it passed. */
async function passes(step: string): Promise<boolean> {
  const startedAt = performance.now();
  const child = spawn('npm', ['run', '--silent', step], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Programs in Go collect garbage when four times as much has come, and use a fifth less CPU.
    env: { ...process.env, ...(isRoomy && { GOGC: '400' }) },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${code === 0 ? '✔' : '✖'} npm run ${step}, ${seconds} s`);
  if (output.trim() !== '') console.log(output.trimEnd().replaceAll(/^/gm, '    '));
  return code === 0;
}

const failed: string[] = [];
const waiting = [...steps];
async function work(): Promise<void> {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    if (!(await passes(step))) failed.push(step);
  }
}
await Promise.all(Array.from({ length: isRoomy ? availableParallelism() : 1 }, work));
if (failed.length > 0) {
  console.error(`failed: ${failed.map((step) => `npm run ${step}`).join(', ')}`);
  process.exitCode = 1;
}
