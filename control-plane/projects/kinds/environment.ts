/** Variables and snippets. */
import { roleOf } from '@monitor/shared/contract/route.ts';
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import { snippetHandlers, variableHandlers } from '../../checks/index.ts';
import { isEncryptedVariable } from '../../core/decide/credentials.ts';
import { fromFlag } from '../../db/columns.ts';
import { inputOf, type Kind, parseBy, related } from './kind.ts';
import { rowsOf } from './rows.ts';

export const variables: Kind = {
  type: 'variable',
  isUnknownToClients: true,
  address: 'key',
  role: roleOf(variableRoutes.createVariable),
  parse: (payload, references) =>
    parseBy(
      variableRoutes.createVariable.body,
      payload,
      related(variableRoutes.createVariable),
      references,
    ),
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
  async create({ services, call }, body) {
    return (await variableHandlers(services).createVariable(inputOf({ body }), call)).key;
  },
  update({ services, call }, { handle }, body) {
    return variableHandlers(services).updateVariable(
      inputOf({ params: { key: handle }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return variableHandlers(services).deleteVariable(inputOf({ params: { key: handle } }), call);
  },
  isOther: (stored, body) => stored['key'] !== body['key'],
};

export const snippets: Kind = {
  type: 'snippet',
  isUnknownToClients: true,
  role: roleOf(snippetRoutes.createSnippet),
  parse: (payload, references) =>
    parseBy(
      snippetRoutes.createSnippet.body,
      payload,
      related(snippetRoutes.createSnippet),
      references,
    ),
  async read(unit, ids) {
    const rows = await rowsOf('snippets', unit, ids);
    return new Map(
      rows.map(({ id, name, script }) => [
        String(id),
        { handle: String(id), fields: { name, script } },
      ]),
    );
  },
  write: (stored) => stored,
  async create({ services, call }, body) {
    return (await snippetHandlers(services).createSnippet(inputOf({ body }), call)).id;
  },
  update({ services, call }, { handle }, body) {
    return snippetHandlers(services).updateSnippet(
      inputOf({ params: { id: Number(handle) }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return snippetHandlers(services).deleteSnippet(
      inputOf({ params: { id: Number(handle) } }),
      call,
    );
  },
};
