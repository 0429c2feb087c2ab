/** What `control-plane keys` does. */
import { systemClock } from '@monitor/shared/clock.ts';
import { dataCenterLocation } from '@monitor/shared/contract/primitives.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { OperatorError, usageError } from '../../errors/operator-error.ts';
import {
  createApiKey,
  createLocationKey,
  type ListedKey,
  listKeys,
  rememberKeysMs,
  revokeKey,
} from '../../accounts/index.ts';
import { chooseAccount, usableName } from './manage-accounts.ts';
import { withInstallation } from './installation.ts';
import { noteOperator } from './note-operator.ts';
import { parseExpiry } from './expiry.ts';
import { instant, note, printFacts, printJson, printRows } from './output.ts';

interface CreateOptions {
  name: string;
  account?: string;
  role: Role;
  expires?: string;
  json?: boolean;
}

interface CreateLocationOptions {
  location: string;
  account?: string;
  json?: boolean;
}

/** With `--json` the hint is left out, so that the output stays pure JSON. */
function printCreated(facts: Record<string, string | null>, json: boolean): void {
  if (json) {
    printJson(facts);
    return;
  }
  printFacts(facts);
  note('rawKey is shown this once: keep it now');
}

export async function create(options: CreateOptions): Promise<void> {
  const name = usableName(options.name);
  const { role } = options;
  const expiresAt =
    options.expires === undefined ? null : parseExpiry(options.expires, systemClock.now());
  await withInstallation({ make: true }, async (installation) => {
    const accountId = await chooseAccount(installation, options.account);
    const { id, rawKey } = await createApiKey(installation, accountId, { name, role, expiresAt });
    await noteOperator(installation, accountId, {
      operation: 'createApiKey',
      resource: { type: 'api-keys', id },
      after: { id, name, role },
    });
    const facts = { accountId, id, name, role, expiresAt: toTimestampOrNull(expiresAt), rawKey };
    printCreated(facts, options.json === true);
  });
}

export async function createLocation(options: CreateLocationOptions): Promise<void> {
  const location = dataCenterLocation.safeParse(options.location);
  if (!location.success) {
    throw usageError(
      `"${options.location}" is not a data-center location; private locations get keys through the API (POST /v1/private-locations/{id}/keys)`,
    );
  }
  await withInstallation({ make: true }, async (installation) => {
    const accountId = await chooseAccount(installation, options.account);
    const made = await createLocationKey(installation, accountId, location.data, null);
    await noteOperator(installation, accountId, {
      operation: 'createLocationKey',
      resource: { type: 'location-keys', id: made.id },
      after: { id: made.id, name: location.data },
    });
    printCreated(
      { accountId, id: made.id, location: location.data, rawKey: made.rawKey },
      options.json === true,
    );
  });
}

function printKeys(keys: readonly ListedKey[], json: boolean): void {
  if (json) {
    printJson(
      keys.map((key) => ({
        ...key,
        createdAt: toTimestamp(key.createdAt),
        expiresAt: toTimestampOrNull(key.expiresAt),
        lastUsedAt: toTimestampOrNull(key.lastUsedAt),
        revokedAt: toTimestampOrNull(key.revokedAt),
      })),
    );
    return;
  }
  printRows(
    ['ID', 'NAME', 'KEY', 'ROLE', 'EXPIRES', 'LAST USED', 'REVOKED', 'ACCOUNT'],
    keys.map((key) => [
      key.id,
      key.name,
      key.maskedKey,
      key.role,
      instant(key.expiresAt),
      instant(key.lastUsedAt),
      instant(key.revokedAt),
      key.accountId,
    ]),
  );
}

export async function revoke(id: string, options: { json?: boolean }): Promise<void> {
  const outcome = await withInstallation({ make: false }, async (installation) => {
    const done = await revokeKey(installation, id);
    const key = (await listKeys(installation.db, undefined)).find((each) => each.id === id);
    if (done === 'revoked' && key !== undefined) {
      await noteOperator(installation, key.accountId, {
        operation: 'revokeApiKey',
        resource: { type: 'api-keys', id },
        before: { id, name: key.name, role: key.role },
      });
    }
    return done;
  });
  if (outcome === 'unknown') {
    throw new OperatorError(`there is no API key "${id}"; \`control-plane keys list\` shows ids`);
  }
  const noticedWithinSeconds = rememberKeysMs / 1_000;
  if (options.json === true) {
    printJson({ id, alreadyRevoked: outcome === 'was revoked', noticedWithinSeconds });
  } else if (outcome === 'was revoked') {
    console.log(`${id} was revoked before`);
  } else {
    console.log(`revoked ${id}; a running serve refuses it within ${noticedWithinSeconds} s`);
  }
}

export async function list({ account, json }: { account?: string; json?: boolean }): Promise<void> {
  await withInstallation({ make: false }, async (installation) => {
    if (account !== undefined) await chooseAccount(installation, account);
    printKeys(await listKeys(installation.db, account), json === true);
  });
}
