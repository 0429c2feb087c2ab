/** What listens, starts programs, takes signals or is a command is in the table of doors, and what it names is there. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { describeSettings } from '../../agent/config.ts';
import { commandDoors, doors, folders, readers, signals } from '../../agent/doors.ts';
import { commands, newProgram } from '../../agent/program.ts';
import { readAtMost } from '../../shared/read-at-most.ts';
import { assertSignals, commandNames, filesWith, openings, sourcesOf } from '../support/doors.ts';
import { temporaryFolder } from '../support/system.ts';

const sources = sourcesOf('agent');
const opened = new Set<string>(Object.values(doors).flatMap(({ files }) => files));

test('each file that listens or starts a program is one of a door', () => {
  // What both programs open their ports with; it opens none by itself.
  const all = filesWith(sources, openings.makesServer).filter((path) => !path.startsWith('..'));
  for (const path of [...all, ...filesWith(sources, openings.listens)])
    assert.ok(opened.has(path), path);
  const starters = filesWith(sources, /\b(?:spawn|fork)\(/);
  for (const path of starters) assert.ok(opened.has(path), path);
  for (const path of opened) assert.ok(sources.has(path), path);
});

test('each signal that is taken is named', () => {
  assertSignals(sources, signals);
});

test('each command has a row, and each row is of a command', async () => {
  assert.deepEqual(await commandNames(newProgram(), commands), Object.keys(commandDoors).sort());
});

test('each file of a command that reads is named with its commands', () => {
  assert.deepEqual(filesWith(sources, openings.reads, 'commands/'), Object.keys(readers).sort());
});

test('each setting of a folder or file is named, and quotas are settings', () => {
  const names: string[] = describeSettings().map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => /_(?:DIR|FILE|PATH|CERTS)$/.test(name)).sort(),
    Object.keys(folders).sort(),
  );
  for (const { quota } of Object.values(doors)) {
    for (const name of quota as readonly string[]) assert.ok(names.includes(name), name);
  }
});

test('a file that is as long as allowed is read, a longer one is not', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'a');
  await writeFile(path, 'x'.repeat(100));
  assert.equal((await readAtMost(path, 100)).length, 100);
  await assert.rejects(readAtMost(path, 99), /more than 99 bytes/);
  // It has no end.
  await assert.rejects(readAtMost('/dev/zero', 1_000_000), /more than 1000000 bytes/);
});
