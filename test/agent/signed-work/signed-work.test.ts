import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import {
  assignedCheck as schema,
  job,
  type AssignedCheck,
} from '@monitor/shared/contract/agent-protocol.ts';
import { definitionSchemaOf } from '@monitor/shared/contract/checks/definition-schema.ts';
import { findAgentType, checkTypes } from '@monitor/shared/contract/checks/index.ts';
import {
  readsVariables,
  signedPartOf,
  unsignedFields,
  unsignedJobFields,
} from '@monitor/shared/signed-work/signed-part.ts';
import { AgentError } from '../../../agent/errors.ts';
import { parsePolicy } from '../../../agent/signed-work/policy.ts';
import { SignedWork } from '../../../agent/signed-work/signed-work.ts';
import { selfSigned } from '../../support/certificates.ts';
import { silent } from '../../support/in-process.ts';
import { assignedCheck } from '../../support/plain.ts';
import { makeSigningKey, signedCheck } from '../../support/signing.ts';
import { temporaryFolder } from '../../support/system.ts';

const bundle = `bundles/${'a'.repeat(64)}.tgz`;
const quarantinedTests = [{ test: 'a.spec.ts › pays', until: '2030-01-31T00:00:00Z' }];
const certificateTarget = { host: 'a.example', port: 443, servername: 'a.example' };

/** A check of a type with everything that it can have. */
function fullCheck(name: string): AssignedCheck {
  const type = findAgentType(name);
  assert.ok(type !== undefined);
  const own = name === 'PLAYWRIGHT' ? { codeBundlePath: bundle, quarantinedTests } : {};
  const dependencies = [{ path: 'lib.js', content: 'export {}' }];
  const { create } = type;
  const body = create.parse({
    ...{ name: 'shop', ...type.sample, ...own },
    ...('dependencies' in create.shape && { dependencies }),
    ...('playwrightConfig' in create.shape && { playwrightConfig: { use: { locale: 'de' } } }),
  });
  const code = (names: string) => [{ name: names, source: `await 0; // ${names}` }];
  return assignedCheck({
    ...{ type: name, name: 'shop', locations: ['here', 'there'], runtimeId: '2026.04' },
    definition: Object.fromEntries(type.definitionKeys.map((key) => [key, body[key]])),
    environment: [
      { key: 'BASE', value: 'https://a.example', secret: false },
      { key: 'PASSWORD', value: 'hunter2', secret: true },
    ],
    ...{ setupScripts: code('setup'), teardownScripts: code('teardown'), snippets: code('shared') },
    certificateTarget,
  });
}

async function open(
  policy: Record<string, unknown> = {},
  { before = () => {} }: { before?: (folder: string) => void } = {},
) {
  const folder = temporaryFolder();
  const anna = makeSigningKey(folder.path);
  const file = join(folder.path, 'policy.yaml');
  const write = (content: Record<string, unknown>): void => {
    const keys = [{ name: 'anna', key: anna.publicKey }];
    writeFileSync(file, JSON.stringify({ keys, ...content }));
  };
  write(policy);
  before(folder.path);
  const clock = { at: 7, now: () => clock.at };
  const options = { file, directory: folder.path, clock, logger: silent };
  const start = () => SignedWork.open(options);
  return {
    ...{ folder, anna, file, write, start, clock, signedWork: await start() },
    [Symbol.dispose]() {
      folder[Symbol.dispose]();
    },
  };
}

const work = (
  check: AssignedCheck,
  location = 'here',
  environmentUrl: string | null = null,
  source: string | null = null,
) => ({ check, location, environmentUrl, source });

/** The reason of a refusal; null for work that is let through. */
async function refusal(
  signedWork: SignedWork,
  ...of: Parameters<typeof work>
): Promise<string | null> {
  try {
    await signedWork.admit(work(...of));
    return null;
  } catch (error) {
    assert.ok(error instanceof AgentError, String(error));
    assert.equal(error.code, 'WORK_REFUSED');
    return error.message;
  }
}

