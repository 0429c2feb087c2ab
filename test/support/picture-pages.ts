/** Pages that show a value in many ways, a browser whose pictures are searched for it, and a reader of pictures. */
import childProcess from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { createWorker, PSM, type Worker } from 'tesseract.js';
import { pictureForms, type PictureNote } from '../../agent/browsers/pictures.ts';
import { launchBrowser } from './found-browser.ts';

const require = createRequire(import.meta.url);

interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Buffer;
}

/** The codecs that Playwright brings. */
const codecs = require(
  join(dirname(require.resolve('playwright-core/package.json')), 'lib', 'utilsBundle.js'),
) as {
  PNG: { sync: { read(bytes: Buffer): Pixels; write(image: Pixels): Buffer } };
  jpegjs: { decode(bytes: Buffer): Pixels };
};

export const pixelsOf = (picture: Buffer): Pixels =>
  picture[0] === 0xff ? codecs.jpegjs.decode(picture) : codecs.PNG.sync.read(picture);

export const pngOf = (picture: Buffer): Buffer =>
  picture[0] === 0xff ? codecs.PNG.sync.write(codecs.jpegjs.decode(picture)) : picture;

interface Watcher {
  watchBrowsers(
    watched: () => unknown,
    write: (note: PictureNote) => void,
  ): { setWatched(given: unknown): void };
}
const { watchBrowsers } =
  require('../../agent/browsers/inside/pictures/watch-browsers.cjs') as Watcher;

export interface WatchedBrowser extends AsyncDisposable {
  readonly browser: Browser;
  readonly notes: readonly PictureNote[];
}

/** Starts it; without secrets it is watched and nothing is looked for. */
export async function watchedBrowser(
  secrets: readonly string[],
  {
    isStrict = true,
    args = [] as readonly string[],
    onNote = (_: PictureNote): void => undefined,
  } = {},
): Promise<WatchedBrowser> {
  const notes: PictureNote[] = [];
  const { spawn } = childProcess;
  watchBrowsers(
    () => ({ forms: pictureForms(secrets), isStrict }),
    (note) => {
      notes.push(note);
      onNote(note);
    },
  );
  const browser = await launchBrowser(args);
  childProcess.spawn = spawn;
  return { browser, notes, [Symbol.asyncDispose]: () => browser.close() };
}

/** Letters that a reader does not take for others. */
export const canary = 'KUMQUAT-VEXED';

export const fonts = [
  ...['400 normal', '700 normal', '400 oblique', '700 oblique', '200 normal'].map(
    (face) => [face, 'normal', 'DejaVu Sans'] as const,
  ),
  ...['400 normal', '700 normal', '400 oblique', '700 oblique'].flatMap((face) => [
    [face, 'normal', 'DejaVu Sans Mono'] as const,
    [face, 'normal', 'DejaVu Serif'] as const,
    [face, 'condensed', 'DejaVu Serif'] as const,
  ]),
  ['400 normal', 'condensed', 'DejaVu Sans'] as const,
  ['700 normal', 'condensed', 'DejaVu Sans'] as const,
  ['400 normal', 'normal', 'Open Sans'] as const,
].map(([face, stretch, family]) => {
  const [weight = '', style = ''] = face.split(' ');
  return `font-family:'${family}';font-weight:${weight};font-style:${style};font-stretch:${stretch}`;
});

export const transforms = [
  'none',
  'rotate(4deg)',
  'scale(1.3)',
  'skewX(12deg)',
  'translate(20px,6px) rotate(-3deg) scale(.9)',
];

const half = Math.ceil(canary.length / 2);
const [first, second] = [canary.slice(0, half), canary.slice(half)];

