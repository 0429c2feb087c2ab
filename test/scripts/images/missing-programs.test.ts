import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { surroundings } from '../../../proof/program.ts';
import { temporaryFolder } from '../../support/system.ts';

test('a program that images are made with and that is missing is named, with its package', () => {
  using bin = temporaryFolder();
  const git = spawnSync('which', ['git'], { encoding: 'utf8' }).stdout.trim();
  symlinkSync(git, join(bin.path, 'git'));
  const build = (): string => {
    const { stderr, status } = spawnSync(
      process.execPath,
      ['scripts/images/main.ts', 'build', 'uptime'],
      { env: { ...surroundings(), PATH: bin.path }, encoding: 'utf8' },
    );
    assert.equal(status, 1);
    return stderr;
  };
  assert.equal(build(), 'the program buildah is missing; on Debian: apt-get install buildah\n');
  // It has no image and reaches no registry, so that the base is made from packages.
  const buildah = join(bin.path, 'buildah');
  writeFileSync(buildah, '#!/bin/sh\n[ "$1" = --version ]\n');
  chmodSync(buildah, 0o755);
  assert.equal(
    build(),
    'the program debootstrap is missing; on Debian: apt-get install debootstrap\n',
  );
});
