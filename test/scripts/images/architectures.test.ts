/** That the images can be built for arm64, in as far as files tell it. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import test from 'node:test';
import {
  architectureProblem,
  parseArchitecture,
  thisArchitecture,
} from '../../../scripts/images/architecture.ts';
import { chooseTargets } from '../../../scripts/images/targets.ts';

interface Locked {
  os?: string | string[];
  cpu?: string | string[];
}

const locks = ['package-lock.json', ...globSync('agent/runtimes/locks/*/package-lock.json')];

function packagesFor(cpu: string, packages: Record<string, Locked>): string[] {
  return Object.entries(packages)
    .filter(([, { os, cpu: each }]) => [os].flat().includes('linux') && [each].flat().includes(cpu))
    .map(([place]) => place)
    .toSorted();
}

test('each package of a lock that is made for x64 is locked for arm64 too', () => {
  assert.equal(locks.length, 8);
  let found = 0;
  for (const file of locks) {
    const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
      packages: Record<string, Locked>;
    };
    const x64 = packagesFor('x64', packages);
    found += x64.length;
    const expected = x64.map((place) => place.replace(/\bx64\b(?=[^/]*$)/, 'arm64'));
    assert.deepEqual(packagesFor('arm64', packages), expected, file);
  }
  assert.ok(found >= locks.length);
});

test('packages carry the same binaries for arm64 as for x64', () => {
  const x64 = globSync('node_modules/better-sqlite3/**/linux*-x64*.node');
  assert.ok(x64.length > 0);
  for (const file of x64) {
    assert.equal(globSync(file.replaceAll('x64', 'arm64')).length, 1, file);
  }
});

test('what runs inside of builds names no architecture', () => {
  const scripts = globSync('scripts/images/inside/*');
  assert.ok(scripts.length > 3);
  for (const file of scripts) {
    assert.doesNotMatch(readFileSync(file, 'utf8'), /amd64|arm64|x86_64|aarch64|linux-x64/, file);
  }
});

test('an architecture is this one unless another is named, and images of another say so', () => {
  assert.equal(parseArchitecture(undefined), thisArchitecture);
  assert.equal(architectureProblem(thisArchitecture), null);
  assert.throws(() => parseArchitecture('mips'), /amd64 and arm64/);
  const other = thisArchitecture === 'amd64' ? 'arm64' : 'amd64';
  const [full, dev] = chooseTargets(['full', 'dev'], other);
  assert.equal(full?.image, `localhost/monitor-agent:full-${other}`);
  assert.equal(dev?.after?.image, full.image);
  assert.equal(dev.buildArgs?.['FULL_IMAGE'], full.image);
});
