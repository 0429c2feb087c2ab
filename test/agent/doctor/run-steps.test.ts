import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import {
  fail,
  follows,
  ok,
  skip,
  type StepFinding,
  type Finding,
} from '../../../agent/doctor/finding.ts';
import { chooseSteps, runSteps } from '../../../agent/doctor/run-steps.ts';
import { wayUntil, type DoctorContext, type Step } from '../../../agent/doctor/step.ts';
import { steps } from '../../../agent/doctor/steps.ts';
import { TestClock } from '../../support/test-clock.ts';

const noContext = {} as DoctorContext;

function step(id: string, needs: string[], check: Step['check'], more: Partial<Step> = {}): Step {
  return { id, name: id, tries: () => `to try ${id}`, needs, check, ...more };
}

const says = (findings: Finding[]) => () => findings;

async function run(list: readonly Step[], choice = {}): Promise<StepFinding[]> {
  return runSteps(chooseSteps(list, choice), noContext, { limitMs: 10_000, clock: systemClock });
}

const brief = (findings: readonly StepFinding[]) =>
  findings.map(({ id, verdict, evidence }) => `${id} ${verdict}: ${evidence}`);

test('what follows from a failure is skipped, and names the first cause', async () => {
  const findings = await run([
    step('a', [], says(fail('broken', 'mend it'))),
    step('b', ['a'], says(ok('never looked at'))),
    step('c', ['b'], says(ok('never looked at'))),
    step('d', [], says(ok('apart'))),
  ]);
  assert.deepEqual(brief(findings), [
    'a fail: broken',
    'b skip: not tested: follows from the failure of a',
    'c skip: not tested: follows from the failure of a',
    'd ok: apart',
  ]);
});

test('a step that sees its own failure coming names the cause, also for those that need it', async () => {
  const findings = await run([
    step('a', [], says(fail('broken', 'mend it'))),
    step('b', [], says(follows('a'))),
    step('c', ['b'], says(ok('never looked at'))),
  ]);
  assert.deepEqual(brief(findings).slice(1), [
    'b skip: not tested: follows from the failure of a',
    'c skip: not tested: follows from the failure of a',
  ]);
  assert.deepEqual(Object.keys(findings[1] ?? {}).toSorted(), [
    ...['durationMs', 'evidence', 'fix', 'id', 'name', 'verdict'],
  ]);
});

test('a step begins when those it would disturb have ended, however they ended', async () => {
  let hasEnded = false;
  const findings = await run([
    step('a', [], async () => {
      await new Promise((resolve) => setImmediate(resolve));
      hasEnded = true;
      return fail('broken', 'mend it');
    }),
    step('b', [], () => ok(hasEnded ? 'looked at afterwards' : 'too early'), { after: ['a'] }),
    step('c', [], says(ok('what is not run is not waited for')), { after: ['z'] }),
  ]);
  assert.deepEqual(brief(findings), [
    'a fail: broken',
    'b ok: looked at afterwards',
    'c ok: what is not run is not waited for',
  ]);
});

test('steps run in parallel and are reported in order', async () => {
  const { promise: slow, resolve } = Promise.withResolvers<Finding[]>();
  const told: string[] = [];
  const list = [
    step('slow', [], () => slow),
    step('quick', [], () => {
      // Only a step that runs beside the first can end it.
      resolve(ok('at last'));
      return ok('at once');
    }),
  ];
  const chosen = chooseSteps(list, {});
  await runSteps(chosen, noContext, {
    limitMs: 10_000,
    clock: systemClock,
    onWaiting: ({ id }) => told.push(`... ${id}`),
    onFinding: ({ id }) => told.push(id),
  });
  assert.deepEqual(told, ['... slow', 'slow', '... quick', 'quick']);
});

test('a step that hangs has failed, says what it tried, and is aborted', async () => {
  const clock = new TestClock(0);
  let isAborted = false;
  const hanging = step('hangs', [], (_context, signal) => {
    signal.addEventListener('abort', () => (isAborted = true));
    return new Promise(() => undefined);
  });
  const running = runSteps(chooseSteps([hanging], {}), noContext, { limitMs: 60_000, clock });
  await new Promise(setImmediate);
  clock.advance(25_000);
  const [found] = await running;
  assert.deepEqual(brief(await running), ['hangs fail: not known after 25 s']);
  assert.equal(found?.tried, 'to try hangs');
  assert.match(found.fix ?? '', /doctor --only hangs/);
  assert.equal(isAborted, true);
});

