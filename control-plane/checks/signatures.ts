/** What is to be signed of a check, and whether its signature is of that. Agents decide by themselves. */
import {
  signatureNamespace,
  type SignatureState,
  type WorkSignature,
} from '@monitor/shared/contract/work-signature.ts';
import { signedPartOf } from '@monitor/shared/signed-work/signed-part.ts';
import { readSshSignature, SshProblem } from '@monitor/shared/signed-work/ssh-signature.ts';
import type { Services } from '../core/services.ts';
import { invalidField } from '../errors/api-error.ts';
import { checkAssembly } from './assemble-check.ts';
import { fieldsOf, runsOnAgents, type CheckRow, type ScheduledFields } from './store.ts';

interface SignedPart extends Omit<WorkSignature, 'value'> {
  text: string;
  state: SignatureState;
}

async function stateOf({ value }: WorkSignature, text: string): Promise<SignatureState> {
  try {
    const { isValid } = await readSshSignature(value, { text, namespace: signatureNamespace });
    return isValid ? 'VALID' : 'CHANGED';
  } catch (error) {
    if (!(error instanceof SshProblem)) throw error;
    return 'UNREADABLE';
  }
}

/** Without a version: what the signature of the check is to be of, or for a check without one, what a new one would be of. */
export async function signedPart(
  services: Pick<Services, 'db' | 'secrets' | 'clock'>,
  row: CheckRow,
  version?: number,
): Promise<SignedPart> {
  if (!runsOnAgents(row.type)) throw invalidField('id', 'is of a check that no agent runs');
  const place = { accountId: row.account_id, location: '' };
  const assemble = await checkAssembly(services, place, [row]);
  const check = assemble(row, 0, null);
  const { signature = null } = fieldsOf(row) as unknown as ScheduledFields;
  const names = check.environment.map(({ key }) => key);
  const of =
    version === undefined && signature !== null
      ? signature
      : { version: version ?? services.clock.now(), variables: [...new Set(names)].sort() };
  const textOf = ({ variables, version: at }: Omit<WorkSignature, 'value'>): string => {
    const environment = check.environment.filter(({ key }) => variables.includes(key));
    return signedPartOf({ ...check, environment }, { version: at }) ?? '';
  };
  const { version: signedVersion, variables } = of;
  return {
    ...{ version: signedVersion, variables, text: textOf(of) },
    state: signature === null ? 'NONE' : await stateOf(signature, textOf(signature)),
  };
}
