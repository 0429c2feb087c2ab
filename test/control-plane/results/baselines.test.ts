import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import test from 'node:test';
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import { CodeBundleStore } from '../../../control-plane/checks/index.ts';
import { snapshotsOf } from '../../../control-plane/compat/test-sessions/snapshots.ts';
import { ownedObjects } from '../../../control-plane/results/index.ts';
import { declaration } from '../../support/artifact-api.ts';
import { FakeAgent } from '../../support/fake-agent.ts';
import { comparison, detailsOf, handIn, location } from '../../support/image-results.ts';
import { minute, now, setUp } from '../../support/results.ts';

const sha256 = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

/** Enough of a PNG to be taken for one: its signature and its size. */
function png(width: number, height = 10): Buffer {
  const start = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([start, size, Buffer.from([8, 2, 0, 0, 0])]);
}

async function world() {
  const bench = await setUp({ requestsPerMinute: 0 });
  const { cp } = bench;
  const request = undefined;
  const checkId = await bench.check('browser', { request, script: 'await 0;', muted: true });
  const key = await cp.locationKey(location);
  const agent = new FakeAgent(cp, key);
  const assigned = async () => {
    const { upserts } = await agent.checkIn(['BROWSER'], ['2025.04'], ['chromium']);
    return upserts.find(({ id }) => id === checkId);
  };
  const approve = (resultId: string, body: object = {}, headers = {}) =>
    cp.api('POST', `/v1/check-results/${checkId}/${resultId}/baselines`, body, headers);
  const image = (id: string, digest: string, of = key) =>
    fetch(`${cp.url}/v1/agent/baselines/${id}/${digest}`, {
      headers: { authorization: `Bearer ${of}` },
    });
  const { services } = cp.controlPlane;
  const prune = () =>
    new CodeBundleStore({ ...services, objects: ownedObjects(services), quotaBytes: 0 }).prune(
      Number.MAX_SAFE_INTEGER,
    );
  return { bench, cp, checkId, key, assigned, approve, image, prune };
}

test('an approved image goes to the agents of its location, until another takes its place or it is withdrawn', async () => {
  const { bench, cp, checkId, key, assigned, approve, image, prune } = await world();
  await using _cp = cp;
  const [home, shop] = [png(100), png(200)];
  const comparisons = [
    comparison('home.png'),
    comparison('shop.png', { deployedDigest: sha256(home) }),
  ];
  const files = { 'home.png': home, 'shop.png': shop };
  const resultId = await handIn(bench, key, checkId, { comparisons, files });
  assert.equal((await assigned())?.baselines, undefined);

  const one = await approve(resultId, { paths: ['home.png'] });
  assert.equal(one.status, 201, JSON.stringify(one.body));
  assert.deepEqual(await assigned().then((check) => check?.baselines), [
    { path: 'home.png', platform: 'linux-x64', digest: sha256(home), deployedDigest: null },
  ]);
  const all = await approve(resultId);
  assert.deepEqual(
    all.body.map(({ path, sha256: digest, location: where }: Record<string, unknown>) => [
      path,
      digest,
      where,
    ]),
    [
      ['home.png', sha256(home), location],
      ['shop.png', sha256(shop), location],
    ],
  );
  assert.equal((await assigned())?.baselines?.[1]?.deployedDigest, sha256(home));
  const got = await image(checkId, sha256(shop));
  assert.deepEqual(Buffer.from(await got.arrayBuffer()), shop);
  assert.equal(await prune(), 0, 'approved images are kept');

  const changed = png(300);
  const later = await handIn(bench, key, checkId, {
    comparisons: [comparison('shop.png', { outcome: 'DIFFERENT' })],
    files: { 'shop.png': changed },
    at: now + minute,
  });
  assert.equal((await approve(later)).status, 201);
  assert.equal((await image(checkId, sha256(shop))).status, 404, 'of the one before');
  const { body } = await cp.api('GET', `/v1/checks/${checkId}/baselines`);
  assert.equal(body.length, 2);
  const path = `/v1/checks/${checkId}/baselines/${body[1].id}`;
  const shown = await fetch(`${cp.url}${path}/image`, {
    headers: { authorization: `Bearer ${cp.apiKey}` },
  });
  assert.deepEqual(Buffer.from(await shown.arrayBuffer()), changed);
  assert.equal(shown.headers.get('content-type'), 'image/png');
  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('DELETE', path)).status, 404);
  assert.deepEqual(await assigned().then((check) => check?.baselines?.map(({ path: of }) => of)), [
    'home.png',
  ]);
  assert.equal(await prune(), 2, 'what nothing names goes');
  const { body: log } = await cp.api('GET', '/v1/audit-log');
  const operations = JSON.stringify(log);
  assert.match(operations, /approveBaselines/);
  assert.match(operations, /deleteBaseline/);
  assert.equal((await cp.api('DELETE', `/v1/checks/${checkId}`)).status, 204);
  assert.equal(await prune(), 1, 'with its check');
});

