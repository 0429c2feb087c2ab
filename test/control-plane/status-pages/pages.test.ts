/** What visitors of public pages are given over HTTP. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { day, hour, iso, minute, PageVisitor, start, toldBy } from '../../support/page-visitor.ts';

/** The addresses in the lines that visitors copy into Slack. */
const slackFeeds = (html: string): string[] =>
  [...html.matchAll(/<code dir="ltr">\/feed subscribe ([^<\s]+)<\/code>/g)].map(([, feed = '']) =>
    feed.replaceAll('&amp;', '&'),
  );

test('a page tells the state of its services, what is said of incidents, and the days before', async () => {
  await using visitor = await PageVisitor.open();
  const [search, checkout, hidden] = await visitor.services('Search', 'Checkout', 'Hidden');
  assert.ok(search && checkout && hidden);
  await visitor.page([search, checkout], { description: 'See https://help.example/a?b=1&c=2.' });
  await visitor.incident([search, hidden], 'MAJOR', [
    { at: -2 * hour, description: 'Searches fail.' },
    { at: -hour, status: 'IDENTIFIED', description: 'A disk is full.\n\nWe make room.' },
    { at: hour, status: 'RESOLVED', description: 'Not said yet.' },
  ]);
  await visitor.incident(
    [checkout],
    'CRITICAL',
    [{ at: -30 * hour }, { at: -29 * hour, status: 'RESOLVED', description: 'Paid again.' }],
    'Payments',
  );
  const { status, headers, text } = await visitor.see('/');
  assert.equal(status, 200);
  assert.deepEqual(toldBy(text), {
    headline: 'Partial outage',
    services: new Map([
      ['Search', 'Partial outage'],
      ['Checkout', 'Operational'],
    ]),
  });
  assert.match(text, /<title>Partial outage – Shop<\/title>/);
  assert.match(text, /<p>\s*A disk is full\.\s*<\/p>\s*<p>\s*We make room\.\s*<\/p>/);
  assert.match(text, /href="https:\/\/help\.example\/a\?b=1&amp;c=2" rel="noopener nofollow"/);
  assert.match(text, /21 Nov: Partial outage – 2 hours/);
  assert.match(text, /20 Nov: Major outage – 1 hour/);
  assert.match(text, /24 Aug: no incidents/);
  assert.match(text, /Search, last 90 days: uptime 99\.97%, incidents on 1 day/);
  assert.match(text, /Paid again\./);
  for (const secret of ['Not said yet', 'Hidden']) assert.equal(text.includes(secret), false);
  assert.equal(/<script|https?:\/\/(?!127|help)/.test(text.replace(/xmlns/g, '')), false);
  assert.match(
    headers.get('content-security-policy') ?? '',
    /^default-src 'none'; style-src 'sha256-/,
  );
  assert.equal(headers.get('cache-control'), 'public, max-age=1, stale-if-error=60');
  assert.equal(headers.get('set-cookie'), null);
});

test('an open incident shows its newest updates, twenty more on demand, and where all of them are', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  await visitor.page([search]);
  for (const [count, earlier, isCut] of [
    [3, undefined, false],
    [23, '20', false],
    [24, '21', true],
  ] as const) {
    const updates = Array.from({ length: count }, (_, index) => ({ at: (index - count) * minute }));
    const { id } = await visitor.incident([search], 'MAJOR', updates);
    const { text } = await visitor.see('/');
    const said = /Earlier updates \((\d+)\)/.exec(text)?.[1];
    assert.deepEqual([said, text.includes('>All updates<')], [earlier, isCut]);
    await visitor.done('DELETE', `/v1/status-pages/incidents/${id}`);
  }
});

