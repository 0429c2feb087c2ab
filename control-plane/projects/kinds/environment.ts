/** Variables and snippets. */
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import { snippetHandlers, variableHandlers } from '../../checks/index.ts';
import { isEncryptedVariable } from '../../core/decide/credentials.ts';
import { fromFlag } from '../../db/columns.ts';
import { byNumber, byText, type Kind, kindOf } from './kind.ts';
import { rowsOf } from './rows.ts';

const variableKind = kindOf(
  'Variable',
  variableRoutes.createVariable,
  ({ services }) => variableHandlers(services),
  byText('key'),
);

export const variables: Kind = {
  ...variableKind,
  type: 'variable',
  isUnknownToClients: true,
  address: 'key',
  async read(unit, ids) {
    const { services, accountId } = unit;
    const rows = await rowsOf('variables', unit, ids);
    return new Map(
      rows.map(({ key, value: stored, ...row }) => {
        const kept = { locked: fromFlag(row.locked), secret: fromFlag(row.secret) };
        const value = isEncryptedVariable(kept)
          ? services.secrets.decryptStored(stored, accountId)
          : stored;
        return [key, { handle: key, fields: { key, value, ...kept } }];
      }),
    );
  },
  write: (stored) => (stored['secret'] === true ? { ...stored, value: null } : stored),
  async create(unit, body) {
    await variableKind.create(unit, body);
    return String(body['key']);
  },
  isOther: (stored, body) => stored['key'] !== body['key'],
};

export const snippets: Kind = {
  ...kindOf(
    'Snippet',
    snippetRoutes.createSnippet,
    ({ services }) => snippetHandlers(services),
    byNumber,
  ),
  type: 'snippet',
  isUnknownToClients: true,
  async read(unit, ids) {
    const rows = await rowsOf('snippets', unit, ids);
    return new Map(
      rows.map(({ id, name, script }) => [
        String(id),
        { handle: String(id), fields: { name, script } },
      ]),
    );
  },
};
