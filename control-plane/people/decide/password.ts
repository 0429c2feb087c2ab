/** Why a new password is too easy to guess, as the end of a sentence; null for a usable one. */
export function passwordProblem(password: string, email: string): string | null {
  const plain = password.toLowerCase();
  const [local = ''] = email.split('@');
  if (plain.includes(email) || (local.length > 3 && plain.startsWith(local))) {
    return 'must not be made from the e-mail address';
  }
  if (new Set(plain).size < 5) return 'must have at least 5 different characters';
  if (isSequence(plain)) return 'must not be a row of the keyboard or the alphabet';
  return null;
}

const rows = ['abcdefghijklmnopqrstuvwxyz', '01234567890', 'qwertyuiopasdfghjklzxcvbnm'];

/** True for `abcdefghijkl` and `1234567890123`. */
function isSequence(text: string): boolean {
  return rows.some((row) => {
    const endless = row.repeat(Math.ceil(text.length / row.length) + 1);
    return endless.includes(text);
  });
}
