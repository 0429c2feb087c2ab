/** Replaces references to files with links, in the JSON of a stored result. */
import { artifactName } from '@monitor/shared/contract/agent-protocol.ts';

const mark = '"artifact:';

/**
 * A whole JSON string that is a reference. A quote after a backslash is part of a string, and names
 * have no backslash, so both quotes delimit a string. A string before a colon is a key.
 */
const reference = /(?<!\\)"artifact:([\w ./()-]{1,200})"(?!\s*:)/g;

/** The same JSON with `linkTo(name)` for each `artifact:<name>`. */
export function resolveReferences(json: string, linkTo: (name: string) => string): string {
  if (!json.includes(mark)) return json;
  return json.replace(reference, (whole, name: string) =>
    artifactName.safeParse(name).success ? JSON.stringify(linkTo(name)) : whole,
  );
}
