// SQLite only: it tests words.
/** Pages in the languages of their visitors. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { language } from '@monitor/shared/contract/status-page.ts';
import { localeOf, localeOfVisitor } from '../../../control-plane/status-pages/languages/locale.ts';
import { day, hour, iso, minute, PageVisitor, start } from '../../support/page-visitor.ts';

const languages = language.options;

/** A page with an incident and maintenance, in some languages. */
async function open(look: object): Promise<PageVisitor> {
  const visitor = await PageVisitor.open();
  const [search, login] = await visitor.services('Search', 'Login');
  assert.ok(search && login);
  await visitor.page([search, login], look);
  await visitor.incident([search], 'MAJOR', [{ at: -2 * hour, description: 'We look.' }]);
  await visitor.maintenance(search, { startsAt: iso(hour), endsAt: iso(3 * hour) });
  return visitor;
}

const told = ({ text }: { text: string }) => ({
  language: /<html lang="(\w+)"/.exec(text)?.[1],
  direction: /<html [^>]*dir="(\w+)"/.exec(text)?.[1],
  headline: /<h1>([^<]*)<\/h1>/.exec(text)?.[1],
});

for (const one of languages) {
  test(`a page in ${one} tells everything in it, but what its owner wrote`, async () => {
    await using visitor = await open({ language: one });
    const { texts, direction } = localeOf(one, 'UTC');
    const page = await visitor.see('/', { headers: { 'accept-language': 'en' } });
    const headline = texts.states.partial_outage;
    assert.deepEqual(told(page), { language: one, direction, headline });
    for (const own of ['Search', 'Trouble', 'We look.', 'Upgrade']) {
      assert.ok(page.text.includes(own), own);
    }
    const { onlySome, allOtherwise } = texts.forms;
    for (const words of [onlySome, allOtherwise, texts.slack.updates, texts.slack.howTo]) {
      assert.ok(page.text.includes(words), words);
    }
    // A command turns around in no language.
    assert.ok(
      page.text.includes(`<code dir="ltr">/feed subscribe ${visitor.base}/slack.rss</code>`),
    );
    assert.equal(page.headers.get('vary'), 'Accept-Encoding');
    const english = Object.values(localeOf('en', 'UTC').texts.page).filter(
      (words) => typeof words === 'string' && !Object.values(texts.page).includes(words),
    ) as string[];
    for (const words of english) assert.equal(page.text.includes(words), false, words);

    const feed = await visitor.see('/feed.atom');
    assert.ok(feed.text.includes(`${texts.statuses.INVESTIGATING}`));
    assert.ok((await visitor.see('/feed.rss')).text.includes(`<language>${one}</language>`));
    const summary = await visitor.json('/api/v2/summary.json');
    assert.deepEqual(summary.status, { indicator: 'major', description: headline });
    assert.equal(summary.components[0].status, 'partial_outage');
    const badge = await visitor.json('/badge.json');
    assert.equal(badge.message, texts.inSentence(headline));
    assert.ok((await visitor.see('/badge.svg')).text.includes(texts.inSentence(headline)));
    const calendar = (await visitor.see('/maintenance.ics')).text.replace(/\r\n /g, '');
    assert.ok(calendar.includes(texts.maintenance.of('Shop')));
    const invalid = await visitor.see('/subscriptions', { method: 'POST', form: { email: 'x' } });
    assert.ok(invalid.text.includes(texts.forms.address));
    assert.equal(told(await visitor.see('/history')).language, one);
    const webhook = (await visitor.see('/subscriptions/webhook')).text;
    for (const words of [texts.webhook.howTo, texts.webhook.url]) {
      assert.ok(webhook.includes(words), words);
    }
    assert.ok((await visitor.see('/nothing')).text.includes(texts.errors.nothingHere));
  });
}

