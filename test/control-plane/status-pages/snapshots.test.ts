import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import type { PageAddress, ReadPage } from '../../../control-plane/status-pages/read-page.ts';
import { Snapshots } from '../../../control-plane/status-pages/snapshots.ts';
import { TestClock } from '../../support/test-clock.ts';

const shop: PageAddress = { kind: 'slug', slug: 'shop' };

function pageOf(accountId: string, name: string): ReadPage {
  return {
    accountId,
    access: { isPrivate: false, passwordHash: null, passwordVersion: 0 },
    facts: {
      page: {
        id: name,
        name,
        url: 'shop',
        customDomain: null,
        description: null,
        ...{ logo: null, logoDark: null },
        favicon: null,
        redirectTo: null,
        theme: 'AUTO',
        themeColors: null,
        isPrivate: false,
        language: 'en',
        languages: [],
        timezone: 'UTC',
        createdAt: 0,
        updatedAt: null,
      },
      cards: [],
      incidents: [],
      windows: [],
    },
  };
}

/** Reads that the test answers one by one. */
function setUp() {
  const clock = new TestClock(0);
  const reads: PromiseWithResolvers<ReadPage | undefined>[] = [];
  const snapshots = new Snapshots({
    clock,
    logger: pino({ level: 'silent' }),
    read: () => {
      const read = Promise.withResolvers<ReadPage | undefined>();
      reads.push(read);
      return read.promise;
    },
  });
  const name = async (asked: ReturnType<Snapshots['get']>) => (await asked)?.view.page.name;
  return { clock, reads, snapshots, name };
}

test('however many visitors come, a page is read once a second', async () => {
  const { clock, reads, snapshots, name } = setUp();
  const asked = [snapshots.get(shop), snapshots.get(shop), snapshots.get(shop)];
  reads[0]?.resolve(pageOf('a', 'first'));
  assert.deepEqual(await Promise.all(asked.map(name)), ['first', 'first', 'first']);
  clock.advance(999);
  assert.equal(await name(snapshots.get(shop)), 'first');
  assert.equal(snapshots.peek(shop)?.view.page.name, 'first');
  assert.equal(reads.length, 1);
  clock.advance(1);
  assert.equal(snapshots.peek(shop), undefined);
  const next = snapshots.get(shop);
  reads[1]?.resolve(pageOf('a', 'second'));
  assert.equal(await name(next), 'second');
});

test('what was read before a change is not shown after it', async () => {
  const { reads, snapshots, name } = setUp();
  const before = snapshots.get(shop);
  snapshots.expire('a');
  const afterwards = snapshots.get(shop);
  assert.equal(reads.length, 2);
  reads[1]?.resolve(pageOf('a', 'new'));
  assert.equal(await name(afterwards), 'new');
  reads[0]?.resolve(pageOf('a', 'old'));
  assert.equal(await name(before), 'old');
  assert.equal(await name(snapshots.get(shop)), 'new');
  snapshots.expire('b');
  assert.equal(snapshots.peek(shop)?.view.page.name, 'new');
  snapshots.expire('a');
  assert.equal(snapshots.peek(shop), undefined);
});

test('that there is no page is known for a second, and forgotten when any account makes one', async () => {
  const { reads, snapshots } = setUp();
  const asked = snapshots.get(shop);
  reads[0]?.resolve(undefined);
  assert.equal(await asked, null);
  assert.equal(snapshots.peek(shop), null);
  snapshots.expire('whoever');
  assert.equal(snapshots.peek(shop), undefined);
});

test('visitors do not wait for a busy database longer than a moment', async () => {
  const { clock, reads, snapshots, name } = setUp();
  const first = snapshots.get(shop);
  reads[0]?.resolve(pageOf('a', 'known'));
  await first;
  clock.advance(1_000);
  const waiting = snapshots.get(shop);
  clock.advance(250);
  assert.equal(await name(waiting), 'known');
  reads[1]?.resolve(pageOf('a', 'late'));
  await reads[1]?.promise;
  assert.equal(await name(snapshots.get(shop)), 'late');
});

test('a database that fails is asked again a second later; without anything known, visitors hear of it', async () => {
  const { clock, reads, snapshots, name } = setUp();
  const nothing = snapshots.get(shop);
  reads[0]?.reject(new Error('broken'));
  await assert.rejects(nothing, /broken/);
  const first = snapshots.get(shop);
  reads[1]?.resolve(pageOf('a', 'known'));
  await first;
  clock.advance(1_000);
  const failing = snapshots.get(shop);
  reads[2]?.reject(new Error('broken'));
  assert.equal(await name(failing), 'known');
  assert.equal(await name(snapshots.get(shop)), 'known');
  assert.equal(reads.length, 3);
  clock.advance(1_000);
  const again = snapshots.get(shop);
  reads[3]?.resolve(pageOf('a', 'back'));
  assert.equal(await name(again), 'back');
});

test('what is made of a snapshot is made once, and tried again when that failed', async () => {
  const { reads, snapshots } = setUp();
  const asked = snapshots.get(shop);
  reads[0]?.resolve(pageOf('a', 'x'));
  const snapshot = await asked;
  assert.ok(snapshot);
  let made = 0;
  const make = () => {
    made += 1;
    if (made === 1) throw new Error('not yet');
    return { status: 200, headers: {}, body: Buffer.from(''), etag: '', packed: () => null };
  };
  await assert.rejects(snapshot.represent('/', make), /not yet/);
  await Promise.all([snapshot.represent('/', make), snapshot.represent('/', make)]);
  assert.equal(made, 2);
});
