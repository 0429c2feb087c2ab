/** Several agents on one clock, whose links to the control plane and to each other are cut. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import pino from 'pino';
import type { ControlPlaneWatch } from '@monitor/shared/contract/control-plane-watch.ts';
import { WatchOfControlPlane } from '../../../agent/control-plane-watch/control-plane-watch.ts';
import {
  aloneAfterMs,
  decideSpeaker,
  type Decision,
  type PeerAnswer,
  turnMs,
} from '../../../agent/control-plane-watch/decide-speaker.ts';
import { Secret } from '../../../agent/secret.ts';
import { seededRandom } from '../../../proof/random.ts';
import { temporaryFolder } from '../../../proof/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const logger = pino({ level: 'silent' });
const awayAfterMs = 120_000;
const idOf = (index: number) => `00000000-0000-4000-8000-00000000000${index}`;
const channels = ['WEBHOOK 1', 'SLACK 2'];
const bodyOf = (channel: string, isBack: boolean) => `${channel} ${isBack ? 'back' : 'away'}`;

const says = (index: number, awayMs: number | null, hasSpoken = false): PeerAnswer => ({
  ...{ agentId: idOf(index), awayMs, hasSpoken },
});

const rows: [title: string, awayMs: number, answers: PeerAnswer[], peers: number, Decision][] = [
  ['before its time', awayAfterMs - 1, [says(2, awayAfterMs)], 1, 'too-early'],
  ['the only agent', awayAfterMs, [], 0, 'speak'],
  ['the first of three', awayAfterMs, [says(2, awayAfterMs), says(3, awayAfterMs)], 2, 'speak'],
  ['one does not answer', awayAfterMs, [says(2, awayAfterMs)], 2, 'speak'],
  [
    'another has it',
    10 * awayAfterMs,
    [says(2, null), says(3, awayAfterMs)],
    2,
    'reached-by-others',
  ],
  ['another has just lost it', 10 * awayAfterMs, [says(2, 5_000)], 1, 'too-early'],
  ['another has spoken', awayAfterMs, [says(2, awayAfterMs, true)], 1, 'said-by-others'],
  ['nobody answers', awayAfterMs, [], 2, 'undecided'],
  ['nobody answers for long', aloneAfterMs, [], 2, 'speak'],
  ['the second waits for the first', awayAfterMs, [says(0, awayAfterMs)], 1, 'not-its-turn'],
  ['the first has not managed', awayAfterMs + turnMs, [says(0, awayAfterMs)], 1, 'speak'],
];

for (const [title, awayMs, answers, peers, expected] of rows) {
  test(`who speaks: ${title}`, () => {
    const sight = { agentId: idOf(1), awayMs, awayAfterMs, peers, answers };
    assert.equal(decideSpeaker(sight), expected);
  });
}

/** Agents, and what is cut: their links to the control plane, to each other, and to the receivers. */
class Fleet implements Disposable {
  readonly clock = new TestClock(Date.UTC(2026, 10, 29));
  readonly sent: string[] = [];
  readonly folder = temporaryFolder();
  readonly #size: number;
  #agents: WatchOfControlPlane[] = [];
  isUp = true;
  readonly cut = new Set<number>();
  readonly mute = new Set<number>();
  /** Channels whose receiver refuses. */
  readonly refusing = new Set<string>();
  /** Only the way to the control plane. */
  readonly lost = new Set<number>();