test('a day says how long each state lasted, without the time in which an incident was resolved', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  await visitor.page([search]);
  await visitor.incident([search], 'MEDIUM', [
    { at: -60 * minute, description: 'Slow.' },
    { at: -30 * minute, status: 'RESOLVED', description: 'Fast.' },
  ]);
  await visitor.incident([search], 'MAJOR', [
    { at: -50 * minute, description: 'Searches fail.' },
    { at: -48 * minute, status: 'RESOLVED', description: 'They work.' },
    { at: -9 * minute, description: 'They fail again.' },
    { at: -8 * minute, status: 'RESOLVED', description: 'They work.' },
  ]);
  const { text } = await visitor.see('/');
  assert.match(
    text,
    /21 Nov: Partial outage – 3 minutes, Degraded performance – 28 minutes</,
    /21 Nov: [^<]*/.exec(text)?.[0],
  );
});

test('twenty services weigh less than 8 KB compressed, also on a bad day', async () => {
  await using visitor = await PageVisitor.open();
  const services = await visitor.services(
    ...Array.from({ length: 20 }, (_, index) => `Service number ${index}`),
  );
  await visitor.page(services);
  for (const [index, service] of services.entries()) {
    const at = -(index + 1) * 4 * day;
    await visitor.incident([service], 'MINOR', [{ at }, { at: at + hour, status: 'RESOLVED' }]);
  }
  await visitor.incident(services.slice(0, 2), 'MAJOR', [{ at: -hour }, { at: -minute }]);
  const plain = await visitor.see('/');
  const bytes = Buffer.byteLength(plain.text);
  // Of them the links to feeds are 6 KB, the choice of services and the lines for Slack 3 each: compressed, nearly nothing.
  assert.ok(bytes <= 44 * 1024, `${bytes} bytes`);
  const packed = await visitor.asHost('127.0.0.1', '/status/shop', { 'accept-encoding': 'gzip' });
  assert.equal(packed.headers.get('content-encoding'), 'gzip');
  assert.ok(Number(packed.headers.get('content-length')) <= 8 * 1024);
});

test('a cached page answers 304; compressed and plain bodies are equal', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  await visitor.page([search]);
  const first = await visitor.see('/');
  const etag = first.headers.get('etag') ?? '';
  assert.match(etag, /^W\/"[\w-]+"$/);
  for (const given of [etag, `"other", ${etag}`, '*']) {
    const again = await visitor.see('/', { headers: { 'if-none-match': given } });
    assert.deepEqual([again.status, again.text], [304, ''], given);
  }
  const response = await fetch(`${visitor.base}/`, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(response.headers.get('content-encoding'), 'gzip');
  assert.equal(response.headers.get('vary'), 'Accept-Encoding');
  assert.equal(await response.text(), first.text);
  const refused = await fetch(`${visitor.base}/`, { headers: { 'accept-encoding': 'gzip;q=0' } });
  assert.equal(refused.headers.get('content-encoding'), null);
  await refused.text();
  const head = await visitor.see('/', { method: 'HEAD' });
  assert.deepEqual(
    [head.status, head.text, head.headers.get('content-length')],
    [200, '', String(Buffer.byteLength(first.text))],
  );
  const put = await visitor.see('/', { method: 'PUT' });
  assert.deepEqual([put.status, put.headers.get('allow')], [405, 'GET, HEAD, POST']);
  assert.equal((await visitor.see('/', { method: 'POST' })).status, 405);
});

test('a change through the API is seen at once, one by itself within a second', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  const headline = async () => toldBy((await visitor.see('/')).text).headline;
  const unknown = await visitor.see('/');
  assert.deepEqual([unknown.status, /No status page has/.test(unknown.text)], [404, true]);
  await visitor.page([search]);
  assert.equal(await headline(), 'All systems operational');
  const { id } = await visitor.incident([search], 'MAJOR', [
    { at: 0 },
    { at: minute, status: 'RESOLVED' },
  ]);
  assert.equal(await headline(), 'Partial outage');
  await visitor.done('PATCH', `/v1/status-pages/incidents/${id}`, { severity: 'CRITICAL' });
  assert.equal(await headline(), 'Major outage');
  visitor.clock.setWall(start + minute);
  assert.equal(await headline(), 'Major outage');
  visitor.clock.advance(1_000);
  assert.equal(await headline(), 'All systems operational');
  await visitor.done('DELETE', `/v1/status-pages/incidents/${id}`);
  const { entries } = await visitor.done('GET', '/v1/status-pages');
  await visitor.done('DELETE', `/v1/status-pages/${entries[0].id}`);
  assert.equal((await visitor.see('/')).status, 404);
});