type Path = readonly (string | number)[];

/** Every leaf of a value, changed a little, and every list and object with something more. */
function* changesOf(value: unknown, path: Path = []): Generator<[Path, unknown]> {
  if (Array.isArray(value)) {
    yield [
      path,
      [...(value as unknown[]), ...(value.length === 0 ? ['x'] : [value[0] as unknown])],
    ];
    if (value.length > 0) yield [path, value.slice(1)];
    for (const [at, inner] of value.entries()) yield* changesOf(inner, [...path, at]);
  } else if (typeof value === 'object' && value !== null) {
    yield [path, null];
    for (const [name, inner] of Object.entries(value)) yield* changesOf(inner, [...path, name]);
  } else if (typeof value === 'string') {
    yield [path, `${value}x`];
    yield [path, value === '' ? null : ''];
  } else if (typeof value === 'number') {
    yield [path, value + 1];
    yield [path, String(value)];
  } else if (typeof value === 'boolean') yield [path, !value];
  else {
    yield [path, 'x'];
    yield [path, 1];
    yield [path, true];
  }
}

function withChange(value: unknown, [step, ...rest]: Path, next: unknown): unknown {
  if (step === undefined) return next;
  const copy: unknown = structuredClone(value);
  const inner = (copy as Record<string | number, unknown>)[step];
  (copy as Record<string | number, unknown>)[step] = withChange(inner, rest, next);
  return copy;
}

const agentTypes = Object.keys(checkTypes).filter((type) => findAgentType(type) !== undefined);
const signedFields = Object.keys(schema.shape).filter((name) => !(name in unsignedFields));

test('each field of a check and of a job is covered, or stands on the list of those that change nothing', () => {
  const text = signedPartOf(fullCheck('API'), { version: 1 }) ?? '';
  // The names under which they are signed.
  const names: Record<string, string> = {
    id: 'checkId',
    type: 'checkType',
    environment: 'variables',
  };
  for (const field of signedFields) assert.ok(text.includes(`"${names[field] ?? field}":`), field);
  assert.deepEqual(
    new Set([...Object.keys(unsignedJobFields), 'check']),
    new Set(Object.keys(job.shape)),
  );
});

for (const type of agentTypes) {
  test(`a signed ${type} check runs, and with any field changed it does not`, async () => {
    using stage = await open();
    const { signedWork, anna } = stage;
    const check = await signedCheck(fullCheck(type), anna);
    const admitted = await signedWork.admit(work(check));
    assert.deepEqual(admitted, check);
    let tried = 0;
    for (const field of signedFields as (keyof AssignedCheck)[]) {
      for (const [path, next] of changesOf(check[field])) {
        const changed = { ...check, [field]: withChange(check[field], path, next) };
        const isRead = schema.safeParse(changed);
        // The agent does not take in what its protocol does not have.
        if (!isRead.success) continue;
        const same = isRunAlike(isRead.data, check);
        const said = await refusal(signedWork, isRead.data);
        assert.equal(said === null, same, `${field}.${path.join('.')} = ${JSON.stringify(next)}`);
        tried += 1;
      }
    }
    assert.ok(tried > 25, String(tried));
    for (const field of Object.keys(unsignedFields) as (keyof AssignedCheck)[]) {
      // The policy decides about these two.
      if (['signature', 'proxyUrl', 'clientCertificates'].includes(field)) continue;
      for (const [path, next] of changesOf(check[field])) {
        const changed = { ...check, [field]: withChange(check[field], path, next) };
        const isRead = schema.safeParse(changed);
        if (isRead.success) assert.equal(await refusal(signedWork, isRead.data), null, field);
      }
    }
  });
}