/** Elements that show a value, by how they do it. */
export const places: Readonly<Record<string, (value: string) => string>> = {
  text: (value) => `<p>${value}</p>`,
  split: (value) =>
    value === canary ? `<p><b>${first.slice(0, 3)}</b>${first.slice(3)}<i>${second}</i></p>` : '',
  input: (value) => `<input style="font:inherit;width:100%" value="${value}">`,
  placeholder: (value) => `<input style="font:inherit;width:100%" placeholder="${value}">`,
  textarea: (value) => `<textarea style="font:inherit;width:100%" rows=1>${value}</textarea>`,
  select: (value) =>
    `<select style="font:28px sans-serif;border:0;appearance:none"><option>${value}</select>`,
  attribute: (value) =>
    `<style>#a::after{content:attr(data-v)}</style><p id=a data-v="${value}"></p>`,
  open: (value) =>
    `<div id=h></div><script>h.attachShadow({mode:'open'}).innerHTML='<p>${value}</p>'</script>`,
  closed: (value) =>
    `<div id=h></div><script>h.attachShadow({mode:'closed'}).innerHTML='<p>${value}</p>'</script>`,
  frame: (value) =>
    `<iframe style="border:2px solid;width:95%;height:70px" srcdoc='<body style="margin:8px;font-size:inherit"><p style="font-size:24px;margin:0">${value}</p>'></iframe>`,
  canvas: (value) =>
    `<canvas id=c width=420 height=60></canvas><script>{const x=c.getContext('2d');x.font='28px '+getComputedStyle(c).fontFamily;x.fillText('${value}',10,40)}</script>`,
  scrolled: (value) =>
    `<div id=s style="height:70px;overflow:auto"><p>above</p><p>above</p><p>${value}</p><p>below</p></div><script>s.scrollTop=90</script>`,
  picture: (value) =>
    `<img src="data:image/svg+xml,${encodeURIComponent(`<svg xmlns='http://www.w3.org/2000/svg' width='400' height='50'><text x='8' y='34' font-size='26'>${value}</text></svg>`)}">`,
  clobbered: (value) =>
    `<form name=createRange><input type=hidden name=attributes><input type=hidden name=parentElement><input type=hidden name=contains><p>${value}</p></form>`,
  'beside a letter that becomes two': (value) => `<p>\u0130zmir ${value}</p>`,
  'list of options': (value) =>
    `<select size=2 style="font:28px sans-serif;border:0"><option>above<option>${value}</select>`,
  'pieces side by side': (value) =>
    value === canary ? `<div style="display:flex"><b>${first}</b>\n<b>${second}</b></div>` : '',
  'cells side by side': (value) =>
    value === canary
      ? `<table cellspacing=0><tr>\n<td style="padding:0">${first}</td>\n<td style="padding:0">${second}</td></table>`
      : '',
  'cut off in one direction': (value) =>
    `<div style="overflow-x:clip;height:2px"><p style="margin:30px 0">${value}</p></div>`,
  'in a box that is none': (value) =>
    `<div style="display:contents;overflow:hidden"><p>${value}</p></div>`,
  'by a late rule': (value) =>
    `<style id=s></style><p id=a data-v="${value}"></p><script>requestAnimationFrame(()=>requestAnimationFrame(()=>s.sheet.insertRule('#a::after{content:attr(data-v)}')))</script>`,
  svg: (value) => `<svg width=420 height=60><text x=8 y=40>${value}</text></svg>`,
};

export const pageOf = (
  content: string,
  { font = fonts[0], sizePx = 24, transform = 'none' } = {},
): string =>
  `<!doctype html><body style="margin:12px;background:#fff;font-size:${sizePx}px;${font}">
  <div style="height:60px;font:24px sans-serif">ALPHA</div><div style="transform:${transform};transform-origin:0 50%;width:430px">${content}</div>`;

/** Every frame of a film of a page while something happens in it. */
export async function filmOf(page: Page, happening: () => Promise<unknown>): Promise<Buffer[]> {
  const frames: Buffer[] = [];
  const session = await page.context().newCDPSession(page);
  session.on('Page.screencastFrame', ({ data, sessionId }) => {
    frames.push(Buffer.from(data, 'base64'));
    session.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
  });
  await session.send('Page.startScreencast', { format: 'jpeg', quality: 90 });
  await happening();
  await session.send('Page.stopScreencast');
  return frames;
}

export interface Reader extends AsyncDisposable {
  /** True when the canary, or five letters of it in a row, can be read in a picture. */
  finds(picture: Buffer): Promise<boolean>;
  read(picture: Buffer): Promise<string>;
}

const lettersOf = (text: string): string => text.toUpperCase().replace(/[^A-Z]/g, '');

export async function openReader(): Promise<Reader> {
  const language = dirname(require.resolve('@tesseract.js-data/eng/package.json'));
  const worker: Worker = await createWorker('eng', 1, {
    langPath: join(language, '4.0.0_best_int'),
    cacheMethod: 'none',
  });
  await worker.setParameters({
    ...{ tessedit_pageseg_mode: PSM.SPARSE_TEXT, user_defined_dpi: '144' },
  });
  const read = async (picture: Buffer): Promise<string> => {
    const { data } = await worker.recognize(pngOf(picture));
    return data.text;
  };
  const letters = lettersOf(canary);
  const pieces = Array.from({ length: letters.length - 4 }, (_, at) => letters.slice(at, at + 5));
  return {
    read,
    async finds(picture) {
      const seen = lettersOf(await read(picture));
      return pieces.some((piece) => seen.includes(piece));
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}
