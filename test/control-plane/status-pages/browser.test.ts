// Own process: it starts browsers.
/** Status pages in a real browser: what could be executed is not, and everybody can read them. */
import assert from 'node:assert/strict';
import test from 'node:test';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { language, themeColorNames } from '@monitor/shared/contract/status-page.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { day, hour, iso, minute, PageVisitor } from '../../support/page-visitor.ts';
import { isLong, seededRandom } from '../../support/random.ts';

interface Finding {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What axe finds wrong, by all its rules or by some; each page has text whose contrast it can tell. */
async function violations(page: Page, rules?: string[]): Promise<string[]> {
  const options = rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } };
  // The policy of the page keeps scripts out; the protocol of the browser puts this one in.
  const found = await page.evaluate<{ violations: Finding[]; passes: Finding[] }>(`(async () => {
    ${axe.source}
    return await axe.run(document, ${JSON.stringify(options)});
  })()`);
  const readable = found.passes.find(({ id }) => id === 'color-contrast')?.nodes ?? [];
  assert.ok(readable.length >= 3, `${readable.length} texts looked at`);
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`,
  );
}

const browser = await openBrowser();

/** A page with something of everything. */
async function openBusyPage(look: object = {}) {
  const visitor = await PageVisitor.open();
  const services = await visitor.services('Search', 'Checkout', 'Login', 'Media', 'Reports');
  const [search, checkout, login, media] = services;
  assert.ok(search && checkout && login && media);
  const { id } = await visitor.page(services, {
    description: 'All of it.\nhttps://x.example',
    ...look,
  });
  const open = await visitor.incident([search], 'CRITICAL', [
    { at: -5 * hour },
    { at: -4 * hour, status: 'IDENTIFIED' },
    { at: -3 * hour, status: 'MONITORING' },
    { at: -2 * hour, status: 'INVESTIGATING', description: 'See https://x.example/help.' },
  ]);
  await visitor.incident([checkout], 'MAJOR', [{ at: -hour }]);
  await visitor.incident([login], 'MINOR', [{ at: -minute }]);
  await visitor.incident([media], 'MEDIUM', [
    { at: -4 * day },
    { at: -3 * day, status: 'RESOLVED' },
  ]);
  await visitor.maintenance(media, {
    startsAt: iso(-minute),
    endsAt: iso(hour),
    repeatUnit: 'DAY',
  });
  return { visitor, id, incidentId: open.id };
}

test('user texts are never executed and load nothing from other hosts', async () => {
  const script = '<script>window.pwned=1</script>';
  const payloads = [
    `${script}<img src=x onerror="window.pwned=1">`,
    `"><svg/onload=window.pwned=1>`,
    `' onmouseover='window.pwned=1' autofocus onfocus='window.pwned=1`,
    `</title></style></textarea>${script}`,
    `javascript:window.pwned=1`,
    `https://x.example/"onmouseover="window.pwned=1`,
    `]]>${script}<![CDATA[ &lt;b&gt; \u0001`,
    `\${window.pwned=1}{{7*7}}`,
  ];
  await using visitor = await PageVisitor.open();
  const services = await visitor.services(...payloads);
  const [first] = services;
  assert.ok(first);
  const { id } = await visitor.page(services, {
    name: payloads.join(' ').slice(0, 255),
    description: payloads.join('\n').slice(0, 500),
    cards: payloads.map((name, index) => ({ name, services: [{ id: services[index]?.id }] })),
  });
  const texts = [...payloads, payloads.join('\n')];
  for (const [index, text] of texts.entries()) {
    const updates = [
      { at: -hour, description: text },
      { at: -minute, description: text, ...(index % 2 === 0 ? { status: 'RESOLVED' } : {}) },
    ];
    await visitor.incident(services, 'MAJOR', updates, text.slice(0, 255));
  }
  await visitor.maintenance(first, {
    name: payloads.join(' ').slice(0, 255),
    description: payloads.join('\n').slice(0, 500),
    startsAt: iso(hour),
    endsAt: iso(day),
  });
  const context = await browser.newContext();
  const page = await context.newPage();
  const requested: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  const { entries } = await visitor.done('GET', '/v1/status-pages/incidents');
  const paths = [
    ...['/', '/history', `/incidents/${entries[0].id}`],
    ...['/subscriptions/webhook', '/badge.svg', '/nothing'],
  ];
  for (const address of [
    'javascript:window.pwned=1',
    'data:text/html,<script>1</script>',
    payloads[5],
  ]) {
    await visitor.keep(id, { logo: address, favicon: address, redirectTo: address });
    await visitor.done('PUT', `/v1/status-pages/${id}`, {
      name: payloads[0],
      url: 'shop',
      cards: [{ name: payloads[1], services }],
    });
    for (const path of paths) {
      await page.goto(visitor.base + path);
      for (const element of await page.locator('summary').all()) await element.click();
      for (const element of await page.locator('h1, .services b, .name, rect').all()) {
        await element.dispatchEvent('mouseover');
      }
      assert.equal(await page.evaluate('window.pwned'), undefined, path);
      assert.equal(await page.locator('script, img[onerror], [onmouseover]').count(), 0, path);
    }
  }
  // A logo on the web is what somebody asked for.
  const foreign = requested.filter((url) => !url.startsWith(visitor.cp.url) && /^http/.test(url));
  assert.ok(
    foreign.every((url) => url.startsWith('https://x.example/%22onmouseover')),
    String(foreign),
  );

  // Feeds are well formed, and their readers find text rather than elements.
  await page.goto('about:blank');
  for (const path of ['/feed.rss', '/feed.atom', '/slack.rss', '/badge.svg']) {
    const { text } = await visitor.see(path);
    const broken = await page.evaluate(
      `new DOMParser()
        .parseFromString(${JSON.stringify(text)}, 'text/xml')
        .querySelectorAll('parsererror, script').length`,
    );
    assert.equal(broken, 0, path);
    assert.equal(/<script|<img/.test(text), false, path);
  }
  await context.close();
});

