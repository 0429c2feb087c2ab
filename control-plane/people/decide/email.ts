/**
 * The form in which addresses are stored and compared. Mail servers may distinguish upper case from lower
 * case in the local part, but none in use does.
 */
export function normalizeEmail(given: string): string {
  return given.trim().normalize('NFC').toLowerCase();
}
