/** Variables and snippets. */
import { roleOf } from '@monitor/shared/contract/route.ts';
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import { snippetHandlers, variableHandlers } from '../../checks/index.ts';
import { isEncryptedVariable } from '../../core/decide/credentials.ts';
import { fromFlag } from '../../db/columns.ts';
import { eachOf } from '../../db/expressions.ts';
import { type Kind, numbersIn, parseBy, related } from './kind.ts';

export const variables: Kind = {
  type: 'variable',
  isUnknownToClients: true,
  address: 'key',
  role: roleOf(variableRoutes.createVariable),
  parse: (payload) =>
    parseBy(variableRoutes.createVariable.body, payload, related(variableRoutes.createVariable)),
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('variables')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('key', 'in', eachOf(ids ?? [])))
      .orderBy('created_at')
      .orderBy('key')
      .execute();
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
    const input = { params: undefined, query: undefined, body: body as never };
    return (await variableHandlers(services).createVariable(input, call)).key;
  },
  update({ services, call }, { handle }, body) {
    const input = { params: { key: handle }, query: undefined, body: body as never };
    return variableHandlers(services).updateVariable(input, call);
  },
  remove({ services, call }, { handle }) {
    const input = { params: { key: handle }, query: undefined, body: undefined };
    return variableHandlers(services).deleteVariable(input, call);
  },
  isOther: (stored, body) => stored['key'] !== body['key'],
};

export const snippets: Kind = {
  type: 'snippet',
  isUnknownToClients: true,
  role: roleOf(snippetRoutes.createSnippet),
  parse: (payload) =>
    parseBy(snippetRoutes.createSnippet.body, payload, related(snippetRoutes.createSnippet)),
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('snippets')
      .select(['id', 'name', 'script'])
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', numbersIn(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(
      rows.map(({ id, name, script }) => [
        String(id),
        { handle: String(id), fields: { name, script } },
      ]),
    );
  },
  write: (stored) => stored,
  async create({ services, call }, body) {
    const input = { params: undefined, query: undefined, body: body as never };
    return (await snippetHandlers(services).createSnippet(input, call)).id;
  },
  update({ services, call }, { handle }, body) {
    const input = { params: { id: Number(handle) }, query: undefined, body: body as never };
    return snippetHandlers(services).updateSnippet(input, call);
  },
  remove({ services, call }, { handle }) {
    const input = { params: { id: Number(handle) }, query: undefined, body: undefined };
    return snippetHandlers(services).deleteSnippet(input, call);
  },
};
