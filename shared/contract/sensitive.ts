/**
 * What of a body is a credential is said at its schema, under whatever name it stands. For checks and groups encryption at
 * rest walks the schema, and so does what a role sees, which the audit log and files hold; other resources encrypt and
 * hide their few credentials themselves.
 */
import { z } from 'zod';

/**
 * `secret`: a text. `pair`: a header or the like, whose value may be a credential. `hiddenPair`: one whose value nobody
 * needs to read. `variable`: locked or secret as it says. `address`: a URL that may have a user and tokens in its query.
 * `capability`: a URL that is itself a credential.
 */
export type Sensitivity = 'secret' | 'pair' | 'hiddenPair' | 'variable' | 'address' | 'capability';

const marks = z.registry<{ is: Sensitivity }>();

/** A copy of the schema with this mark: the schema itself may stand where there is no credential. */
export function sensitive<Schema extends z.ZodType>(is: Sensitivity, schema: Schema): Schema {
  const marked = schema.clone() as Schema;
  marks.add(marked, { is });
  return marked;
}

export const sensitivityOf = (schema: z.core.$ZodType): Sensitivity | null =>
  marks.get(schema)?.is ?? null;
