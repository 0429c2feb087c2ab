/**
 * Loads the test files named as arguments into this process, where node:test runs them one after another.
 *
 * To know which test or suite a line of code belongs to, node:test follows every promise and every resource
 * from its making to its end, which is a quarter of the time of tests that ask a database, and half of it where
 * clocks are moved by weeks. It needs that while suites are made, for the tests and hooks inside them; later an
 * error that nobody catches is reported for the file rather than for the test. So it ends with the loading.
 */
import asyncHooks, { type AsyncHook } from 'node:async_hooks';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { testSeed } from '../../test/support/random.ts';

const { createHook } = asyncHooks;
const followers: AsyncHook[] = [];
asyncHooks.createHook = (callbacks) => {
  const hook = createHook(callbacks);
  followers.push(hook);
  return hook;
};
const { before } = await import('node:test');
// The first call of it is what makes node:test set up itself.
before(() => undefined);
asyncHooks.createHook = createHook;

for (const name of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(name, (error: unknown) => process.stderr.write(`${name}: ${inspect(error)}\n`));
}

fc.configureGlobal({ seed: testSeed() | 0 });
for (const file of process.argv.slice(2)) await import(pathToFileURL(file).href);
for (const hook of followers) hook.disable();
