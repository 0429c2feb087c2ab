import assert from 'node:assert/strict';
import test from 'node:test';
import {
  agentOfCheck,
  lacksOnlyRuntime,
  type Candidate,
  type Needs,
} from '../../../control-plane/domain/assignment.ts';
import { needsOf } from '../../../control-plane/domain/runtime-needs.ts';

function agent(
  id: string,
  runtimes: string[],
  checkTypes = ['URL', 'BROWSER'],
  weight = 1,
): Candidate {
  return { id, weight, checkTypes: new Set(checkTypes), runtimes: new Set(runtimes) };
}

const check = (needs: Partial<Needs>) => ({
  id: 'c',
  type: 'BROWSER',
  needsRuntime: true,
  runtimeId: null,
  ...needs,
});

test('a check that names a runtime goes to an agent that has it, however heavy the others are', () => {
  const agents = [agent('a', ['2026.04'], undefined, 1_000), agent('b', ['2025.04'])];
  assert.equal(agentOfCheck(check({ runtimeId: '2025.04' }), agents), 'b');
  assert.equal(agentOfCheck(check({ runtimeId: '2024.09' }), agents), undefined);
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

test('the runtime is to blame only where agents know the type', () => {
  const needs = check({ runtimeId: '2025.04' });
  assert.equal(lacksOnlyRuntime(needs, [agent('a', ['2026.04'])]), true);
  assert.equal(lacksOnlyRuntime(needs, [agent('a', ['2026.04']), agent('b', ['2025.04'])]), false);
  assert.equal(lacksOnlyRuntime(needs, [agent('a', [], ['URL'])]), false);
  assert.equal(lacksOnlyRuntime(needs, []), false);
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
