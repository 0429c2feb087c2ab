// Own process: it starts browsers.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { pictureForms, RunPictures } from '../../../agent/browsers/pictures.ts';
import {
  canary,
  filmOf,
  fonts,
  openReader,
  pageOf,
  pixelsOf,
  places,
  transforms,
  watchedBrowser,
  type Reader,
  type WatchedBrowser,
} from '../../support/picture-pages.ts';

const viewport = { width: 480, height: 220 };

/** Pixels that differ, as the box around them and whether each of them is black in the second. */
function difference(one: Buffer, other: Buffer) {
  const [left, right] = [pixelsOf(one), pixelsOf(other)];
  assert.deepEqual([right.width, right.height], [left.width, left.height]);
  const box = { left: Infinity, top: Infinity, right: -1, bottom: -1 };
  let isBlack = true;
  for (let at = 0; at < left.data.length; at += 4) {
    if (left.data.readUInt32BE(at) === right.data.readUInt32BE(at)) continue;
    const [x, y] = [(at / 4) % left.width, Math.floor(at / 4 / left.width)];
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
    isBlack &&= right.data.readUIntBE(at, 3) < 0x101010;
  }
  return { ...box, isBlack };
}

const threeFrames = `new Promise((resolve) => {
  const next = (left) => (left === 0 ? resolve() : requestAnimationFrame(() => next(left - 1)));
  next(3);
})`;

