/** What other modules may use. */
export {
  type Caller,
  type Column,
  type Definition,
  type Key,
  type Resource,
  resourceOf,
} from './resource.ts';
export { entryHandlers, listAfter, listAll, listPages } from './serve.ts';
