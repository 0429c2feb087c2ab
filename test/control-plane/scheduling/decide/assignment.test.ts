import assert from 'node:assert/strict';
import test from 'node:test';
import {
  gapOf,
  lacksOnlyRuntime,
  whyNobodyCan,
  type Candidate,
  type Needs,
} from '../../../../control-plane/scheduling/decide/assignment.ts';
import { needsOf } from '../../../../control-plane/scheduling/decide/runtime-needs.ts';
import { agentOfCheck } from '../../../support/agent-of-check.ts';

function agent(
  id: string,
  runtimes: string[],
  checkTypes = ['URL', 'BROWSER'],
  weight = 1,
  hasBrowser = false,
): Candidate {
  const [types, installed] = [new Set(checkTypes), new Set(runtimes)];
  return { id, weight, checkTypes: types, runtimes: installed, hasBrowser, encryptsResults: true };
}

const check = (needs: Partial<Needs>) => ({
  id: 'c',
  type: 'BROWSER',
  needsRuntime: true,
  runtimeId: null,
  needsBrowser: false,
  ...needs,
});

test('a check that names a runtime goes to an agent that has it, however heavy the others are', () => {
  const agents = [agent('a', ['2026.04'], undefined, 1_000), agent('b', ['2025.04'])];
  assert.equal(agentOfCheck(check({ runtimeId: '2025.04' }), agents), 'b');
  assert.equal(agentOfCheck(check({ runtimeId: '2024.09' }), agents), undefined);
});

test('where nobody has the runtime, an agent that substitutes it is given the check, and no other', () => {
  const substitutes = { ...agent('a', ['builtin'], undefined, 1_000), substitutesRuntimes: true };
  const named = check({ runtimeId: '2025.04' });
  assert.equal(agentOfCheck(named, [substitutes]), 'a');
  assert.equal(agentOfCheck(named, [substitutes, agent('b', ['2025.04'])]), 'b');
  assert.equal(agentOfCheck(named, [{ ...substitutes, runtimes: new Set() }]), undefined);
  assert.equal(agentOfCheck(named, [{ ...substitutes, substitutesRuntimes: false }]), undefined);
  assert.deepEqual([gapOf(named, [substitutes]), whyNobodyCan(named, [substitutes])], [null, null]);
});

test('a check that names none goes to any agent with a runtime, and without code to any agent at all', () => {
  const agents = [agent('a', []), agent('b', ['builtin'])];
  assert.equal(agentOfCheck(check({}), agents), 'b');
  assert.equal(agentOfCheck(check({}), [agent('a', [])]), undefined);
  const withoutCode = check({ type: 'URL', needsRuntime: false, runtimeId: '2025.04' });
  assert.equal(agentOfCheck(withoutCode, [agent('a', [])]), 'a');
});

test('when an agent leaves, only its own checks move', () => {
  const agents = ['a', 'b', 'c'].map((id) => agent(id, ['2026.04']));
  const winners = (present: Candidate[]) =>
    Array.from({ length: 300 }, (_, index) =>
      agentOfCheck({ ...check({ runtimeId: '2026.04' }), id: `check-${index}` }, present),
    );
  const [before, after] = [winners(agents), winners(agents.slice(0, 2))];
  before.forEach((winner, index) => {
    if (winner !== 'c') assert.equal(after[index], winner);
  });
  assert.ok(before.filter((winner) => winner === 'c').length > 50);
});

test('a location lacks the type or the runtime, and nothing while no agent serves', () => {
  const needs = check({ runtimeId: '2025.04' });
  const [light, older] = [agent('a', [], ['URL']), agent('b', ['2025.04'])];
  assert.equal(gapOf(needs, [light]), 'type-not-served');
  assert.equal(gapOf(needs, [light, agent('c', ['2026.04'])]), 'no-runtime');
  assert.equal(gapOf(needs, [light, older]), null);
  for (const nobody of [[], [agent('stopping', [], [])]]) assert.equal(gapOf(needs, nobody), null);
});