  constructor(size: number) {
    this.#size = size;
    this.#agents = Array.from({ length: size }, (_, index) => this.#start(index));
    for (const [index, agent] of this.#agents.entries()) agent.take(this.#watchFor(index));
  }

  #watchFor(index: number): ControlPlaneWatch {
    const peers = Array.from({ length: this.#size }, (_, of) => of).filter((of) => of !== index);
    const message = (channel: string, isBack: boolean) => ({
      ...{ kind: 'http' as const, method: 'POST', url: 'https://chat.example/', headers: [] },
      body: Buffer.from(bodyOf(channel, isBack)).toString('base64'),
    });
    return {
      ...{ digest: 'x', awayAfterMs, key: Buffer.alloc(32, 1).toString('base64') },
      peers: peers.map((of) => ({ agentId: idOf(of), port: 1, addresses: ['192.0.2.1'] })),
      messages: channels.map((channel) => ({
        ...{ channel, away: message(channel, false), back: message(channel, true) },
      })),
    };
  }

  #start(index: number): WatchOfControlPlane {
    const reaches = (): boolean => this.isUp && !this.cut.has(index) && !this.lost.has(index);
    const folder = join(this.folder.path, String(index));
    mkdirSync(folder, { recursive: true });
    return new WatchOfControlPlane({
      ...{ clock: this.clock, logger, agentId: idOf(index) },
      apiKey: new Secret(`key of ${index}`),
      directory: folder,
      link: () => (reaches() ? 'up' : 'down'),
      reaches: () => Promise.resolve(reaches()),
      ask: ({ peers }) =>
        Promise.resolve(
          peers.flatMap(({ agentId }) => {
            const of = this.#agents.findIndex((_, place) => idOf(place) === agentId);
            if (of < 0 || this.cut.has(of) || this.cut.has(index)) return [];
            const signed = this.#agents[of]?.answer('0'.repeat(32));
            return signed == null ? [] : [JSON.parse(signed.body) as PeerAnswer];
          }),
        ),
      send: (message) => {
        if (this.mute.has(index) || this.cut.has(index)) throw new Error('no way there');
        assert.equal(message.kind, 'http');
        const text = Buffer.from((message as { body: string }).body, 'base64').toString();
        if ([...this.refusing].some((channel) => text.startsWith(channel))) throw new Error('503');
        this.sent.push(text);
        return Promise.resolve();
      },
    });
  }

  forget(index: number): void {
    this.#agents[index]?.take(null);
  }

  /** Ends a process and starts it anew on the same folder. */
  restart(index: number): void {
    this.#agents[index]?.[Symbol.dispose]();
    this.#agents[index] = this.#start(index);
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5_000) {
      this.clock.advance(5_000);
      await Promise.all(this.#agents.map((agent) => agent.idle()));
    }
  }

  [Symbol.dispose](): void {
    for (const agent of this.#agents) agent[Symbol.dispose]();
    this.folder[Symbol.dispose]();
  }
}

const all = (isBack: boolean): string[] => channels.map((channel) => bodyOf(channel, isBack));

test('when the control plane is gone, people know within three minutes, once a channel', async () => {
  using fleet = new Fleet(3);
  await fleet.pass(60_000);
  fleet.isUp = false;
  await fleet.pass(115_000);
  assert.deepEqual(fleet.sent, []);
  await fleet.pass(20_000);
  assert.deepEqual(fleet.sent, all(false));
  // An agent that restarts sends nothing again.
  for (const index of [0, 1, 2]) fleet.restart(index);
  await fleet.pass(3_600_000);
  assert.deepEqual(fleet.sent, all(false));
  fleet.isUp = true;
  await fleet.pass(120_000);
  assert.deepEqual(fleet.sent, [...all(false), ...all(true)]);
  fleet.isUp = false;
  await fleet.pass(180_000);
  assert.deepEqual(fleet.sent.slice(4), all(false), 'the next time is said as the first one');
});

test('cuts of the link of one agent are silent', async () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    using fleet = new Fleet(3);
    const random = seededRandom(seed);
    const index = Math.floor(random() * 3);
    for (let cuts = 0; cuts < 3; cuts += 1) {
      await fleet.pass(5_000 * Math.ceil(random() * 12));
      const kind = random() < 0.5 ? fleet.cut : fleet.lost;
      kind.add(index);
      await fleet.pass(5_000 * Math.ceil(random() * 170));
      kind.delete(index);
    }
    await fleet.pass(60_000);
    assert.deepEqual(fleet.sent, [], `seed ${seed}`);
  }
});

test('where the first cannot send, the next one does, and each channel hears once', async () => {
  using fleet = new Fleet(3);
  fleet.isUp = false;
  fleet.mute.add(0);
  await fleet.pass(awayAfterMs + 2 * turnMs);
  assert.deepEqual(fleet.sent, all(false));
  fleet.mute.delete(0);
  await fleet.pass(600_000);
  assert.deepEqual(fleet.sent, all(false));
});

test('a channel that did not hear of the outage does not hear of its end', async () => {
  using fleet = new Fleet(2);
  fleet.refusing.add('SLACK 2');
  fleet.isUp = false;
  await fleet.pass(300_000);
  fleet.refusing.clear();
  fleet.isUp = true;
  await fleet.pass(600_000);
  assert.deepEqual(fleet.sent, [bodyOf('WEBHOOK 1', false), bodyOf('WEBHOOK 1', true)]);
});

test('one that is cut off while the control plane is gone leaves it to the others', async () => {
  using fleet = new Fleet(3);
  fleet.cut.add(0);
  fleet.isUp = false;
  await fleet.pass(180_000);
  assert.deepEqual(fleet.sent, all(false));
  fleet.cut.delete(0);
  await fleet.pass(600_000);
  assert.deepEqual(fleet.sent, all(false));
});

test('what lies on disk shows no address, and goes with the last channel', () => {
  using fleet = new Fleet(1);
  const file = join(fleet.folder.path, '0', 'control-plane-watch.bin');
  assert.ok(!readFileSync(file).includes('chat.example'));
  fleet.forget(0);
  assert.throws(() => readFileSync(file), /ENOENT/);
});
