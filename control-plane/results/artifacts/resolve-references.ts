/** Puts links in the place of references to files, in the JSON of a stored result. */
import { artifactName } from '@monitor/shared/contract/agent-protocol.ts';

const mark = '"artifact:';

/**
 * A whole JSON string that is a reference. A quote after a backslash belongs to the text of a string,
 * and a name holds no backslash: so both quotes are those of a string. Followed by a colon it is a key.
 */
const reference = /(?<!\\)"artifact:([\w ./()-]{1,200})"(?!\s*:)/g;

/** The same JSON with `linkTo(name)` in place of each `artifact:<name>`. */
export function resolveReferences(json: string, linkTo: (name: string) => string): string {
  if (!json.includes(mark)) return json;
  return json.replace(reference, (whole, name: string) =>
    artifactName.safeParse(name).success ? JSON.stringify(linkTo(name)) : whole,
  );
}