test('while the database cannot be read, visitors see what was known last', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  await visitor.page([search]);
  const before = await visitor.see('/');
  const { db } = visitor.cp.controlPlane.services;
  await db.schema.alterTable('status_page_cards').renameTo('away').execute();
  visitor.clock.advance(5_000);
  const during = await visitor.see('/');
  assert.deepEqual([during.status, during.text], [200, before.text]);
  await db.schema.alterTable('away').renameTo('status_page_cards').execute();
  await visitor.done('POST', '/v1/status-pages/services', { name: 'another' });
  visitor.clock.advance(5_000);
  assert.equal((await visitor.see('/')).status, 200);
});

test('maintenance is shown while it lasts and two weeks ahead', async () => {
  await using visitor = await PageVisitor.open();
  const [search, checkout] = await visitor.services('Search', 'Checkout');
  assert.ok(search && checkout);
  await visitor.page([search]);
  const window = await visitor.maintenance(search, {
    startsAt: iso(hour),
    endsAt: iso(3 * hour),
    repeatUnit: 'WEEK',
  });
  await visitor.maintenance(checkout, { name: 'Elsewhere', startsAt: iso(hour), endsAt: iso(day) });
  const ahead = await visitor.see('/');
  const words = ahead.text.replace(/<\/?(time|bdi)[^>]*>/g, '');
  assert.match(words, /Upgrade<\/h3>.*Scheduled.*21 Nov 2026, 09:00–11:00 UTC/s);
  assert.match(words, /Again 28 Nov 2026, 09:00–11:00 UTC/);
  assert.equal(ahead.text.includes('Elsewhere'), false);
  assert.equal(toldBy(ahead.text).headline, 'All systems operational');
  const active = '/api/v2/scheduled-maintenances/active.json';
  assert.deepEqual((await visitor.json(active)).scheduled_maintenances, []);

  visitor.pass(2 * hour);
  const during = await visitor.see('/');
  assert.equal(toldBy(during.text).headline, 'Under maintenance');
  assert.match(during.text, /Upgrade<\/h3>.*In progress/s);
  const [now] = (await visitor.json(active)).scheduled_maintenances;
  assert.deepEqual(
    [now.id, now.status, now.impact, now.scheduled_for, now.scheduled_until],
    [`${window.id}-${start + hour}`, 'in_progress', 'maintenance', iso(hour), iso(3 * hour)],
  );
  const upcoming = await visitor.json('/api/v2/scheduled-maintenances/upcoming.json');
  assert.equal(upcoming.scheduled_maintenances[0].scheduled_for, iso(hour + 7 * day));

  const calendar = await visitor.see('/maintenance.ics');
  assert.match(calendar.headers.get('content-type') ?? '', /^text\/calendar/);
  assert.match(calendar.text, /UID:.*DTSTART:20261121T090000Z\r\nDTEND:20261121T110000Z/s);
  assert.equal(calendar.text.match(/BEGIN:VEVENT/g)?.length, 13);
  assert.equal((await visitor.see('/maintenance.ics')).text, calendar.text);
});

