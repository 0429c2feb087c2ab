/**
 * Programs that ask a person for a key. Nothing is stored of them: the id of a client and a code say, encrypted, what they
 * stand for, and a key is made when its program takes it. Source: OAuth 2.1; RFC 7591 and 7636.
 */
import { createHash } from 'node:crypto';
import type { Role } from '@monitor/shared/contract/route.ts';
import { EncryptedValue } from '../../core/encrypted-value.ts';
import { isSame } from '../../core/keys.ts';
import type { Services } from '../../core/services.ts';
import { inTransaction } from '../../db/unit.ts';
import { createApiKey, type NewKey } from '../keys/store.ts';
import { isRegistered } from '../decide/redirects.ts';
import { type Maker, requireGrant } from '../require-role.ts';
import { lockAccounts } from '../store.ts';

const dayMs = 86_400_000;
/** A program that comes after it registers again. */
const clientMs = 365 * dayMs;
const codeMs = 120_000;
export const programKeyMs = 90 * dayMs;

export interface Program {
  /** As it calls itself. */
  name: string;
  redirectUris: readonly string[];
}

/** What a person agreed to. `id` becomes the id of the key, so a code works once. */
interface Grant {
  id: string;
  accountId: string;
  maker: Maker;
  role: Role;
  name: string;
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
}

export interface CodeExchange {
  code: string;
  clientId: string;
  redirectUri: string;
  codeVerifier: string;
}

type ProgramDeps = Pick<Services, 'db' | 'clock' | 'secrets' | 'newId'>;

export class Programs {
  readonly #deps: ProgramDeps;
  readonly #clients: EncryptedValue<Program>;
  readonly #codes: EncryptedValue<Grant>;

  constructor(deps: ProgramDeps) {
    this.#deps = deps;
    this.#clients = new EncryptedValue(deps, 'program');
    this.#codes = new EncryptedValue(deps, 'program-code');
  }

  /** Gives the id of the client. */
  register(program: Program): string {
    return this.#clients.write(program, this.#deps.clock.now() + clientMs);
  }

  /** Null for an id that was never given, and for an address that the program did not register. */
  find({ clientId, redirectUri }: Pick<Grant, 'clientId' | 'redirectUri'>): Program | null {
    const program = this.#clients.read(clientId);
    return program !== null && isRegistered(redirectUri, program.redirectUris) ? program : null;
  }

  /** Gives a code with which the program makes its key. */
  grant(granted: Omit<Grant, 'id'>): string {
    const id = this.#deps.newId();
    return this.#codes.write({ ...granted, id }, this.#deps.clock.now() + codeMs);
  }

  /**
   * Null when the code does not work: it was used, is too old, or belongs to another program. Throws where the maker may
   * no longer give the role.
   */
  async takeKey(given: CodeExchange): Promise<(NewKey & Pick<Grant, 'accountId' | 'name'>) | null> {
    const grant = this.#codes.read(given.code);
    if (grant === null || !isFor(grant, given)) return null;
    const { id, accountId, maker, role, name } = grant;
    const { db, clock } = this.#deps;
    return inTransaction(db, async (unit) => {
      await lockAccounts(unit, [accountId]);
      const used = await unit.selectFrom('api_keys').select('id').where('id', '=', id).execute();
      if (used.length > 0) return null;
      await requireGrant(unit, { accountId, maker }, role);
      const key = await createApiKey({ db: unit, clock, newId: () => id }, accountId, {
        ...{ name, role, expiresAt: clock.now() + programKeyMs },
        madeBy: maker.isPerson ? maker.id : null,
      });
      return { ...key, accountId, name };
    });
  }
}

function isFor(grant: Grant, { clientId, redirectUri, codeVerifier }: CodeExchange): boolean {
  const challenge = createHash('sha256').update(codeVerifier).digest('base64url');
  const isOfProgram = grant.clientId === clientId && grant.redirectUri === redirectUri;
  return isOfProgram && isSame(challenge, grant.codeChallenge);
}
