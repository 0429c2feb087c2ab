/** People in tests: stored ones, and browsers in which they sign in. */
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import type { Role } from '@monitor/shared/contract/route.ts';
import { startConsoleSession } from '../../control-plane/accounts/keys/console-sessions.ts';
import { sha256Hex } from '../../control-plane/core/keys.ts';
import { ConsoleCookie } from '../../control-plane/http/console-cookie.ts';
import type { Services } from '../../control-plane/core/services.ts';
import { codeOf, counterOf } from '../../control-plane/people/decide/totp.ts';
import { Passwords } from '../../control-plane/people/passwords.ts';
import { insertMembership, insertPerson } from '../../control-plane/people/store.ts';
import type { Answer, TestControlPlane } from './control-plane.ts';

export const goodPassword = 'nine green bottles hang here';

let hash: Promise<string> | undefined;

/** A person of an account, with `goodPassword`. */
export async function insertMember(
  { db, clock, newId }: Pick<Services, 'db' | 'clock' | 'newId'>,
  of: { accountId: string; name: string; role: Role; email?: string },
): Promise<{ id: string; email: string }> {
  hash ??= new Passwords().hash(goodPassword);
  const now = clock.now();
  const person = {
    id: newId(),
    email: of.email ?? `${randomUUID()}@a.example`,
    name: of.name,
    now,
  };
  await insertPerson(db, { ...person, passwordHash: await hash });
  await insertMembership(db, { ...of, personId: person.id, now });
  return person;
}

/** A session of a person, with its cookie. */
export async function startPersonSession(
  services: Services,
  accountId: string,
  personId: string,
): Promise<{ id: string; cookie: string }> {
  const browser = { userAgent: 'test', address: '127.0.0.1' };
  const owner = { accountId, personId };
  const { token } = await startConsoleSession(services, owner, false, browser);
  const { id } = await services.db
    .selectFrom('console_sessions')
    .select('id')
    .where('token_hash', '=', sha256Hex(token))
    .executeTakeFirstOrThrow();
  return { id, cookie: `${new ConsoleCookie(services.publicUrl).name}=${token}` };
}

/** Why a provider signed in nobody, as the sign-in page shows it after an answer. */
export async function refusalAfter(url: string, { headers }: Response): Promise<string> {
  assert.match(headers.get('location') ?? '', /#\/sign-in$/);
  const kept = headers.getSetCookie().find((each) => each.startsWith('console_refusal'));
  const session = await fetch(`${url}/console/session`, {
    headers: { 'x-console': '1', cookie: kept?.split(';')[0] ?? '' },
  });
  return ((await session.json()) as { refusal: string | null }).refusal ?? '';
}

/** What a browser with the console open sends and keeps. */
export class Browser {
  readonly #cp: TestControlPlane;
  /** `name=value`; empty when it is signed out. */
  cookie = '';
  setCookie = '';
  /** The cookie by which it is known after a sign-in. */
  device = '';

  constructor(cp: TestControlPlane) {
    this.#cp = cp;
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(this.#cp.url + path, {
      method,
      headers: {
        'x-console': '1',
        cookie: [this.cookie, this.device].filter((one) => one !== '').join('; '),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    for (const setCookie of response.headers.getSetCookie()) {
      const pair = setCookie.split(';')[0] ?? '';
      if (pair.startsWith('console_device')) this.device = pair;
      else {
        this.setCookie = setCookie;
        this.cookie = pair;
      }
    }
    assert.notEqual(response.status, 500, text);
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  signIn(email: string, password = goodPassword, fields: object = {}): Promise<Answer> {
    return this.send('POST', '/console/session', { email, password, ...fields });
  }

  /** The name of whoever is signed in; null for nobody. */
  async name(): Promise<string | null> {
    const { status, body } = await this.send('GET', '/v1/users/me');
    return status === 200 ? (body as { name: string }).name : null;
  }

  accept(link: string, fields: object): Promise<Answer> {
    return this.send('POST', '/console/session/link/accept', { token: tokenOf(link), ...fields });
  }
}

/** The token of a one-time link, in a text such as a mail. */
export function tokenOf(text: string): string {
  const [, token = ''] = /token=([\w-]{43})/.exec(text) ?? [];
  assert.notEqual(token, '', `no link in: ${text}`);
  return token;
}

/** Chooses the API key on the sign-in page, and types it. */
export async function fillKey(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Use an API key' }).click();
  await page.getByLabel('API key').fill(key);
}

/** What an app with this secret shows at an instant. */
export function codeAt(secret: string, instant: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0'));
  const bytes = bits.join('').match(/.{8}/g) ?? [];
  const key = Buffer.from(bytes.map((byte) => parseInt(byte, 2)));
  const step = Math.floor(instant / 30_000);
  return codeOf(createHmac('sha1', key).update(counterOf(step)).digest());
}

export const inviteAs = async (browser: Browser, address: string, role: string) => {
  const answer = await browser.send('POST', '/v1/invitations', { email: address, role });
  assert.equal(answer.status, 201);
  return (answer.body as { link: string }).link;
};
