import { Option, type Command } from 'commander';
import { systemClock } from '@monitor/shared/clock.ts';
import { dataCenterLocation } from '@monitor/shared/contract/primitives.ts';
import { roles, type Role } from '@monitor/shared/contract/route.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import {
  createApiKey,
  createLocationKey,
  type ListedKey,
  listKeys,
  rememberKeysMs,
  revokeKey,
} from '../../accounts/index.ts';
import { chooseAccount, usableName } from './accounts.ts';
import { withInstallation } from './installation.ts';
import { noteOperator } from './note-operator.ts';
import { rotateEncryption } from './rotate-encryption.ts';
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

async function create(options: CreateOptions): Promise<void> {
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

async function createLocation(options: CreateLocationOptions): Promise<void> {
  const location = dataCenterLocation.safeParse(options.location);
  if (!location.success) {
    throw new OperatorError(
      `"${options.location}" is not a data-center location; private locations get keys through the API (POST /v1/private-locations/{id}/keys)`,
      { usage: true },
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

async function revoke(id: string, options: { json?: boolean }): Promise<void> {
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

/** `control-plane keys …`: keys in the configured database. */
export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('keys of the API and of locations');
  keys
    .command('create')
    .description('create an API key; it is shown this once')
    .requiredOption('--name <name>', 'what the key is for')
    .option('--account <id>', 'whose it is; needed when there are several accounts')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).default('OWNER'))
    .option('--expires <when>', 'an ISO date, which is UTC without an offset, or days: 90d')
    .option('--json', 'print JSON')
    .action(create);
  keys
    .command('list')
    .description('list API keys, oldest first, the revoked ones too')
    .option('--account <id>', 'only those of this account')
    .option('--json', 'print JSON')
    .action(async (options: { account?: string; json?: boolean }) => {
      await withInstallation({ make: false }, async (installation) => {
        const { account } = options;
        if (account !== undefined) await chooseAccount(installation, account);
        printKeys(await listKeys(installation.db, account), options.json === true);
      });
    });
  keys
    .command('revoke')
    .description('revoke an API key for good')
    .argument('<id>', 'of the key; see `keys list`')
    .option('--json', 'print JSON')
    .action(revoke);
  keys
    .command('rotate-encryption')
    .description('encrypt all credentials in the database with a new key; stop `serve` first')
    .option('--json', 'print JSON')
    .action(rotateEncryption);
  keys
    .command('create-location')
    .description('create a key with which an agent serves a data-center location')
    .requiredOption('--location <location>', 'a data-center location, for example eu-central-1')
    .option('--account <id>', 'whose it is; needed when there are several accounts')
    .option('--json', 'print JSON')
    .action(createLocation);
}
