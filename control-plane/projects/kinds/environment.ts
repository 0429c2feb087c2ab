/** Variables and snippets. */
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import { snippetsOf, variablesOf } from '../../checks/index.ts';
import { type Kind, kindOf } from './kind.ts';

export const variables: Kind = {
  ...kindOf({ type: 'variable', route: variableRoutes.createVariable, of: variablesOf }),
  isUnknownToClients: true,
  address: 'key',
  write: (stored) => (stored['secret'] === true ? { ...stored, value: null } : stored),
  isOther: (stored, body) => stored['key'] !== body['key'],
};

export const snippets: Kind = {
  ...kindOf({ type: 'snippet', route: snippetRoutes.createSnippet, of: snippetsOf }),
  isUnknownToClients: true,
};
