/** The site is built from the documents, whole, without dead links, and finds what people look for. */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import MiniSearch from 'minisearch';
import { steps } from '../../../agent/doctor/steps.ts';
import { buildGuide } from '../../../scripts/guide/build.ts';
import { contents } from '../../../scripts/guide/contents.ts';
import { deadLinks } from '../../../scripts/guide/dead-links.ts';
import { doctorMessages } from '../../../scripts/guide/doctor-messages.ts';
import { pagesWithTables } from '../../../scripts/guide/tables.ts';
import { searchOptions } from '../../../scripts/guide/theme/search-options.js';
import { temporaryFolder } from '../../support/system.ts';

const folder = temporaryFolder();
const site = join(folder.path, 'guide');
before(async () => {
  await buildGuide(site);
});
after(() => {
  folder[Symbol.dispose]();
});

test('every page is built, and the sidebar of each leads to all of them', () => {
  const pages = globSync('*.md', { cwd: 'docs' });
  const listed = contents().flatMap(({ entries }) => entries.map(({ file }) => file));
  assert.deepEqual(
    [...new Set(listed)].sort(),
    pages.filter((page) => page !== 'README.md').sort(),
  );
  const html = readFileSync(join(site, 'backup.html'), 'utf8');
  for (const { entries } of contents()) {
    for (const { url } of entries) assert.ok(html.includes(`href="${url}"`), url);
  }
});

test('pages have nothing inline and nothing from other hosts, and no absolute address of their own', () => {
  for (const page of globSync('*.html', { cwd: site })) {
    const html = readFileSync(join(site, page), 'utf8');
    assert.doesNotMatch(html, /<style|<[^>]* style=|<[^>]* on\w+=|<script(?![^>]* src=)/, page);
    assert.doesNotMatch(html, /<(?:script|link|img)[^>]* (?:src|href)="(?:https?:)?\/\//, page);
    assert.doesNotMatch(html, / (?:src|href)="\/(?!\/)/, page);
  }
});

test('a link that leads nowhere is found, also one to a heading', () => {
  const broken = join(folder.path, 'broken');
  mkdirSync(broken);
  writeFileSync(
    join(broken, 'index.html'),
    '<h1 id="a"></h1><a href="#a"></a><a href="b.html"></a><a href="#c"></a>',
  );
  assert.deepEqual(deadLinks(broken), [
    'index.html: b.html leads nowhere',
    'index.html: #c leads nowhere',
  ]);
});

test('what people look for is found first', () => {
  const index = MiniSearch.loadJSON(readFileSync(join(site, 'search.json'), 'utf8'), searchOptions);
  for (const [asked, first] of [
    ['slack', 'alert-to-slack.html'],
    ['restore backup', 'backup.html'],
    ['kubernetes agent', 'agent-kubernetes.html'],
    ['HTTPS_PROXY', 'agent-proxy.html'],
    ['ping_group_range', 'troubleshooting.html#icmp-pings'],
    ['typed client', 'api-client.html'],
    ...['invite', 'password', 'group', 'acknowledge', 'terraform', 'on call', 'escalation'].map(
      (word) => [word, 'tasks.html'] as const,
    ),
    ['sso', 'people.html'],
    ['passkey', 'people.html'],
  ] as const) {
    const found = index
      .search(asked)
      .slice(0, 5)
      .map(({ id }) => String(id));
    assert.ok(
      found.some((id) => id.startsWith(first.split('#')[0] ?? '')),
      `${asked}: ${found.join(', ')}`,
    );
  }
});

test('the page for addresses that lead nowhere is built like the others, and is not found by the search', () => {
  const html = readFileSync(join(site, '404.html'), 'utf8');
  assert.match(html, /<h1[^>]*>There is no such page<\/h1>/);
  assert.ok(html.includes('href="index.html">the first page of the guide</a>'));
  assert.doesNotMatch(readFileSync(join(site, 'search.json'), 'utf8'), /404\.html/);
});

test('tables that are read from the sources are as these say: npm run guide:tables', async () => {
  for (const [path, text] of await pagesWithTables()) {
    assert.equal(readFileSync(path, 'utf8'), text, path);
  }
});

test('every check of doctor, and what it says, has its entry', () => {
  const page = readFileSync('docs/troubleshooting.md', 'utf8');
  for (const { id } of steps) assert.ok(page.includes(`\n## \`${id}\``), id);
  const known = new Set(steps.map(({ id }) => id));
  const messages = doctorMessages();
  assert.ok(messages.length > 100, String(messages.length));
  for (const { step } of messages) assert.ok(known.has(step), `${step} is no step of doctor`);
});
