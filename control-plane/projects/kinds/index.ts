/**
 * The kinds of resources that projects own, as the modules behind them create, change and delete
 * them: by the very schemas, roles and verbs of the API.
 */
import { channels, policies } from './alerting.ts';
import { checks, groups } from './checks.ts';
import { snippets, variables } from './environment.ts';
import type { Kind } from './kind.ts';
import { locations, windows } from './locations.ts';
import { dashboards, pages, pageServices } from './status-pages.ts';

export {
  type Fields,
  isEqual,
  type Kind,
  only,
  type Reading,
  requireRole,
  type Stored,
  type Unit,
  without,
} from './kind.ts';

/** In the order in which they are created: none refers to a later one. They are deleted backwards. */
export const kinds: readonly Kind[] = [
  locations,
  channels,
  variables,
  snippets,
  policies,
  pageServices,
  groups,
  checks,
  pages,
  windows,
  dashboards,
];