for (const theme of ['LIGHT', 'DARK'] as const) {
  test(`axe finds nothing to object to, ${theme.toLowerCase()}`, async () => {
    const { visitor, id, incidentId } = await openBusyPage({ defaultTheme: theme });
    await using _ = visitor;
    const page = await browser.newPage({ viewport: { width: 360, height: 800 } });
    const paths = [
      ...['/', '/history', `/incidents/${incidentId}`],
      ...['/subscriptions/webhook', '/nothing'],
    ];
    const links = ['/subscriptions/verify?token=x', '/subscriptions/unsubscribe?token=x'];
    // The theme decides about colours alone.
    const rules = theme === 'DARK' && !isLong ? ['color-contrast'] : undefined;
    for (const path of [...paths, ...links]) {
      await page.goto(visitor.base + path);
      for (const choice of await page.locator('.choice > summary').all()) await choice.click();
      assert.deepEqual(await violations(page, rules), [], path);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      assert.ok(Number(width) <= 360, path);
    }
    await visitor.done('POST', `/v1/status-pages/${id}/password`);
    await page.goto(visitor.base);
    assert.deepEqual(await violations(page, rules), []);
    await page.close();
  });
}

test('every language is readable on a phone, from its own side', async () => {
  const { visitor, incidentId } = await openBusyPage({ languages: language.options });
  await using _ = visitor;
  const page = await browser.newPage({ viewport: { width: 360, height: 800 } });
  for (const one of language.options) {
    for (const path of ['/', '/history', `/incidents/${incidentId}`]) {
      await page.goto(`${visitor.base}${path}?language=${one}`);
      assert.equal(await page.locator('html').getAttribute('lang'), one);
      for (const choice of await page.locator('.choice > summary').all()) await choice.click();
      const width = await page.evaluate('document.documentElement.scrollWidth');
      assert.ok(Number(width) <= 360, `${one} ${path}`);
      if (path === '/') assert.deepEqual(await violations(page), [], one);
    }
  }
  // Today is where a line of Arabic ends.
  await page.goto(`${visitor.base}/?language=ar`);
  const today = await page.locator('.bars > .f0').first().boundingBox();
  assert.ok(today !== null && today.x < 60, JSON.stringify(today));
  await page.getByRole('link', { name: 'Deutsch' }).click();
  await page.getByRole('link', { name: 'Verlauf' }).click();
  await page.getByRole('heading', { name: 'Störungen im November 2026' }).waitFor();
  await page.close();
});