test('the runtime is to blame only where agents know the type', () => {
  const needs = check({ runtimeId: '2025.04' });
  assert.equal(lacksOnlyRuntime(needs, [agent('a', ['2026.04'])]), true);
  assert.equal(lacksOnlyRuntime(needs, [agent('a', ['2026.04']), agent('b', ['2025.04'])]), false);
  assert.equal(lacksOnlyRuntime(needs, [agent('a', [], ['URL'])]), false);
  assert.equal(lacksOnlyRuntime(needs, []), false);
});

test('a check that needs a browser goes to the agents that have one, or to all when none has', () => {
  const needs = check({ needsBrowser: true, runtimeId: '2026.04' });
  const without = agent('a', ['2026.04'], undefined, 1_000);
  const withBrowser = agent('b', ['2026.04'], undefined, 1, true);
  const otherRuntime = agent('c', ['2025.04'], undefined, 1_000, true);
  assert.equal(agentOfCheck(needs, [without, withBrowser, otherRuntime]), 'b');
  assert.equal(agentOfCheck(needs, [without, otherRuntime]), 'a');
  assert.equal(agentOfCheck(check({ runtimeId: '2026.04' }), [without, withBrowser]), 'a');
});

test('which checks need a browser', () => {
  const of = (type: string, fields: Record<string, unknown> = {}) =>
    needsOf({ type, fields, group: null, accountRuntimeId: null }).needsBrowser;
  assert.deepEqual(
    ['BROWSER', 'AGENTIC', 'MULTI_STEP', 'API', 'URL', 'NEW'].map((type) => of(type)),
    [...[true, true, false], ...[false, false, false]],
  );
  assert.equal(of('PLAYWRIGHT', { browsers: ['firefox', 'chromium'] }), true);
  assert.equal(of('PLAYWRIGHT', { browsers: ['firefox'] }), false);
});

test('the reason why no agent can run a check is given, unless one can or may still come', () => {
  const needs = check({ runtimeId: '2025.04' });
  assert.equal(whyNobodyCan(needs, []), null);
  assert.equal(whyNobodyCan(needs, [agent('a', ['2025.04'])]), null);
  assert.match(whyNobodyCan(needs, [agent('a', ['2026.04'])]) ?? '', /^has the runtime 2025\.04; /);
  assert.match(whyNobodyCan(check({}), [agent('a', [])]) ?? '', /^has a runtime; /);
  const light = [agent('a', [], ['URL'])];
  assert.equal(whyNobodyCan(needs, light), 'can run checks of type BROWSER');
});

test('which checks need a runtime, and whose: the check, else its group, else the account', () => {
  const of = (
    type: string,
    fields: Record<string, unknown>,
    group: Record<string, unknown> | null = null,
    accountRuntimeId: string | null = null,
  ) => {
    const { needsRuntime, runtimeId } = needsOf({ type, fields, group, accountRuntimeId });
    return [needsRuntime, runtimeId];
  };
  assert.deepEqual(of('BROWSER', { runtimeId: '2025.04' }, null, '2026.04'), [true, '2025.04']);
  assert.deepEqual(of('MULTI_STEP', { runtimeId: null }, null, '2026.04'), [true, '2026.04']);
  assert.deepEqual(of('BROWSER', {}), [true, null]);
  assert.deepEqual(of('URL', { runtimeId: '2025.04' }), [false, null]);
  assert.deepEqual(of('PLAYWRIGHT', { runtimeId: '2025.04' }), [false, null]);
  assert.deepEqual(of('API', { runtimeId: '2025.04', localSetupScript: ' ' }), [false, null]);
  const withScript = { runtimeId: '2025.04', localSetupScript: 'request.url' };
  assert.deepEqual(of('API', withScript), [true, '2025.04']);
  assert.deepEqual(of('API', { tearDownSnippetId: 7 }), [true, null]);
  assert.deepEqual(of('API', {}, { localTearDownScript: 'done()' }), [true, null]);
  assert.deepEqual(of('UNHEARD_OF', {}), [false, null]);
});
