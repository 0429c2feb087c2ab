import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import { pino } from 'pino';
import { Damages } from '../../../agent/damage.ts';
import {
  readRecipients,
  recipientRemarks,
  Recipients,
} from '../../../agent/encryption/recipients.ts';
import { ResultEncryption } from '../../../agent/encryption/result-encryption.ts';
import { resultOf } from '../../support/fake-agent.ts';
import { temporaryFolder } from '../../support/system.ts';

const day = 86_400_000;

/** The agent as it starts on a folder. */
function start(directory: string, { mayBecomeReadable = false, now = 0 } = {}) {
  const lines: { level: number; msg: string; added?: string[]; removed?: string[] }[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as never) });
  const damages = new Damages(() => now, logger);
  const clock = { now: () => now, monotonic: () => 0 };
  const recipients = new Recipients({ directory, mayBecomeReadable, clock, logger, damages });
  const encryption = new ResultEncryption({ pinned: null, recipients, clock, logger });
  return { recipients, encryption, warnings: () => lines.filter(({ level }) => level >= 40) };
}

const [operators, colleague, attacker] = await Promise.all([
  createKeyFile(null),
  createKeyFile(null),
  createKeyFile(null),
]);

test('the first recipients are taken without a word, and the same ones for ever', () => {
  using folder = temporaryFolder();
  for (const _start of [1, 2]) {
    const { encryption, recipients, warnings } = start(folder.path);
    encryption.use([operators.publicKey]);
    encryption.use([operators.publicKey]);
    assert.deepEqual(warnings(), []);
    assert.deepEqual(recipients.status.recipients, [operators.id]);
    assert.deepEqual(recipientRemarks(recipients.status, 0), []);
  }
  assert.equal(statSync(join(folder.path, 'recipients.json')).mode & 0o777, 0o600);
});

test('a location without keys never encrypts, and says nothing', () => {
  using folder = temporaryFolder();
  const { encryption, warnings } = start(folder.path);
  encryption.use([]);
  assert.deepEqual([encryption.isOn, warnings()], [false, []]);
  assert.equal(readRecipients(folder.path), null);
});

test('a recipient that is added reads, and the agent says so in its log, its status and after a restart', async () => {
  using folder = temporaryFolder();
  const first = start(folder.path);
  first.encryption.use([operators.publicKey]);
  first.encryption.use([operators.publicKey, colleague.publicKey]);
  assert.deepEqual(
    first.warnings().map(({ added, removed }) => [added, removed]),
    [[[colleague.id], []]],
  );
  assert.ok(
    await first.encryption.encrypterFor({
      ...{ accountId: 'a', location: 'l', checkId: 'c', resultId: 'r', attempt: 1 },
    }),
  );
  const again = start(folder.path, { now: day });
  again.encryption.resume([operators.publicKey]);
  assert.deepEqual(again.warnings(), [], 'an older cache of the schedule changes nothing');
  assert.deepEqual(again.recipients.status.recipients, [operators.id, colleague.id]);
  const said = recipientRemarks(again.recipients.status, day);
  assert.match(said.join(), new RegExp(`at 1970-01-01T.*: added ${colleague.id}$`));
  assert.deepEqual(recipientRemarks(again.recipients.status, 8 * day), []);
});

test('what was added and removed while the agent was away is stated at its next start', () => {
  using folder = temporaryFolder();
  start(folder.path).encryption.use([operators.publicKey]);
  const { encryption, warnings } = start(folder.path);
  encryption.use([attacker.publicKey]);
  assert.deepEqual(
    warnings().map(({ added, removed }) => [added, removed]),
    [[[attacker.id], [operators.id]]],
  );
});

test('who takes all recipients away gets encrypted results still, whatever the agent is moved or restarted', () => {
  using folder = temporaryFolder();
  start(folder.path).encryption.use([operators.publicKey]);
  for (const now of [1, 2]) {
    const { encryption, recipients, warnings } = start(folder.path, { now });
    encryption.resume([]);
    encryption.use([]);
    encryption.use([]);
    assert.equal(encryption.isOn, true);
    assert.deepEqual(recipients.keys, [operators.publicKey]);
    // The state is stated once, and shown for as long as it lasts.
    assert.equal(warnings().length, now === 1 ? 1 : 0);
    assert.match(recipientRemarks(recipients.status, 90 * day).join(), /asks for readable results/);
  }
  const back = start(folder.path);
  back.encryption.use([operators.publicKey]);
  assert.deepEqual(recipientRemarks(back.recipients.status, 0), []);
});

test("by the operator's word on the agent, results become readable, which is stated", () => {
  using folder = temporaryFolder();
  start(folder.path).encryption.use([operators.publicKey]);
  start(folder.path).encryption.use([]);
  const allowed = start(folder.path, { mayBecomeReadable: true });
  allowed.encryption.use([]);
  assert.equal(allowed.encryption.isOn, false);
  assert.deepEqual(
    allowed.warnings().map(({ removed }) => removed),
    [[operators.id]],
  );
  // The word is needed once.
  const later = start(folder.path);
  later.encryption.use([]);
  assert.equal(later.encryption.isOn, false);
});

const context = { accountId: 'a', location: 'l', checkId: 'c', resultId: 'r', attempt: 1 };

test('where the memory is damaged only verdicts are sent, through restarts, until recipients are named', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'recipients.json');
  writeFileSync(file, '{"keys":');
  const first = start(folder.path);
  assert.match(first.warnings()[0]?.msg ?? '', /^recipients of results damaged/);
  for (const { encryption, recipients } of [first, start(folder.path)]) {
    encryption.resume([]);
    encryption.use([]);
    assert.equal(encryption.isOn, true);
    const encrypter = await encryption.encrypterFor(context);
    const sent = encrypter?.result({ ...resultOf('c'), errorMessages: ['secret'] });
    assert.deepEqual([sent?.errorMessages, sent?.encryptedResult?.envelope], [[], null]);
    assert.match(recipientRemarks(recipients.status, 90 * day).join(), /only verdicts are sent/);
  }
  const { encryption, recipients, warnings } = start(folder.path);
  encryption.use([operators.publicKey]);
  assert.deepEqual(recipients.status.recipients, [operators.id]);
  // It may be the choice of an attacker.
  assert.deepEqual(
    warnings().map(({ added }) => added),
    [[operators.id]],
  );
  assert.match(readFileSync(file, 'utf8'), /rk1_/);
  assert.notEqual(await encryption.encrypterFor(context), null);
});

test("by the operator's word, results become readable where the memory is damaged", () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'recipients.json'), '{"keys":');
  const allowed = start(folder.path, { mayBecomeReadable: true });
  allowed.encryption.use([]);
  assert.equal(allowed.encryption.isOn, false);
  const later = start(folder.path);
  later.encryption.use([]);
  assert.equal(later.encryption.isOn, false);
  assert.deepEqual(recipientRemarks(later.recipients.status, 0), []);
});
