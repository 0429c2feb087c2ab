// Own process: it burns every processor, by programs that start as many others as they can.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { processesOfUser } from '../../../agent/script-host/processes.ts';
import { claimUserId } from '../../../agent/script-host/user-ids.ts';
import { needsBubblewrap } from '../../support/bubblewrap.ts';
import type { FinalReport, HostileReport } from '../../support/hostile-agent.ts';
import { isLong } from '../../support/random.ts';
import { hostiles, type Isolation } from './hostile.table.ts';

/** An ordinary user of this test alone: the kernel counts processes by user. */
const ordinaryUser = 10_002;
const isRoot = process.geteuid?.() === 0;
const canary = `canary_${randomBytes(16).toString('hex')}`;
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

interface Outcome {
  readonly reports: readonly HostileReport[];
  readonly final: FinalReport;
  readonly precious: readonly string[];
  readonly workFolder: readonly string[];
}

/** All with `TEST_LONG=1`. */
const ofEveryWay = isLong ? 'all' : 'everyWay';

/** Runs hostile programs in an agent of the given user, started by the given command. */
async function unleash(
  ways: string,
  uid: number | null,
  which: 'all' | 'everyWay',
  starter: readonly string[] = [],
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  folders.push(folder);
  const [data, key, precious, work] = ['data', 'key', 'precious', 'w'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  for (const made of [data, precious, work]) mkdirSync(made, { mode: 0o700 });
  writeFileSync(key, canary, { mode: 0o600 });
  writeFileSync(join(data, 'agent.db'), canary);
  writeFileSync(join(precious, 'kept'), 'precious');
  if (uid !== null) {
    const all = [folder, data, key, precious, work, join(data, 'agent.db'), join(precious, 'kept')];
    for (const path of all) chownSync(path, uid, uid);
  }
  chmodSync(folder, 0o711);
  const asUser =
    uid === null ? [] : ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
  const [command = '', ...args] = [
    ...(starter.length + asUser.length === 0 ? [] : ['setpriv', ...starter, ...asUser, '--']),
    ...[realpathSync(process.execPath), 'test/support/hostile-agent.ts', work, ways, which],
  ];
  const child = spawn(command, args, {
    env: {
      ...{ PATH: process.env['PATH'], API_KEY: canary, DATA_DIR: data, KEY_FILE: key },
      PRECIOUS: precious,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // With a session of its own, as a service.
    detached: true,
  });
  const [out, errors] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray() as Promise<string[]>,
    child.stderr.setEncoding('utf8').toArray() as Promise<string[]>,
  ]);
  const lines = out.join('').trim().split('\n');
  const last = lines.pop() ?? '';
  assert.match(last, /^\{"behaved"/, `the agent did not survive: ${last} ${errors.join('')}`);
  return {
    reports: lines.map((line) => JSON.parse(line) as HostileReport),
    final: JSON.parse(last) as FinalReport,
    precious: readdirSync(precious),
    workFolder: readdirSync(work),
  };
}

function processesMarked(marks: readonly string[]): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        const texts = ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`));
        return texts.some((text) => marks.some((mark) => text.includes(mark)));
      } catch {
        return false;
      }
    });
}

/** Waits until no run of another agent has the user, and keeps it meanwhile: what it has then was left behind. */
async function leftoversOf(uid: number): Promise<number[]> {
  for (;;) {
    await using user = await claimUserId(uid);
    if (user !== null) return processesOfUser(uid);
    await pause(50);
  }
}

/** What holds however runs are kept apart. */
async function assertContained({ reports, final, precious, workFolder }: Outcome): Promise<void> {
  for (const report of reports) {
    const {
      ends = {},
      says,
      unlessEndedFor,
    } = hostiles.find(({ name }) => name === report.name) ?? {};
    const about = `${report.name}: ${JSON.stringify(report)}`;
    for (const [name, value] of Object.entries(ends)) {
      assert.equal(report[name as keyof typeof ends], value, about);
    }
    if (says !== undefined && report.reason !== unlessEndedFor) {
      assert.match(report.output, says, about);
    }
    if (report.reason !== 'exit') assert.ok(report.explanation, about);
    assert.ok(report.isFolderGone, about);
    assert.ok(report.durationMs < 75_000, about);
    if (report.uid !== null) assert.deepEqual(await leftoversOf(report.uid), [], about);
  }
  assert.deepEqual(processesMarked(reports.map(({ nonce }) => nonce)), []);
  assert.deepEqual(final.misbehaved, []);
  assert.ok(final.behaved > (reports.length > 50 ? 5 : 1), `${final.behaved} runs behaved`);
  assert.equal(final.openDescriptors[1], final.openDescriptors[0]);
  assert.ok(final.peakRssBytes < 500e6, `the agent had ${final.peakRssBytes} bytes`);
  assert.deepEqual(precious, ['kept']);
  assert.deepEqual(workFolder, []);
  const leftovers = readdirSync('/tmp').filter((name) =>
    reports.some(({ nonce }) => name.includes(nonce)),
  );
  assert.deepEqual(leftovers, []);
}

function numberOf(which: 'all' | 'everyWay', isolation: Isolation): number {
  return hostiles.filter(
    ({ everyWay, notWith = [] }) =>
      (which === 'all' || everyWay === true) && !notWith.includes(isolation),
  ).length;
}

const sightings = ({ reports }: Outcome): string[] =>
  reports.filter(({ output }) => output.includes(canary)).map(({ name }) => name);

const optionsOf = (ways: string) => (ways.includes('bubblewrap') ? needsBubblewrap : {});

describe('hostile programs', () => {
  for (const [ways, which, title] of [
    ['user by bubblewrap', 'all', 'users and namespaces of their own by bubblewrap'],
    ['user by util-linux', ofEveryWay, 'users and namespaces of their own by util-linux'],
    ['user', ofEveryWay, 'users of their own where namespaces are forbidden'],
  ] as const) {
    test(`leave nothing and see nothing of the agent, with ${title}`, optionsOf(ways), async () => {
      assert.ok(isRoot, 'this test needs root: only root can give runs users of their own');
      const outcome = await unleash(ways, null, which);
      assert.equal(outcome.reports.length, numberOf(which, 'user'));
      await assertContained(outcome);
      assert.deepEqual(sightings(outcome), []);
    });
  }

  for (const by of ['bubblewrap', 'util-linux']) {
    test(
      `leave nothing and see nothing of the agent, with namespaces by ${by} for an agent without rights`,
      optionsOf(by),
      async () => {
        const outcome = await unleash(
          `namespaces by ${by}`,
          isRoot ? ordinaryUser : null,
          ofEveryWay,
        );
        assert.equal(outcome.reports.length, numberOf(ofEveryWay, 'namespaces'));
        await assertContained(outcome);
        assert.deepEqual(sightings(outcome), []);
      },
    );
  }

  // As in a container with such settings; the rest of them with `TEST_LONG=1`.
  const noCapabilities = ['--bounding-set', '-all', '--inh-caps', '-all'];
  const contexts: [title: string, starter: string[], uid: number | null, ways: string][] = [
    ['no new privileges', ['--no-new-privs'], ordinaryUser, 'namespaces by bubblewrap'],
    ...(isLong
      ? ([
          ['no capability', noCapabilities, null, 'process-group'],
          ['no new privileges', ['--no-new-privs'], ordinaryUser, 'namespaces by util-linux'],
          ['no new privileges', ['--no-new-privs'], ordinaryUser, 'process-group'],
          ['no new privileges', ['--no-new-privs'], null, 'user by bubblewrap'],
          ['no new privileges', ['--no-new-privs'], null, 'user by util-linux'],
          ['no new privileges', ['--no-new-privs'], null, 'user'],
          ['no capability', noCapabilities, ordinaryUser, 'namespaces by bubblewrap'],
          ['no capability', noCapabilities, ordinaryUser, 'namespaces by util-linux'],
          ['no capability', noCapabilities, ordinaryUser, 'process-group'],
        ] as [string, string[], number | null, string][])
      : []),
  ];
  for (const [title, starter, uid, ways] of contexts) {
    test(
      `leave nothing where the agent of ${uid === null ? 'root' : 'an ordinary user'} has ${title}: ${ways}`,
      optionsOf(ways),
      async () => {
        assert.ok(isRoot, 'this test needs root, to take privileges away');
        const outcome = await unleash(ways, uid, ofEveryWay, starter);
        const isolation = ways.split(' ')[0] as Isolation;
        assert.equal(outcome.reports.length, numberOf(ofEveryWay, isolation));
        await assertContained(outcome);
        if (isolation !== 'process-group') assert.deepEqual(sightings(outcome), []);
      },
    );
  }

  test('leave nothing with process groups alone, which do not hide the agent', async () => {
    const outcome = await unleash('process-group', isRoot ? ordinaryUser : null, ofEveryWay);
    assert.equal(outcome.reports.length, numberOf(ofEveryWay, 'process-group'));
    await assertContained(outcome);
    // Also shows that the programs which look for secrets can find them.
    assert.ok(sightings(outcome).length > 0);
  });
});
