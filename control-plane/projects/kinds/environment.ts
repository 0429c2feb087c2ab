/** Variables and snippets. */
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import { snippetsOf, variablesOf } from '../../checks/index.ts';
import { type Kind, kindOf } from './kind.ts';

const variableKind = kindOf({
  type: 'variable',
  route: variableRoutes.createVariable,
  of: variablesOf,
});

export const variables: Kind = {
  ...variableKind,
  // Nobody reads a secret; null keeps it, as that of a check. A new one is empty.
  parse(payload, references, slugs) {
    if (payload['secret'] !== true || payload['value'] !== null) {
      return variableKind.parse(payload, references, slugs);
    }
    const { value: _kept, ...body } = variableKind.parse(
      { ...payload, value: '' },
      references,
      slugs,
    );
    return body;
  },
  create: (unit, body) => variableKind.create(unit, { value: '', ...body }),
  isUnknownToClients: true,
  address: 'key',
  write: (stored) => (stored['secret'] === true ? { ...stored, value: null } : stored),
  isOther: (stored, body) => stored['key'] !== body['key'],
};

export const snippets: Kind = {
  ...kindOf({ type: 'snippet', route: snippetRoutes.createSnippet, of: snippetsOf }),
  isUnknownToClients: true,
};
