/** Gives each answer, cut in each way, to three clients on connections of its own, and notes what each saw. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { runApi } from '../../../agent/runners/api.ts';
import { launchBrowser } from '../../support/found-browser.ts';
import { seededRandom } from '../../support/random.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { tcpServer } from '../../support/servers.ts';
import type { WireAnswer } from './answers.ts';

export const cuts = ['whole', 'single', 'random'] as const;
type Cut = (typeof cuts)[number];
/** Refused, or what was read. */
export interface Seen {
  refused?: string;
  status?: number;
  path?: string;
  body?: string;
  headers?: ReadonlyMap<string, string>;
}
export type Client = (url: string, answer: WireAnswer) => Promise<Seen>;

const withinMs = 8_000;

function* piecesOf(bytes: Buffer, cut: Cut, random: () => number): Generator<Buffer> {
  const most = Math.max(20, bytes.length / 20);
  for (let at = 0, size = 0; at < bytes.length; at += size) {
    // The middle of what is large goes out at once.
    const single = at === 2_000 ? Math.max(1, bytes.length - 4_000) : 1;
    size = { whole: bytes.length, single, random: Math.ceil(random() * most) }[cut];
    yield bytes.subarray(at, at + size);
  }
}

/** Serves `/number.cut/a` as the answer says; anything else says what it was asked, with its cookies. */
export async function serveAnswers(answers: readonly WireAnswer[], seed: number) {
  const server = await tcpServer((socket) => {
    socket.setNoDelay(true);
    socket.once('data', (request) => {
      const [line = '', ...head] = request.toString('latin1').split('\r\n');
      const path = line.split(' ')[1] ?? '';
      const host = head.find((each) => /^host:/i.test(each))?.slice(6) ?? '';
      const [, number, cut] = /^\/(\d+)\.(\w+)\/a$/.exec(path) ?? [];
      const answer = answers[Number(number)];
      if (answer === undefined || cut === undefined) {
        const sent = head.find((each) => /^cookie:/i.test(each))?.slice(8) ?? '';
        const own = sent.split('; ').filter((each) => each.includes(`c${path.split('/')[1]}`));
        const body = path === '/' ? '<p>' : `${path} ${own.sort().join('; ')}`;
        socket.end(
          `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nAccess-Control-Allow-Origin: *\r\n\r\n${body}`,
        );
        return;
      }
      const id = `${number}.${cut}`;
      const filled = answer.bytes
        .toString('latin1')
        .replaceAll('{n}', id)
        .replaceAll('{host}', host)
        .replaceAll('{name}', host.replace(/:.*/, ''));
      const random = seededRandom(seed + Number(number));
      void (async () => {
        for (const piece of piecesOf(Buffer.from(filled, 'latin1'), cut as Cut, random)) {
          if (socket.destroyed) return;
          await new Promise<void>((done) => socket.write(piece, () => setImmediate(done)));
          if (cut === 'random') await sleep(Math.floor(random() * 4));
        }
        if (answer.end === 'reset') socket.resetAndDestroy();
        else socket.end();
      })();
    });
  });
  return server;
}

/** Without what differs from request to request. */
const general = (text: string): string =>
  text.replaceAll(/\d+\.(whole|single|random)/g, '{n}').replaceAll(/:\d{4,5}\b/g, '');

type Found = [status: number, href: string, body: string, headers?: [string, string][]];
const seenIn = (...[status, href, body, headers]: Found): Seen => ({
  ...{ status, path: general(new URL(href).pathname), body: general(body) },
  ...(headers === undefined ? {} : { headers: new Map(headers) }),
});

export const agent: Client = async (url, { method, isPage }) => {
  const definition = definitionOf('API', { method, url, followRedirects: true });
  const { failure, response } = await runApi(definition, runnerContext(withinMs));
  if (failure !== null || response === null) return { refused: failure?.message ?? 'no answer' };
  const { status, href, body, headers } = response;
  const text = String(body);
  const shown = isPage
    ? text.replaceAll(/<(script|style|title).*?<\/\1>|<!--.*?-->|<[^>]*>/gs, '').trim()
    : text;
  return seenIn(
    Number(status),
    String(href),
    shown,
    Object.entries(headers as Record<string, string>),
  );
};

export const curl: Client = (url, { method }) =>
  new Promise((resolve) => {
    const options = ['-sSL', '--compressed', '-b', '', '-m', String(withinMs / 1_000), '-g'];
    const all = [...options, '-w', '%{stderr}%{http_code} %{url_effective}', url];
    if (method === 'HEAD') all.unshift('-I', '-o', '/dev/null');
    const settings = { encoding: 'latin1', maxBuffer: 1e7 } as const;
    execFile('curl', all, settings, (error, stdout, stderr) => {
      const [, status = '', href = ''] = /(\d{3}) (\S+)$/.exec(stderr) ?? [];
      if (error !== null) resolve({ refused: stderr.split('\n')[0] ?? '' });
      else resolve(seenIn(Number(status), href, stdout));
    });
  });

/** The page asks for it, so that the browser reads it as any site; what has a charset stands in a frame. */
const readInPage = `async ({ url, method, isPage, withinMs }) => {
  if (!isPage) {
    const signal = AbortSignal.timeout(withinMs);
    const response = await fetch(url, { method, cache: 'no-store', signal });
    const { status, url: href, headers } = response;
    return [status, href, await response.text(), [...headers]];
  }
  const frame = document.createElement('iframe');
  const loaded = new Promise((done, fail) => {
    frame.onload = done;
    setTimeout(fail, withinMs, 'not loaded');
  });
  frame.src = url;
  document.body.append(frame);
  await loaded;
  const shown = frame.contentDocument;
  for (const script of shown.querySelectorAll('script, style, title')) script.remove();
  return [200, url, shown.documentElement.textContent.trim()];
}`;

/** Cookies are set under a name: browsers trust an address of their own machine like TLS. */
export async function openChromium(
  port: number,
): Promise<{ ask: Client; version: string } & AsyncDisposable> {
  const name = 'answers.test';
  const browser = await launchBrowser([`--host-resolver-rules=MAP ${name} 127.0.0.1`]);
  const [plain, named] = [await browser.newPage(), await browser.newPage()];
  await plain.goto(`http://127.0.0.1:${port}/`);
  await named.goto(`http://${name}:${port}/`);
  return {
    version: browser.version(),
    async ask(url, { name: of, method, isPage }) {
      const [page, host] = of.startsWith('cookie') ? [named, name] : [plain, '127.0.0.1'];
      const asked = { url: url.replace('127.0.0.1', host), method, isPage, withinMs };
      try {
        const call = `(${readInPage})(${JSON.stringify(asked)})`;
        return seenIn(...(await page.evaluate<Found>(call)));
      } catch (error) {
        return { refused: String(error).split('\n')[0] ?? '' };
      }
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
    },
  };
}