/** Whether a change leaves the run as it is: locations may come in another order, and defaults may be left out. */
function isRunAlike(changed: AssignedCheck, check: AssignedCheck): boolean {
  const type = findAgentType(changed.type);
  if (type === undefined || changed.type !== check.type) return false;
  const facts = (one: AssignedCheck) => {
    const { data } = definitionSchemaOf(type).safeParse(one.definition);
    // Only the verdict depends on it.
    const definition = data && { ...data, quarantinedTests: null };
    const variables = one.environment.filter(({ key }) =>
      check.environment.some((known) => known.key === key),
    );
    return {
      ...{ id: one.id, accountId: one.accountId, name: one.name, runtimeId: one.runtimeId },
      ...{ locations: [...new Set(one.locations)], definition: definition ?? NaN },
      ...{ setup: one.setupScripts, teardown: one.teardownScripts, snippets: one.snippets },
      certificateTarget: one.certificateTarget,
      // The value of a secret is the control plane's.
      variables: readsVariables(type.type)
        ? variables.map((entry) => (entry.secret ? { ...entry, value: '' } : entry))
        : [],
    };
  };
  return JSON.stringify(facts(changed)) === JSON.stringify(facts(check));
}

test('a run sees only the variables that were signed, and no script that an agent learned', async () => {
  using stage = await open();
  const { signedWork, anna } = stage;
  const signed = await signedCheck(fullCheck('BROWSER'), anna);
  const more = {
    ...signed,
    environment: [
      ...signed.environment,
      { key: 'NODE_OPTIONS', value: '--import /x', secret: false },
    ],
    learnedScript: { promptHash: 'x', script: '[]' },
    detectSecrets: false,
  };
  const admitted = await signedWork.admit(work(more));
  assert.deepEqual(admitted, signed);
  // Twice the same name: the last one would count.
  const [base, ...others] = signed.environment;
  const twice = [base, ...others, { ...base, value: 'https://evil.example' }];
  assert.match(
    (await refusal(signedWork, { ...signed, environment: twice as never })) ?? '',
    /is not what "anna" signed/,
  );
});

test('a signature of another check, key, place or namespace, or none, is refused with its reason', async () => {
  using stage = await open();
  const { signedWork, anna, folder } = stage;
  const check = fullCheck('URL');
  const signed = await signedCheck(check, anna);
  const other = await signedCheck(fullCheck('URL'), anna);
  const stranger = makeSigningKey(folder.path);
  const script = await signedCheck(fullCheck('MULTI_STEP'), anna);
  const { signature: mine, ...bare } = signed;
  assert.ok(mine !== undefined);
  const cases: [AssignedCheck, RegExp][] = [
    [bare, /has no signature/],
    [{ ...signed, ...(other.signature && { signature: other.signature }) }, /is not what "anna"/],
    [await signedCheck(check, stranger), /the key SHA256:\S+, which the policy does not name/],
    [await signedCheck(check, anna, { namespace: 'file' }), /was made for "file"/],
    [{ ...signed, signature: { ...mine, version: 2 } }, /is not what "anna"/],
    [{ ...signed, signature: { ...mine, variables: ['BASE'] } }, /is not what "anna"/],
    [{ ...signed, type: 'TELEPATHY' }, /cannot read the check/],
    // Both have a script.
    [{ ...script, type: 'BROWSER' }, /is not what "anna"/],
    [{ ...signed, type: 'API' }, /is not what "anna" signed|cannot read the check/],
  ];
  for (const [given, reason] of cases)
    assert.match((await refusal(signedWork, given)) ?? '', reason);
  assert.match((await refusal(signedWork, signed, 'berlin')) ?? '', /not for berlin/);
  const preview = await refusal(signedWork, signed, 'here', 'https://evil.example');
  assert.match(preview ?? '', /ENVIRONMENT_URL/);
  assert.match((await refusal(signedWork, signed, 'here', null, '$(id)')) ?? '', /source that/);
  assert.equal(await refusal(signedWork, signed, 'here', null, 'TRIGGER_API'), null);
  assert.equal(await refusal(signedWork, signed), null);
  // What is no run is not counted.
  const allowed = [signed, bare].map((one) => signedWork.allows(work(one)));
  assert.deepEqual(await Promise.all(allowed), [true, false]);
  assert.match(signedWork.remarks['signedWork'] ?? '', /12 runs were refused/);
});