test('a window that is changed or deleted keeps what took place as it was', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  await visitor.page([search]);
  const fields = { startsAt: iso(hour), endsAt: iso(3 * hour), repeatUnit: 'WEEK' };
  const { id } = await visitor.maintenance(search, fields);
  const path = `/v1/maintenance-windows/${id}`;
  const told = async () => {
    const all = await visitor.json('/api/v2/scheduled-maintenances.json');
    return (all.scheduled_maintenances as Record<string, string>[])
      .filter(({ status }) => status !== 'scheduled')
      .map((one) => [one['name'], one['status'], one['scheduled_for'], one['scheduled_until']])
      .sort(([, , one], [, , other]) => ((one ?? '') < (other ?? '') ? -1 : 1));
  };
  const change = (name: string) =>
    visitor.done('PUT', path, { ...fields, name, tags: [`for-${search.id}`] });
  const first = ['Upgrade', 'completed', iso(hour), iso(3 * hour)];
  visitor.pass(10 * hour);
  assert.deepEqual(await told(), [first]);
  await change('Renamed');
  visitor.pass(minute);
  assert.deepEqual(await told(), [first]);

  // In the middle of the second one, which goes on.
  visitor.pass(7 * day - 8 * hour - minute);
  await change('Renamed again');
  visitor.pass(minute);
  const second = (status: string, until: number) => [
    'Renamed again',
    status,
    iso(hour + 7 * day),
    iso(until),
  ];
  assert.deepEqual(await told(), [first, second('in_progress', 3 * hour + 7 * day)]);
  visitor.pass(29 * minute);
  await visitor.done('DELETE', path);
  visitor.pass(minute);
  assert.deepEqual(await told(), [first, second('completed', 2.5 * hour + 7 * day)]);
});

test('history goes month by month, and every incident has a page', async () => {
  await using visitor = await PageVisitor.open();
  const [search, hidden] = await visitor.services('Search', 'Hidden');
  assert.ok(search && hidden);
  await visitor.page([search]);
  const old = await visitor.incident(
    [search],
    'MINOR',
    [{ at: -60 * day }, { at: -59 * day, status: 'RESOLVED', description: 'Long over.' }],
    'September',
  );
  const other = await visitor.incident([hidden], 'MAJOR', [{ at: -hour }], 'Not here');
  const later = await visitor.incident([search], 'MAJOR', [{ at: hour }], 'Not yet');
  const current = await visitor.see('/history');
  assert.match(current.text, /<h1[^>]*>Incidents in November 2026<\/h1>/);
  assert.match(current.text, /None\./);
  assert.match(current.text, /href="\/status\/shop\/history\?month=2026-10"/);
  assert.equal(current.text.includes('month=2026-12'), false);
  const september = await visitor.see('/history?month=2026-09');
  assert.match(september.text, /September.*Long over\./s);
  assert.match(september.text, /month=2026-10/);
  assert.equal(september.text.includes('month=2026-08'), false);
  for (const query of ['2026-13', '2027-01', 'x', '2026-1']) {
    assert.equal((await visitor.see(`/history?month=${query}`)).status, 404, query);
  }
  const page = await visitor.see(`/incidents/${old.id}`);
  assert.equal(page.status, 200);
  assert.match(page.text, /<h1[^>]*>September<\/h1>.*Resolved.*Long over\./s);
  for (const id of [other.id, later.id, '00000000-0000-4000-8000-000000000000', 'x']) {
    assert.equal((await visitor.see(`/incidents/${id}`)).status, 404, id);
  }
});

