import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { Bus, type Listener } from '../../../control-plane/core/bus.ts';
import {
  decodePayload,
  encodePayload,
  maxPayloadBytes,
} from '../../../control-plane/core/decide/bus-payload.ts';
import { TestClock } from '../../support/test-clock.ts';

/** Carries messages between the buses of a test. */
class Wire {
  readonly payloads: string[] = [];
  readonly #hearers: ((payload: string) => void)[] = [];

  readonly listener: Listener = {
    listen: (onMessage) => {
      this.#hearers.push(onMessage);
    },
    notify: (payload) => {
      this.payloads.push(payload);
      for (const hear of this.#hearers) hear(payload);
      return Promise.resolve();
    },
  };
}

test('a topic reaches this process at once, and others with all topics of the moment', () => {
  const clock = new TestClock(0);
  const wire = new Wire();
  const open = (replicaId: string) =>
    new Bus({ clock, logger: pino({ level: 'silent' }), replicaId, listener: wire.listener });
  using one = open('one');
  using other = open('other');
  const heard: string[] = [];
  for (const [name, bus] of Object.entries({ one, other })) {
    bus.on('l', (about) => heard.push(`${name} ${about}`));
    bus.on('k', () => heard.push(`${name} keys`));
  }
  one.send('l', 'account/eu');
  one.send('l', 'account/eu');
  one.send('k');
  assert.deepEqual(heard, ['one account/eu', 'one account/eu', 'one keys']);
  clock.advance(20);
  assert.deepEqual(heard.slice(3), ['other account/eu', 'other keys']);
  assert.equal(wire.payloads.length, 1);
});

test('a payload that would be too long names broader topics, and no topic is lost', () => {
  const runs = Array.from({ length: 400 }, (_, index) => `r ${index} ${'x'.repeat(30)}`);
  const places = Array.from({ length: 300 }, (_, index) => `l ${index % 2}-account/${index}-place`);
  const ofRuns = encodePayload('me', new Set([...runs, 'l a/b', 'k']));
  assert.deepEqual(decodePayload(ofRuns), {
    sender: 'me',
    topics: [
      { kind: 'r', about: '*' },
      { kind: 'l', about: 'a/b' },
      { kind: 'k', about: '' },
    ],
  });
  const ofChecks = Array.from({ length: 90 }, (_, index) => `l a/b ${index} ${'x'.repeat(36)}`);
  assert.deepEqual(
    decodePayload(encodePayload('me', new Set([...ofChecks, 'r 1', 'e a/checks']), 1_000)).topics,
    [
      { kind: 'l', about: 'a/b' },
      { kind: 'r', about: '1' },
      { kind: 'e', about: 'a/checks' },
    ],
    'what else is said stays as narrow as it is',
  );
  const ofPlaces = encodePayload('me', new Set([...runs, ...places]), 1_000);
  assert.deepEqual(
    decodePayload(ofPlaces).topics.map(({ kind, about }) => `${kind} ${about}`),
    ['r *', 'a 0-account', 'a 1-account'],
  );
  const accounts = new Set(Array.from({ length: 900 }, (_, index) => `a account-${index}`));
  assert.deepEqual(decodePayload(encodePayload('me', accounts)).topics, [
    { kind: 'a', about: '*' },
  ]);
  const pages = new Set(Array.from({ length: 900 }, (_, index) => `p account-${index}`));
  assert.deepEqual(decodePayload(encodePayload('me', pages)).topics, [{ kind: 'p', about: '*' }]);
  for (const payload of [ofRuns, ofPlaces]) {
    assert.ok(Buffer.byteLength(payload) <= maxPayloadBytes);
  }
});

test('topics of a newer build are left out', () => {
  assert.deepEqual(decodePayload('me\nz what\nk').topics, [{ kind: 'k', about: '' }]);
});