test('an older version is refused once a newer one was seen, also after a restart and a torn line', async () => {
  using stage = await open();
  const { anna, folder } = stage;
  const check = fullCheck('URL');
  const first = await signedCheck(check, anna, { version: 1 });
  const second = await signedCheck({ ...check, name: 'new' }, anna, { version: 2 });
  const twin = await signedCheck({ ...check, name: 'twin' }, anna, { version: 2 });
  assert.equal(await refusal(stage.signedWork, first), null);
  assert.equal(await refusal(stage.signedWork, second), null);
  assert.match(
    (await refusal(stage.signedWork, first)) ?? '',
    /a newer one of this check was seen/,
  );
  const file = join(folder.path, 'signed-versions.jsonl');
  const tear = (): void => {
    writeFileSync(file, '\n["torn', { flag: 'a' });
  };
  tear();
  for (let restart = 0; restart < 2; restart += 1) {
    const again = await stage.start();
    assert.notEqual(await refusal(again, first), null);
    assert.notEqual(await refusal(again, twin), null);
    assert.equal(await refusal(again, second), null);
  }
  // The disk was full for an instant, and the agent went on.
  const full = await stage.start();
  tear();
  const third = await signedCheck(check, anna, { version: 3 });
  assert.equal(await refusal(full, third), null);
  const after = await stage.start();
  assert.notEqual(await refusal(after, second), null);
  assert.equal(await refusal(after, third), null);
});

test('the policy limits targets, types, secrets, proxies, certificates and the age of signatures', async () => {
  using stage = await open();
  const { anna, signedWork } = stage;
  const pair = await selfSigned({ host: 'client', validForDays: 1 });
  const { fingerprint256 } = new X509Certificate(pair.cert);
  const url = await signedCheck(fullCheck('URL'), anna, { version: Date.parse('2026-11-01') });
  const browser = await signedCheck(fullCheck('BROWSER'), anna);
  const api = fullCheck('API');
  const request = {
    ...(api.definition['request'] as object),
    url: 'https://{{BASE}}/',
  };
  const templated = await signedCheck({ ...api, definition: { ...api.definition, request } }, anna);
  const proxied = { ...url, proxyUrl: 'http://user:password@proxy.example:3128' };
  const usual = { ...url, proxyUrl: 'https://Proxy.example:443' };
  const certificates = [{ host: 'a', ca: null, passphrase: null, ...pair }];
  const mutual = { ...url, clientCertificates: certificates };
  const cases: [policy: Record<string, unknown>, AssignedCheck, RegExp | null][] = [
    [{ targets: ['.example'] }, url, null],
    [{ targets: ['10.0.0.0/8', 'b.example'] }, url, /does not allow the target a.example/],
    [{ targets: ['a.example:444'] }, url, /does not allow the target a.example/],
    [{ targets: ['.example'] }, templated, /depends on variables/],
    [{}, templated, null],
    [{ checkTypes: ['URL'] }, url, null],
    [{ checkTypes: ['TCP'] }, url, /does not allow checks of type URL/],
    [{ secrets: ['PASSWORD'] }, browser, null],
    [{ secrets: [] }, browser, /does not allow the secret PASSWORD/],
    [{ proxies: ['proxy.example:3128'] }, proxied, null],
    [{}, proxied, /does not name the proxy proxy.example:3128/],
    [{ proxies: ['PROXY.example:443'] }, usual, null],
    [{ proxies: ['proxy.example:80'] }, usual, /does not name the proxy proxy.example:443/],
    [{ location: 'here' }, url, null],
    [{ location: 'there' }, url, /is of there by its policy, and not of here/],
    [{ accountId: url.accountId }, url, null],
    [{ accountId: 'another' }, url, /of another account/],
    [{ certificates: [fingerprint256] }, mutual, null],
    [{}, mutual, /does not name the client certificate for a/],
    [{ notBefore: '2026-10-31T00:00:00Z' }, url, null],
    [{ notBefore: '2026-11-02T00:00:00Z' }, url, /before the notBefore/],
  ];
  for (const [policy, check, reason] of cases) {
    stage.write(policy);
    const said = await refusal(signedWork, check);
    if (reason === null) assert.equal(said, null, JSON.stringify(policy));
    else assert.match(said ?? '', reason);
  }
});

