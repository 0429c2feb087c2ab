// Own process: it starts programs.
import assert from 'node:assert/strict';
import { realpath } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { MultiStepCheckResult } from '@monitor/shared/contract/check-result.ts';
import { runMultiStep } from '../../../agent/runners/scripts/browser-and-multi-step.ts';
import type { RunnerContext } from '../../../agent/runners/runner.ts';
import { processesIn } from '../../../agent/script-host/processes.ts';
import {
  definitionOfScript,
  openScriptWorld,
  type ScriptWorld,
} from '../../support/script-context.ts';
import { listening } from '../../support/servers.ts';

/** What a script sees of what others have left: the processes of the run, and what it was given. */
const look = `
  const fs = require('node:fs');
  const seen = {
    counter: (globalThis.counter ?? 0) + 1,
    polluted: ({}).polluted ?? null,
    sum: [1, 2].reduce((sum, number) => sum + number, 0),
    text: fs.readFileSync(__filename, 'utf8').length,
    variables: Object.keys(process.env).sort().join(),
    listeners: process.listenerCount('exit') + process.listenerCount('SIGTERM'),
    folder: require('node:path').relative(process.env.HOME, process.cwd()),
    files: fs.readdirSync('.').sort().join() + fs.readdirSync(process.env.TMPDIR).sort().join().replace(/-\\d+/, ''),
    request: require('node:http').request.name,
    servers: require('node:dns').getServers().length,
    packages: require('@playwright/test').chromium.name(),
    matchers: typeof expect.anything,
    library: require('./lib/count').next(),
    marks: performance.getEntriesByName('left').length + (performance.left ?? ''),
    frozen: Object.isFrozen(Array.prototype),
    argv: process.argv.length,
    exitCode: process.exitCode ?? null,
    loaded: Object.keys(require.cache).filter((file) => !file.includes('node_modules')).length,
  };
  console.log('seen ' + JSON.stringify(seen));
  console.log('process ' + performance.timeOrigin);`;

/** What a script leaves that must not reach the next run. */
const leave = `
  globalThis.counter = 1;
  Object.prototype.polluted = 'yes';
  Array.prototype.reduce = () => 'broken';
  fs.readFileSync = () => 'broken';
  process.env.LEFT = 'yes';
  delete process.env.LANG;
  process.on('exit', () => undefined);
  process.on('SIGTERM', () => undefined);
  require('node:http').request = function patched() {};
  require('@playwright/test').chromium.name = () => 'patched';
  expect.extend({ anything: () => ({ pass: true, message: () => '' }) });
  setInterval(() => { globalThis.counter = 9; }, 1).unref();
  process.argv.push('left');
  console.group();
  console.count('left');
  console.log = () => undefined;
  process.stdout.write = () => true;
  performance.mark('left');
  performance.left = 'yes';
  process.umask(0);
  fs.writeFileSync('left.txt', 'left');
  fs.writeFileSync(process.env.TMPDIR + '/left.txt', 'left');
  process.chdir('/');`;

const count = { path: 'lib/count.js', content: 'let number = 0; exports.next = () => ++number;' };

const script = (ofTest: string, ofFile = ''): string => `
  const { test, expect } = require('@playwright/test');
  ${ofFile}
  test('x', async ({ request }) => {
    ${ofTest}
  });`;

interface Seen {
  failure: string | null;
  /** What the script saw, as text. */
  state: string | undefined;
  /** When its process was started. */
  process: string | undefined;
  /** Its process waits for the next run. */
  isKept: boolean;
}

