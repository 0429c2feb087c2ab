// PostgreSQL in the long tier: prune-artifacts.test.ts and statements.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { get } from 'node:http';
import { gzipSync } from 'node:zlib';
import { linkValidMs } from '../../../../control-plane/results/artifacts/links.ts';
import {
  declaration,
  openArtifactApi,
  sha256Base64,
  type ArtifactApi,
} from '../../../support/artifact-api.ts';

const text = Buffer.from('0123456789abcdef\n'.repeat(1000));

/** The link to a file that was announced and uploaded. */
async function stored(
  api: ArtifactApi,
  name: string,
  contentType: string,
  encoding: 'gzip' | null = null,
): Promise<string> {
  await api.announce(declaration(name, text.length, { contentType }));
  const answer =
    encoding === null
      ? await api.upload(name, text)
      : await api.upload(name, gzipSync(text), {
          'content-encoding': 'gzip',
          digest: `sha-256=${sha256Base64(text)}`,
        });
  assert.equal(answer.status, 204);
  return String((await api.asset(name))['url']);
}

/** A request whose Accept-Encoding is ours, and whose answer stays as it came. */
function raw(url: string, headers: Record<string, string>) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }>(
    (resolve, reject) => {
      get(url, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const body = Buffer.concat(chunks);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        });
      }).once('error', reject);
    },
  );
}

test('a link works without a key for an hour, then says that it has expired', async () => {
  await using api = await openArtifactApi();
  const url = await stored(api, 'a.txt', 'text/plain');
  api.bench.clock.advance(linkValidMs - 1_000);
  assert.equal((await fetch(url)).status, 200);
  api.bench.clock.advance(1_000);
  const late = await fetch(url);
  assert.equal(late.status, 403);
  assert.match(((await late.json()) as { message: string }).message, /expired.*new one/);
});

test('a link altered in any part is refused', async () => {
  await using api = await openArtifactApi();
  const url = await stored(api, 'a.txt', 'text/plain');
  await stored(api, 'b.txt', 'text/plain');
  const expires = Number(new URL(url).searchParams.get('expires'));
  const altered = [
    url.replace('a.txt', 'b.txt'),
    url.replace(`expires=${expires}`, `expires=${expires + 1}`),
    url.replace(api.resultId, api.checkId),
    url.replace(/signature=./, (found) => (found.endsWith('A') ? 'signature=B' : 'signature=A')),
    url.replace(/signature=.*/, 'signature='),
  ];
  for (const link of altered) {
    assert.notEqual(link, url);
    assert.equal((await fetch(link)).status, 403, link);
  }
});

test('a file is served so that no page made of it can run', async () => {
  await using api = await openArtifactApi();
  const page = await fetch(await stored(api, 'report/index.html', 'text/html'));
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
  assert.match(page.headers.get('content-security-policy') ?? '', /^sandbox; default-src 'none'/);
  assert.equal(page.headers.get('content-disposition'), 'attachment; filename="index.html"');
  assert.equal(page.headers.get('access-control-allow-origin'), '*');
  const image = await fetch(await stored(api, 'a.png', 'image/png'));
  assert.equal(image.headers.get('content-disposition'), 'inline; filename="a.png"');
  const odd = await fetch(await stored(api, 'b.bin', 'text/html\r\nx-evil: 1'));
  assert.equal(odd.headers.get('content-type'), 'application/octet-stream');
});