test('axe finds nothing to object to on a long page with published work, wide and narrow', async () => {
  await using visitor = await PageVisitor.open();
  const names = Array.from({ length: 300 }, (_, at) => `Service ${at}`);
  const services = await visitor.services(...names);
  const cards = Array.from({ length: 10 }, (_, card) => ({
    name: `Group ${card}`,
    services: services.slice(card * 30, card * 30 + 30).map(({ id }) => ({ id })),
  }));
  await visitor.done('POST', '/v1/status-pages', { name: 'Shop', url: 'shop', cards });
  const id = await visitor.done('POST', '/v1/maintenance-windows', {
    ...{ name: 'Move', description: 'We move', startsAt: iso(-minute), endsAt: iso(hour) },
    statusPageVisibility: { serviceIds: [services[40]?.id], severity: 'MAJOR' },
  });
  const occurrence = `${id.id}/maintenances/${id.id}-${Date.parse(iso(-minute))}`;
  const update = { description: 'We look at it', status: 'VERIFYING' };
  await visitor.done('POST', `/v1/maintenance-windows/${occurrence}/updates`, update);
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1440, 390]) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
      for (const path of ['/status/shop', '/status/shop?q=service+4']) {
        await page.goto(visitor.cp.url + path);
        const name = `${width} ${colorScheme} ${path}`;
        assert.deepEqual(await violations(page), [], name);
        const tooWide = await page.evaluate('document.body.scrollWidth > innerWidth');
        assert.equal(tooWide, false, name);
      }
      await page.close();
    }
  }
});

test('axe finds nothing to object to in random palettes', async () => {
  const { visitor, id } = await openBusyPage();
  await using _ = visitor;
  const random = seededRandom(20);
  const digit = () => '0123456789ABCDEF'[Math.floor(random() * 16)];
  const color = () => `#${Array.from({ length: random() < 0.3 ? 3 : 6 }, digit).join('')}`;
  const palette = () => Object.fromEntries(themeColorNames.map((name) => [name, color()]));
  const { cards } = await visitor.done('GET', `/v1/status-pages/${id}`);
  const page = await browser.newPage();
  for (let round = 0; round < (isLong ? 10 : 3); round += 1) {
    const themeColors = { light: palette(), dark: palette() };
    await visitor.done('PUT', `/v1/status-pages/${id}`, {
      name: 'Shop',
      url: 'shop',
      cards,
      themeColors,
    });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(visitor.base);
      assert.deepEqual(
        await violations(page, ['color-contrast']),
        [],
        JSON.stringify(themeColors[colorScheme]),
      );
    }
  }
  await page.close();
});

test('without script and with the keyboard alone, visitors read on and subscribe', async () => {
  const { visitor } = await openBusyPage();
  await using _ = visitor;
  const context = await browser.newContext({
    javaScriptEnabled: false,
    viewport: { width: 320, height: 700 },
  });
  const page = await context.newPage();
  await page.goto(visitor.base);
  await page.keyboard.press('Tab');
  assert.equal(await page.locator(':focus').textContent(), 'Skip to content');
  const details = page.locator('details').first();
  assert.equal(await details.locator('li').first().isVisible(), false);
  await page.locator('summary').first().focus();
  await page.keyboard.press('Enter');
  assert.equal(await details.locator('li').first().isVisible(), true);

  // A click takes the whole line, and a service has its own.
  const line = page.locator('code').first();
  await line.click();
  assert.equal(await page.evaluate('String(getSelection())'), await line.textContent());
  assert.equal(await line.textContent(), `/feed subscribe ${visitor.base}/slack.rss`);
  const ofOne = page.getByRole('combobox').and(page.locator('[name=service]'));
  assert.equal(await ofOne.isVisible(), false);
  await page.locator('summary', { hasText: 'Slack' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Search');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Search' }).waitFor();
  assert.match((await line.textContent()) ?? '', /^\/feed subscribe .+\/services\/.+\.rss$/);
  await page.goBack();

  await page.getByLabel('E-mail address').fill('ann@example.com');
  const checkout = page.getByRole('group', { name: 'Web' }).getByLabel('Checkout');
  assert.equal(await checkout.isVisible(), false);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await checkout.isVisible(), true);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  assert.equal(await checkout.isChecked(), true);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
  const { entries } = await visitor.done('GET', '/v1/status-pages');
  const [subscription] = await visitor.done(
    'GET',
    `/v1/status-pages/${entries[0].id}/subscriptions`,
  );
  assert.deepEqual(
    subscription.services.map(({ name }: { name: string }) => name),
    ['Checkout'],
  );
  await page.getByRole('link', { name: 'History' }).click();
  await page.getByRole('heading', { name: 'Incidents in November 2026' }).waitFor();
  await context.close();
});