describe('a run after a run that passed', () => {
  let world: ScriptWorld;
  before(async () => {
    world = await openScriptWorld({ spare: 1 });
  });
  after(() => world[Symbol.asyncDispose]());

  async function run(text: string, given: Partial<RunnerContext> = {}): Promise<Seen> {
    const context = world.context(given);
    const isAfter = world.afterRun();
    const { failure, details } = await runMultiStep(
      definitionOfScript(text, { dependencies: [count] }),
      context,
    );
    const isKept = await isAfter;
    const { jobLog } = details?.multiStepCheckResult as MultiStepCheckResult;
    const lineOf = (name: string): string | undefined =>
      jobLog.map(({ msg }) => msg.trim()).find((msg) => msg.startsWith(`${name} `));
    return {
      ...{ failure: failure?.message ?? null, isKept },
      ...{ state: lineOf('seen'), process: lineOf('process') },
    };
  }

  test('has the same process, in which nothing of the run before is left, not even a connection', async () => {
    let connections = 0;
    const web = createServer((_request, response) => response.end('ok'));
    web.on('connection', () => (connections += 1));
    await using server = await listening(web);
    const text = script(
      `await request.get('${server.url}/');\n${look}\n${leave}`,
      `globalThis.counter = globalThis.counter ?? 0;`,
    );
    const cold = await run(text);
    assert.equal(cold.failure, null);
    assert.ok(cold.state?.includes('"polluted":null'), cold.state);
    for (const round of ['second', 'third']) {
      const warm = await run(text);
      assert.equal(warm.failure, null);
      assert.equal(warm.process, cold.process, `the ${round} run had the process of the first`);
      assert.equal(warm.state?.replaceAll('  ', ''), cold.state);
    }
    assert.equal(connections, 3);
  });

  test('loads the files of the check anew, also where the tests are listed', async () => {
    const text = script(
      look,
      `const { next } = require('./lib/count');
       const listed = next() + (globalThis.listings ?? 0);
       globalThis.listings = (globalThis.listings ?? 0) + 1;
       test('number ' + listed, () => { expect(listed).toBe(1); });`,
    );
    const first = await run(text);
    const second = await run(text);
    assert.deepEqual([first.failure, second.failure], [null, null]);
    assert.equal(second.process, first.process);
    assert.equal(second.state, first.state);
  });

  test('has a process of its own when the check, its values or its account are others', async () => {
    const keys: unknown[] = [];
    const take = ({ key }: { key: string | null }) => {
      keys.push(key);
      return Promise.reject(new Error('it is the key that counts'));
    };
    const { run: facts } = world.context();
    const keyed = (text: string, given: Partial<RunnerContext> = {}) => {
      const scripting = () => ({
        ...world.scripting,
        sessions: { take, [Symbol.asyncDispose]: () => Promise.resolve() },
      });
      const context = world.context({ ...given, scripting });
      return assert.rejects(runMultiStep(definitionOfScript(text), context), /the key that/);
    };
    const text = script(look);
    await keyed(text);
    await keyed(text);
    assert.equal(keys.pop(), keys[0], 'the same has the same process');
    await keyed(`${text}\n// another revision`);
    await keyed(text, { environment: [{ key: 'TOKEN', value: 'one', secret: true }] });
    await keyed(text, { environment: [{ key: 'TOKEN', value: 'two', secret: true }] });
    await keyed(text, { run: { ...facts, accountId: 'another' } });
    await keyed(text, { run: { ...facts, checkId: 'another' } });
    await keyed(text, { snippets: [{ name: 'one', source: '' }] });
    assert.equal(new Set(keys).size, 7, keys.join());
  });

  for (const [what, code] of Object.entries({
    'has failed': `expect(1).toBe(2);`,
    'has left a process': `require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();`,
    'has left a server': `require('node:net').createServer().listen(0).unref();`,
    'has set what Node does not show': `require('node:dns').setServers(['127.0.0.1']);`,
    'has used the inside of Node': `require('node:v8').setFlagsFromString('--no-opt');`,
    'has imported a module of the newer system': `await import('data:text/javascript,globalThis.x = 1');`,
    'has frozen something global': `Object.freeze(Array.prototype);`,
  })) {
    test(`ends its process when it ${what}`, async () => {
      const text = script(`${look}\n${code}`);
      const { failure, isKept } = await run(text);
      assert.deepEqual([failure === null, isKept], [what !== 'has failed', false]);
    });
  }
});

test('as many processes are kept as may be, for as many runs, and none when the agent has stopped', async () => {
  const world = await openScriptWorld({ maxKept: 1, maxRunsKept: 2 });
  const run = async (name: string): Promise<string | undefined> => {
    const isAfter = world.afterRun();
    const { details } = await runMultiStep(
      definitionOfScript(script(`// ${name}\n${look}`), { dependencies: [count] }),
      world.context(),
    );
    await isAfter;
    const { jobLog } = details?.multiStepCheckResult as MultiStepCheckResult;
    return jobLog.find(({ msg }) => msg.startsWith('process '))?.msg;
  };
  const [one, again] = [await run('one'), await run('one')];
  assert.equal(again, one);
  const third = await run('one');
  assert.notEqual(third, one, 'it has served as many runs as it may');
  await run('two');
  assert.notEqual(await run('one'), third, 'another was kept in its place');
  const folder = await realpath(world.folder);
  await world[Symbol.asyncDispose]();
  assert.deepEqual(processesIn(folder), []);
});
