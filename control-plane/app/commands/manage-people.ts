/** What `control-plane people` does. */
import { personEmail } from '@monitor/shared/contract/person.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { OperatorError, usageError } from '../../errors/operator-error.ts';
import { listAccounts } from '../../accounts/index.ts';
import {
  accountOfAddress,
  findPerson,
  invite,
  listMembers,
  makeResetLink,
  makeSetupLink,
  normalizeEmail,
  removeSecondFactors,
} from '../../people/index.ts';
import { chooseAccount } from './manage-accounts.ts';
import { readSettings, withInstallation } from './installation.ts';
import { noteOperator } from './note-operator.ts';
import { instant, note, printFacts, printJson, printRows } from './output.ts';

interface Options {
  account?: string;
  role: Role;
  json?: boolean;
}

function usableEmail(given: string): string {
  const parsed = personEmail.safeParse(given.trim());
  if (parsed.success) return parsed.data;
  throw usageError(`"${given}" is not an e-mail address`);
}

/** Where the console is, as `serve` with the same settings says. */
function publicUrl(): string {
  const { PUBLIC_URL: url, HOST: host, PORT: port } = readSettings();
  return (url ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`).replace(/\/+$/, '');
}

function printLink(facts: Record<string, string>, json: boolean): void {
  if (json) {
    printJson(facts);
    return;
  }
  printFacts(facts);
  note('the link works once: hand it to nobody else');
}

export async function inviteByOperator(given: string, options: Options): Promise<void> {
  const email = usableEmail(given);
  const { role } = options;
  await withInstallation({ make: true }, async (installation) => {
    const accountId = await chooseAccount(installation, options.account);
    const { link } = await invite(
      { ...installation, publicUrl: publicUrl(), canMail: false },
      { accountId, email, role, invitedBy: 'the operator', maker: null },
    );
    await noteOperator(installation, accountId, {
      operation: 'createInvitation',
      resource: { type: 'invitations', id: null },
      after: { email, role },
    });
    printLink({ accountId, email, role, link }, options.json === true);
  });
}

export async function first(options: { json?: boolean }): Promise<void> {
  await withInstallation({ make: true }, async (installation) => {
    const link = await makeSetupLink({ ...installation, publicUrl: publicUrl() });
    if (link === null) {
      throw new OperatorError(
        'there are people already: `control-plane people invite <email>` lets another one in',
      );
    }
    printLink({ link }, options.json === true);
  });
}

export async function reset(
  given: string,
  options: { secondFactor: boolean; json?: boolean },
): Promise<void> {
  const email = usableEmail(given);
  await withInstallation({ make: false }, async (installation) => {
    const link = await makeResetLink({ ...installation, publicUrl: publicUrl() }, email);
    if (link === null) {
      throw new OperatorError(
        `nobody has the address ${email}: \`control-plane people list\` shows people, \`people invite\` makes one`,
      );
    }
    if (!options.secondFactor) {
      const person = await findPerson(installation.db, { email: normalizeEmail(email) });
      if (person !== undefined) await removeSecondFactors(installation.db, person.id);
    }
    const account = await accountOfAddress(installation.db, normalizeEmail(email));
    if (account !== undefined) {
      await noteOperator(installation, account.id, {
        operation: 'makeResetLink',
        resource: { type: 'people', id: null },
        after: { email, isSecondFactorRemoved: !options.secondFactor },
      });
    }
    printLink({ email, link }, options.json === true);
  });
}

export async function list(options: { json?: boolean }): Promise<void> {
  await withInstallation({ make: false }, async ({ db }) => {
    const people = [];
    for (const { id: accountId } of await listAccounts(db)) {
      const members = await listMembers(db, accountId);
      people.push(...members.map((member) => ({ accountId, ...member })));
    }
    if (options.json === true) {
      printJson(people);
      return;
    }
    printRows(
      ['EMAIL', 'NAME', 'ROLE', 'LAST SIGN-IN', 'ACCOUNT'],
      people.map(({ email, name, role, lastSignInAt, accountId }) => [
        ...[email, name, role, instant(lastSignInAt), accountId],
      ]),
    );
  });
}