test('aggregators find the documents they know', async () => {
  await using visitor = await PageVisitor.open();
  const [search, checkout] = await visitor.services('Search', 'Checkout');
  assert.ok(search && checkout);
  const { id: pageId } = await visitor.page([search, checkout]);
  const { id } = await visitor.incident([search], 'MEDIUM', [
    { at: -2 * hour, description: 'first' },
    { at: -hour, status: 'MONITORING', description: 'second' },
  ]);
  const summary = await visitor.json('/api/v2/summary.json');
  assert.deepEqual(Object.keys(summary), [
    'page',
    'components',
    'incidents',
    'scheduled_maintenances',
    'status',
  ]);
  assert.deepEqual(summary.page, {
    id: pageId,
    name: 'Shop',
    url: `${visitor.cp.url}/status/shop`,
    time_zone: 'Etc/UTC',
    updated_at: iso(0),
  });
  const [component, , group] = summary.components;
  assert.deepEqual(
    [component.id, component.status, component.group, component.group_id, component.position],
    [search.id, 'degraded_performance', false, group.id, 1],
  );
  assert.deepEqual(
    [group.group, group.status, group.components],
    [true, 'degraded_performance', [search.id, checkout.id]],
  );
  const [incident] = summary.incidents;
  assert.deepEqual(
    [incident.id, incident.status, incident.impact, incident.started_at, incident.monitoring_at],
    [id, 'monitoring', 'minor', iso(-2 * hour), iso(-hour)],
  );
  assert.deepEqual(
    incident.incident_updates.map((one: Record<string, string>) => [one['status'], one['body']]),
    [
      ['monitoring', 'second'],
      ['investigating', 'first'],
    ],
  );
  assert.equal(incident.shortlink, `${visitor.cp.url}/status/shop/incidents/${id}`);
  await visitor.done('POST', `/v1/status-pages/incidents/${id}/incident-updates`, {
    description: 'over',
    status: 'RESOLVED',
  });
  assert.deepEqual((await visitor.json('/api/v2/incidents/unresolved.json')).incidents, []);
  const [resolved] = (await visitor.json('/api/v2/incidents.json')).incidents;
  assert.deepEqual([resolved.status, resolved.resolved_at], ['resolved', iso(0)]);
  assert.equal((await visitor.json('/api/v2/components.json')).components.length, 3);
  assert.deepEqual((await visitor.json('/api/v2/status.json')).status.indicator, 'none');
  const { headers } = await visitor.see('/api/v2/status.json');
  assert.equal(headers.get('access-control-allow-origin'), '*');
  for (const path of ['/api/v2/', '/api/v2/toString.json', '/api/v2/other.json', '/feed']) {
    assert.equal((await visitor.see(path)).status, 404, path);
  }

  const rss = await visitor.see('/feed.rss');
  assert.match(rss.headers.get('content-type') ?? '', /^application\/rss\+xml/);
  assert.equal(rss.text.match(/<item>/g)?.length, 1);
  assert.equal((await visitor.see('/slack.rss')).text.match(/<item>/g)?.length, 3);
  const atom = (await visitor.see('/feed.atom')).text;
  assert.match(atom, /<title type="html"><!\[CDATA\[Resolved: Trouble/);
  // Without an author a feed is no Atom feed.
  assert.match(atom, /<author>\s*<name>[^<]+<\/name>/);
  assert.equal((await visitor.json('/feed.json')).items[0].title, 'Resolved: Trouble');
  const badge = await visitor.see('/badge.svg?style=for-the-badge');
  assert.match(badge.headers.get('content-type') ?? '', /^image\/svg\+xml/);
  assert.notEqual(badge.text, (await visitor.see('/badge.svg?style=unheard-of')).text);
});

test('the logo leads where it should, and only to the web', async () => {
  await using visitor = await PageVisitor.open();
  const { id } = await visitor.page([], { logo: 'https://cdn.example/logo.svg' });
  const link = async (redirectTo: string | null) => {
    const page = { name: 'Shop', url: 'shop', cards: [], redirectTo };
    await visitor.done('PUT', `/v1/status-pages/${id}`, page);
    return /<a\s+class="brand"\s+href="([^"]*)"/.exec((await visitor.see('/')).text)?.[1];
  };
  assert.equal(await link('https://shop.example/home'), 'https://shop.example/home');
  assert.equal(await link(null), '/status/shop/');
  await assert.rejects(link('javascript:alert(1)'), /redirectTo.*must start with http/);
  await visitor.keep(id, { redirectTo: 'javascript:alert(1)' });
  await visitor.done('PUT', `/v1/status-pages/${id}`, { name: 'Shop', url: 'shop', cards: [] });
  const kept = /class="brand"\s+href="([^"]*)"/.exec((await visitor.see('/')).text)?.[1];
  assert.equal(kept, '/status/shop/', 'what an earlier version took leads nowhere');
  assert.match(
    (await visitor.see('/')).text,
    /<img src="https:\/\/cdn\.example\/logo\.svg" alt="Shop"/,
  );
});

