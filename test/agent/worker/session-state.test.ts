import assert from 'node:assert/strict';
import test from 'node:test';
import {
  nextState,
  sessionStates,
  type SessionEvent,
  type SessionState,
} from '../../../agent/worker/session-state.ts';

const pass = (...events: SessionEvent[]): SessionState[] => {
  let state: SessionState = 'starting';
  return events.map((event) => (state = nextState(state, event)));
};

test('an agent is ready from its first schedule until it is asked to stop', () => {
  const life = pass('schedule-known', 'schedule-known', 'stop-asked', 'work-finished');
  assert.deepEqual(life, ['ready', 'ready', 'draining', 'stopped']);
  assert.deepEqual(
    life.map((state) => sessionStates[state].notReady),
    [null, null, 'shutting down', 'shutting down'],
  );
});

test('one that is asked to stop never becomes ready, and takes no work', () => {
  const life = pass('stop-asked', 'schedule-known', 'stop-asked', 'work-finished', 'stop-asked');
  assert.deepEqual(life, ['draining', 'draining', 'draining', 'stopped', 'stopped']);
  assert.ok(life.every((state) => !sessionStates[state].takesWork));
});
