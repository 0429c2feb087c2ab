import assert from 'node:assert/strict';
import test from 'node:test';
import { type Candidate } from '../../../../control-plane/scheduling/decide/assignment.ts';
import {
  Assignments,
  type AssignableCheck,
} from '../../../../control-plane/scheduling/decide/assignments.ts';
import { seededRandom } from '../../../support/random.ts';
import { agentOfCheck } from '../../../support/agent-of-check.ts';

const types = ['URL', 'BROWSER'];

function agent(id: string, weight: number, hasBrowser: boolean, checkTypes = types): Candidate {
  const runtimes = new Set(['2026.04']);
  return {
    id,
    weight,
    checkTypes: new Set(checkTypes),
    runtimes,
    hasBrowser,
    encryptsResults: true,
  };
}

function check(id: string, type: string): AssignableCheck {
  const isBrowser = type === 'BROWSER';
  const needs = { type, needsRuntime: isBrowser, runtimeId: null, needsBrowser: isBrowser };
  return { id, needs };
}

test('following changes one by one gives what computing everything anew gives', () => {
  const random = seededRandom(16);
  const pick = (count: number): number => Math.floor(random() * count);
  const members = new Map<string, Candidate>();
  let checks = new Map<string, AssignableCheck>();
  const assignments = new Assignments();
  let before = new Map<string, string | undefined>();
  for (let step = 0; step < 300; step += 1) {
    const id = `agent-${pick(12)}`;
    if (random() < 0.4) members.delete(id);
    else members.set(id, agent(id, 1 + pick(3), random() < 0.3, random() < 0.1 ? [] : types));
    if (random() < 0.5) {
      checks = new Map(checks);
      const checkId = `check-${pick(60)}`;
      if (random() < 0.3) checks.delete(checkId);
      else checks.set(checkId, check(checkId, types[pick(2)] ?? ''));
    }
    const { changed, relieved } = assignments.update(members, checks);
    const after = new Map(
      [...checks.values()].map(({ id: checkId, needs }) => [
        checkId,
        agentOfCheck({ id: checkId, ...needs }, [...members.values()]),
      ]),
    );
    for (const [checkId, agentId] of after) {
      if (agentId !== undefined) assert.ok(assignments.checksOf(agentId).has(checkId));
      if (before.get(checkId) === agentId) continue;
      if (agentId !== undefined) assert.ok(changed.has(agentId), 'it gained a check');
      const loser = before.get(checkId);
      if (loser === undefined) continue;
      if (agentId === undefined) assert.ok(changed.has(loser), 'it lost a check that nobody has');
      else assert.ok(changed.has(loser) !== relieved.has(loser), 'it lost a check to another one');
    }
    const held = [...members.keys()].reduce(
      (sum, each) => sum + assignments.checksOf(each).size,
      0,
    );
    assert.equal(held, [...after.values()].filter((agentId) => agentId !== undefined).length);
    before = after;
  }
});

test('agents of equal weight share the checks evenly, and a newcomer takes only its share', () => {
  const checks = new Map(
    Array.from({ length: 3_000 }, (_, index) => [`c${index}`, check(`c${index}`, 'URL')] as const),
  );
  const members = new Map<string, Candidate>();
  const assignments = new Assignments();
  for (let index = 0; index < 30; index += 1) {
    members.set(`a${index}`, agent(`a${index}`, 10, false));
  }
  assignments.update(members, checks);
  const sizes = [...members.keys()].map((id) => assignments.checksOf(id).size);
  assert.ok(Math.min(...sizes) > 60 && Math.max(...sizes) < 150, sizes.join(' '));
  const heldBefore = new Map([...members.keys()].map((id) => [id, assignments.checksOf(id).size]));
  members.set('new', agent('new', 10, false));
  assignments.update(members, checks);
  const lost = [...heldBefore].reduce(
    (sum, [id, size]) => sum + size - assignments.checksOf(id).size,
    0,
  );
  assert.equal(lost, assignments.checksOf('new').size);
});
