/** Snippets: a script may already import one by its name before it is made. */
import type { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import type { Services } from '../../core/services.ts';
import { stampsOf } from '../../db/columns.ts';
import type { Handlers } from '../../http/handlers.ts';
import { entryHandlers, listPages, resourceOf } from '../../resources/index.ts';
import { dropSnippetReferences } from '../drop-references.ts';
import { changeEnvironment } from '../environment-changed.ts';

interface SnippetFields {
  name: string;
  script: string;
}

export const snippetsOf = (services: Services) =>
  resourceOf(services, {
    ...({ table: 'snippets', noun: 'snippet', key: 'id', isNumbered: true } as const),
    fieldsOf: ({ name, script }): SnippetFields => ({ name, script }),
    toColumns: (fields: SnippetFields) => fields,
    present: (rows) =>
      rows.map(({ id, name, script, ...row }) => ({ id, name, script, ...stampsOf(row) })),
    commit: (accountId, work) => changeEnvironment(services, accountId, work),
    removing: (unit, { account_id: accountId, id }) => dropSnippetReferences(unit, accountId, id),
  });

export function snippetHandlers(services: Services): Handlers<typeof snippetRoutes> {
  const snippets = snippetsOf(services);
  return { listSnippets: listPages(snippets), ...entryHandlers('Snippet', 'id', snippets) };
}
