// Own process: it starts browsers, and reads two thousand pictures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canary,
  filmOf,
  fonts,
  openReader,
  pageOf,
  places,
  transforms,
  watchedBrowser,
} from '../../support/picture-pages.ts';
import { inLongTier } from '../../support/random.ts';

const wanted = Number(process.env['PICTURE_FRAMES'] ?? 2_000);
const scales = [1, 1.5, 2];

/** Shows the next transform in the page, and scrolls it a little. */
const turn = (step: number): string => `(async () => {
  document.body.lastElementChild.style.transform = '${transforms[step % transforms.length]}';
  scrollTo(0, ${(step * 7) % 20});
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
})()`;

test('none of two thousand pictures and frames shows the canary', inLongTier, async (t) => {
  await using watched = await watchedBrowser([canary]);
  await using plain = await watchedBrowser([]);
  await using reader = await openReader();
  const count = { pictures: 0, frames: 0, found: 0, controls: 0, foundInControls: 0 };
  const names = Object.keys(places);
  for (let round = 0; count.pictures + count.frames < wanted; round += 1) {
    const font = fonts[round % fonts.length] ?? '';
    const deviceScaleFactor = scales[round % scales.length] ?? 1;
    const viewport = { width: 480, height: 230 };
    const shown = await watched.browser.newPage({ viewport, deviceScaleFactor });
    const control = await plain.browser.newPage({ viewport, deviceScaleFactor });
    for (const [index, name] of names.entries()) {
      const sizePx = 18 + ((round + index) % 4) * 4;
      const html = pageOf(places[name]?.(canary) ?? '', { font, sizePx });
      await shown.setContent(html);
      const pictures: Buffer[] = [];
      const frames = await filmOf(shown, async () => {
        for (let step = 0; step < transforms.length; step += 1) {
          await shown.evaluate(turn(step + index));
          pictures.push(await shown.screenshot(step % 2 === 0 ? {} : { type: 'jpeg' }));
        }
      });
      count.pictures += pictures.length;
      count.frames += frames.length;
      for (const [at, picture] of [...pictures, ...frames].entries()) {
        if (!(await reader.finds(picture))) continue;
        count.found += 1;
        const which = at < pictures.length ? `picture ${at}` : `frame ${at - pictures.length}`;
        t.diagnostic(`${which} of ${name}, ${font} ${sizePx}px: ${await reader.read(picture)}`);
      }
      if (index % 3 !== round % 3) continue;
      await control.setContent(html);
      count.controls += 1;
      count.foundInControls += Number(await reader.finds(await control.screenshot()));
    }
    await shown.close();
    await control.close();
  }
  const withheld = watched.notes.filter(({ reason }) => reason !== null);
  t.diagnostic(JSON.stringify({ ...count, withheld: withheld.length }));
  assert.ok(count.foundInControls > count.controls / 2, 'the reader finds it where it stands');
  assert.equal(count.found, 0);
  assert.deepEqual(withheld, []);
});