describe('pictures of pages', () => {
  let watched: WatchedBrowser;
  let plain: WatchedBrowser;
  let reader: Reader;
  let pages: [watched: Page, plain: Page];
  before(async () => {
    watched = await watchedBrowser([canary]);
    plain = await watchedBrowser([]);
    reader = await openReader();
    pages = [
      await watched.browser.newPage({ viewport }),
      await plain.browser.newPage({ viewport }),
    ];
  });
  after(async () => {
    await Promise.all([watched, plain, reader].map((one) => one[Symbol.asyncDispose]()));
  });

  const shown = async (html: string): Promise<[painted: Buffer, control: Buffer]> => {
    const pictures = [];
    for (const page of pages) {
      await page.goto('about:blank');
      await page.setContent(html);
      // What a page does in its first two frames is there in both pictures.
      await page.evaluate(threeFrames);
      pictures.push(await page.screenshot());
    }
    return pictures as [Buffer, Buffer];
  };

  for (const [index, [name, place]] of Object.entries(places).entries()) {
    test(`a secret is painted over where a page shows it: ${name}`, async () => {
      const look = {
        font: fonts[index % fonts.length] ?? '',
        transform: transforms[index % transforms.length] ?? '',
      };
      let pair = await shown(pageOf(place(canary), look));
      // The reader does not read each of them askew.
      if (!(await reader.finds(pair[1]))) pair = await shown(pageOf(place(canary)));
      const [painted, control] = pair;
      assert.ok(await reader.finds(control), 'the reader finds it in a picture as it is');
      assert.ok(!(await reader.finds(painted)), await reader.read(painted));
      const { isBlack, top } = difference(control, painted);
      assert.ok(isBlack, 'nothing else changes');
      assert.ok(top > 40, `the text above it stays: ${top}`);
    });
  }

  test('it is found at every scale of the device, in full pages, elements and cuts', async () => {
    for (const deviceScaleFactor of [1, 1.5, 3]) {
      const page = await watched.browser.newPage({ viewport, deviceScaleFactor });
      await page.setContent(pageOf(`<p style="margin-top:400px" id=t>${canary}<br><br>OMEGA</p>`));
      const pictures = [
        await page.screenshot({ fullPage: true }),
        await page.screenshot({ fullPage: true, scale: 'css', type: 'jpeg' }),
        await page.locator('#t').screenshot(),
        await page.screenshot({ fullPage: true, clip: { x: 0, y: 440, width: 470, height: 170 } }),
      ];
      for (const picture of pictures) {
        const text = await reader.read(picture);
        assert.doesNotMatch(text, /KUMQ|VEXED/);
        assert.match(text, /OMEGA/);
      }
      await page.close();
    }
  });

  test('a picture without a secret is what it was, to the byte', async () => {
    const near = canary.slice(0, -1);
    const contents = [
      `<p>${near}</p><input value="${near}"><p>${first(near)} ${rest(near)}</p>`,
      `<table><tr><td style="padding:9px">${first(canary)}<td style="padding:9px">${rest(canary)}</table>`,
      `<p style="visibility:hidden">${canary}</p><p>true 1234 ab</p>`,
      `<input type=password value="${canary}"><script>const s = '${canary}'</script>`,
      places['canvas']?.(near) ?? '',
    ];
    for (const content of contents) {
      const [painted, control] = await shown(pageOf(content));
      assert.ok(
        painted.equals(control),
        `${content}: ${JSON.stringify(difference(control, painted))}`,
      );
    }
    assert.equal(watched.notes.filter(({ reason }) => reason !== null).length, 0);
  });

  test('no frame of a film shows a secret that comes, moves and goes within one', async () => {
    const happening = (page: Page) => async () => {
      for (let round = 0; round < 3; round += 1) {
        await page.evaluate(`(async () => {
          const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
          const element = document.querySelector('p');
          element.textContent = '${canary}';
          for (let step = 0; step < 20; step += 1) {
            element.style.transform = 'translate(' + step * 8 + 'px,' + step * 3 + 'px)';
            await frame();
          }
          element.textContent = 'nothing';
          await frame();
        })()`);
        await page.fill('input', canary);
        await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
        await page.goto('about:blank');
        await page.setContent(html);
      }
    };
    const html = pageOf('<p>nothing</p><input style="font:inherit">');
    const films = [];
    for (const { browser } of [watched, plain]) {
      const page = await browser.newPage({ viewport, deviceScaleFactor: 1.5 });
      await page.setContent(html);
      films.push(await filmOf(page, happening(page)));
      await page.close();
    }
    const [painted = [], control = []] = films;
    const found = async (film: Buffer[]): Promise<number> => {
      let count = 0;
      for (const frame of film.slice(0, 12)) count += Number(await reader.finds(frame));
      return count;
    };
    assert.ok((await found(control)) > 0, `${control.length} frames as they are`);
    assert.ok(painted.length > 0);
    assert.equal(await found(painted), 0);
  });

  test('windows that a page writes into are searched like others', async () => {
    const inner = `<p style="font-size:24px">${canary}</p>`;
    const ways = [
      `window.open('about:blank').document.body.innerHTML = '${inner}'`,
      `{ const { document } = window.open(''); document.write('${inner}'); document.close(); }`,
      `void window.open(URL.createObjectURL(new Blob(['${inner}'], { type: 'text/html' })))`,
    ];
    const found = async (browser: WatchedBrowser['browser'], way: string): Promise<boolean> => {
      const page = await browser.newPage({ viewport });
      const [other] = await Promise.all([page.waitForEvent('popup'), page.evaluate(way)]);
      await other.getByText(canary).waitFor();
      const isFound = await reader.finds(await other.screenshot());
      await page.close();
      return isFound;
    };
    for (const way of ways) {
      assert.equal(await found(plain.browser, way), true, way);
      assert.equal(await found(watched.browser, way), false, way);
    }
  });

  test('the search of a page without a secret asks for no layout', async () => {
    const html = `<style>.a{opacity:0;transition:opacity 5s}.b{opacity:1}</style><input><div id=r></div>`;
    const outcomes = [];
    for (const page of pages) {
      await page.goto('about:blank');
      await page.setContent(html);
      outcomes.push(
        await page.evaluate(`(async () => {
          const element = document.createElement('p');
          element.className = 'a';
          element.textContent = 'text';
          document.querySelector('#r').append(element);
          await null;
          element.classList.add('b');
          return [getComputedStyle(element).opacity, document.getAnimations().length];
        })()`),
      );
    }
    // Styles that are read between the two begin a transition.
    assert.deepEqual(outcomes, [
      ['1', 0],
      ['1', 0],
    ]);
  });

  test('what a page puts in place of what is called for its canvas makes no call of it fail', async () => {
    const [page] = pages;
    await page.goto('about:blank');
    await page.setContent('<canvas></canvas>');
    await page.evaluate(`{
      const context = document.querySelector('canvas').getContext('2d');
      for (const name of ['measureText', 'getTransform'])
        context[name] = () => { throw new Error('of the page'); };
      context.fillText('text', 10, 10);
      context.clearRect(0, 0, 5, 5);
    }`);
  });

  test('a picture is painted also where no note of it can be written', async () => {
    await using full = await watchedBrowser([canary], {
      onNote({ what }) {
        if (what !== 'browser') throw new Error('no space left');
      },
    });
    const page = await full.browser.newPage({ viewport });
    await page.setContent(pageOf(`<p>${canary}</p>`));
    const text = await reader.read(await page.screenshot());
    assert.match(text, /ALPHA/);
    assert.doesNotMatch(text, /KUMQ|VEXED/);
  });

  test('a browser that others can reach by a port counts as unsearched', async () => {
    await using open = await watchedBrowser([canary], { args: ['--remote-debugging-port=0'] });
    assert.match(open.notes[0]?.reason ?? '', /only in pictures of a Chromium/);
  });

  test('scripts see true values and reach what is painted over', async () => {
    const [page] = pages;
    await page.setContent(
      pageOf(
        `<input id=i value="${canary}"><button onclick="this.dataset.hit=1">${canary}</button>`,
      ),
    );
    await page.screenshot();
    assert.equal(await page.inputValue('#i'), canary);
    assert.equal(await page.textContent('button'), canary);
    await page.click('button');
    assert.equal(await page.getAttribute('button', 'data-hit'), '1');
    assert.ok((await page.screenshot()).equals(await page.screenshot()));
  });

  test('the scripts of a page learn nothing from the search', async () => {
    const [page] = pages;
    const hostile = `<script>
      window.heard = [];
      let isBusy = false;
      const call = Reflect.apply;
      const note = (value) => {
        if (isBusy || heard.length > 5000) return;
        isBusy = true;
        try { heard[heard.length] = typeof value === 'string' ? value : value?.detail ?? value?.textContent ?? ''; } catch {}
        isBusy = false;
      };
      for (const type of [String, Array, RegExp, EventTarget, Element, Node, Range, CustomEvent, Blob]) {
        for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type.prototype))) {
          if (typeof value !== 'function' || name === 'constructor' || name === 'apply') continue;
          try { type.prototype[name] = function (...args) { note(this); for (let at = 0; at < args.length; at += 1) note(args[at]); return call(value, this, args); } } catch {}
        }
      }
      for (const name of Object.getOwnPropertyNames(window)) if (/^(g[0-9a-f]{24}|__look|__paint)$/.test(name)) note('guard ' + name);
      document.title = JSON.stringify({ heard: heard.length });
    </script><p>${canary.slice(0, -1)}</p><p id=later></p>`;
    await page.goto('about:blank');
    await page.setContent(pageOf(hostile));
    await page.evaluate(`document.querySelector('#later').innerHTML = 'KUMQUAT-'`);
    await page.screenshot();
    const heard = await page.evaluate<string>('heard.join()');
    assert.doesNotMatch(heard, /VEXED|guard/);
  });

  test('what cannot be located withholds the picture with a reason, or leaves by setting', async () => {
    const content = `<style>#a::before{content:attr(data-v);position:absolute;left:200px}</style><p id=a data-v="${canary}">text</p>`;
    const [page] = pages;
    await page.setContent(pageOf(content));
    const withheld = pixelsOf(await page.screenshot());
    assert.ok(withheld.data.every((value, at) => at % 4 === 3 || value === 0));
    assert.match(watched.notes.at(-1)?.reason ?? '', /style sheet, away from its element/);
    await using lenient = await watchedBrowser([canary], { isStrict: false });
    const other = await lenient.browser.newPage({ viewport });
    await other.setContent(pageOf(content));
    assert.ok(await reader.finds(await other.screenshot()));
  });

  test('frames of other sites are searched in their own processes', async () => {
    await using isolated = await watchedBrowser([canary], { args: ['--site-per-process'] });
    const page = await isolated.browser.newPage({ viewport });
    await page.route('**/*', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: route.request().url().includes('inner')
          ? `<body style="font-size:24px">${canary}`
          : pageOf('<iframe src="http://inner.test/" style="height:60px"></iframe>'),
      }),
    );
    await page.goto('http://outer.test/');
    const text = await reader.read(await page.screenshot());
    assert.match(text, /ALPHA/);
    assert.doesNotMatch(text, /KUMQ|VEXED/);
    assert.deepEqual(
      isolated.notes.map(({ what, reason }) => [what, reason]),
      [
        ['browser', null],
        ['picture', null],
      ],
    );
  });
});