test('a page has another logo where it is dark', async () => {
  await using visitor = await PageVisitor.open();
  const [logo, logoDark] = ['https://cdn.example/light.svg', 'https://cdn.example/dark.svg'];
  const { id } = await visitor.page([], { logo, logoDark });
  const shown = async (changes: object) => {
    const page = { name: 'Shop', url: 'shop', cards: [], ...changes };
    await visitor.done('PUT', `/v1/status-pages/${id}`, page);
    const { text } = await visitor.see('/');
    return [...text.matchAll(/(srcset|src)="https:\/\/cdn\.example\/(\w+)/g)].map(
      ([, where, name]) => `${String(where)} ${String(name)}`,
    );
  };
  assert.deepEqual(await shown({ defaultTheme: 'AUTO' }), ['srcset dark', 'src light']);
  assert.deepEqual(await shown({ defaultTheme: 'DARK' }), ['src dark']);
  assert.deepEqual(await shown({ defaultTheme: 'LIGHT' }), ['src light']);
  assert.deepEqual(await shown({ defaultTheme: 'AUTO', logo: null }), ['src dark']);
});

test('on a domain of its own a page is what there is; other hosts are left alone', async () => {
  await using visitor = await PageVisitor.open({
    PUBLIC_URL: 'https://monitor.example/base',
    STATUS_PAGE_DOMAINS: 'status.shop.example',
  });
  const [search] = await visitor.services('Search');
  assert.ok(search);
  await visitor.page([search], { customDomain: 'Status.Shop.example' });
  for (const host of [
    'status.shop.example',
    'STATUS.shop.Example',
    'status.shop.example:8443',
    'status.shop.example.',
  ]) {
    const { status, text } = await visitor.asHost(host, '/');
    assert.equal(status, 200, host);
    assert.match(text, /All systems operational/);
    assert.match(text, /<link rel="canonical" href="https:\/\/status\.shop\.example\/"/);
    assert.match(text, /href="\/history"/);
    assert.ok(slackFeeds(text).every((feed) => feed.startsWith('https://status.shop.example/')));
  }
  for (const path of ['/status/shop', '/v1/checks', '/console/', '/docs', '/openapi.json']) {
    const { status, text } = await visitor.asHost('status.shop.example', path);
    assert.equal(status, 404, path);
    assert.match(text, /<!doctype html>[^]*<a href="\/">See the current status</);
  }
  for (const path of ['/api/v2/status.json', '/slack.rss']) {
    assert.equal((await visitor.asHost('status.shop.example', path)).status, 200, path);
  }

  for (const host of [
    'shop.example',
    'x.status.shop.example',
    'status.shop.example@x',
    '',
    '[::1]',
  ]) {
    assert.equal((await visitor.asHost(host, '/')).status, 302, host);
    assert.match((await visitor.asHost(host, '/v1/checks')).text, /"BAD_TOKEN"/, host);
  }
  const forwarded = { 'x-forwarded-host': 'status.shop.example' };
  assert.equal((await visitor.asHost('monitor.example', '/', forwarded)).status, 302);
  // The same page, under the address of the installation with what stands before it.
  assert.match((await visitor.see('/')).text, /href="\/base\/status\/shop\/history"/);
  assert.equal((await visitor.asHost('127.0.0.1', '/status/SHOP/')).status, 200);
});

test('no page can take the host of the control plane', async () => {
  await using visitor = await PageVisitor.open({
    PUBLIC_URL: 'https://monitor.example',
    TRACE_VIEWER_URL: 'https://traces.example',
    STATUS_PAGE_DOMAINS: 'monitor.example,traces.example',
  });
  for (const customDomain of ['monitor.example', 'Traces.example', 'a.localhost']) {
    const answer = await visitor.cp.api('POST', '/v1/status-pages', {
      name: 'x',
      url: 'x',
      cards: [],
      customDomain,
    });
    assert.equal(answer.status, 400, customDomain);
    assert.deepEqual(answer.body.attributes.keys, ['customDomain']);
  }
  assert.equal((await visitor.asHost('monitor.example', '/')).status, 302);
  assert.match((await visitor.asHost('monitor.example:443', '/v1/checks')).text, /"BAD_TOKEN"/);
});

test('each service has an anchor and feeds of its own incidents', async () => {
  await using visitor = await PageVisitor.open();
  const [search, checkout, hidden] = await visitor.services('Search', 'Checkout', 'Hidden');
  assert.ok(search && checkout && hidden);
  await visitor.page([search, checkout]);
  await visitor.incident([search], 'MAJOR', [{ at: -hour }], 'Slow');
  await visitor.incident([checkout, hidden], 'MAJOR', [{ at: -hour }], 'Unpaid');
  const anchor = `s-${search.id.slice(-12)}`;
  const { text: page } = await visitor.see('/');
  assert.ok(page.includes(`<li id="${anchor}">`));
  assert.ok(page.includes(`href="#${anchor}"`));
  for (const format of ['rss', 'atom', 'json']) {
    const { text: feeds } = await visitor.see(`/feeds?service=${search.id}`);
    assert.ok(feeds.includes(`/status/shop/services/${search.id}/feed.${format}"`), format);
  }
  assert.equal((await visitor.see(`/feeds?service=${hidden.id}`)).status, 404);
  for (const feed of ['feed.rss', 'feed.atom', 'feed.json', 'slack.rss']) {
    const { status, text } = await visitor.see(`/services/${search.id}/${feed}`);
    assert.equal(status, 200, feed);
    assert.deepEqual([/Slow/.test(text), /Unpaid/.test(text)], [true, false], feed);
  }
  const feed = await visitor.json(`/services/${search.id}/feed.json`);
  assert.equal(feed.title, 'Search – Shop');
  assert.ok(feed.home_page_url.endsWith(`/status/shop/#${anchor}`));
  // A service that the page does not show has no feed here.
  assert.equal((await visitor.see(`/services/${hidden.id}/feed.rss`)).status, 404);
  assert.equal((await visitor.see(`/services/${search.id}/feed.toString`)).status, 404);
});

test('lines to copy into Slack have the feeds of the page and of each service, as visitors chose them', async () => {
  await using visitor = await PageVisitor.open();
  const [search, checkout] = await visitor.services('Search', 'Checkout');
  assert.ok(search && checkout);
  const { id } = await visitor.page([search, checkout], { languages: ['de'] });
  await visitor.incident([search], 'MAJOR', [{ at: -hour }, { at: -minute }], 'Slow');
  const chosen = '?language=de&timezone=Asia%2FTokyo';
  for (const query of ['', chosen]) {
    const feeds: string[] = ['', `/services/${search.id}`, `/services/${checkout.id}`].map(
      (path) => `${visitor.base}${path}/slack.rss${query}`,
    );
    const { text: page } = await visitor.see(`/${query}`);
    const rest = query.replace('?', '&');
    const found = [page];
    for (const { id: service } of [search, checkout]) {
      assert.match(page, new RegExp(`<option value="${service}"`));
      found.push((await visitor.see(`/feeds?service=${service}${rest}`)).text);
    }
    assert.deepEqual(found.flatMap(slackFeeds), feeds);
    if (query !== '') assert.match(page, /type="hidden" name="timezone" value="Asia\/Tokyo"/);
    for (const [index, feed] of feeds.entries()) {
      const response = await fetch(feed);
      assert.equal(response.status, 200, feed);
      assert.match(response.headers.get('content-type') ?? '', /^application\/rss\+xml/, feed);
      const text = await response.text();
      assert.equal(text.match(/<item>/g)?.length ?? 0, [2, 2, 0][index], feed);
      assert.match(text, query === '' ? /<language>en</ : /<language>de</);
    }
  }
  // With one service there is nothing to choose.
  const cards = [{ name: 'Web', services: [{ id: search.id }] }];
  await visitor.done('PUT', `/v1/status-pages/${id}`, { name: 'Shop', url: 'shop', cards });
  assert.deepEqual(slackFeeds((await visitor.see('/')).text), [`${visitor.base}/slack.rss`]);
});
