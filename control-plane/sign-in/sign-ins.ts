/** What every way of signing in shares: limits of guesses, entries of the audit log, sessions. */
import type { Request, Response } from 'express';
import type { RateLimit } from '@monitor/shared/contract/route.ts';
import { endConsoleSession, type KeyStore, startConsoleSession } from '../accounts/index.ts';
import { actorOf, type AuditRecord, recordDone } from '../audit/index.ts';
import { doors } from '../core/doors.ts';
import { sha256Hex } from '../core/keys.ts';
import { ApiError } from '../errors/api-error.ts';
import type { ConsoleCookie } from '../http/console-cookie.ts';
import { visitorOf } from '../http/visitor.ts';
import {
  accountOfAddress,
  normalizeEmail,
  noteSignIn,
  type PeopleDeps,
  requireSamePassword,
} from '../people/index.ts';
import { KnownDevices } from './known-device.ts';

const { address: byAddress, account: byPerson } = doors.session;

type Owner = Parameters<typeof startConsoleSession>[1];
/** Also has to succeed for the session to begin. */
type Confirm = Parameters<typeof startConsoleSession>[4];

export const isWrongCredential = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'BAD_CREDENTIALS';

export class SignIns {
  readonly people: PeopleDeps;
  readonly keys: KeyStore;
  readonly cookie: ConsoleCookie;
  readonly devices: KnownDevices;

  constructor(people: PeopleDeps, keys: KeyStore, cookie: ConsoleCookie) {
    this.people = people;
    this.keys = keys;
    this.cookie = cookie;
    this.devices = new KnownDevices(people);
  }

  refuseMany(name: string, limit: RateLimit): void {
    this.people.attempts.refuseMany(name, limit);
  }

  limitRoute(request: Request, route: string): void {
    this.refuseMany(`${route} ${this.devices.visitorOf(request)}`, byAddress.signIns);
  }

  /** Counts a guess, or throws. Gives what takes the count back, for what was no wrong guess. */
  refuseGuesses(request: Request, about: string): () => void {
    const hash = sha256Hex(normalizeEmail(about));
    const device = this.devices.idOf(request, about);
    const [one, all] = device === null ? [visitorOf(request), 'strangers'] : [device, 'devices'];
    const [own, ofAll] = [`guess ${one} ${hash}`, `guess of ${all} ${hash}`];
    this.refuseMany(own, byAddress.guesses);
    this.refuseMany(ofAll, byPerson.guessesOfAll);
    return () => {
      this.people.attempts.giveBack(own);
      this.people.attempts.giveBack(ofAll);
    };
  }

  note(
    request: Request,
    record: Omit<AuditRecord, 'address' | 'outcome'> & { outcome?: AuditRecord['outcome'] },
  ): Promise<void> {
    return recordDone(this.people, { outcome: 'DONE', ...record, address: request.ip ?? null });
  }

  /** In the log of the account of the person, if there is one, and with the same work if there is none. */
  async noteOfAddress(
    request: Request,
    given: string,
    of: Pick<AuditRecord, 'operation' | 'outcome'>,
  ): Promise<void> {
    const { db, attempts } = this.people;
    const email = normalizeEmail(given);
    const account = await accountOfAddress(db, email);
    if (account === undefined) return;
    const { id: accountId, isMember } = account;
    const { isAllowed } = isMember
      ? attempts.take(`noted ${email}`, byPerson.noted)
      : attempts.take('noted nobody', byPerson.notedOfNobody);
    if (!isAllowed) return;
    await this.note(request, { accountId, actor: { kind: 'NOBODY', name: email }, ...of });
  }

  /** In the log of the account whose key it was. */
  async noteRefusedKey(request: Request, keyHash: string): Promise<void> {
    const holder = await this.keys.findHolder(keyHash);
    if (holder === undefined) return;
    const { accountId, keyId } = holder;
    if (!this.people.attempts.take(`noted ${keyId}`, byPerson.noted).isAllowed) return;
    const of = { operation: 'signInWithKey', outcome: 'REFUSED' as const };
    await this.note(request, { accountId, actor: actorOf(holder), ...of });
  }

  /** Null where the request has no session. */
  tokenHashOf(request: Request): string | null {
    const given = this.cookie.tokenOf(request);
    return given === undefined ? null : sha256Hex(given);
  }

  async end(request: Request): Promise<void> {
    const hash = this.tokenHashOf(request);
    if (hash !== null && (await endConsoleSession(this.people.db, hash))) this.people.forget();
  }

  /** The session is always a new one, so that nobody can prepare it for somebody else. */
  async start(
    request: Request,
    response: Response,
    owner: Owner,
    isKept: boolean,
    confirm?: Confirm,
  ): Promise<void> {
    const browser = {
      userAgent: request.get('user-agent') ?? null,
      address: request.ip ?? null,
    };
    const session = await startConsoleSession(this.people, owner, isKept, browser, confirm);
    await this.end(request);
    this.cookie.set(request, response, session);
  }

  /** Of a person whose password was right, unless it has been changed since. */
  async startOfPerson(
    request: Request,
    response: Response,
    of: { personId: string; accountId: string; email: string; passwordHash: string | null },
    isKept: boolean,
    confirm?: Confirm,
  ): Promise<void> {
    const { personId, accountId, email, passwordHash } = of;
    await this.start(request, response, { personId, accountId }, isKept, async (unit) => {
      await requireSamePassword(unit, { id: personId, passwordHash });
      await confirm?.(unit);
    });
    this.devices.remember(request, response, email);
    await noteSignIn(this.people, personId);
  }
}