const first = (text: string): string => text.slice(0, 7);
const rest = (text: string): string => text.slice(7);

test('what is looked for in pictures is what the scrubber counts as a secret', () => {
  assert.deepEqual(pictureForms(['true', '1234', 'ab', 'https://', '']), []);
  const forms = pictureForms([canary, 'Pa55']).map(({ text }) => text);
  assert.ok(forms.includes(canary.toLowerCase()));
  assert.ok(forms.includes('Pa55'));
  const encoded = Buffer.from(canary).toString('base64').slice(0, 16).toLowerCase();
  assert.ok(forms.some((text) => text.startsWith(encoded)));
  // The beginning of an encoding is where the scrubber starts to look, and no secret.
  assert.ok(!forms.includes(encoded.slice(0, 13)));
  const withSigns = pictureForms(['>>>???Pa55word']).map(({ text }) => text);
  assert.ok(withSigns.some((text) => text.startsWith('pj4+pz8/')));
});

test('pictures leave only when every browser of the run was watched', () => {
  const environment = [{ key: 'KEY', value: canary, secret: true }];
  const strict = new RunPictures(environment, 'withhold');
  const inBrowser = { what: 'browser', reason: null } as const;
  const other = { what: 'browser', reason: 'another browser' } as const;
  assert.equal(
    new RunPictures([{ key: 'A', value: canary, secret: false }], 'withhold').watched,
    null,
  );
  assert.equal(new RunPictures(environment, 'keep').seen([]).withheld, null);
  assert.equal(strict.seen([inBrowser]).withheld, null);
  assert.match(strict.seen([]).withheld ?? '', /no browser was watched/);
  assert.equal(strict.seen([inBrowser, other]).withheld, 'another browser');
  assert.equal(new RunPictures(environment, 'paint').seen([other]).withheld, null);
  assert.match(strict.seen([inBrowser], ['another-secret']).withheld ?? '', /after the run/);
  assert.equal(strict.seen([inBrowser], [canary]).withheld, null);
  const why = { what: 'frame', reason: 'why' } as const;
  assert.deepEqual(strict.seen([inBrowser, why, why, { ...why, what: 'picture' }]).lines, [
    { msg: 'pictures and frames of films withheld (3): why', level: 'WARN' },
  ]);
});