test('what is not begun when the time of doctor is over has failed', async () => {
  const clock = new TestClock(0);
  const slow = step('slow', [], () => {
    clock.advance(10_000);
    return new Promise(() => undefined);
  });
  const late = step('late', [], says(ok('never looked at')), { after: ['slow'] });
  const findings = await runSteps(chooseSteps([slow, late], {}), noContext, {
    ...{ limitMs: 10_000, clock },
  });
  assert.deepEqual(brief(findings), [
    'slow fail: not known after 10 s',
    'late fail: the time of doctor was used up by what is above',
  ]);
});

test('a limit of time is a failure, and no verdict where this machine had no CPU for what it limits', async () => {
  const list = [
    step('late', [], says(fail('no answer', 'see its log', 'TIMEOUT'))),
    step('refused', [], says(fail('refused', 'start it', 'ECONNREFUSED'))),
    step('after', ['late'], says(ok('never looked at'))),
  ];
  const look = async (why: string | null) =>
    brief(
      await runSteps(chooseSteps(list, {}), noContext, {
        ...{ limitMs: 10_000, clock: systemClock, starvation: () => why },
      }),
    );
  const [, refused, after] = await look(null);
  assert.deepEqual(await look(null), ['late fail: no answer', refused, after]);
  assert.deepEqual(await look('30 tasks want each CPU'), [
    'late unknown: not decided: no answer, but 30 tasks want each CPU',
    'refused fail: refused',
    'after skip: not tested: follows from the failure of late',
  ]);
});

test('what throws is a failure of doctor, never a stack trace', async () => {
  const findings = await run([
    step('a', [], () => {
      throw new Error('bug of ours');
    }),
    step('b', ['a'], says(ok('goes on'))),
  ]);
  assert.deepEqual(brief(findings), [
    'a fail: could not be tested: bug of ours',
    'b skip: not tested: follows from the failure of a',
  ]);
});

test('what others need and could not be found out has failed, and what nobody needs has not', async () => {
  const unknown = says(skip('no answer'));
  const [needed, later, alone] = await run([
    step('needed', [], unknown),
    step('later', ['needed'], says(ok('never said'))),
    step('alone', [], unknown),
  ]);
  assert.deepEqual(
    [needed, later, alone].map((finding) => finding?.verdict),
    ['fail', 'skip', 'skip'],
  );
  const left = await run(
    [step('a', [], unknown, { isOnline: true }), step('b', ['a'], says(ok('b')))],
    { isOffline: true },
  );
  assert.deepEqual(brief(left), ['a skip: not tested: left out by --offline', 'b ok: b']);
});

test('--only brings what is needed, --skip leaves it out, --offline and --quick say so', async () => {
  const list = [
    step('a', [], says(ok('a'))),
    step('b', ['a'], says(ok('b')), { isOnline: true }),
    step('c', ['b'], says(ok('c')), { isSlow: true }),
    step('d', [], says(ok('d'))),
  ];
  const ids = (findings: readonly StepFinding[]) => findings.map(({ id }) => id).join('');
  assert.equal(ids(await run(list, { only: ['c'] })), 'abc');
  assert.equal(ids(await run(list, { skip: ['b'] })), 'acd');
  assert.match(brief(await run(list, { isOffline: true }))[1] ?? '', /left out by --offline/);
  assert.match(brief(await run(list, { isQuick: true }))[2] ?? '', /left out by --quick/);
  assert.throws(() => chooseSteps(list, { only: ['x'] }), /no step "x"; there are a, b, c, d/);
  assert.deepEqual(chooseSteps(list, { skip: ['shared-memory'] }), chooseSteps(list, {}));
});

test('every step needs only earlier ones, and ids are unique', () => {
  const seen = new Set<string>();
  for (const { id, needs = [], after = [] } of steps) {
    assert.equal(seen.has(id), false, id);
    for (const needed of [...needs, ...after])
      assert.equal(seen.has(needed), true, `${id} needs ${needed}`);
    seen.add(id);
  }
  assert.equal(seen.size, 29);
});

test('a step on the way to the control plane needs all of the way before it', () => {
  assert.deepEqual(wayUntil('proxy'), ['dns', 'route', 'proxy']);
});