test('of the languages of a page the link decides, then the browser, then the page', async () => {
  await using visitor = await open({ language: 'de', languages: ['ar', 'de', 'fr'] });
  const languageOf = async (path: string, accepted?: string) => {
    const headers = accepted === undefined ? {} : { 'accept-language': accepted };
    const seen = await visitor.see(path, { headers });
    return [told(seen).language, seen.headers.get('vary')];
  };
  const varies = 'Accept-Language, Accept-Encoding';
  assert.deepEqual(await languageOf('/', ''), ['de', varies]);
  assert.deepEqual(await languageOf('/', 'fr-CA,en;q=0.5'), ['fr', varies]);
  assert.deepEqual(await languageOf('/', 'en,ar;q=0.1'), ['ar', varies]);
  assert.deepEqual(await languageOf('/', 'ja'), ['de', varies]);
  assert.deepEqual(await languageOf('/?language=fr', 'ar'), ['fr', 'Accept-Encoding']);
  assert.deepEqual(await languageOf('/?language=ja', 'ar'), ['ar', varies]);
  assert.deepEqual(await languageOf('/?language=toString', 'ar'), ['ar', varies]);

  const arabic = await visitor.see('/?language=ar');
  assert.match(arabic.text, /href="\/status\/shop\/history\?language=ar"/);
  assert.match(arabic.text, /action="\/status\/shop\/subscriptions\?language=ar"/);
  assert.match(arabic.text, /href="\/status\/shop\/\?language=fr"\s+lang="fr"/);
  assert.match(arabic.text, /rel="alternate"\s+hreflang="de"/);

  // Each language has a representation of its own, and each is unchanged for those who have it.
  const etags = new Set<string | null>();
  for (const accepted of ['de', 'ar', 'fr']) {
    const headers = { 'accept-language': accepted };
    const etag = (await visitor.see('/', { headers })).headers.get('etag') ?? '';
    etags.add(etag);
    const again = await visitor.see('/', { headers: { ...headers, 'if-none-match': etag } });
    assert.equal(again.status, 304);
    const other = { 'accept-language': accepted === 'de' ? 'fr' : 'de', 'if-none-match': etag };
    assert.equal((await visitor.see('/', { headers: other })).status, 200);
  }
  assert.equal(etags.size, 3);
  const feed = await visitor.see('/feed.rss', { headers: { 'accept-language': 'fr' } });
  assert.match(feed.text, /<language>de</);
  assert.match((await visitor.see('/feed.rss?language=fr')).text, /<language>fr</);
});

test('an unknown language is refused, and a page without one is English', async () => {
  await using visitor = await open({});
  const { body } = await visitor.cp.api('GET', '/v1/status-pages');
  const [page] = body.entries;
  assert.deepEqual([page.language, page.languages, page.timezone], ['en', [], 'UTC']);
  for (const look of [
    { language: 'tlh' },
    { languages: ['en', 'tlh'] },
    { language: null },
    { timezone: 'Mars/Olympus' },
  ]) {
    const refused = await visitor.cp.api('PUT', `/v1/status-pages/${page.id}`, {
      ...{ name: 'Shop', url: 'shop', cards: [] },
      ...look,
    });
    assert.equal(refused.status, 400, JSON.stringify(look));
  }
});

test('mails to subscribers are in the language of the page', async () => {
  await using visitor = await open({ language: 'fr' });
  const [, service = ''] =
    /name="service"\s+value="([^"]+)"/.exec((await visitor.see('/')).text) ?? [];
  const form = { email: 'ann@example.com', service };
  await visitor.see('/subscriptions', { method: 'POST', form });
  const { db } = visitor.cp.controlPlane.services;
  const rows = await db.selectFrom('outbox').select('content_json').execute();
  const mails = rows.map(({ content_json }) => JSON.parse(content_json));
  assert.deepEqual(
    mails.map(({ subject }) => subject),
    ['[Shop] Confirmez votre abonnement'],
  );
  assert.match(mails[0].html, /<html lang="fr" dir="ltr">/);
  assert.match(mails[0].text, /\n\nUniquement pour : Search\n\n/);
});