test('only an image that is here, and is one, is approved; each refusal says why', async () => {
  const { bench, cp, checkId, key, approve } = await world();
  await using _cp = cp;
  let at = now;
  const refused = async (
    given: Partial<Parameters<typeof handIn>[3]>,
    message: RegExp,
    { body = {}, status = 409 } = {},
  ) => {
    const comparisons = [comparison('a.png')];
    const files = { 'a.png': png(10) };
    const result = await handIn(bench, key, checkId, { comparisons, files, ...given, at });
    at += minute;
    const answer = await approve(result, body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.match(answer.body.message as string, message);
  };
  await refused({ comparisons: [] }, /no images/);
  await refused({ withheld: 'secrets' }, /a\.png stayed on the agent: secrets/);
  await refused({ files: {} }, /did not come with the result/);
  await refused({ files: { 'a.png': Buffer.from('GIF89a and so on, and so on') } }, /no PNG/);
  await refused({ files: { 'a.png': png(20_000, 20_000) } }, /no PNG/);
  await refused(
    { comparisons: [comparison('a.png', { actual: 'https://a.example/a.png' })] },
    /did not come/,
  );
  await refused({}, /is no image of this result/, { body: { paths: ['b.png'] }, status: 400 });
  for (const path of [
    '../a.png',
    '/a.png',
    'x/../../a.png',
    'node_modules/a.png',
    'a.js',
    'a\\b.png',
    './a.png',
    '\u2028/../a.png',
    'x\u2029/../../a.png',
    'a\u2028.png',
  ]) {
    await refused({}, /inside the folder/, { body: { paths: [path] }, status: 400 });
  }
  assert.deepEqual((await cp.api('GET', `/v1/checks/${checkId}/baselines`)).body, []);
});

test('baselines are those of an account, and an image that of a location', async () => {
  const { bench, cp, checkId, key, approve, image } = await world();
  await using _cp = cp;
  const files = { 'a.png': png(10) };
  const resultId = await handIn(bench, key, checkId, { comparisons: [comparison('a.png')], files });
  const authorization = `Bearer ${await cp.foreignKey()}`;
  assert.equal((await approve(resultId, {}, { authorization })).status, 404);
  assert.equal((await approve(resultId)).status, 201);
  const digest = sha256(files['a.png']);
  assert.equal((await image(checkId, digest)).status, 200);
  assert.equal((await image(checkId, digest, await cp.locationKey('us-east-1'))).status, 404);
  assert.equal((await image(checkId, digest, await cp.locationKey('ap-south-1'))).status, 404);
  assert.equal((await image(checkId, sha256(png(11)))).status, 404);
  const list = await cp.api('GET', `/v1/checks/${checkId}/baselines`, undefined, { authorization });
  assert.equal(list.status, 404);
});

test('a browser check keeps the snapshots that a client deploys, and its agents get them', async () => {
  const { bench, cp, key, image, prune } = await world();
  await using _cp = cp;
  const sent = await fetch(`${cp.url}/next/checkly-storage/upload`, {
    ...{ method: 'POST', body: new Uint8Array(png(10)) },
    headers: { authorization: `Bearer ${cp.apiKey}` },
  });
  const { key: stored } = (await sent.json()) as { key: string };
  const snapshots = [{ path: 'a.spec.ts-snapshots/a.png', key: stored }];
  const checkId = await bench.check('browser', {
    request: undefined,
    script: 'await 0;',
    snapshots,
  });
  assert.deepEqual((await cp.api('GET', `/v1/checks/${checkId}`)).body.snapshots, snapshots);
  assert.equal((await image(checkId, sha256(png(10)), key)).status, 200);
  assert.equal(await prune(), 0);
  const other = await cp.api('PUT', `/v1/checks/browser/${checkId}`, { snapshots: [] });
  assert.equal(other.status, 200);
  assert.equal(await prune(), 1);
  const save = (...paths: string[]) =>
    cp.api('PUT', `/v1/checks/browser/${checkId}`, {
      snapshots: paths.map((path) => ({ path, key: stored })),
    });
  for (const [paths, where, message] of [
    [['a.png', '../a.png'], 'snapshots.1.path', /inside the folder/],
    [['\u2028/../a.png'], 'snapshots.0.path', /inside the folder/],
    [['node_modules/a.txt'], 'snapshots.0.path', /inside the folder/],
    [['a.png/b/c.png', 'a.png'], 'snapshots.0.path', /lies below a\.png/],
  ] as const) {
    const refused = await save(...paths);
    assert.equal(refused.status, 400, paths.join());
    const said = JSON.stringify(refused.body);
    assert.ok(said.includes(where), said);
    assert.match(said, message);
  }
  assert.equal((await save('a.png', 'a/b.png', 's/text.txt')).status, 200);
});

test('one path is approved once, and is refused where projects have different images of it', async () => {
  const { bench, cp, checkId, key, approve } = await world();
  await using _cp = cp;
  const [desktop, phone] = [png(100), png(200)];
  const of = (project: string) =>
    comparison('a.png', { project, actual: `artifact:${project}.png` });
  const result = (images: Record<string, Buffer>, at: number) =>
    handIn(bench, key, checkId, {
      comparisons: [of('desktop'), of('phone')],
      files: Object.fromEntries(
        Object.entries(images).map(([project, bytes]) => [`${project}.png`, bytes]),
      ),
      at,
    });
  const different = await result({ desktop, phone }, now);
  for (const body of [{}, { paths: ['a.png'] }]) {
    const refused = await approve(different, body);
    assert.equal(refused.status, 409);
    assert.match(String(refused.body.message), /"desktop" than in "phone".*\{projectName\}/);
  }
  assert.deepEqual((await cp.api('GET', `/v1/checks/${checkId}/baselines`)).body, []);
  const same = await result({ desktop, phone: desktop }, now + minute);
  const approved = await approve(same);
  assert.equal(approved.status, 201);
  assert.equal(approved.body.length, 1);
});

test('a result says what its images are, once they have arrived', async () => {
  const { bench, cp, checkId, key } = await world();
  await using _cp = cp;
  const comparisons = [comparison('a.png'), comparison('s/late.png')];
  const id = await handIn(bench, key, checkId, { comparisons, files: { 'a.png': png(10) } });
  const { body } = await cp.api('GET', `/v1/check-results/${checkId}/${id}`);
  const result = body as CheckResult;
  const seen = result.browserCheckResult?.screenshotComparisons ?? assert.fail();
  assert.deepEqual(
    seen.map(({ path, actualDigest }) => [path, actualDigest]),
    [
      ['a.png', sha256(png(10))],
      ['s/late.png', undefined],
    ],
  );
});

test('what people only try has no approvals', async () => {
  const { cp } = await world();
  await using _cp = cp;
  const trial = await cp.api('POST', `/v1/check-trials?location=${location}`, {
    ...{ checkType: 'BROWSER', name: 'Trial', script: 'await 0;' },
  });
  assert.equal(trial.status, 201, JSON.stringify(trial.body));
  const list = await cp.api('GET', `/v1/checks/${String(trial.body.id)}/baselines`);
  assert.equal(list.status, 404);
});

test('what a run made anew is given to the client once it has arrived, and to no other account', async () => {
  const { bench, cp, checkId, key } = await world();
  await using _cp = cp;
  const path = 'a.spec.ts-snapshots/a.png';
  const updatedSnapshots = [{ path, name: 'snapshots/a.png' }];
  const files = { 'snapshots/a.png': png(10) };
  const given = { comparisons: [], updatedSnapshots };
  const { services } = cp.controlPlane;
  const read = async (id: string) => {
    const { body } = await cp.api('GET', `/v1/check-results/${checkId}/${id}`);
    return snapshotsOf(services, cp.accountId, body as CheckResult);
  };
  const late = bench.result(checkId, 'BROWSER', now, {
    runLocation: location,
    browserCheckResult: { ...detailsOf([]), updatedSnapshots },
    artifacts: [declaration('snapshots/a.png', 9, { type: 'screenshot' })],
  });
  await bench.submitAll([late]);
  assert.equal(await read(late.id), null, 'it is still to come');
  bench.clock.advance(2 * minute);
  assert.deepEqual(await read(late.id), [], 'and does not');
  const id = await handIn(bench, key, checkId, { ...given, files, at: now + minute });
  const snapshots = (await read(id)) ?? assert.fail();
  assert.deepEqual(snapshots, [{ path, key: `results/${id}/snapshots/a.png` }]);
  const download = (authorization: string) =>
    fetch(`${cp.url}/next/checkly-storage/download`, {
      ...{ method: 'POST', body: JSON.stringify({ key: snapshots[0]?.key }) },
      headers: { authorization, 'content-type': 'application/json' },
    });
  const got = await download(`Bearer ${cp.apiKey}`);
  assert.deepEqual(Buffer.from(await got.arrayBuffer()), png(10));
  assert.equal((await download(`Bearer ${await cp.foreignKey()}`)).status, 404);
});
