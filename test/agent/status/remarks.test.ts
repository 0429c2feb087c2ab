import assert from 'node:assert/strict';
import test from 'node:test';
import { describeSetAside, healthRemarks } from '../../../agent/status/remarks.ts';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import type { LinkHistory } from '../../../agent/worker/check-in-loop.ts';

const key = 'pl_0123456789abcdef0123456789abcdef';
const scrubber = createScrubber({ secrets: [key], detect: true });

function remarksOn(
  message: string,
  code = 'PROTOCOL_REFUSED',
  state: LinkHistory['state'] = 'refused',
) {
  const history = {
    ...{ state, since: 0, lastAnswerAt: null, lastFailure: { at: 0, code, message } },
    cutPolls: { count: 0, afterMs: 0 },
  };
  const load = { overloadedSince: null, reason: null, cpuWaitRatio: null, lastSuspension: null };
  return healthRemarks(history, load, [], [], (text) => scrubber.text(text));
}

test('why versions do not go together is said in the words of the control plane', () => {
  const message = 'this control plane speaks protocol 2 of agents';
  const said = { controlPlane: 'refused', code: 'PROTOCOL_REFUSED', reason: message };
  assert.deepEqual(remarksOn(message), said);
});

test('words of others come on one line, without secrets, and not too many of them', () => {
  const { reason = '' } = remarksOn(`upgrade\n\u001b[2J\u202e for ${key}, ${'x'.repeat(5_000)}`);
  assert.match(reason, /^upgrade\\u000a\\u001b\[2J\\u202e for \*+, x+…$/);
  assert.equal(reason.length, 300);
});

test('a secret at the place where words are cut does not stay in part', () => {
  const { reason = '' } = remarksOn(`${'x'.repeat(280)} ${key} ${'x'.repeat(280)}`);
  assert.doesNotMatch(reason, /pl_/);
});

test('other refusals have addresses in them: they are named by their code', () => {
  const said = { controlPlane: 'down', code: 'CONTROL_PLANE_UNREACHABLE' };
  assert.deepEqual(remarksOn('https://10.0.0.1', 'CONTROL_PLANE_UNREACHABLE', 'down'), said);
  assert.deepEqual(remarksOn('gone', 'PROTOCOL_REFUSED', 'up'), { controlPlane: 'up' });
});

test('results that were refused are said for a week, and not for ever', () => {
  const setAside = '3 results were refused, the last at 1970-01-01T00:00:00.000Z';
  const day = 86_400_000;
  for (const [setAsideAt, now, expected] of [
    [null, 0, {}],
    [0, 0, { setAside }],
    [0, 7 * day, { setAside }],
    [0, 7 * day + 1, {}],
  ] as const) {
    const outbox = { depth: 0, bytes: 0, oldestAt: null, droppedTotal: 0 };
    const state = { ...outbox, setAsideTotal: setAsideAt === null ? 0 : 3, setAsideAt };
    assert.deepEqual(describeSetAside(state, now), expected);
  }
});
