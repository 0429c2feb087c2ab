import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import type {
  CertificateQuestion,
  CertificateReading,
} from '../../../agent/net/read-certificate.ts';
import { CertificateWatch } from '../../../agent/worker/certificate-watch.ts';
import { Outbox, type OutboxEntry, type SeenCertificate } from '../../../agent/worker/outbox.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { assignedCheck } from '../../support/plain.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const minute = 60_000;
const hour = 3_600_000;
const logger = pino({ level: 'silent' });

function check(host: string | null, fields: Partial<AssignedCheck> = {}): AssignedCheck {
  const certificateTarget = host === null ? null : { host, port: 443, servername: host };
  return assignedCheck({ certificateTarget, ...fields });
}

const reading: CertificateReading = {
  ...{ validFrom: start, validTo: start + 40 * 24 * hour, issuer: 'CN=a', subject: 'CN=b' },
  ...{ fingerprint256: 'AA', problem: null },
};

interface Look {
  host: string;
  at: number;
}

function setUp(
  answer: (question: CertificateQuestion) => Promise<CertificateReading> = () =>
    Promise.resolve(reading),
  seen: readonly SeenCertificate[] = [],
  mayFollow: (checkId: string) => boolean = () => true,
) {
  const clock = new TestClock(start);
  const looks: Look[] = [];
  const stored: OutboxEntry[] = [];
  const watch = new CertificateWatch({
    ...{ clock, seen, logger },
    mayFollow: (checkId) => Promise.resolve(mayFollow(checkId)),
    read: (question) => {
      looks.push({ host: question.host, at: clock.now() });
      return answer(question);
    },
    store: (entry) => {
      stored.push(entry);
      return Promise.resolve();
    },
  });
  /** Lets time pass, and what falls due on the way be done. */
  const pass = async (ms: number, step = 1_000): Promise<void> => {
    for (let passed = 0; passed < ms; passed += step) {
      clock.advance(step);
      await nextTurn();
    }
  };
  return { clock, looks, stored, watch, pass };
}

const hostsOf = (looks: readonly Look[]) => looks.map(({ host }) => host);

test('a change adds, moves and removes servers without the other checks', async () => {
  const { looks, watch, pass } = setUp();
  const [one, two, three] = [check('a.example'), check('b.example'), check('b.example')];
  watch.watch([one, two, three]);
  watch.change([{ ...one, certificateTarget: null }, check('c.example')], [two.id]);
  await pass(35_000);
  assert.deepEqual(hostsOf(looks).sort(), ['b.example', 'c.example'], 'another check needs b');
  const moved = { host: 'd.example', port: 443, servername: 'd.example' };
  watch.change([{ ...three, certificateTarget: moved }], []);
  looks.length = 0;
  await pass(3 * hour, 10_000);
  assert.deepEqual([...new Set(hostsOf(looks))].sort(), ['c.example', 'd.example']);
  watch.watch([]);
  looks.length = 0;
  await pass(3 * hour, 10_000);
  assert.deepEqual(looks, []);
});

test('the client certificate of a check that is gone is not shown any more', async () => {
  const shown: (string | undefined)[] = [];
  const { watch, pass } = setUp(({ clientCertificate }) => {
    shown.push(clientCertificate?.cert);
    return Promise.resolve(reading);
  });
  const own = { host: 'a.example', cert: 'cert', key: 'key', passphrase: null, ca: null };
  const [plain, other] = [check('a.example'), check('a.example', { clientCertificates: [own] })];
  watch.watch([plain, other]);
  await pass(35_000);
  watch.change([], [other.id]);
  await pass(2 * hour, 10_000);
  assert.deepEqual([shown[0], shown.at(-1), shown.length > 1], ['cert', undefined, true]);
});

test('a check that must not be followed asks nothing, and leaves the certificate to the others of its server', async () => {
  const [own, foreign] = [
    check('a.example'),
    check('a.example', {
      clientCertificates: [
        { host: 'a.example', cert: 'cert', key: 'key', passphrase: null, ca: null },
      ],
    }),
  ];
  for (const [watched, asked] of [
    [[own, foreign], [null]],
    [[foreign], []],
  ] as const) {
    const shown: unknown[] = [];
    const { watch, pass } = setUp(
      ({ clientCertificate }) => {
        shown.push(clientCertificate);
        return Promise.resolve(reading);
      },
      [],
      (id) => id !== foreign.id,
    );
    watch.watch(watched);
    await pass(35_000);
    assert.deepEqual(shown, asked);
  }
});

