/** What `control-plane accounts` does. */
import { alertSettings as alertSettingsSchema } from '@monitor/shared/contract/check.ts';
import { jsonProblem } from '@monitor/shared/read-json.ts';
import { ApiError } from '../../errors/api-error.ts';
import { OperatorError, usageError } from '../../errors/operator-error.ts';
import {
  type AlertSettings,
  changeAccount,
  createAccount,
  findOrCreateAccount,
  listAccounts,
  type Plan,
  type StoredAccount,
} from '../../accounts/index.ts';
import { wakeStates } from '../../alerting/index.ts';
import { inTransaction } from '../../db/unit.ts';
import { accountsWithoutChannels, withoutChannels } from '../../notifications/index.ts';
import { readSettings, withInstallation, type Installation } from './installation.ts';
import { noteOperator } from './note-operator.ts';
import { instant, note, printFacts, printJson, printRows } from './output.ts';

interface AccountOptions {
  name?: string;
  badges?: 'on' | 'off';
  secretDetection?: 'on' | 'off';
  runtime?: string;
  plan?: Plan;
  alertSettings?: string;
  json?: boolean;
}

const nameUpTo = 255;

/** Validates the name of a key or an account as the API does. */
export function usableName(given: string): string {
  const name = given.trim();
  if (name !== '' && name.length <= nameUpTo) return name;
  throw usageError(`--name must have 1 to ${nameUpTo} characters`);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** The first unknown field name. A misspelt name would silently leave the default. */
function unknownName(given: unknown, known: unknown, path = ''): string | null {
  if (!isRecord(given)) return null;
  for (const [name, value] of Object.entries(given)) {
    const place = `${path}${name}`;
    if (!isRecord(known) || !(name in known)) return place;
    const inside = unknownName(value, known[name], `${place}.`);
    if (inside !== null) return inside;
  }
  return null;
}

/** Parses alert settings from JSON; `default` gives null, which restores the defaults. */
function readAlertSettings(text: string): AlertSettings | null {
  if (text === 'default') return null;
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw usageError(`--alert-settings must be JSON, or default: ${jsonProblem(text) ?? ''}`);
  }
  const parsed = alertSettingsSchema.safeParse(given);
  if (parsed.success) {
    const unknown = unknownName(given, parsed.data);
    if (unknown === null) return parsed.data;
    throw usageError(`--alert-settings: there is no ${unknown}`);
  }
  const [issue] = parsed.error.issues;
  throw usageError(
    `--alert-settings: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not valid'}`,
  );
}

function known(accounts: readonly StoredAccount[]): string {
  if (accounts.length === 0) return 'there are none: `control-plane accounts create --name <name>`';
  return `there are:\n${accounts.map(({ id, name }) => `  ${id}  ${name}`).join('\n')}`;
}

/** The named account, or the only one; a fresh installation gets one. */
export async function chooseAccount(
  installation: Installation,
  given: string | undefined,
): Promise<string> {
  const accounts = await listAccounts(installation.db);
  if (given !== undefined) {
    if (accounts.some(({ id }) => id === given)) return given;
    throw new OperatorError(`there is no account "${given}"; ${known(accounts)}`);
  }
  if (accounts.length <= 1) return findOrCreateAccount(installation);
  throw usageError(`choose one with --account <id>; ${known(accounts)}`);
}

function toWire(account: StoredAccount) {
  const { id, name, plan, runtimeId: runtime, settings, alertSettings, createdAt } = account;
  return {
    id,
    name,
    plan,
    runtimeId: runtime,
    badges: settings.badges,
    secretDetection: settings.secretDetection,
    alertSettings,
    createdAt: new Date(createdAt).toISOString(),
  };
}

function printAccounts(accounts: readonly StoredAccount[], json: boolean): void {
  if (json) {
    printJson(accounts.map(toWire));
    return;
  }
  printRows(
    ['ID', 'NAME', 'PLAN', 'RUNTIME', 'BADGES', 'CREATED'],
    accounts.map(({ id, name, plan, runtimeId: runtime, settings, createdAt }) => [
      id,
      name,
      plan,
      runtime ?? '-',
      settings.badges ? 'on' : 'off',
      instant(createdAt),
    ]),
  );
}

export async function set(id: string, options: AccountOptions): Promise<void> {
  const { name, badges, secretDetection, runtime, plan, alertSettings } = options;
  const change = {
    ...(name === undefined ? {} : { name: usableName(name) }),
    ...(badges === undefined ? {} : { badges: badges === 'on' }),
    ...(secretDetection === undefined ? {} : { secretDetection: secretDetection === 'on' }),
    ...(runtime === undefined ? {} : { runtimeId: runtime }),
    ...(plan === undefined ? {} : { plan }),
    ...(alertSettings === undefined ? {} : { alertSettings: readAlertSettings(alertSettings) }),
  };
  if (Object.keys(change).length === 0) {
    throw usageError(
      'nothing to set: give at least one of --name, --badges, --secret-detection, --runtime, --plan, --alert-settings',
    );
  }
  await withInstallation({ make: false }, async (installation) => {
    const { db, clock } = installation;
    const [before] = await listAccounts(db, id);
    const changed = await inTransaction(db, async (unit) => {
      const account = await changeAccount(unit, id, change);
      if (change.alertSettings !== undefined) await wakeStates(unit, id, clock.now());
      return account;
    }).catch((error: unknown) => {
      throw error instanceof ApiError ? new OperatorError(error.message) : error;
    });
    if (changed === undefined) {
      throw new OperatorError(`there is no account "${id}"; ${known(await listAccounts(db))}`);
    }
    await noteOperator(installation, id, {
      operation: 'updateAccount',
      resource: { type: 'accounts', id },
      before: before === undefined ? null : toWire(before),
      after: toWire(changed),
    });
    if (options.json === true) printJson(toWire(changed));
    else {
      const { alertSettings: shown, ...facts } = toWire(changed);
      printFacts({ ...facts, alertSettings: JSON.stringify(shown) });
    }
  });
}

export async function list({ json }: { json?: boolean }): Promise<void> {
  await withInstallation({ make: false }, async ({ db }) => {
    printAccounts(await listAccounts(db), json === true);
  });
}

export async function create({
  name: given,
  json,
}: {
  name: string;
  json?: boolean;
}): Promise<void> {
  const name = usableName(given);
  await withInstallation({ make: true }, async (installation) => {
    const facts = { accountId: await createAccount(installation, name), name };
    if (json === true) printJson(facts);
    else printFacts(facts);
    const named = readSettings().OPERATOR_CHANNEL_ACCOUNTS;
    const silent = await accountsWithoutChannels(installation.db, named);
    if (silent.length > 0) note(`${withoutChannels}: ${silent.join(', ')}`);
  });
}