test('durations, ranges and lists are told as each language does', () => {
  const say = (one: (typeof languages)[number]) => {
    const locale = localeOf(one, 'Europe/Berlin');
    return [
      locale.instant(start),
      locale.duration(80 * minute),
      locale.duration(2 * day + hour),
      locale.list(['A', 'B', 'C']).replace(/[\u2068\u2069]/g, ''),
      locale.uptime(0.999_87).replace(/\s/g, ' '),
    ];
  };
  assert.deepEqual(say('en'), [
    '21 Nov 2026, 09:00 CET',
    '1 hour, 20 minutes',
    '2 days, 1 hour',
    'A, B and C',
    '99.98%',
  ]);
  assert.deepEqual(say('de'), [
    '21. Nov. 2026, 09:00 MEZ',
    '1 Stunde, 20 Minuten',
    '2 Tage, 1 Stunde',
    'A, B und C',
    '99,98 %',
  ]);
  assert.equal(say('ja')[1], '1 時間 20 分');
  assert.equal(say('ar')[2], 'يومان وساعة');
});

test('a page has its time zone: in its times, days, months, feeds and JSON', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  await visitor.page([search], { timezone: 'Asia/Tokyo' });
  // The evening of 31 October in London is 1 November in Tokyo.
  const at = Date.parse('2026-10-31T20:00:00Z') - start;
  const { id } = await visitor.incident([search], 'MAJOR', [
    { at },
    { at: at + hour, status: 'RESOLVED' },
  ]);
  const page = await visitor.see('/');
  assert.match(page.text, /All times are in Asia\/Tokyo\./);
  assert.match(page.text, /1 Nov: Partial outage – 1 hour/);
  assert.match(
    page.text,
    /As of <time datetime="2026-11-21T08:00:00.000Z">21 Nov 2026, 17:00 GMT\+9</,
  );
  const told = await visitor.see(`/incidents/${id}`);
  assert.match(
    told.text,
    /1 Nov 2026, <time datetime="2026-10-31T20:00:00.000Z">05:00<\/time>–<time datetime="2026-10-31T21:00:00.000Z">06:00<\/time> GMT\+9/,
  );
  assert.match((await visitor.see('/history?month=2026-11')).text, /Trouble/);
  assert.equal(/Trouble/.test((await visitor.see('/history?month=2026-10')).text), false);
  assert.match((await visitor.see('/feed.atom')).text, /1 Nov 2026, 06:00 GMT\+9/);
  assert.equal((await visitor.json('/api/v2/summary.json')).page.time_zone, 'Asia/Tokyo');
});

test('a visitor chooses a time zone by a link, which other links repeat', async () => {
  await using visitor = await open({ languages: ['de'] });
  const choice = await visitor.see('/time-zone?language=de');
  assert.match(choice.text, /<option selected>UTC<\/option>.*<option\s*>Europe\/Berlin<\/option>/s);
  assert.match(choice.text, /<input type="hidden" name="language" value="de"\/>/);
  const page = await visitor.see('/?language=de&timezone=europe%2Fberlin');
  assert.match(page.text, /Alle Zeiten in Europe\/Berlin\./);
  assert.match(page.text, /21\. Nov\. 2026, 09:00 MEZ/);
  assert.match(
    page.text,
    /href="\/status\/shop\/history\?language=de&amp;timezone=Europe%2FBerlin"/,
  );
  for (const wrong of ['Mars%2FOlympus', '%2B01:00', '']) {
    assert.match((await visitor.see(`/?timezone=${wrong}`)).text, /All times are in UTC\./);
  }
});

test('a visitor with a list of time zones drives out no locale of a page', () => {
  const ofPage = localeOf('de', 'Europe/Berlin');
  const first = localeOfVisitor('de', 'Europe/Berlin');
  for (const zone of Intl.supportedValuesOf('timeZone')) localeOfVisitor('de', zone);
  assert.equal(localeOf('de', 'Europe/Berlin'), ofPage);
  assert.notEqual(localeOfVisitor('de', 'Europe/Berlin'), first);
});