test('a policy that cannot be read refuses everything until it can, and one with an unknown field ends the start', async () => {
  using stage = await open();
  const { anna, signedWork, file } = stage;
  const check = await signedCheck(fullCheck('URL'), anna);
  assert.equal(await refusal(signedWork, check), null);
  for (const spoil of [
    () => {
      rmSync(file);
    },
    () => {
      writeFileSync(file, 'keys: [');
    },
    () => {
      stage.write({ target: ['a.example'] });
    },
    () => {
      stage.write({ keys: [] });
    },
  ]) {
    spoil();
    assert.match((await refusal(signedWork, check)) ?? '', /it refuses everything/);
    stage.write({});
    assert.equal(await refusal(signedWork, check), null);
  }
  const problems: [Record<string, unknown>, RegExp][] = [
    [{ target: ['a.example'] }, /Unrecognized key: "target"/],
    [{ keys: [{ name: 'x', key: 'ssh-dss AAAA' }] }, /the key "x" must be a line/],
    [{ targets: ['https://a.example'] }, /must be names/],
    [{ certificates: ['abc'] }, /must be a SHA-256/],
    [{ proxies: ['http://proxy.example:3128'] }, /must be host:port/],
  ];
  // YAML may grow without bound by aliases.
  await assert.rejects(parsePolicy('proxies: &any []\ntypes: *any\n'), /alias/i);
  for (const [policy, reason] of problems) {
    stage.write(policy);
    await assert.rejects(stage.start(), { code: 'CONFIG_INVALID', message: reason });
  }
  for (const spoil of [
    () => {},
    () => {
      symlinkSync(file, file);
    },
  ]) {
    rmSync(file, { force: true });
    spoil();
    assert.match((await refusal(await stage.start(), check)) ?? '', /it refuses everything/);
  }
});

test('a policy that cannot be read for an instant is read again at most once a second', async () => {
  using stage = await open();
  const { anna, signedWork, clock } = stage;
  const check = await signedCheck(fullCheck('URL'), anna);
  await using limit = await limitOfOpenFiles();
  stage.write({ checkTypes: ['URL'] });
  await limit.set(0);
  const refusals = [await refusal(signedWork, check)];
  await limit.set(null);
  for (const passed of [999, 1]) {
    clock.at += passed;
    refusals.push(await refusal(signedWork, check));
  }
  assert.deepEqual(
    refusals.map((said) => said !== null),
    [true, true, false],
  );
});

/** Limits what this process may open; null is the limit that it had. */
async function limitOfOpenFiles() {
  const before = process.report.getReport() as { userLimits: { open_files: { soft: number } } };
  const { soft } = before.userLimits.open_files;
  const script = `while read limit; do prlimit --pid ${process.pid} --nofile=$limit: && echo done; done`;
  const shell = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const said = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  const set = async (to: number | null): Promise<void> => {
    shell.stdin.write(`${to ?? soft}\n`);
    assert.deepEqual(await said.next(), { value: 'done', done: false });
  };
  return {
    set,
    async [Symbol.asyncDispose]() {
      await set(null);
      shell.stdin.end();
      await once(shell, 'exit');
    },
  };
}
