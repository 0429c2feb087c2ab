/** Asks the browser for passkeys. Loaded when somebody wants to use one. */
import type { CallOptions } from './contract.ts';

/** True where the browser knows passkeys, and their JSON. */
export function knowsPasskeys() {
  return (
    typeof PublicKeyCredential === 'function' &&
    typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function'
  );
}

/** Why there is no passkey, for people. */
function wordsOf(error: unknown) {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'InvalidStateError') return 'This device has a passkey of yours already.';
  if (name === 'NotAllowedError' || name === 'AbortError') {
    return 'No passkey was used. Try again and follow the prompts of your device.';
  }
  return 'This browser cannot use a passkey here.';
}

/** A passkey as the server takes it. */
export type CredentialJson = NonNullable<
  CallOptions<'POST', 'v1/users/me/passkeys'>['body']
>['credential'];

async function ask(
  work: () => Promise<Credential | null>,
): Promise<{ credential: CredentialJson } | { problem: string }> {
  try {
    const credential = await work();
    if (credential instanceof PublicKeyCredential)
      return { credential: credential.toJSON() as object as CredentialJson };
    return { problem: wordsOf(null) };
  } catch (error) {
    return { problem: wordsOf(error) };
  }
}

/** With the options that the server gave. */
export function makePasskey(options: object) {
  return ask(() =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
        options as PublicKeyCredentialCreationOptionsJSON,
      ),
    }),
  );
}

/** With the options that the server gave. */
export function usePasskey(options: object) {
  return ask(() =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
        options as PublicKeyCredentialRequestOptionsJSON,
      ),
    }),
  );
}
