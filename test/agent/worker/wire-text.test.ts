import assert from 'node:assert/strict';
import test from 'node:test';
import { resultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { wireTextOf } from '../../../agent/worker/wire-text.ts';
import { resultOf } from '../../support/fake-agent.ts';

const checkId = '7c8a0f3e-58c9-4b44-9a2c-2d0e1f3a4b5c';

test('what is omitted is what the protocol adds by itself', () => {
  for (const result of [
    resultOf(checkId),
    resultOf(checkId, { apiCheckResult: null }),
    resultOf(checkId, { hasFailures: true, errorMessages: ['refused'] }),
  ]) {
    const whole = resultSubmission.parse(result);
    const text = wireTextOf(whole);
    assert.deepEqual(resultSubmission.parse(JSON.parse(text)), whole);
    assert.ok(text.length < JSON.stringify(whole).length);
    assert.ok(text.includes('"apiCheckResult":'), 'which older control planes require');
  }
});
