/** Keys and signatures as customers make them: by the program that they use. */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { signatureNamespace } from '@monitor/shared/contract/work-signature.ts';
import { signedPartOf } from '@monitor/shared/signed-work/signed-part.ts';

const run = promisify(execFile);

export interface SigningKey {
  file: string;
  /** A line as in `authorized_keys`. */
  publicKey: string;
}

let made = 0;

export function makeSigningKey(
  folder: string,
  { type = 'ed25519', bits }: { type?: string; bits?: number } = {},
): SigningKey {
  const file = join(folder, `key-${(made += 1)}`);
  const size = bits === undefined ? [] : ['-b', String(bits)];
  execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', 'somebody', '-f', file]);
  return { file, publicKey: readFileSync(`${file}.pub`, 'utf8').trim() };
}

/** What `ssh-keygen -Y sign` writes for this text. */
export async function signText(
  text: string,
  { file }: SigningKey,
  { namespace = signatureNamespace, hash = 'sha512' } = {},
): Promise<string> {
  const signing = run('ssh-keygen', [
    '-Y',
    'sign',
    '-f',
    file,
    '-n',
    namespace,
    `-Ohashalg=${hash}`,
  ]);
  signing.child.stdin?.end(text);
  return (await signing).stdout;
}

/** The check with a signature of this key. */
export async function signedCheck(
  check: AssignedCheck,
  key: SigningKey,
  {
    version = 1,
    variables = check.environment.map(({ key: name }) => name),
    namespace = signatureNamespace,
  } = {},
): Promise<AssignedCheck> {
  const environment = check.environment.filter(({ key: name }) => variables.includes(name));
  const text = signedPartOf({ ...check, environment }, { version });
  if (text === null) throw new Error('the check cannot be read');
  const value = await signText(text, key, { namespace });
  return { ...check, signature: { version, variables, value } };
}