for (const encoding of [null, 'gzip'] as const) {
  test(`ranges of a file kept ${encoding === null ? 'as it is' : 'as gzip'} are honoured`, async () => {
    await using api = await openArtifactApi();
    const url = await stored(api, 'a.txt', 'text/plain', encoding);
    const whole = await fetch(url);
    assert.equal(whole.headers.get('accept-ranges'), 'bytes');
    assert.equal(await whole.text(), text.toString());
    const cases: [range: string, expected: Buffer, contentRange: string][] = [
      ['bytes=0-4', text.subarray(0, 5), 'bytes 0-4/17000'],
      ['bytes=16990-', text.subarray(16990), 'bytes 16990-16999/17000'],
      ['bytes=-7', text.subarray(-7), 'bytes 16993-16999/17000'],
      ['bytes=16000-99999', text.subarray(16000), 'bytes 16000-16999/17000'],
    ];
    for (const [range, expected, contentRange] of cases) {
      const part = await fetch(url, { headers: { range } });
      assert.equal(part.status, 206, range);
      assert.equal(part.headers.get('content-range'), contentRange);
      assert.equal(await part.text(), expected.toString(), range);
    }
    const outside = await fetch(url, { headers: { range: 'bytes=17000-' } });
    assert.equal(outside.status, 416);
    assert.equal(outside.headers.get('content-range'), 'bytes */17000');
    for (const range of ['bytes=5-4', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-']) {
      assert.equal((await fetch(url, { headers: { range } })).status, 200, range);
    }
    const changed = await fetch(url, { headers: { range: 'bytes=0-4', 'if-range': '"other"' } });
    assert.equal(changed.status, 200);
  });
}

test('what is kept as gzip is sent as gzip to those who take it, decoded to others', async () => {
  await using api = await openArtifactApi();
  const url = await stored(api, 'a.txt', 'text/plain', 'gzip');
  const packed = await raw(url, { 'accept-encoding': 'br, gzip;q=0.5' });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.deepEqual(packed.body, gzipSync(text));
  assert.equal(packed.headers['content-length'], String(packed.body.length));
  for (const accepted of ['identity', 'gzip;q=0', '']) {
    const plain = await raw(url, { 'accept-encoding': accepted });
    assert.equal(plain.headers['content-encoding'], undefined, accepted);
    assert.deepEqual(plain.body, text);
  }
});

test('a client with a cached file gets 304', async () => {
  await using api = await openArtifactApi();
  const url = await stored(api, 'a.txt', 'text/plain');
  const etag = (await fetch(url)).headers.get('etag') ?? '';
  assert.match(etag, /^"[0-9a-f]{64}"$/);
  const again = await raw(url, { 'if-none-match': `W/${etag}` });
  assert.deepEqual([again.status, again.body.length], [304, 0]);
});

test('HEAD answers as GET does, without the file', async () => {
  await using api = await openArtifactApi();
  const answer = await fetch(await stored(api, 'a.txt', 'text/plain'), { method: 'HEAD' });
  assert.deepEqual([answer.status, answer.headers.get('content-length')], [200, '17000']);
  assert.equal(await answer.text(), '');
});

test('the list is narrowed by type and pattern, and leads to the viewer of traces', async () => {
  await using api = await openArtifactApi();
  await api.announce(
    declaration('Trace.zip', text.length, { type: 'trace', contentType: 'application/zip' }),
    declaration('shots/one.png', 5, { type: 'screenshot' }),
    declaration('shots/two.png', 5, { type: 'screenshot' }),
  );
  await api.upload('Trace.zip', text);
  const list = async (query: string, key = api.bench.cp.apiKey) =>
    fetch(`${api.url}/v1/check-results/${api.checkId}/${api.resultId}/assets${query}`, {
      headers: { authorization: `Bearer ${key}` },
    });
  const names = async (query: string): Promise<string[]> => {
    const { assets } = (await (await list(query)).json()) as { assets: { name: string }[] };
    return assets.map(({ name }) => name);
  };
  assert.deepEqual(await names(''), ['Trace.zip', 'shots/one.png', 'shots/two.png']);
  assert.deepEqual(await names('?type=screenshot'), ['shots/one.png', 'shots/two.png']);
  assert.deepEqual(await names('?name=TRACE.*'), ['Trace.zip']);
  assert.deepEqual(await names('?name=*/t%3Fo.png'), ['shots/two.png']);
  const trace = await api.asset('Trace.zip');
  assert.equal(
    trace['viewerUrl'],
    `${api.url.replace('127.0.0.1', 'traces.localhost')}/?trace=${encodeURIComponent(String(trace['url']))}`,
  );
  assert.equal((await list('', await api.bench.cp.foreignKey())).status, 404);
});

test('a file whose object is gone from the store is not found', async () => {
  await using api = await openArtifactApi();
  const url = await stored(api, 'a.txt', 'text/plain');
  const { object_key: key } = await api.services.db
    .selectFrom('artifacts')
    .select('object_key')
    .executeTakeFirstOrThrow();
  await api.services.artifacts.delete([String(key)]);
  assert.equal((await fetch(url)).status, 404);
});
