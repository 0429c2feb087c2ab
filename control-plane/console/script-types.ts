/**
 * Names, signatures and first sentences of what scripts may use; the code editor completes from them. The
 * value is what `derive-script-types.ts` prints.
 */

/** What follows its name, the first sentence about it, and the type whose members it or its result has. */
export type Member = [signature: string, doc: string, type: string | null];

export interface ScriptTypes {
  /** The version of Playwright. */
  version: string;
  /** What scripts may import, with versions. */
  modules: Record<string, string>;
  /** What scripts have by name. */
  values: Record<string, Member>;
  /** Members by type. `expect(Page)` are the matchers of a page, `expect()` those of any value. */
  types: Record<string, Record<string, Member>>;
}

export declare const scriptTypes: ScriptTypes;
