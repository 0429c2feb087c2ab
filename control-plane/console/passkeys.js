/** Asks the browser for passkeys. Loaded when somebody wants to use one. */

/** True where the browser knows passkeys, and their JSON. */
export function knowsPasskeys() {
  return (
    typeof PublicKeyCredential === 'function' &&
    typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function'
  );
}

/**
 * Why there is no passkey, for people.
 * @param {unknown} error
 */
function wordsOf(error) {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'InvalidStateError') return 'This device has a passkey of yours already.';
  if (name === 'NotAllowedError' || name === 'AbortError') {
    return 'No passkey was used. Try again, and follow what your device asks.';
  }
  return 'This browser cannot use a passkey here.';
}

/**
 * @param {() => Promise<Credential | null>} work
 * @returns {Promise<{ credential: any } | { problem: string }>}
 */
async function ask(work) {
  try {
    const credential = await work();
    if (credential instanceof PublicKeyCredential) return { credential: credential.toJSON() };
    return { problem: wordsOf(null) };
  } catch (error) {
    return { problem: wordsOf(error) };
  }
}

/** @param {any} options as the server gives them */
export function makePasskey(options) {
  return ask(() =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
    }),
  );
}

/** @param {any} options as the server gives them */
export function usePasskey(options) {
  return ask(() =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
    }),
  );
}