test('each server is looked at soon and then once an hour, at a moment of its own', async () => {
  const { looks, watch, pass } = setUp();
  const hosts = Array.from({ length: 20 }, (_, index) => `host-${index}.example`);
  watch.watch([...hosts.map((host) => check(host)), check(null)]);
  await pass(35_000);
  assert.deepEqual(hostsOf(looks).sort(), hosts.toSorted());
  await pass(24 * hour, 10_000);
  const moments = new Set<number>();
  for (const host of hosts) {
    const times = looks.filter((look) => look.host === host).map(({ at }) => at);
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    const [first = 0, ...others] = pauses;
    assert.ok(first >= 30 * minute && first <= 91 * minute, `${first / minute} minutes`);
    assert.ok(others.length >= 21, `${others.length} looks`);
    for (const pause of others) assert.ok(Math.abs(pause - hour) <= minute, `${pause / minute}`);
    moments.add(Math.floor(((times.at(-1) ?? 0) % hour) / minute));
  }
  assert.ok(moments.size >= 10, `spread over ${moments.size} minutes`);
});

test('checks of one server share one handshake, and each gets the certificate', async () => {
  const { looks, stored, watch, pass } = setUp();
  const checks = [check('a.example'), check('a.example'), check('a.example')];
  watch.watch(checks.slice(0, 2));
  await pass(minute);
  assert.deepEqual(hostsOf(looks), ['a.example']);
  watch.watch(checks);
  await pass(minute);
  assert.deepEqual(hostsOf(looks), ['a.example', 'a.example']);
  const told = stored.map(({ submission }) => submission.checkId);
  const [one, other, third] = checks.map(({ id }) => id);
  assert.deepEqual(told, [one, other, one, other, third]);
  const [entry] = stored;
  assert.ok(entry !== undefined);
  assert.deepEqual(entry.submission, {
    ...{ kind: 'certificate', id: entry.submission.id, checkId: one, host: 'a.example' },
    ...{ port: 443, measuredAt: entry.seenCertificate?.measuredAt, ...reading },
  });
});

test('what cannot be seen is tried again after longer and longer pauses, and nothing is said', async () => {
  let isReachable = false;
  const { looks, stored, watch, pass } = setUp(() =>
    isReachable ? Promise.resolve(reading) : Promise.reject(new Error('refused')),
  );
  watch.watch([check('a.example')]);
  await pass(4 * hour, 10_000);
  const pauses = looks.slice(1).map(({ at }, index) => at - (looks[index]?.at ?? 0));
  assert.deepEqual(
    pauses.map((pause) => Math.round(pause / minute)),
    [5, 10, 20, 40, 60, 60],
  );
  assert.deepEqual(stored, []);
  isReachable = true;
  await pass(hour, 10_000);
  assert.equal(stored.length, 1);
});

test('at most four are looked at at once, and the others get their turn', async () => {
  let open = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const { looks, watch, pass } = setUp(async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise<void>((resolve) => ends.push(resolve));
    open -= 1;
    return reading;
  });
  watch.watch(Array.from({ length: 30 }, (_, index) => check(`host-${index}.example`)));
  await pass(minute);
  assert.equal(looks.length, 4);
  for (let done = 0; done < 30; done += 1) {
    ends[done]?.();
    await pass(2_000);
  }
  assert.deepEqual([most, new Set(hostsOf(looks)).size, looks.length], [4, 30, 30]);
});

test('a check that was removed before its server answered gets nothing, nor when the agent stops', async () => {
  const ends: (() => void)[] = [];
  const { looks, stored, watch, pass } = setUp(async () => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return reading;
  });
  watch.watch([check('a.example')]);
  await pass(minute);
  watch.watch([]);
  ends[0]?.();
  await pass(2 * hour, 10_000);
  assert.deepEqual([looks.length, stored.length], [1, 0]);
  watch.watch([check('b.example')]);
  watch.stop();
  watch.watch([check('c.example')]);
  await pass(2 * hour, 10_000);
  assert.equal(looks.length, 1);
});

test('a check that names another server is looked at again soon', async () => {
  const { looks, watch, pass } = setUp();
  const known = check('a.example');
  watch.watch([known]);
  await pass(minute);
  const moved = { host: 'b.example', port: 8443, servername: 'b.example' };
  watch.watch([{ ...known, certificateTarget: moved }]);
  await pass(minute);
  assert.deepEqual(hostsOf(looks), ['a.example', 'b.example']);
});

test('after a restart no server is read too early, and unsent certificates are kept', async () => {
  using folder = temporaryFolder();
  const { clock, looks, watch, stored, pass } = setUp();
  const open = () =>
    new Outbox({ directory: folder.path, maxBytes: 1e9, maxAgeMs: 24 * hour, clock, logger });
  const watched = check('a.example');
  watch.watch([watched]);
  await pass(minute);
  const outbox = open();
  const [entry] = stored;
  assert.ok(entry !== undefined);
  const isStored = outbox.put(entry);
  outbox.commit();
  await isStored;
  await outbox[Symbol.asyncDispose]();

  await using again = open();
  const [record] = again.take(0, 10, 10, 1e6);
  assert.deepEqual(JSON.parse(record?.payload ?? ''), entry.submission);
  const restarted = setUp(undefined, again.seenCertificates());
  restarted.watch.watch([watched]);
  await restarted.pass(29 * minute, 10_000);
  assert.deepEqual(restarted.looks, []);
  await restarted.pass(62 * minute, 10_000);
  assert.deepEqual([looks.length, restarted.looks.length], [1, 1]);
});
